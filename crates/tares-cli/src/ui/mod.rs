//! Everything between the program and the person at the terminal: output ([`terminal`]), progress ([`run_bars`],
//! [`live_table`]), errors ([`failure`], [`mod@panic`]) and Ctrl-C ([`interrupt`]).

pub mod failure;
pub mod interrupt;
pub mod judges_bar;
pub mod live_table;
pub mod panic;
pub mod run_bars;
pub mod terminal;
