//! Whether Parquet files are tables of probabilities with labels: told from names and from the first rows.

use super::agree::is_aside;
use super::read_labels::{GIVEN_NAMES, first_labels, label_leaf};
use super::tables::rows_of_parquet;
use super::{ClassColumns, FileKind, FileRows, ProbabilitySource, TableOptions};
use crate::error::{DataError, Place, Result};
use crate::format::parquet::ParquetFile;
use crate::table::columns::LABEL_NAMES;
use std::path::{Path, PathBuf};
use tares_core::estimate::Probabilities;

/// This many rows are looked at.
const ROWS: usize = 1000;
/// A table of probabilities may have a bad row: the audit names it. A table of features has few rows whose numbers are parts of 1.
const MOST: f64 = 0.9;

/// What files look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LooksLike {
    /// Probabilities beside labels.
    Probabilities,
    /// Something else, and why.
    Other(String),
    /// Not Parquet, or nothing in it can be read as numbers beside labels.
    Unknown,
}

/// What Parquet files look like, by the first that has rows. They hold probabilities if there is a list of them beside the labels, if most
/// columns are named after labels that are words, or if nearly all of the first rows are parts of 1.
pub fn look_at(paths: &[PathBuf], options: TableOptions<'_>) -> LooksLike {
    // Engines write files without rows too, and nothing can be told from those.
    let has_rows = |path: &&PathBuf| !matches!(rows_of_parquet(path), Ok(Some(0)));
    let first = paths.iter().find(has_rows);
    first.map_or(LooksLike::Unknown, |path| look(path, options).unwrap_or(LooksLike::Unknown))
}

fn look(path: &Path, options: TableOptions<'_>) -> Result<LooksLike> {
    if !matches!(FileKind::of(path)?, FileKind::Parquet) {
        return Ok(LooksLike::Unknown);
    }
    let usual = [&GIVEN_NAMES[..], &LABEL_NAMES].concat();
    let file = ParquetFile::open(path)?;
    let label = label_leaf(&file, options.label, &usual)?;
    let source = ProbabilitySource::open(path)?;
    let names = source.names().unwrap_or_default().to_vec();
    let index = names.iter().map(String::as_str).filter(|name| is_aside(name, &[]));
    let aside: Vec<&str> = std::iter::once(label.name.as_str()).chain(options.id).chain(index).collect();
    let source = source.without(&aside)?;
    let Some(columns) = source.names().map(<[String]>::to_vec) else {
        return Ok(look_at_rows(path, source, &[])?.unwrap_or(LooksLike::Probabilities));
    };
    let labels = first_labels(&file, &label)?.names();
    let named = ClassColumns::classes_of_names(&columns, &labels).filter(|_| labels.len() >= 2);
    // Most columns called like words: no table of features is, so the audit may say what is wrong with them.
    let are_words = labels.iter().any(|label| label.parse::<f64>().is_err());
    if named.as_ref().is_some_and(|classes| are_words && 2 * classes.len() >= columns.len()) {
        return Ok(LooksLike::Probabilities);
    }
    // Columns called like numbers may be pixels, and two of many may be called like words: rows decide. Others are no classes.
    let places = named.and_then(|classes| ClassColumns::find(&columns, &classes).ok()).map(|found| found.columns);
    let places = places.unwrap_or_else(|| (0..columns.len()).collect());
    Ok(look_at_rows(path, source, &places)?.unwrap_or(LooksLike::Unknown))
}

/// What the first rows of these columns look like; nothing if they cannot be read.
fn look_at_rows(path: &Path, source: ProbabilitySource, columns: &[usize]) -> Result<Option<LooksLike>> {
    let (rows, is_list) = (source.rows().min(ROWS), source.names().is_none());
    let width = if is_list { source.width() } else { columns.len() };
    let in_order: Vec<usize> = (0..width).collect();
    let file = source.with_columns(if is_list { &in_order } else { columns })?;
    let mut values = vec![0f64; rows * width];
    if let Err(error) = FileRows::<f64>::of(&file).read(0, &mut values) {
        // Lists of different lengths: the audit says which row is too short.
        return match is_list {
            true => Ok(None),
            false => Err(DataError::format(path, Place::File, error.to_string())),
        };
    }
    let all: Vec<&[f64]> = values.chunks_exact(width).filter(|row| !row.iter().any(|p| p.is_nan())).collect();
    let is_part =
        |row: &[f64]| row.iter().all(|&p| (-1e-6..=1.005).contains(&p)) && (row.iter().sum::<f64>() - 1.0).abs() < 5e-3;
    let parts = all.iter().filter(|row| is_part(row)).count();
    if parts > 0 && parts as f64 >= MOST * all.len() as f64 {
        return Ok(Some(LooksLike::Probabilities));
    }
    let why = match all.is_empty() {
        true => "none of the first rows has a number in every column".to_owned(),
        false => format!("the numbers of {} of the first {} rows are no parts of 1", all.len() - parts, all.len()),
    };
    Ok(Some(LooksLike::Other(why)))
}
