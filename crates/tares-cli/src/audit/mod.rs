//! Finding wrong labels: probabilities from any model's file ([`probability_file`]) or the history of a finished run
//! ([`run_history`]) come in; [`files`] is what an audit leaves behind.

pub mod files;
pub mod probability_file;
pub mod run_history;
