//! [`TableRules`]: how the columns of a table become features. The rules are fitted on the training rows only:
//! - a number x becomes `(x − mean) / std`, the mean and standard deviation over the training rows that have a value
//!   (a column that never changes gives 0); a missing number becomes the mean, i.e. 0, and a second column `name is missing`
//!   (0 or 1) is added if a training row misses it;
//! - text becomes one 0/1 column per level seen in training, the [`MOST_LEVELS`] most frequent; rarer ones share
//!   `name=(other)`; missing text has its own level `name=(missing)` if training has one; a level never seen is all zeros;
//! - text that differs in more than half of the rows (a name, a comment) says nothing and is left out.

use crate::error::{DataError, Place, Result};
use crate::source::ColumnFound;
use crate::table::columns::{Column, ColumnKind, LeftOut, MISSING, RawTable, Values};
use crate::table::number::Notation;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use tares_core::Error;

/// A text column gets at most so many columns of its own.
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
    /// Left out.
    Ignored,
}

fn is_plain(notation: &Notation) -> bool {
    *notation == Notation::default()
}

impl Rule {
    /// Features it makes.
    pub fn width(&self) -> usize {
        match self {
            Self::Number { missing, .. } => 1 + usize::from(*missing),
            Self::Text { levels, other, missing } => levels.len() + usize::from(*other) + usize::from(*missing),
            Self::Ignored => 0,
        }
    }
}

impl TableRules {
    /// Fits the rules of the feature columns on the rows `train`.
    ///
    /// # Errors
    /// No column that says anything; numbers too large to average.
    pub(crate) fn fit(table: &RawTable, train: &[usize], standardise: bool) -> Result<Vec<ColumnRule>> {
        let rule = |column: &Column| {
            let rule = match &column.values {
                Values::Numbers(numbers) => fit_numbers(table, column, numbers, train, standardise)?,
                Values::Text { codes, levels } => fit_text(codes, levels, train),
            };
            Ok(ColumnRule { name: column.name.clone(), rule })
        };
        let rules = table.columns.iter().map(rule).collect::<Result<Vec<_>>>()?;
        if rules.iter().all(|column| column.rule.width() == 0) {
            let source = Error::value("table", "at least one column of features", "none besides label and id");
            return Err(DataError::content(&table.path, source));
        }
        Ok(rules)
    }

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
                Rule::Ignored => {}
            }
        }
        names
    }

    /// The features of all rows of a table. Columns are found by name; their order may differ from training.
    ///
    /// # Errors
    /// A column of training is not there, or holds text instead of numbers.
    pub(crate) fn features(&self, table: &RawTable) -> Result<Vec<f32>> {
        let width = self.width();
        let mut features = vec![0f32; width * table.rows];
        let mut start = 0;
        for ColumnRule { name, rule } in self.columns.iter().filter(|column| column.rule.width() > 0) {
            let values = &table.columns[table.position(name)?].values;
            fill(&mut features, width, start, rule, values).map_err(|row| {
                let cell = match values {
                    Values::Text { codes, levels } => levels.get(codes[row] as usize).map_or("", String::as_str),
                    Values::Numbers(_) => "",
                };
                let problem = format!("column \"{name}\" held numbers in training and holds \"{cell}\" here");
                DataError::format(&table.path, table.place(row), problem)
            })?;
            start += rule.width();
        }
        Ok(features)
    }

    /// What a person should see of the columns.
    pub(crate) fn found(&self, table: &RawTable) -> Vec<ColumnFound> {
        let ignored = self.ignored(table);
        let why = |name: &str| ignored.iter().find(|column| column.name == name).map_or("", |column| &column.why);
        let column = |column: &ColumnRule| ColumnFound {
            name: column.name.clone(),
            role: match &column.rule {
                Rule::Number { .. } => "number".into(),
                Rule::Text { levels, .. } => format!("text, {} levels", levels.len()),
                Rule::Ignored => format!("left out ({})", why(&column.name)),
            },
            missing: table.position(&column.name).map_or(0, |position| table.columns[position].values.missing()),
        };
        let named = |name: &Option<String>, role: &str| {
            name.as_ref().map(|name| ColumnFound { name: name.clone(), role: role.into(), missing: 0 })
        };
        let left_out = table.left_out.iter().map(|column| ColumnFound {
            name: column.name.clone(),
            role: format!("left out ({})", column.why),
            missing: 0,
        });
        let special = named(&self.label, "label").into_iter().chain(named(&self.id, "id"));
        self.columns.iter().map(column).chain(left_out).chain(special).collect()
    }

    /// Columns without a rule, and why.
    fn ignored(&self, table: &RawTable) -> Vec<LeftOut> {
        let ignored = self.columns.iter().filter(|column| column.rule == Rule::Ignored);
        let why = |name: &str| {
            let column = table.columns.iter().find(|column| column.name == name);
            match column.is_some_and(|column| column.values.missing() < table.rows) {
                true => "text that differs in nearly every row",
                false => "has no value in any row",
            }
        };
        ignored.map(|column| LeftOut { name: column.name.clone(), why: why(&column.name).into() }).collect()
    }

    /// A sentence for every column that is not used as it stands.
    pub(crate) fn notes(&self, table: &RawTable) -> Vec<String> {
        let shared = |column: &ColumnRule| match &column.rule {
            Rule::Text { other: true, .. } => Some(format!(
                "column \"{}\" has more than {MOST_LEVELS} different texts: the rarer ones share one feature",
                column.name
            )),
            _ => None,
        };
        let left_out = table.left_out.iter().cloned().chain(self.ignored(table));
        let left_out: Vec<String> = left_out.map(|column| column.sentence()).collect();
        table.notes.iter().cloned().chain(left_out).chain(self.columns.iter().filter_map(shared)).collect()
    }

    /// What the columns held in training.
    pub(crate) fn kinds(&self) -> HashMap<String, ColumnKind> {
        let kind = |rule: &Rule| match rule {
            Rule::Number { notation, .. } => Some(ColumnKind::Number(notation.clone())),
            Rule::Text { .. } => Some(ColumnKind::Text),
            Rule::Ignored => None,
        };
        self.columns.iter().filter_map(|column| Some((column.name.clone(), kind(&column.rule)?))).collect()
    }
}

/// Writes the features of one column; the error is the first row whose text should be a number.
fn fill(
    features: &mut [f32],
    width: usize,
    start: usize,
    rule: &Rule,
    values: &Values,
) -> std::result::Result<(), usize> {
    let rows = features.chunks_exact_mut(width).map(|row| &mut row[start..]);
    match (rule, values) {
        (Rule::Number { mean, std, missing, .. }, Values::Numbers(numbers)) => {
            for (row, number) in rows.zip(numbers) {
                if number.is_nan() {
                    row[1..1 + usize::from(*missing)].fill(1.0);
                } else {
                    // A far outlier must stay finite as a 32-bit number.
                    row[0] = (((number - mean) / std).clamp(f64::from(f32::MIN), f64::from(f32::MAX))) as f32;
                }
            }
        }
        (Rule::Number { missing, notation, .. }, Values::Text { codes, levels }) => {
            if let Some(row) = first_text(codes, levels, notation) {
                return Err(row);
            }
            rows.for_each(|row| row[1..1 + usize::from(*missing)].fill(1.0));
        }
        (Rule::Text { levels, other, missing }, values) => {
            let (codes, texts) = values.clone().into_text();
            let place: HashMap<&str, usize> = levels.iter().enumerate().map(|(i, level)| (level.as_str(), i)).collect();
            let place: Vec<Option<usize>> = texts
                .iter()
                .map(|text| place.get(text.as_str()).copied().or_else(|| other.then_some(levels.len())))
                .collect();
            for (row, &code) in rows.zip(&codes) {
                let hot = match code {
                    MISSING => missing.then_some(levels.len() + usize::from(*other)),
                    code => place[code as usize],
                };
                hot.into_iter().for_each(|hot| row[hot] = 1.0);
            }
        }
        (Rule::Ignored, _) => {}
    }
    Ok(())
}

/// The first row whose text is no number in this notation, else the first that has a value.
fn first_text(codes: &[u32], levels: &[String], notation: &Notation) -> Option<usize> {
    let is_number: Vec<bool> = levels.iter().map(|level| notation.parse(level).is_some()).collect();
    let odd = codes.iter().position(|&code| code != MISSING && !is_number[code as usize]);
    odd.or_else(|| codes.iter().position(|&code| code != MISSING))
}

fn fit_numbers(table: &RawTable, column: &Column, numbers: &[f64], train: &[usize], standardise: bool) -> Result<Rule> {
    let notation = column.notation.clone();
    let present = || train.iter().map(|&row| numbers[row]).filter(|number| !number.is_nan());
    let missing = train.iter().any(|&row| numbers[row].is_nan());
    if !standardise {
        return Ok(Rule::Number { mean: 0.0, std: 1.0, missing, notation });
    }
    let count = present().count().max(1) as f64;
    let mean = present().sum::<f64>() / count;
    let variance = present().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
    if !variance.is_finite() {
        let problem = format!("column \"{}\" holds numbers too large to average", column.name);
        return Err(DataError::format(&table.path, Place::File, problem));
    }
    // Rounding leaves a constant column with a variance of the order of (mean · ε)²: dividing by it would blow up noise.
    if variance.sqrt() <= 1e-12 * mean.abs() || variance == 0.0 {
        return Ok(Rule::Number { mean: present().next().unwrap_or(0.0), std: 1.0, missing, notation });
    }
    Ok(Rule::Number { mean, std: variance.sqrt(), missing, notation })
}

fn fit_text(codes: &[u32], levels: &[String], train: &[usize]) -> Rule {
    let mut counts = vec![0usize; levels.len()];
    let mut missing = 0;
    for &row in train {
        match codes[row] {
            MISSING => missing += 1,
            code => counts[code as usize] += 1,
        }
    }
    let mut seen: Vec<usize> = (0..levels.len()).filter(|&level| counts[level] > 0).collect();
    let present = train.len() - missing;
    if seen.is_empty() || (seen.len() > 20 && seen.len() * 2 > present) {
        return Rule::Ignored;
    }
    seen.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| levels[a].cmp(&levels[b])));
    let other = seen.len() > MOST_LEVELS;
    seen.truncate(MOST_LEVELS);
    let mut levels: Vec<String> = seen.into_iter().map(|level| levels[level].clone()).collect();
    levels.sort_unstable();
    Rule::Text { levels, other, missing: missing > 0 }
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
mod tests {
    use super::*;
    use crate::table::DecimalMark;

    fn table(columns: Vec<(&str, Values)>) -> RawTable {
        let rows = match &columns[0].1 {
            Values::Numbers(numbers) => numbers.len(),
            Values::Text { codes, .. } => codes.len(),
        };
        let columns = columns.into_iter().map(|(name, values)| Column::new(name, values)).collect();
        let mut lines = crate::table::columns::Lines::default();
        (0..rows as u64).for_each(|row| lines.push(row + 2));
        RawTable { path: "t.csv".into(), columns, rows, lines: Some(lines), ..RawTable::default() }
    }

    fn text(cells: &[&str]) -> Values {
        let mut dictionary = crate::table::columns::Dictionary::default();
        cells.iter().for_each(|cell| if cell.is_empty() { dictionary.push_missing() } else { dictionary.push(cell) });
        dictionary.into_values()
    }

    fn rules(table: &RawTable, train: &[usize]) -> TableRules {
        let columns = TableRules::fit(table, train, true).unwrap();
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
            Notation { mark: DecimalMark::Comma, percent: true, missing_word: Some("-".into()) };
        let rules = rules(&table, &[0, 1]);
        let json = serde_json::to_string(&rules).unwrap();
        assert_eq!(serde_json::from_str::<TableRules>(&json).unwrap(), rules);
    }

    #[test]
    fn every_column_that_is_not_used_as_it_stands_is_named() {
        let comments: Vec<String> = (0..300).map(|i| format!("comment {i}")).collect();
        let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
        let cities: Vec<String> = (0..300).map(|i| format!("city {}", i % 150)).collect();
        let cities: Vec<&str> = cities.iter().map(String::as_str).collect();
        let mut table = table(vec![("comment", text(&comments)), ("city", text(&cities)), ("empty", text(&[""; 300]))]);
        table.left_out.push(LeftOut { name: "tags".into(), why: "holds lists".into() });
        table.notes.push("column \"price\" has decimal commas".into());
        let rules = rules(&table, &(0..300).collect::<Vec<_>>());
        assert_eq!(
            rules.notes(&table),
            [
                "column \"price\" has decimal commas",
                "column \"tags\" is left out (holds lists)",
                "column \"comment\" is left out (text that differs in nearly every row)",
                "column \"empty\" is left out (has no value in any row)",
                "column \"city\" has more than 100 different texts: the rarer ones share one feature",
            ]
        );
        let roles: Vec<String> = rules.found(&table).into_iter().map(|column| column.role).collect();
        assert_eq!(roles[3], "left out (holds lists)");
        assert_eq!(roles[0], "left out (text that differs in nearly every row)");
    }
}
