//! The person at the terminal: what is printed ([`terminal`]), progress ([`run_bars`], [`live_table`]), how a command ends
//! ([`failure`], [`mod@panic`]) and Ctrl-C ([`interrupt`]).

pub mod failure;
pub mod interrupt;
pub mod judges_bar;
pub mod live_table;
pub mod panic;
pub mod run_bars;
pub mod terminal;
