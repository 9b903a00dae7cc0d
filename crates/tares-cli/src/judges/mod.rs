//! Who judges labels, and what they say about rows they were not trained on.
//!
//! A judge has a name ([`name`]). Judges of tables see the columns as they were ([`inputs`]), networks are trained on folds
//! ([`folds`]). [`panel`] asks one after the other and blends their answers; what is finished is [`kept`] on disk until all
//! have answered.

pub mod folds;
pub mod inputs;
pub mod kept;
pub mod name;
pub mod panel;
