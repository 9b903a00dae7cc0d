//! Labels from a file of any format.

use super::{FileKind, LabelList, number_text, read_csv};
use crate::error::{DataError, Place, Result};
use crate::format::npy::{self, Stored};
use crate::format::npz::Npz;
use crate::format::parquet::ParquetFile;
use crate::io::Input;
use crate::table::columns::{Dictionary, LABEL_NAMES, Values};
use std::path::Path;
use tares_core::Label;

/// The column of given labels beside true ones, as `tares corrupt` writes it; it goes before the usual [`LABEL_NAMES`].
const GIVEN_NAMES: [&str; 1] = ["given"];
/// The column of true labels beside given ones.
const TRUTH_NAMES: [&str; 3] = ["truth", "true", "true_label"];

/// Labels from a file of any format: an array with one label per row, or a column of a table.
///
/// # Errors
/// It cannot be read; several columns and none has a usual name; a row without a label.
pub fn read_labels(path: &Path, column: Option<&str>) -> Result<LabelList> {
    read_column(path, column, &[&GIVEN_NAMES[..], &LABEL_NAMES].concat())
}

/// The same of true labels: of several columns the one called `truth`.
///
/// # Errors
/// As [`read_labels`].
pub fn read_truth(path: &Path) -> Result<LabelList> {
    read_column(path, None, &[&TRUTH_NAMES[..], &GIVEN_NAMES, &LABEL_NAMES].concat())
}

fn read_column(path: &Path, column: Option<&str>, usual: &[&str]) -> Result<LabelList> {
    let table = match FileKind::of(path)? {
        FileKind::Npy => {
            let stored = Stored::open(path)?;
            if stored.columns() != 1 {
                return Err(DataError::format(path, Place::File, "labels must be one per row, got several columns"));
            }
            let mut labels = vec![0; stored.rows()];
            if stored.header().kind.is_number() && stored.read_labels(0, &mut labels).is_ok() {
                return Ok(LabelList::Numbers(labels));
            }
            // Text, or numbers such as -1 that name a class.
            return names_of(path, npy::read(Input::open(path)?)?.texts()?.iter().map(String::as_str));
        }
        FileKind::Npz => {
            let mut npz = Npz::open(path)?;
            let names = npz.names();
            let known = |wanted: &str| names.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned();
            let chosen = match column {
                Some(column) => known(column),
                None if names.len() == 1 => names.first().cloned(),
                None => usual.iter().find_map(|name| known(name)),
            };
            let chosen = chosen.ok_or_else(|| no_column(path, "array", &names))?;
            return names_of(path, npz.array(&chosen)?.texts()?.iter().map(String::as_str));
        }
        FileKind::Parquet => {
            let file = ParquetFile::open(path)?;
            file.table(&file.leaves())?
        }
        FileKind::Text => read_csv(path, None)?.table,
    };
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let chosen = match column {
        Some(name) => Some(table.position(name)?),
        None if names.len() == 1 => Some(0),
        None => usual.iter().find_map(|usual| names.iter().position(|name| name.trim().eq_ignore_ascii_case(usual))),
    };
    let chosen = &table.columns[chosen.ok_or_else(|| no_column(path, "label column", &names))?];
    match &chosen.values {
        Values::Numbers(cells) => {
            let whole = |cell: &f64| cell.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(cell);
            match cells.iter().all(whole) {
                true => Ok(LabelList::Numbers(cells.iter().map(|&cell| cell as Label).collect())),
                false => {
                    let texts: Vec<String> = cells.iter().map(|&cell| number_text(cell)).collect();
                    names_of(path, texts.iter().map(String::as_str))
                }
            }
        }
        Values::Text { codes, levels } => {
            names_of(path, codes.iter().map(|&code| levels.get(code as usize).map_or("", String::as_str)))
        }
    }
}

/// Labels by name; numbers if all of them are.
fn names_of<'a>(path: &Path, cells: impl Iterator<Item = &'a str>) -> Result<LabelList> {
    let mut dictionary = Dictionary::default();
    for (row, cell) in cells.enumerate() {
        match cell.trim() {
            "" => return Err(DataError::format(path, Place::Row(row as u64), "has no label: label it or remove it")),
            cell => dictionary.push(cell),
        }
    }
    let (codes, levels) = dictionary.into_parts();
    let numbers: Option<Vec<Label>> = levels.iter().map(|level| level.parse().ok()).collect();
    // `007` is a name: the class 7 is called otherwise.
    let numbers =
        numbers.filter(|numbers| numbers.iter().zip(&levels).all(|(number, level)| number.to_string() == *level));
    Ok(match numbers {
        Some(numbers) => LabelList::Numbers(codes.iter().map(|&code| numbers[code as usize]).collect()),
        None => LabelList::Names { codes, levels },
    })
}

fn no_column(path: &Path, what: &str, names: &[String]) -> DataError {
    let shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
    let problem = format!("no {what} with a usual name among {}: name it (option label)", shown.join(", "));
    DataError::format(path, Place::File, problem)
}
