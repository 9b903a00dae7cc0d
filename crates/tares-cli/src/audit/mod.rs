//! Finding wrong labels: the history of a finished run ([`run_history`]) comes in; [`files`] is what an audit leaves behind.

pub mod files;
pub mod run_history;
