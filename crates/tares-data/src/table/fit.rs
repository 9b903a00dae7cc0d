//! Fits the rules of a table's columns on its training rows.

use super::columns::{Column, MISSING, RawTable, Values};
use super::moments::{Moments, moments};
use super::prose;
use super::rules::{ColumnRule, MOST_LEVELS, Rule, TableRules};
use crate::error::{DataError, Place, Result};
use tares_core::Error;

impl TableRules {
    /// Fits the rules of the feature columns on the rows `train`. Columns named in `texts` are texts.
    ///
    /// # Errors
    /// No column that says anything; a text column that is not there or holds no text; numbers too large to average.
    pub(crate) fn fit(
        table: &RawTable,
        train: &[usize],
        texts: &[String],
        standardise: bool,
    ) -> Result<Vec<ColumnRule>> {
        texts.iter().try_for_each(|name| check_text(table, name))?;
        let numbers = table.columns.iter().filter_map(|column| match &column.values {
            Values::Numbers(numbers) => Some(numbers.as_slice()),
            Values::Text { .. } => None,
        });
        let mut moments = moments(&numbers.collect::<Vec<_>>(), train).into_iter();
        let rule = |column: &Column| {
            let rule = match &column.values {
                _ if texts.contains(&column.name) => Rule::Words,
                Values::Numbers(_) => {
                    fit_numbers(table, column, &moments.next().unwrap_or_default(), train.is_empty(), standardise)?
                }
                Values::Text { codes, levels } => fit_text(codes, levels, train),
            };
            Ok(ColumnRule { name: column.name.clone(), rule })
        };
        let rules = table.columns.iter().map(rule).collect::<Result<Vec<_>>>()?;
        if rules.iter().all(|column| column.rule.width() == 0 && column.rule != Rule::Words) {
            let source = Error::value("table", "at least one column of features", nothing_left(table));
            return Err(DataError::content(&table.path, source));
        }
        Ok(rules)
    }
}

/// What a table without a feature holds, and the way out where texts were left out as names.
fn nothing_left(table: &RawTable) -> String {
    let is_text =
        |column: &&Column| matches!(column.values, Values::Text { .. }) && column.values.missing() < table.rows;
    let texts: Vec<&str> = table.columns.iter().filter(is_text).map(|column| column.name.as_str()).take(10).collect();
    match texts.first() {
        None => "none besides label and id".to_owned(),
        Some(first) => format!(
            "only short texts that differ in nearly every row, as names do ({}); --text \"{first}\" reads such a column by its words",
            texts.join(", ")
        ),
    }
}

/// Refuses a column that cannot be read as text.
fn check_text(table: &RawTable, name: &str) -> Result<()> {
    let Some(column) = table.columns.iter().find(|column| column.name == name) else {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).take(50).collect();
        return Err(DataError::content(&table.path, Error::unknown("text column", name, &names)));
    };
    let problem = match &column.values {
        values if values.missing() == table.rows => "has no text in any row",
        Values::Numbers(_) => "holds numbers, not texts",
        Values::Text { .. } => return Ok(()),
    };
    Err(DataError::format(&table.path, Place::Part(format!("text column \"{name}\"")), problem))
}

fn fit_numbers(table: &RawTable, column: &Column, moments: &Moments, no_rows: bool, standardise: bool) -> Result<Rule> {
    let notation = column.notation.clone();
    let &Moments { first, mean, variance, missing } = moments;
    // Without a single value there is nothing to learn, and new rows may hold text here.
    if first.is_none() && !no_rows {
        return Ok(Rule::Ignored);
    }
    if !standardise {
        return Ok(Rule::Number { mean: 0.0, std: 1.0, missing, notation });
    }
    if !variance.is_finite() {
        let problem = format!("column \"{}\" holds numbers too large to average", column.name);
        return Err(DataError::format(&table.path, Place::File, problem));
    }
    // Rounding leaves a constant column with a variance of the order of (mean · ε)²: dividing by it would blow up noise.
    if variance.sqrt() <= 1e-12 * mean.abs() || variance == 0.0 {
        return Ok(Rule::Number { mean: first.unwrap_or(0.0), std: 1.0, missing, notation });
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
    if seen.is_empty() {
        return Rule::Ignored;
    }
    if seen.len() > 20 && seen.len() * 2 > present {
        let texts: Vec<&str> = seen.iter().map(|&level| levels[level].as_str()).collect();
        return if prose::is_prose(&texts) { Rule::Words } else { Rule::Ignored };
    }
    seen.sort_by(|&a, &b| counts[b].cmp(&counts[a]).then_with(|| levels[a].cmp(&levels[b])));
    let other = seen.len() > MOST_LEVELS;
    seen.truncate(MOST_LEVELS);
    let mut levels: Vec<String> = seen.into_iter().map(|level| levels[level].clone()).collect();
    levels.sort_unstable();
    Rule::Text { levels, other, missing: missing > 0 }
}
