//! Finding wrong labels. Probabilities, the history of a finished run ([`run_history`]), or what a run's judges said about rows they
//! were not trained on ([`held_out`]), become [`findings`]; [`from_features`] adds a second estimate of the noise rate. [`mod@print`]
//! prints the result; [`rows`] and [`files`] write it. [`truth`] finds the true label of every row.

pub mod files;
pub mod findings;
pub mod from_features;
pub mod held_out;
pub mod print;
pub mod rows;
pub mod run_history;
pub mod truth;
