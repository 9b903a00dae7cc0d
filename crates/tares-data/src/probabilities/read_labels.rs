//! Labels from a file of any format.

use super::label_list::{FALSE, TRUE};
use super::{FileKind, LabelList, number_text, read_csv};
use crate::error::{DataError, Place, Result};
use crate::format::npy::{self, Stored};
use crate::format::npz::Npz;
use crate::format::parquet::{Leaf, ParquetFile};
use crate::io::Input;
use crate::table::columns::{Dictionary, LABEL_NAMES, Values, is_no_label};
use rayon::prelude::*;
use std::path::Path;
use tares_core::Label;
use tares_core::estimate::{MissingRows, NO_LABEL};

/// The column of given labels beside true ones, as `tares corrupt` writes it; it goes before the usual [`LABEL_NAMES`].
pub(super) const GIVEN_NAMES: [&str; 1] = ["given"];
/// The column of true labels beside given ones.
const TRUTH_NAMES: [&str; 3] = ["truth", "true", "true_label"];

/// Labels from a file of any format: an array with one label per row, or a column of a table.
///
/// # Errors
/// It cannot be read; several columns and none has a usual name; a row without a label.
pub fn read_labels(path: &Path, column: Option<&str>) -> Result<LabelList> {
    read_labels_of(path, column, MissingRows::Refuse)
}

/// The same where rows may have none.
pub(super) fn read_labels_of(path: &Path, column: Option<&str>, missing: MissingRows) -> Result<LabelList> {
    read_column(path, column, &[&GIVEN_NAMES[..], &LABEL_NAMES].concat(), missing)
}

/// The same of true labels: of several columns the one called `truth`.
///
/// # Errors
/// As [`read_labels`].
pub fn read_truth(path: &Path) -> Result<LabelList> {
    read_column(path, None, &[&TRUTH_NAMES[..], &GIVEN_NAMES, &LABEL_NAMES].concat(), MissingRows::Refuse)
}

fn read_column(path: &Path, column: Option<&str>, usual: &[&str], missing: MissingRows) -> Result<LabelList> {
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
            return names_of(path, missing, npy::read(Input::open(path)?)?.texts()?.iter().map(String::as_str));
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
            return names_of(path, missing, npz.array(&chosen)?.texts()?.iter().map(String::as_str));
        }
        FileKind::Parquet => {
            let file = ParquetFile::open(path)?;
            let leaf = label_leaf(&file, column, usual)?;
            return parquet_labels(&file, &leaf, missing);
        }
        FileKind::Text => read_csv(path, None, None)?.table,
    };
    let names: Vec<String> = table.columns.iter().map(|column| column.name.clone()).collect();
    let chosen = match column {
        Some(name) => Some(table.position(name)?),
        None if names.len() == 1 => Some(0),
        None => usual.iter().find_map(|usual| names.iter().position(|name| name.trim().eq_ignore_ascii_case(usual))),
    };
    let chosen = chosen.ok_or_else(|| no_column(path, "label column", &names))?;
    // A word such as `U` among numbers, or `None` among names, was taken for a missing value. In a column of labels it is a class.
    let again = match FileKind::of(path)? {
        FileKind::Text if table.columns[chosen].values.missing() > 0 => {
            Some(read_csv(path, None, Some(format!("#{}", chosen + 1)))?.table)
        }
        _ => None,
    };
    match &again.as_ref().unwrap_or(&table).columns[chosen].values {
        Values::Numbers(cells) => {
            let whole = |cell: &f64| cell.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(cell);
            match cells.iter().all(whole) {
                true => Ok(LabelList::Numbers(cells.iter().map(|&cell| cell as Label).collect())),
                false => {
                    let texts: Vec<String> = cells.iter().map(|&cell| number_text(cell)).collect();
                    names_of(path, missing, texts.iter().map(String::as_str))
                }
            }
        }
        Values::Text { codes, levels } => {
            names_of(path, missing, codes.iter().map(|&code| levels.get(code as usize).map_or("", String::as_str)))
        }
    }
}

/// The label column of a Parquet file: the one that was named, the only one, or one with a usual name.
pub(super) fn label_leaf(file: &ParquetFile, column: Option<&str>, usual: &[&str]) -> Result<Leaf> {
    let leaves: Vec<Leaf> = file.leaves().into_iter().filter(Leaf::is_cell).collect();
    let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
    let called = |wanted: &str| names.iter().position(|name| name.trim().eq_ignore_ascii_case(wanted));
    let chosen = match column {
        Some(name) => names.iter().position(|known| known == name).or_else(|| called(name)),
        None if names.len() == 1 => Some(0),
        None => usual.iter().find_map(|usual| called(usual)),
    };
    match (chosen, column) {
        (Some(at), _) => Ok(leaves[at].clone()),
        (None, Some(name)) => {
            let problem = format!("has no column '{name}': there are {}", names.join(", "));
            Err(DataError::format(file.path(), Place::File, problem))
        }
        (None, None) => Err(no_column(file.path(), "label column", &names)),
    }
}

/// The labels of a Parquet file, one row group at a time on all cores; nothing else of it is read.
pub(super) fn parquet_labels(file: &ParquetFile, leaf: &Leaf, missing: MissingRows) -> Result<LabelList> {
    let groups: Vec<usize> = (0..file.groups()).collect();
    // A few groups at a time, so that their texts are never all in memory.
    let mut all = LabelList::Numbers(Vec::new());
    for wave in groups.chunks(2 * rayon::current_num_threads()) {
        let lists: Vec<LabelList> =
            wave.par_iter().map(|&group| group_labels(file, group, leaf, missing)).collect::<Result<_>>()?;
        lists.into_iter().for_each(|list| all.append(list));
    }
    Ok(all)
}

/// The labels of the first rows.
pub(super) fn first_labels(file: &ParquetFile, leaf: &Leaf) -> Result<LabelList> {
    group_labels(file, 0, leaf, MissingRows::Skip)
}

fn group_labels(file: &ParquetFile, group: usize, leaf: &Leaf, missing: MissingRows) -> Result<LabelList> {
    let no_label = |row: usize| {
        let place = Place::Row((file.first_row(group) + row) as u64);
        DataError::format(file.path(), place, "has no label: label it, or remove the row")
    };
    if leaf.is_whole() {
        if let Some(labels) = file.whole_labels(group, leaf)? {
            let lacking = || labels.iter().position(|&label| label == NO_LABEL);
            return match (missing == MissingRows::Refuse).then(lacking).flatten() {
                Some(row) => Err(no_label(row)),
                None => Ok(LabelList::Numbers(labels)),
            };
        }
    } else if leaf.is_number() {
        let numbers = file.numbers(group, std::slice::from_ref(leaf))?.remove(0);
        let text = |cell: f64| match leaf.is_truth() {
            true if cell == 1.0 => TRUE.to_owned(),
            true if cell == 0.0 => FALSE.to_owned(),
            _ => number_text(cell),
        };
        let texts = numbers.iter().map(|&cell| text(cell));
        return names_in(texts.map(|text| (!text.is_empty()).then_some(text)), missing).map_err(no_label);
    }
    let mut dictionary = Dictionary::default();
    let mut lacking = None;
    file.each_text(group, leaf, &mut |row, text| {
        // A word such as `NA` is a class like any other: only an empty cell has no label.
        match text.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => dictionary.push(text),
            None => {
                lacking.get_or_insert(row);
                dictionary.push_missing();
            }
        }
        Ok(())
    })?;
    match lacking.filter(|_| missing == MissingRows::Refuse) {
        Some(row) => Err(no_label(row)),
        None => Ok(LabelList::of_names(dictionary.into_parts())),
    }
}

/// Labels of texts, of which some may be missing; the first row that lacks one where that is refused.
fn names_in<T: AsRef<str>>(
    cells: impl Iterator<Item = Option<T>>,
    missing: MissingRows,
) -> std::result::Result<LabelList, usize> {
    let mut dictionary = Dictionary::default();
    for (row, cell) in cells.enumerate() {
        match cell {
            Some(cell) => dictionary.push(cell.as_ref()),
            None if missing == MissingRows::Refuse => return Err(row),
            None => dictionary.push_missing(),
        }
    }
    Ok(LabelList::of_names(dictionary.into_parts()))
}

/// Labels by name; numbers if all of them are.
fn names_of<'a>(path: &Path, missing: MissingRows, cells: impl Iterator<Item = &'a str>) -> Result<LabelList> {
    let mut dictionary = Dictionary::default();
    for (row, cell) in cells.map(str::trim).enumerate() {
        match cell {
            "" if missing == MissingRows::Refuse => {
                return Err(DataError::format(path, Place::Row(row as u64), "has no label: label it or remove it"));
            }
            word if is_no_label(word) && missing == MissingRows::Refuse => {
                let problem = format!(
                    "has no label, because \"{word}\" means that there is none: label it or remove it; if it is a class, give \
                     it another name"
                );
                return Err(DataError::format(path, Place::Row(row as u64), problem));
            }
            cell if is_no_label(cell) => dictionary.push_missing(),
            cell => dictionary.push(cell),
        }
    }
    Ok(LabelList::of_names(dictionary.into_parts()))
}

fn no_column(path: &Path, what: &str, names: &[String]) -> DataError {
    let shown: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
    let problem = format!("no {what} with a usual name among {}: name it with --label", shown.join(", "));
    DataError::format(path, Place::File, problem)
}
