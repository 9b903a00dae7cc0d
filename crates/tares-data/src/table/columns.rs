//! [`Table`]: columns of numbers and text as CSV, Parquet and NPY give them, before they become features.

use crate::error::{DataError, Place, Result};
use std::collections::HashMap;
use std::path::PathBuf;
use tares_core::{Error, Label};

/// A code for "no value" in a text column.
pub(crate) const MISSING: u32 = u32::MAX;

/// Spellings of "no value", besides the empty cell. Spaces around a cell don't count.
pub const MISSING_WORDS: [&str; 9] = ["NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?"];

/// Names that mark the label column when nobody says which it is.
pub const LABEL_NAMES: [&str; 6] = ["label", "labels", "class", "target", "category", "y"];

/// True if a cell holds no value.
pub(crate) fn is_missing(cell: &str) -> bool {
    cell.is_empty() || (cell.len() <= 4 && MISSING_WORDS.contains(&cell))
}

/// Columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The file, for messages.
    pub path: PathBuf,
    /// The columns, in the file's order.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: usize,
    /// The line of the file on which the data begin, if it has lines.
    pub first_line: Option<u64>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub values: Values,
}

/// The cells of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Finite numbers; NaN where there is no value.
    Numbers(Vec<f64>),
    /// Text: a code per row into `levels` (in order of appearance), `u32::MAX` where there is no value.
    Text {
        /// One per row.
        codes: Vec<u32>,
        /// The different texts.
        levels: Vec<String>,
    },
}

impl Values {
    /// Cells without a value.
    pub fn missing(&self) -> usize {
        match self {
            Self::Numbers(numbers) => numbers.iter().filter(|number| number.is_nan()).count(),
            Self::Text { codes, .. } => codes.iter().filter(|&&code| code == MISSING).count(),
        }
    }

    /// The same cells as text: numbers are written as people write them.
    pub(crate) fn into_text(self) -> (Vec<u32>, Vec<String>) {
        match self {
            Self::Text { codes, levels } => (codes, levels),
            Self::Numbers(numbers) => {
                let mut dictionary = Dictionary::default();
                numbers.iter().for_each(|number| match number.is_nan() {
                    true => dictionary.push_missing(),
                    false => dictionary.push(&number.to_string()),
                });
                dictionary.into_parts()
            }
        }
    }
}

/// Text cells, each different text kept once.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    codes: Vec<u32>,
    levels: Vec<String>,
    seen: HashMap<String, u32>,
}

impl Dictionary {
    pub fn push(&mut self, cell: &str) {
        let code = match self.seen.get(cell) {
            Some(&code) => code,
            None => {
                let code = self.levels.len() as u32;
                self.levels.push(cell.to_owned());
                self.seen.insert(cell.to_owned(), code);
                code
            }
        };
        self.codes.push(code);
    }

    pub fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    pub fn into_parts(self) -> (Vec<u32>, Vec<String>) {
        (self.codes, self.levels)
    }

    pub fn into_values(self) -> Values {
        Values::Text { codes: self.codes, levels: self.levels }
    }
}

impl Table {
    /// The position of a column by name or, as `#3`, by number from 1.
    ///
    /// # Errors
    /// No such column; the message names the nearest, or all.
    pub fn position(&self, wanted: &str) -> Result<usize> {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        position(&names, wanted).map_err(|source| DataError::content(&self.path, source))
    }

    /// The rows of `other` below these; the columns are the same. A column of numbers and text is text.
    pub(crate) fn append(mut self, other: Self) -> Self {
        self.rows += other.rows;
        for (column, more) in self.columns.iter_mut().zip(other.columns) {
            match (&mut column.values, more.values) {
                (Values::Numbers(numbers), Values::Numbers(more)) => numbers.extend(more),
                (values, more) => {
                    let own = std::mem::replace(values, Values::Numbers(Vec::new()));
                    let mut dictionary = Dictionary::default();
                    for (codes, levels) in [own.into_text(), more.into_text()] {
                        codes.iter().for_each(|&code| match code {
                            MISSING => dictionary.push_missing(),
                            code => dictionary.push(&levels[code as usize]),
                        });
                    }
                    *values = dictionary.into_values();
                }
            }
        }
        self
    }

    /// Takes a column out as text.
    pub(crate) fn take_text(&mut self, wanted: &str) -> Result<(Vec<u32>, Vec<String>)> {
        let position = self.position(wanted)?;
        Ok(self.columns.remove(position).values.into_text())
    }

    /// The place of a row in the file, as exactly as it is known.
    pub(crate) fn place(&self, row: usize) -> Place {
        match self.first_line {
            Some(first) => Place::Line(first + row as u64),
            None => Place::Row(row as u64),
        }
    }

    /// The label of every row by the classes of `class_names`.
    pub(crate) fn labels(&self, codes: &[u32], levels: &[String], class_names: &[String]) -> Result<Vec<Label>> {
        let class: HashMap<&str, Label> =
            class_names.iter().enumerate().map(|(class, name)| (name.as_str(), class as Label)).collect();
        let label_of: Vec<Option<Label>> = levels.iter().map(|level| class.get(level.as_str()).copied()).collect();
        let label = |(row, &code): (usize, &u32)| {
            if code == MISSING {
                let others = codes.iter().filter(|&&code| code == MISSING).count() - 1;
                let problem = format!("has no label ({others} more rows have none): label it or remove it");
                return Err(DataError::format(&self.path, self.place(row), problem));
            }
            label_of[code as usize].ok_or_else(|| {
                let classes = class_names.len();
                let problem = format!("label \"{}\" is not one of the {classes} classes", levels[code as usize]);
                DataError::format(&self.path, self.place(row), problem)
            })
        };
        codes.iter().enumerate().map(label).collect()
    }
}

/// The position of the column called `wanted`, or number `#k` from 1.
pub(crate) fn position(names: &[&str], wanted: &str) -> tares_core::Result<usize> {
    if let Some(position) = names.iter().position(|name| *name == wanted) {
        return Ok(position);
    }
    if let Some(number) = wanted.strip_prefix('#').and_then(|number| number.parse::<usize>().ok()) {
        return match number {
            1.. if number <= names.len() => Ok(number - 1),
            _ => Err(Error::value("column number", format!("#1 to #{}", names.len()), wanted)),
        };
    }
    let known: Vec<&str> = names.iter().copied().take(50).collect();
    Err(Error::unknown("column", wanted, &known))
}

/// Which column holds the labels: the named one; else one called like a label; else, without a header, the last.
pub(crate) fn label_position(names: &[&str], wanted: Option<&str>, header: bool) -> tares_core::Result<usize> {
    if let Some(wanted) = wanted {
        return position(names, wanted);
    }
    let called = |name: &&str| names.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
    if let Some(position) = LABEL_NAMES.iter().find_map(called) {
        return Ok(position);
    }
    if !header && !names.is_empty() {
        return Ok(names.len() - 1);
    }
    let known: Vec<&str> = names.iter().copied().take(20).collect();
    Err(Error::value("label column", "named (option label), because no column is called label, class, target or y", {
        format!("the columns {}{}", known.join(", "), if names.len() > known.len() { ", …" } else { "" })
    }))
}

/// The classes of a label column: whole numbers in order of size, anything else in alphabetical order.
pub(crate) fn classes(codes: &[u32], levels: &[String]) -> Vec<String> {
    let mut used = vec![false; levels.len()];
    codes.iter().filter(|&&code| code != MISSING).for_each(|&code| used[code as usize] = true);
    let mut names: Vec<String> =
        levels.iter().zip(used).filter(|(_, used)| *used).map(|(level, _)| level.clone()).collect();
    names.sort_by(|a, b| match (a.parse::<i64>(), b.parse::<i64>()) {
        (Ok(x), Ok(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_ordered_as_numbers_or_as_words() {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(classes(&[0, 1, 2], &owned(&["10", "9", "-1"])), owned(&["-1", "9", "10"]));
        assert_eq!(classes(&[0, 1, MISSING], &owned(&["dog", "cat", "never used"])), owned(&["cat", "dog"]));
    }

    #[test]
    fn the_label_column_is_found_or_asked_for() {
        assert_eq!(label_position(&["a", "Class"], None, true), Ok(1));
        assert_eq!(label_position(&["a", "b"], None, false), Ok(1));
        assert_eq!(label_position(&["a", "b"], Some("#1"), true), Ok(0));
        assert_eq!(
            label_position(&["a", "b"], None, true).unwrap_err().to_string(),
            "label column must be named (option label), because no column is called label, class, target or y, \
             got the columns a, b"
        );
        assert_eq!(
            label_position(&["height", "species"], Some("specie"), true).unwrap_err().to_string(),
            "unknown column 'specie': did you mean species?"
        );
    }
}
