//! Judges: models that predict the labels of rows they were not trained on.
//!
//! A judge has a name ([`name`]). Judges of tables read columns ([`inputs`]); networks are trained on folds ([`folds`]).
//! [`panel`] trains one judge after the other and blends their probabilities. Each finished judge's probabilities are stored on
//! disk ([`kept`]) until all judges are done.

pub mod folds;
pub mod inputs;
pub mod kept;
pub mod name;
pub mod panel;
