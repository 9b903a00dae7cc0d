//! Readers and writers for data sets whose labels may be wrong: files and folders in, [`tares_core::Dataset`] out, and back.
//!
//! [`load`] takes a built-in name (`digits`, `mnist`, …) or a path and recognises the format by content. [`inspect`] says what
//! was found, [`load_with`] reads new rows exactly like the training rows. Nothing here knows a tensor or prints a line.
//!
//! Every reader treats its file as hostile: sizes in headers are checked against the bytes that are there before memory is
//! taken, errors name file, place and reason, and nothing panics.

pub mod crowd;
mod error;
mod format;
#[doc(hidden)]
pub mod from_bytes;
mod image;
mod io;
mod load;
pub mod memory;
pub mod probabilities;
mod reading;
mod source;
pub mod table;
mod write;

pub use error::{DataError, Place, Result};
pub use format::cifar_n::{HumanLabels, read as read_human_labels};
pub use format::image::Picture;
pub use format::{arrays, cifar, csv, digits, idx, npy, npz, parquet};
pub use image::decode::DEFAULT_SIZE;
pub use image::{Describer, PictureDigest, Pictures, SharedDescriber, open_set};
pub use io::Input;
pub use io::atomic::write as write_file;
pub use load::{LoadOptions, Loaded, NewRows, ReadProgress, Stage, inspect, load, load_with};
pub use reading::{Reading, RowShape};
#[doc(hidden)]
pub use source::download::download_within;
pub use source::download::{Remote, download, sha256_of};
pub use source::fetch::fetch;
pub use source::locate::{cache_dir, data_roots, locate, places};
pub use source::recognise::recognise;
pub use source::{Builtin, ClassFound, ColumnFound, Format, Found, Origin, Source};
pub use table::rules::{ColumnRule, MOST_LEVELS, Rule, TableRules};
pub use write::{Cells, OutTable, TableFormat, cell, is_one_file, suspects, write_labelled, write_relabelled};

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
