//! [`TableRules`]: how the columns of a table become features. `fit.rs` fits the rules on the training rows only, `features.rs`
//! applies them, `notes.rs` tells people about them.
//!
//! - A number x becomes `(x − mean) / std`, with mean and standard deviation of the training rows that have a value. (A column
//!   that never changes gives 0.) A missing number becomes the mean, which is 0; if a training row misses the number, a second
//!   column `name is missing` (0 or 1) is added.
//! - Texts of several words that mostly differ, or that were named, are kept as they are and read by their words
//!   ([`Rule::Words`]).
//! - Other text becomes one 0/1 column for each of the [`MOST_LEVELS`] most frequent levels in training. Rarer levels share
//!   `name=(other)`. Missing text has the column `name=(missing)`, if a training row misses the text. A level that training
//!   did not have is all zeros.
//! - Short text that differs in more than half of the rows (a name, a code) is left out: such levels say nothing about new
//!   rows.

use crate::table::columns::ColumnKind;
use crate::table::number::Notation;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The most levels of a text column that get a 0/1 column of their own.
pub const MOST_LEVELS: usize = 100;

/// The rules of a table's columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableRules {
    /// The label column.
    pub label: Option<String>,
    /// The column that names the rows.
    pub id: Option<String>,
    /// Whether the first line is a header (CSV).
    pub header: bool,
    /// The character between the cells (CSV).
    pub delimiter: Option<char>,
    /// One per feature column, in the order of the training file.
    pub columns: Vec<ColumnRule>,
}

/// What becomes of one column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnRule {
    /// Its name.
    pub name: String,
    /// Its rule.
    pub rule: Rule,
}

/// How a cell becomes features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rule {
    /// `(x − mean) / std`.
    Number {
        /// Over the training rows that have a value.
        #[serde(with = "exact")]
        mean: f64,
        /// Over the same rows (divided by their number); 1 if it would be 0.
        #[serde(with = "exact")]
        std: f64,
        /// Whether a second column marks missing values.
        missing: bool,
        /// How the numbers are written.
        #[serde(default, skip_serializing_if = "is_plain")]
        notation: Notation,
    },
    /// One 0/1 column per level.
    Text {
        /// The levels with a column of their own, alphabetical.
        levels: Vec<String>,
        /// Whether rarer levels share a column.
        other: bool,
        /// Whether missing text has a column.
        missing: bool,
    },
    /// Kept as text beside the features: [`Dataset::texts`](tares_core::Dataset::texts).
    Words,
    /// Left out.
    Ignored,
}

fn is_plain(notation: &Notation) -> bool {
    *notation == Notation::default()
}

impl Rule {
    /// Whether its numbers are days since 1970.
    pub(crate) fn is_date(&self) -> bool {
        matches!(self, Self::Number { notation, .. } if notation.dates)
    }

    /// Features it makes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { missing, .. } => 1 + usize::from(*missing),
            Self::Text { levels, other, missing } => levels.len() + usize::from(*other) + usize::from(*missing),
            Self::Words | Self::Ignored => 0,
        }
    }
}

impl TableRules {
    /// Features per row.
    pub fn width(&self) -> usize {
        self.columns.iter().map(|column| column.rule.width()).sum()
    }

    /// The name of every feature: `age`, `age is missing`, `colour=red`, ….
    pub fn feature_names(&self) -> Vec<String> {
        let mut names = Vec::with_capacity(self.width());
        for ColumnRule { name, rule } in &self.columns {
            match rule {
                Rule::Number { missing, .. } => {
                    names.push(name.clone());
                    names.extend(missing.then(|| format!("{name} is missing")));
                }
                Rule::Text { levels, other, missing } => {
                    names.extend(levels.iter().map(|level| format!("{name}={level}")));
                    names.extend(other.then(|| format!("{name}=(other)")));
                    names.extend(missing.then(|| format!("{name}=(missing)")));
                }
                Rule::Words | Rule::Ignored => {}
            }
        }
        names
    }

    /// What the columns held in training.
    pub(crate) fn kinds(&self) -> HashMap<String, ColumnKind> {
        let kind = |rule: &Rule| match rule {
            Rule::Number { notation, .. } => Some(ColumnKind::Number(notation.clone())),
            Rule::Text { .. } | Rule::Words => Some(ColumnKind::Text),
            Rule::Ignored => None,
        };
        self.columns.iter().filter_map(|column| Some((column.name.clone(), kind(&column.rule)?))).collect()
    }
}

/// Numbers as text in the file: JSON readers may lose the last bit of a number, and new rows must be scaled exactly like
/// the training rows.
mod exact {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let finite = text.parse().ok().filter(|value: &f64| value.is_finite());
        finite.ok_or_else(|| D::Error::custom(format!("'{text}' is not a finite number")))
    }
}

#[cfg(test)]
pub(in crate::table) mod tests {
    use super::*;
    use crate::table::DecimalMark;
    use crate::table::columns::{Column, RawTable, Values};

    pub(in crate::table) fn table(columns: Vec<(&str, Values)>) -> RawTable {
        let rows = match &columns[0].1 {
            Values::Numbers(numbers) => numbers.len(),
            Values::Text { codes, .. } => codes.len(),
        };
        let columns = columns.into_iter().map(|(name, values)| Column::new(name, values)).collect();
        let mut lines = crate::table::lines::Lines::default();
        (0..rows as u64).for_each(|row| lines.push(row + 2));
        RawTable { path: "t.csv".into(), columns, rows, lines: Some(lines), ..RawTable::default() }
    }

    pub(in crate::table) fn text(cells: &[&str]) -> Values {
        let mut dictionary = crate::table::columns::Dictionary::default();
        cells.iter().for_each(|cell| if cell.is_empty() { dictionary.push_missing() } else { dictionary.push(cell) });
        dictionary.into_values()
    }

    pub(in crate::table) fn rules(table: &RawTable, train: &[usize]) -> TableRules {
        let columns = TableRules::fit(table, train, &[], true).unwrap();
        TableRules { label: None, id: None, header: true, delimiter: None, columns }
    }

    #[test]
    fn only_training_rows_shape_the_rules() {
        let table = table(vec![("a", Values::Numbers(vec![1.0, 3.0, 1e9])), ("c", text(&["x", "y", "unseen"]))]);
        let rules = rules(&table, &[0, 1]);
        assert_eq!(
            rules.columns[0].rule,
            Rule::Number { mean: 2.0, std: 1.0, missing: false, notation: Notation::default() }
        );
        assert_eq!(rules.feature_names(), ["a", "c=x", "c=y"]);
        let features = rules.features(&table).unwrap();
        assert_eq!(features[..6], [-1.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        assert_eq!(features[6..], [1e9 - 2.0, 0.0, 0.0]);
    }

    #[test]
    fn missing_values_become_the_mean_and_are_marked() {
        let table = table(vec![("a", Values::Numbers(vec![2.0, f64::NAN, 4.0])), ("c", text(&["x", "", "x"]))]);
        let rules = rules(&table, &[0, 1, 2]);
        assert_eq!(rules.feature_names(), ["a", "a is missing", "c=x", "c=(missing)"]);
        assert_eq!(rules.features(&table).unwrap(), [-1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0]);
    }

    #[test]
    fn columns_are_found_by_name_in_new_files() {
        let train = table(vec![("a", Values::Numbers(vec![0.0, 2.0])), ("b", Values::Numbers(vec![5.0, 7.0]))]);
        let rules = rules(&train, &[0, 1]);
        let new = table(vec![("b", Values::Numbers(vec![7.0])), ("a", Values::Numbers(vec![0.0]))]);
        assert_eq!(rules.features(&new).unwrap(), [-1.0, 1.0]);
        let text = table(vec![("b", text(&["oops"])), ("a", Values::Numbers(vec![0.0]))]);
        assert_eq!(
            rules.features(&text).unwrap_err().to_string(),
            "t.csv: line 2: column \"b\" held numbers in training and holds \"oops\" here"
        );
    }

    #[test]
    fn a_column_that_never_changes_gives_zero_and_a_comment_column_is_left_out() {
        let comments: Vec<String> = (0..50).map(|i| format!("comment {i}")).collect();
        let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
        let table = table(vec![("constant", Values::Numbers(vec![0.1; 50])), ("comment", text(&comments))]);
        let rules = rules(&table, &(0..50).collect::<Vec<_>>());
        assert_eq!(rules.columns[1].rule, Rule::Ignored);
        assert!(rules.features(&table).unwrap().iter().all(|&value| value == 0.0));
    }

    #[test]
    fn rare_levels_share_a_column() {
        let cells: Vec<String> = (0..1000).map(|i| format!("{:03}", i % 150)).collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let table = table(vec![("c", text(&cells))]);
        let rules = rules(&table, &(0..1000).collect::<Vec<_>>());
        assert_eq!(rules.width(), MOST_LEVELS + 1);
        let features = rules.features(&table).unwrap();
        assert!(features.chunks(rules.width()).all(|row| row.iter().sum::<f32>() == 1.0));
    }

    #[test]
    fn survives_a_round_trip_through_json() {
        let mut table = table(vec![("a", Values::Numbers(vec![0.1, 2.7])), ("c", text(&["x", ""]))]);
        table.columns[0].notation =
            Notation { mark: DecimalMark::Comma, percent: true, missing_word: Some("-".into()), dates: false };
        let rules = rules(&table, &[0, 1]);
        let json = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<TableRules>(&json).unwrap(), rules);
    }
}
