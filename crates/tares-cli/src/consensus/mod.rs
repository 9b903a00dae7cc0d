//! Several labels per row: from a table of answers to one label per row, and what is known about every annotator.
//!
//! [`crowd`] brings answers, data and classes together; [`rounds`] trains judges on the consensus and refines it; [`summary`] is the
//! result as plain data, [`files`] writes it, [`cards`] are what the page shows, [`mod@print`] prints it. [`soft`] is the consensus as training sees it.

pub mod cards;
pub mod crowd;
pub mod files;
pub mod print;
pub mod rounds;
pub mod soft;
pub mod summary;
