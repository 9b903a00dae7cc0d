//! Readers and writers for data sets whose labels may be wrong: files and folders in, [`tares_core::Dataset`] out, and back.
//!
//! [`load`] takes a built-in name (`digits`, `mnist`, …) or a path and recognises the format by content. [`inspect`] says what
//! was found, [`load_with`] reads new rows exactly like the training rows. Nothing here knows a tensor or prints a line.
//!
//! Every reader treats its file as hostile: sizes in headers are checked against the bytes that are there before memory is
//! taken, errors name file, place and reason, and nothing panics.

pub mod cifar;
pub mod csv;
pub mod digits;
mod error;
mod found;
pub mod idx;
mod load;
mod locate;
mod open;
mod origin;
mod picture_parts;
mod pictures;
mod preparation;
mod recognise;
mod source;
pub mod table;
mod table_parts;

pub use error::{DataError, Place, Result};
pub use found::{ClassFound, ColumnFound, Format, Found};
pub use load::{LoadOptions, Loaded, NewRows, Progress, Stage, inspect, load, load_with};
pub use locate::{cache_dir, locate, places};
pub use open::Input;
pub use origin::Origin;
pub use pictures::Pictures;
pub use preparation::{ColumnRule, MOST_LEVELS, Preparation, RowShape, Rule, TableRules};
pub use recognise::recognise;
pub use source::{Builtin, Source};
