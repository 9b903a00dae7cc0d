//! Several labels per row: from a table of answers to one label per row, and what is known about every annotator.
//!
//! [`crowd`] matches answers to data and classes; [`rounds`] trains judges on the consensus and refines it; [`summary`] is the
//! result as plain data, [`files`] writes it, [`cards`] are what the page shows, [`mod@print`] prints it. [`soft`] trains on it.

pub mod cards;
pub mod crowd;
pub mod files;
pub mod print;
pub mod rounds;
pub mod soft;
pub mod summary;
