//! The column of a table that names its rows, to find each row's label by its name.

use super::FileKind;
use crate::error::Result;
use crate::format::csv::{self, CsvOptions};
use crate::format::parquet::{Leaf, ParquetFile};
use crate::io::Input;
use crate::table::ColumnKind;
use crate::table::columns::RawTable;
use std::path::Path;

/// The first column of `usual` that a CSV or Parquet file has: which it is, and the name of every row (empty where there is none).
/// Arrays have none.
///
/// # Errors
/// The file cannot be read.
pub fn row_names(path: &Path, usual: &[&str]) -> Result<Option<(String, Vec<String>)>> {
    let mut table = match FileKind::of(path)? {
        FileKind::Npy | FileKind::Npz => return Ok(None),
        FileKind::Parquet => {
            let file = ParquetFile::open(path)?;
            let named = |leaf: &Leaf| leaf.is_cell() && usual.contains(&leaf.name.as_str());
            let leaves: Vec<Leaf> = file.leaves().into_iter().filter(named).collect();
            file.table_with(&leaves, usual)?
        }
        FileKind::Text => read_csv(path, usual)?,
    };
    let Some(column) = usual.iter().find(|name| table.columns.iter().any(|column| column.name == **name)) else {
        return Ok(None);
    };
    let (codes, levels) = table.take_text(column)?;
    let names = codes.iter().map(|&code| levels.get(code as usize).cloned().unwrap_or_default()).collect();
    Ok(Some(((*column).to_owned(), names)))
}

/// The table with the columns called one of `usual` as text, every digit kept.
fn read_csv(path: &Path, usual: &[&str]) -> Result<RawTable> {
    let known = usual.iter().map(|name| ((*name).to_owned(), ColumnKind::Text)).collect();
    let path = path.to_owned();
    Ok(csv::read(&|| Input::open(&path), &CsvOptions { known, ..CsvOptions::default() })?.table)
}
