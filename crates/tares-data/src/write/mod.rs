//! Back to files: tables for people and other programs, and a data set in its own format with other labels.

pub mod cell;
mod relabel;
mod relabel_csv;
mod relabel_folder;
mod relabel_jsonl;
mod relabel_parquet;
pub mod suspects;
mod table;

pub use relabel::{is_one_file, write_labelled, write_relabelled};
pub use table::{Cells, OutTable, TableFormat};
