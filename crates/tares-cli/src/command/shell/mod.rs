//! For the shell: completions and a manual page.

pub mod completions;
pub mod man;
