//! Finding wrong labels: the history of a finished run ([`run_history`]) or a network's features ([`from_features`]) come in;
//! [`print`] is what an audit says, [`files`] what it leaves behind.

pub mod files;
pub mod from_features;
pub mod print;
pub mod run_history;
