//! Finding wrong labels: probabilities or the history of a finished run ([`run_history`]) become [`findings`], with a second
//! opinion from a network's features ([`from_features`]); [`mod@print`] is what an audit says, [`files`] what it leaves behind.

pub mod files;
pub mod findings;
pub mod from_features;
pub mod print;
pub mod run_history;
