//! Who gave which row which label, from a table of any format.
//!
//! ```text
//! file → columns → long table (one answer per line) ─┐
//!                  wide table (one annotator per column) ┴→ CrowdTable → rows of the data
//! ```
//!
//! An empty cell is no answer. Cells are text, every digit kept: `007` and `7` are two names.

mod cells;
mod human;
mod long;
mod place_rows;
mod wide;

use crate::error::{DataError, Place, Result};
use crate::probabilities::LabelList;
use crate::table::columns::Dictionary;
use std::path::{Path, PathBuf};
use tares_core::Label;

/// Names that mark the column of rows when the user does not name it.
pub const ROW_NAMES: [&str; 12] =
    ["row", "index", "id", "item", "task", "question", "example", "sample", "object", "image", "file", "unit"];
/// Names of the column that says who answered.
pub const ANNOTATOR_NAMES: [&str; 10] =
    ["annotator", "worker", "rater", "who", "user", "labeler", "labeller", "coder", "judge", "performer"];
/// Names of the column that holds the answers.
pub const ANSWER_NAMES: [&str; 9] =
    ["label", "answer", "response", "what", "class", "annotation", "vote", "rating", "y"];
/// In `--wide`, means every column that does not name the rows.
pub const ALL_COLUMNS: &str = "*";

/// How a table of answers is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrowdOptions {
    /// The column that names the rows, by name or as `#3`; by its usual names if `None`.
    pub row: Option<String>,
    /// The column that names the annotators (long tables).
    pub annotator: Option<String>,
    /// The column of answers (long tables).
    pub label: Option<String>,
    /// The columns of the annotators (wide tables); [`ALL_COLUMNS`] stands for all.
    pub wide: Vec<String>,
    /// Where built-in sets of answers are looked for first.
    pub data_dir: Option<PathBuf>,
}

/// One answer: places in the lists of [`CrowdTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CrowdAnswer {
    /// The row.
    pub row: u32,
    /// The annotator.
    pub annotator: u32,
    /// The label.
    pub label: u32,
}

/// Answers as a file has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrowdTable {
    /// The file, for messages.
    pub path: PathBuf,
    /// The names of the rows, in the order of their first appearance; numbers from 0 if nothing names them.
    pub rows: Vec<String>,
    /// Whether the rows have names of their own.
    pub named: bool,
    /// The names of the annotators, in their usual order: numbers by size, then words by alphabet. Columns in the file's order.
    pub annotators: Vec<String>,
    /// The different labels, in the same order.
    pub labels: Vec<String>,
    /// All answers, in the order of the file.
    pub answers: Vec<CrowdAnswer>,
    /// True labels of the rows, where the set comes with them.
    pub truth: Option<Vec<u32>>,
    /// All classes, where the set names them, also those that no answer has.
    pub classes: Option<Vec<String>>,
    /// What a careful person should know.
    pub notes: Vec<String>,
}

impl CrowdTable {
    /// Reads a file, or a built-in set of answers (`cifar-10n`).
    ///
    /// # Errors
    /// It cannot be read; no column has a usual name and none was named; an answer without row or annotator; no answer at all.
    pub fn read(source: &str, options: &CrowdOptions) -> Result<Self> {
        if let Some(table) = human::builtin(source, options)? {
            return Ok(table);
        }
        let path = Path::new(source);
        let cells = cells::read(path, options)?;
        let table = match options.wide.is_empty() && !cells.wide {
            true => long::answers(cells, options)?,
            false => wide::answers(cells, options)?,
        };
        match table.answers.is_empty() {
            true => Err(DataError::format(path, Place::File, "holds no answer: every label is empty")),
            false => Ok(table),
        }
    }

    /// The labels as a list that can be compared with columns of probabilities.
    pub fn label_list(&self) -> LabelList {
        let codes = (0..self.labels.len() as u32).collect();
        let numbers: Option<Vec<Label>> = self.labels.iter().map(|label| label.parse().ok()).collect();
        match numbers.filter(|numbers| numbers.iter().zip(&self.labels).all(|(a, b)| a.to_string() == *b)) {
            Some(numbers) => LabelList::Numbers(numbers),
            None => LabelList::Names { codes, levels: self.labels.clone() },
        }
    }
}

/// Cells of a column as codes into their different texts; `u32::MAX` where there is none.
type TextCells = (Vec<u32>, Vec<String>);

/// Numbers the texts in their usual order: the sorted texts, and the place of every old code.
fn sorted(levels: Vec<String>) -> (Vec<String>, Vec<u32>) {
    let mut order: Vec<u32> = (0..levels.len() as u32).collect();
    let mut names = levels.clone();
    crate::probabilities::sort_classes(&mut names);
    let place: std::collections::HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    order.iter_mut().for_each(|code| *code = place[levels[*code as usize].as_str()]);
    drop(place);
    (names, order)
}

/// Texts without empty ones: spaces around a cell don't count.
fn dictionary<'a>(cells: impl Iterator<Item = &'a str>) -> TextCells {
    let mut dictionary = Dictionary::default();
    cells.for_each(|cell| match cell.trim() {
        cell if crate::table::columns::is_missing(cell) => dictionary.push_missing(),
        cell => dictionary.push(cell),
    });
    dictionary.into_parts()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read_text(text: &str, options: &CrowdOptions) -> Result<CrowdTable> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("crowd.csv");
        fs::write(&path, text).unwrap();
        CrowdTable::read(path.to_str().unwrap(), options)
    }

    fn wide(columns: &[&str]) -> CrowdOptions {
        CrowdOptions { wide: columns.iter().map(|name| (*name).to_owned()).collect(), ..CrowdOptions::default() }
    }

    fn triples(table: &CrowdTable) -> Vec<(&str, &str, &str)> {
        let of = |answer: &CrowdAnswer| {
            let (row, who) = (&table.rows[answer.row as usize], &table.annotators[answer.annotator as usize]);
            (row.as_str(), who.as_str(), table.labels[answer.label as usize].as_str())
        };
        table.answers.iter().map(of).collect()
    }

    #[test]
    fn long_and_wide_tables_hold_the_same_answers() {
        let long =
            read_text("item,worker,answer\nx,ann,cat\nx,bob,dog\ny,bob,cat\n", &CrowdOptions::default()).unwrap();
        assert_eq!(triples(&long), [("x", "ann", "cat"), ("x", "bob", "dog"), ("y", "bob", "cat")]);
        let wide = read_text("id,ann,bob\nx,cat,dog\ny,,cat\n", &wide(&["ann", "bob"])).unwrap();
        assert_eq!(triples(&wide), triples(&long));
        assert!(wide.named && wide.annotators == long.annotators && wide.labels == long.labels);
    }

    #[test]
    fn names_keep_every_digit_and_numbers_are_in_their_order() {
        let table =
            read_text("row,annotator,label\n007,10,2\n9007199254740993,9,10\n7,9,2\n", &CrowdOptions::default())
                .unwrap();
        assert_eq!(table.rows, ["007", "9007199254740993", "7"]);
        assert_eq!(
            (table.annotators.clone(), table.labels.clone()),
            (vec!["9".into(), "10".into()], vec!["2".into(), "10".into()])
        );
        assert_eq!(table.label_list(), LabelList::Numbers(vec![2, 10]));
    }

    #[test]
    fn a_headless_table_of_three_columns_is_row_annotator_label() {
        let table = read_text("0,5,1\n0,6,0\n1,5,1\n", &CrowdOptions::default()).unwrap();
        assert_eq!(triples(&table), [("0", "5", "1"), ("0", "6", "0"), ("1", "5", "1")]);
    }

    #[test]
    fn all_columns_but_the_name_of_the_row_are_annotators() {
        let table = read_text("id,a,b,c\nx,1,1,2\ny,NA,2,\n", &wide(&[ALL_COLUMNS])).unwrap();
        assert_eq!(table.annotators, ["a", "b", "c"]);
        assert_eq!(table.answers.len(), 4);
        // Without a column that names them, rows are numbered.
        let table = read_text("a,b\nx,x\ny,x\n", &wide(&["a", "b"])).unwrap();
        assert!(!table.named && table.rows == ["0", "1"]);
    }

    #[test]
    fn bad_tables_say_what_is_wrong_and_where() {
        let error = |text: &str, options: &CrowdOptions| {
            let said = read_text(text, options).unwrap_err().to_string();
            said.split_once("crowd.csv").map(|(_, rest)| rest.to_owned()).unwrap_or(said)
        };
        let plain = CrowdOptions::default();
        let unknown = CrowdOptions { annotator: Some("worke".into()), ..CrowdOptions::default() };
        assert!(error("row,worker,label\n1,a,x\n", &unknown).contains("did you mean worker?"));
        assert!(error("row,name,label\n1,a,x\n", &plain).contains("no annotator column"));
        assert!(error("row,worker,label\n1,,x\n", &plain).contains("line 2: the answer 'x' has no annotator"));
        assert!(error("row,worker,label\n,a,x\n", &plain).contains("line 2: the answer 'x' has no row"));
        assert!(error("row,worker,label\n1,a,\n", &plain).contains("holds no answer"));
        assert!(error("id,a,b\nx,1,2\nx,1,1\n", &wide(&["a", "b"])).contains("row 'x' is there twice"));
        assert!(error("id,a,b\nx,1,2\n", &wide(&["a", "c"])).contains("unknown column 'c'"));
        assert!(error("id,a,b\nx,1,2\n", &wide(&["a", "a"])).contains("'a' is named twice"));
    }
}
