//! [`RawTable`]: columns of numbers and text as CSV, Parquet and NPY give them, before they become features.

use crate::error::{DataError, Place, Result};
use crate::table::Notation;
use crate::table::lines::Lines;
use crate::table::recent::RecentTexts;
use std::collections::HashMap;
use std::path::PathBuf;
use tares_core::Error;

/// A code for "no value" in a text column.
pub(crate) const MISSING: u32 = u32::MAX;

/// Spellings of "no value", besides the empty cell: those of pandas, R and SQL, and the errors a spreadsheet leaves behind.
/// Spaces around a cell don't count.
pub const MISSING_WORDS: [&str; 25] = [
    "NA", "N/A", "n/a", "<NA>", "#N/A", "#NA", "#N/A N/A", "NaN", "nan", "-nan", "-NaN", "null", "NULL", "Null",
    "None", "none", "?", "1.#QNAN", "-1.#IND", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!",
];

/// Those of them that are a class where they stand in a label column: people call classes so, and programs leave the cell empty.
/// The others are written by programs (R, SQL, spreadsheets) or ask for the label (`?`): such a row has none.
pub const CLASS_WORDS: [&str; 4] = ["None", "none", "N/A", "n/a"];

/// No word of [`MISSING_WORDS`] is longer.
const LONGEST_WORD: usize = 8;

/// Names that mark the label column when the user does not name it.
pub const LABEL_NAMES: [&str; 6] = ["label", "labels", "class", "target", "category", "y"];

/// True if a cell holds no value.
pub(crate) fn is_missing(cell: &str) -> bool {
    cell.is_empty() || (cell.len() <= LONGEST_WORD && MISSING_WORDS.contains(&cell))
}

/// True if a cell of a label column says that its row has no label.
pub(crate) fn is_no_label(cell: &str) -> bool {
    is_missing(cell) && !CLASS_WORDS.contains(&cell)
}

/// Columns of equal length, as a file has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawTable {
    /// The file, for messages.
    pub path: PathBuf,
    /// The columns, in the file's order.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: usize,
    /// The line on which each row begins, if the file has lines.
    pub lines: Option<Lines>,
    /// Columns that cannot become features.
    pub left_out: Vec<LeftOut>,
    /// A sentence for every column that is not read as it stands.
    pub notes: Vec<String>,
}

/// A column that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// The reason, as in `holds lists`.
    pub why: String,
}

impl LeftOut {
    /// The column and the reason in one sentence.
    pub(crate) fn sentence(&self) -> String {
        format!("column \"{}\" is left out ({})", self.name, self.why)
    }
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its cells.
    pub values: Values,
    /// How its numbers were written.
    pub notation: Notation,
    /// Whether the file gave it no name, so that it is called by its number.
    pub unnamed: bool,
}

impl Column {
    /// A column whose cells are taken as they stand.
    pub fn new(name: impl Into<String>, values: Values) -> Self {
        Self { name: name.into(), values, notation: Notation::default(), unnamed: false }
    }
}

/// What a column held where the rules were fitted, so that other rows are read alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Numbers, written so.
    Number(Notation),
    /// Text.
    Text,
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
    every_word: bool,
}

impl Dictionary {
    /// For the cells of labels and names of rows: where [`append`](Self::append) adds them, only empty cells are missing.
    pub fn of_every_word() -> Self {
        Self { every_word: true, ..Self::default() }
    }

    /// Cells that were put into codes before.
    pub fn from_parts(codes: Vec<u32>, levels: Vec<String>) -> Self {
        let seen = levels.iter().enumerate().map(|(code, level)| (level.clone(), code as u32)).collect();
        Self { codes, levels, seen, every_word: false }
    }

    pub fn push(&mut self, cell: &str) {
        let code = self.code(cell);
        self.codes.push(code);
    }

    /// The code of a text, which is kept if it is new.
    pub fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.seen.get(text) {
            return code;
        }
        let code = self.levels.len() as u32;
        self.levels.push(text.to_owned());
        self.seen.insert(text.to_owned(), code);
        code
    }

    /// Adds the cells of a block.
    pub fn append(&mut self, block: &RecentTexts) {
        let code = |level| match self.every_word || !is_missing(level) {
            true => self.code(level),
            false => MISSING,
        };
        let codes: Vec<u32> = block.levels().map(code).collect();
        let code = |&code: &u32| if code == MISSING { MISSING } else { codes[code as usize] };
        self.codes.extend(block.codes.iter().map(code));
    }

    /// Makes room for so many more cells.
    pub fn reserve(&mut self, cells: usize) {
        self.codes.reserve(cells);
    }

    /// Adds a cell by the code of its text.
    pub fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    pub fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    pub fn levels(&self) -> &[String] {
        &self.levels
    }

    pub fn into_parts(self) -> (Vec<u32>, Vec<String>) {
        (self.codes, self.levels)
    }

    pub fn into_values(self) -> Values {
        Values::Text { codes: self.codes, levels: self.levels }
    }
}

impl RawTable {
    /// The position of a column by name or, as `#3`, by number from 1.
    ///
    /// # Errors
    /// No such column; the message names the nearest, or all.
    pub fn position(&self, wanted: &str) -> Result<usize> {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        position(&names, wanted).map_err(|source| DataError::content(&self.path, source))
    }

    /// A column that a model was trained on.
    ///
    /// # Errors
    /// The table does not have it.
    pub(crate) fn needed(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| column.name == name).ok_or_else(|| {
            let names: Vec<String> =
                self.columns.iter().take(20).map(|column| format!("\"{}\"", column.name)).collect();
            let more = if self.columns.len() > names.len() { ", …" } else { "" };
            let problem = format!(
                "does not have column \"{name}\", which the model needs: its columns are {}{more}",
                names.join(", ")
            );
            DataError::format(&self.path, Place::File, problem)
        })
    }

    /// Takes a column out as text.
    pub(crate) fn take_text(&mut self, wanted: &str) -> Result<(Vec<u32>, Vec<String>)> {
        let position = self.position(wanted)?;
        Ok(self.columns.remove(position).values.into_text())
    }

    /// Removes columns that must not be learnt from.
    pub(crate) fn leave_out(&mut self, ignore: &[String]) -> Result<()> {
        let mut places = ignore.iter().map(|name| self.position(name)).collect::<Result<Vec<_>>>()?;
        places.sort_unstable();
        places.dedup();
        places.into_iter().rev().for_each(|place| drop(self.columns.remove(place)));
        Ok(())
    }

    /// What every column holds.
    pub(crate) fn kinds(&self) -> HashMap<String, ColumnKind> {
        let kind = |column: &Column| match column.values {
            Values::Numbers(_) => ColumnKind::Number(column.notation.clone()),
            Values::Text { .. } => ColumnKind::Text,
        };
        self.columns.iter().map(|column| (column.name.clone(), kind(column))).collect()
    }

    /// The place of a row in the file, as exactly as it is known.
    pub(crate) fn place(&self, row: usize) -> Place {
        match &self.lines {
            Some(lines) => Place::Line(lines.of(row)),
            None => Place::Row(row as u64),
        }
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
    Err(Error::value("label column", "named (--label), because no column is called label, class, target or y", {
        format!("the columns {}{}", known.join(", "), if names.len() > known.len() { ", …" } else { "" })
    }))
}

/// Which columns of a file the other lacks; `None` if both have the same, in any order.
pub(crate) fn difference(there: &[String], here: &[String]) -> Option<String> {
    let lacking = |of: &[String], among: &[String]| -> Vec<String> {
        of.iter().filter(|name| !among.contains(name)).take(8).map(|name| format!("'{name}'")).collect()
    };
    let (without, more) = (lacking(there, here), lacking(here, there));
    match (without.is_empty(), more.is_empty()) {
        (true, true) => None,
        (false, true) => Some(format!("no {} here", without.join(", "))),
        (true, false) => Some(format!("{} only here", more.join(", "))),
        (false, false) => Some(format!("no {} here, but {}", without.join(", "), more.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_missing_word_is_longer_than_the_quick_check_allows() {
        assert!(MISSING_WORDS.iter().all(|word| is_missing(word)));
        assert!(!is_missing("nothing here"));
    }

    #[test]
    fn the_label_column_is_found_or_asked_for() {
        assert_eq!(label_position(&["a", "Class"], None, true), Ok(1));
        assert_eq!(label_position(&["a", "b"], None, false), Ok(1));
        assert_eq!(label_position(&["a", "b"], Some("#1"), true), Ok(0));
        assert_eq!(
            label_position(&["a", "b"], None, true).unwrap_err().to_string(),
            "label column must be named (--label), because no column is called label, class, target or y, \
             got the columns a, b"
        );
        assert_eq!(
            label_position(&["height", "species"], Some("specie"), true).unwrap_err().to_string(),
            "unknown column 'specie': did you mean species?"
        );
    }
}
