//! Finding wrong labels. Probabilities, or the history of a finished run ([`run_history`]), become [`findings`];
//! [`from_features`] adds a second estimate of the noise rate. [`mod@print`] prints the result; [`rows`] and [`files`] write it.

pub mod files;
pub mod findings;
pub mod from_features;
pub mod print;
pub mod rows;
pub mod run_history;
