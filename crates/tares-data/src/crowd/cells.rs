//! The columns of a table of answers, whatever the format.

use super::{ANNOTATOR_NAMES, ANSWER_NAMES, CrowdOptions, ROW_NAMES, TextCells};
use crate::error::{DataError, Place, Result};
use crate::format::csv::{self, CsvOptions};
use crate::format::jsonl;
use crate::format::npy::{self, Array};
use crate::format::npz::Npz;
use crate::format::parquet::{Leaf, ParquetFile};
use crate::io::Input;
use crate::table::columns::{Column, ColumnKind, MISSING, RawTable, Values, is_missing};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// A table whose columns are asked for as text.
pub(super) struct Cells {
    pub path: PathBuf,
    table: RawTable,
    /// Whether the file named its columns.
    pub header: bool,
    /// Whether it can only be a wide table: an array has a column per annotator.
    pub wide: bool,
}

/// Reads all columns; those that may hold names are text.
pub(super) fn read(path: &Path, options: &CrowdOptions) -> Result<Cells> {
    let mut input = Input::open(path)?;
    let head = input.peek()?.to_vec();
    let cells = |table: RawTable, header: bool, wide: bool| Cells { path: path.to_owned(), table, header, wide };
    let named = options.wide.iter().chain(&options.row).chain(&options.annotator).chain(&options.label);
    let usual = [&ROW_NAMES[..], &ANNOTATOR_NAMES, &ANSWER_NAMES].concat();
    let names: Vec<&str> = named.map(String::as_str).chain(usual).collect();
    match &head[..] {
        [] => Err(DataError::format(path, Place::File, "is empty")),
        head if head.starts_with(b"\x93NUMPY") => Ok(cells(array(&npy::read(input)?)?, false, true)),
        head if head.starts_with(b"PK") => {
            let mut npz = Npz::open(path)?;
            match npz.names().as_slice() {
                [only] => Ok(cells(array(&npz.array(only)?)?, false, true)),
                several => {
                    let problem = format!("must hold one array, rows x annotators, got {}", several.join(", "));
                    Err(DataError::format(path, Place::File, problem))
                }
            }
        }
        head if head.starts_with(b"PAR1") => {
            let file = ParquetFile::open(path)?;
            let leaves: Vec<Leaf> = file.leaves().into_iter().filter(Leaf::is_cell).collect();
            // Whole numbers of every column are read as text: any of them may be an annotator of a wide table.
            let all: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
            Ok(cells(file.table_with(&leaves, &all)?, true, false))
        }
        head if jsonl::is_jsonl(head) => Ok(cells(jsonl::read(input, &names)?, true, false)),
        head if head.contains(&0) && !head.starts_with(&[0xff, 0xfe]) && !head.starts_with(&[0xfe, 0xff]) => {
            Err(DataError::format(path, Place::File, "must be CSV, TSV, JSON lines, Parquet, NPY or NPZ"))
        }
        _ => {
            let numbered = ["column 1", "column 2", "column 3"];
            let read = |names: &mut dyn Iterator<Item = String>| {
                let known: HashMap<String, ColumnKind> = names.map(|name| (name, ColumnKind::Text)).collect();
                csv::read(&|| Input::open(path), &CsvOptions { known, ..CsvOptions::default() })
            };
            let mut csv = read(&mut names.iter().chain(&numbered).map(|name| (*name).to_owned()))?;
            // Columns given by number or all at once: their names are known now.
            let asked = options.wide.iter().any(|name| name == super::ALL_COLUMNS || name.starts_with('#'))
                || [&options.row, &options.annotator, &options.label]
                    .iter()
                    .any(|name| name.as_ref().is_some_and(|name| name.starts_with('#')));
            if asked && csv.table.columns.iter().any(|column| matches!(column.values, Values::Numbers(_))) {
                let all: Vec<String> = csv.table.columns.iter().map(|column| column.name.clone()).collect();
                csv = read(&mut all.into_iter())?;
            }
            Ok(cells(csv.table, csv.header, false))
        }
    }
}

/// An array of rows × annotators. Numbers below 0 and not-a-number are no answers.
fn array(array: &Array) -> Result<RawTable> {
    let header = array.header();
    let &[rows, width] = &header.shape[..] else {
        let shape = header.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let problem = format!("answers must be rows x annotators, got an array of {shape}");
        return Err(DataError::format(array.path(), Place::File, problem));
    };
    let texts: Vec<String> = match header.kind.is_number() {
        // Through numbers: an array in Fortran's order comes in C order.
        true => {
            let text = |number: &f64| if number.is_nan() || *number < 0.0 { String::new() } else { number.to_string() };
            array.numbers::<f64>()?.iter().map(text).collect()
        }
        false if header.fortran => {
            return Err(DataError::format(array.path(), Place::File, "text must be stored in C order"));
        }
        false => array.texts()?,
    };
    let column = |place: usize| {
        let (codes, levels) = super::dictionary((0..rows).map(|row| texts[row * width + place].as_str()));
        Column::new(format!("annotator {}", place + 1), Values::Text { codes, levels })
    };
    let columns = (0..width).map(column).collect();
    Ok(RawTable { path: array.path().to_owned(), columns, rows, ..RawTable::default() })
}

impl Cells {
    /// Number of rows of the table.
    pub fn len(&self) -> usize {
        self.table.rows
    }

    /// The names of the columns.
    pub fn names(&self) -> Vec<&str> {
        self.table.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// The position of a column by name or, as `#3`, by number from 1.
    pub fn position(&self, wanted: &str) -> Result<usize> {
        self.table.position(wanted)
    }

    /// The position of a column that was named, or of one with a usual name.
    pub fn find(&self, wanted: Option<&str>, usual: &[&str]) -> Result<Option<usize>> {
        if let Some(wanted) = wanted {
            return self.position(wanted).map(Some);
        }
        let names = self.names();
        let called = |name: &&str| names.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
        Ok(usual.iter().find_map(called))
    }

    /// The cells of a column as text.
    pub fn text(&self, position: usize) -> TextCells {
        let (mut codes, levels) = self.table.columns[position].values.clone().into_text();
        let missing: Vec<bool> = levels.iter().map(|level| is_missing(level)).collect();
        codes.iter_mut().filter(|code| missing.get(**code as usize) == Some(&true)).for_each(|code| *code = MISSING);
        (codes, levels)
    }

    /// An error about one line.
    pub fn at(&self, row: usize, problem: impl Into<String>) -> DataError {
        DataError::format(&self.path, self.table.place(row), problem)
    }

    /// An error about the file.
    pub fn whole(&self, problem: impl Into<String>) -> DataError {
        DataError::format(&self.path, Place::File, problem)
    }
}
