//! A model's output: N × K probabilities of any format, and the labels beside them.
//!
//! ```text
//! file → ProbabilitySource → (classes) → ProbabilityFile → rows
//!        labels → LabelList ──┘ agree
//! ```
//!
//! Many files that hold labels beside the probabilities are [`ProbabilityTables`].
//!
//! The format is told from the content. NPY and Parquet are read in blocks, as rows are asked for; CSV and NPZ are read whole. Where columns are named after the classes, names decide which is which ([`ClassColumns`]).

mod agree;
mod class_columns;
mod file;
mod find_tables;
mod label_list;
mod look;
mod named_rows;
mod parquet_groups;
mod read_labels;
mod row_names;
mod source;
mod table_ids;
mod table_layout;
mod tables;

pub use agree::{Agreed, agree, agree_classes, in_classes};
pub use class_columns::ClassColumns;
pub use file::{FileRows, ProbabilityFile};
pub use find_tables::{find_tables, is_pattern};
pub use label_list::LabelList;
pub(crate) use label_list::sort_classes;
pub use look::{LooksLike, look_at};
pub use named_rows::NamedRows;
pub use read_labels::{read_labels, read_truth};
pub use row_names::row_names;
pub use source::ProbabilitySource;
pub use table_ids::TableIds;
pub use table_layout::TableLayout;
pub use tables::{ClassTables, ProbabilityTables, TableOptions};

use crate::error::{DataError, Place, Result};
use crate::format::csv::{self, CsvOptions};
use crate::io::Input;
use std::path::Path;

/// What a file is, by its first bytes.
enum FileKind {
    Npy,
    Npz,
    Parquet,
    Text,
}

impl FileKind {
    fn of(path: &Path) -> Result<Self> {
        let mut input = Input::open(path)?;
        let head = input.peek()?;
        Ok(match head {
            [] => return Err(DataError::format(path, Place::File, "is empty")),
            _ if head.starts_with(b"\x93NUMPY") => Self::Npy,
            _ if head.starts_with(b"PK") => Self::Npz,
            _ if head.starts_with(b"PAR1") => Self::Parquet,
            // Text has no zeros, except UTF-16.
            _ if head.contains(&0) && !head.starts_with(&[0xff, 0xfe]) && !head.starts_with(&[0xfe, 0xff]) => {
                return Err(DataError::format(path, Place::File, "must be NPY, NPZ, CSV, TSV or Parquet"));
            }
            _ => Self::Text,
        })
    }
}

fn read_csv(path: &Path, header: Option<bool>, label: Option<String>) -> Result<csv::Csv> {
    let owned = path.to_owned();
    csv::read(&|| Input::open(&owned), &CsvOptions { header, label, ..CsvOptions::default() })
}

/// A number as people write it; nothing where there is none.
fn number_text(cell: f64) -> String {
    if cell.is_nan() { String::new() } else { cell.to_string() }
}
