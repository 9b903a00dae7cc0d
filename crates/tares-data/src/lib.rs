//! Readers and writers for data sets whose labels may be wrong: files and folders in, [`tares_core::Dataset`] out, and back.
//!
//! [`load`] takes a built-in name (`digits`, `mnist`, …) or a path and recognises the format by content. [`inspect`] says what
//! was found, [`load_with`] reads new rows exactly like the training rows. Nothing here knows a tensor or prints a line.
//!
//! Every reader treats its file as hostile: sizes in headers are checked against the bytes that are there before memory is
//! taken, errors name file, place and reason, and nothing panics.

pub mod arrays;
mod atomic;
pub mod cifar;
pub mod csv;
pub mod digits;
mod download;
mod error;
mod fetch;
mod folder;
mod foreign;
mod found;
#[doc(hidden)]
pub mod from_bytes;
mod human;
pub mod idx;
pub mod label_tables;
mod load;
mod locate;
pub mod npy;
pub mod npz;
mod open;
mod origin;
mod out_table;
pub mod parquet_file;
mod pickle;
pub mod picture;
mod picture_parts;
mod picture_table;
mod pictures;
mod positioned;
mod preparation;
mod recognise;
mod relabel;
mod relabel_csv;
mod relabel_parquet;
mod source;
pub mod table;
mod table_parts;
mod thrift;
mod tree;

pub use atomic::write as write_file;
pub use download::{Remote, download, sha256_of};
pub use error::{DataError, Place, Result};
pub use fetch::fetch;
pub use folder::DEFAULT_SIZE;
pub use foreign::open_set;
pub use found::{ClassFound, ColumnFound, Format, Found};
pub use human::{HumanLabels, read as read_human_labels};
pub use load::{LoadOptions, Loaded, NewRows, Progress, Stage, inspect, load, load_with};
pub use locate::{cache_dir, locate, places};
pub use open::Input;
pub use origin::Origin;
pub use out_table::{Cells, OutTable, TableFormat};
pub use pictures::Pictures;
pub use preparation::{ColumnRule, MOST_LEVELS, Preparation, RowShape, Rule, TableRules};
pub use recognise::recognise;
pub use relabel::write_relabelled;
pub use source::{Builtin, Source};
