//! Applies rules: the cells of a table become features.

use super::columns::{MISSING, RawTable, Values};
use super::number::Notation;
use super::rules::{ColumnRule, Rule, TableRules};
use super::scale::scale;
use crate::error::{DataError, Result};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use tares_core::{Dataset, Label, Shape, TextColumn};

/// Rows that are filled together at most, column after column: long pieces of a column are read faster.
const MOST_ROWS: usize = 1 << 12;
/// Features of rows that are filled together: they stay in a core's own cache while column after column is written.
const NEAR: usize = 1 << 17;

impl TableRules {
    /// The features of all rows of a table. Columns are found by name; their order may differ from training.
    ///
    /// # Errors
    /// A column of training is not there, or holds text instead of numbers.
    pub(crate) fn features(&self, table: &RawTable) -> Result<Vec<f32>> {
        let width = self.width();
        let mut features = vec![0f32; width * table.rows];
        let mut columns = Vec::new();
        let mut start = 0;
        for ColumnRule { name, rule } in self.columns.iter().filter(|column| column.rule.width() > 0) {
            let column = table.needed(name)?;
            let held = if rule.is_date() { "dates" } else { "numbers" };
            let odd = |row: usize, cell: &str| {
                let problem = format!("column \"{name}\" held {held} in training and holds \"{cell}\" here");
                DataError::format(&table.path, table.place(row), problem)
            };
            // Days since 1970 are not the seconds, or the plain numbers, that a column without dates holds.
            if let Values::Numbers(numbers) = &column.values
                && rule.is_date()
                && !column.notation.dates
                && let Some(row) = numbers.iter().position(|number| !number.is_nan())
            {
                return Err(odd(row, &numbers[row].to_string()));
            }
            let values = &column.values;
            let cells = Cells::of(rule, values).map_err(|row| {
                let cell = match values {
                    Values::Text { codes, levels } => levels.get(codes[row] as usize).map_or("", String::as_str),
                    Values::Numbers(_) => "",
                };
                odd(row, cell)
            })?;
            columns.push((start, cells));
            start += rule.width();
        }
        let rows = (NEAR / width.max(1)).clamp(1, MOST_ROWS);
        features.par_chunks_mut((rows * width).max(1)).enumerate().for_each(|(block, features)| {
            columns.iter().for_each(|(start, cells)| cells.fill(features, width, *start, rows * block));
        });
        Ok(features)
    }

    /// All rows of a table as a data set: features, texts, labels, names of the rows.
    ///
    /// # Errors
    /// A column of training is not there or holds another kind; labels outside the classes.
    pub(crate) fn dataset(
        &self,
        table: &RawTable,
        labels: Vec<Label>,
        names: &[String],
        ids: Option<Vec<String>>,
    ) -> Result<Dataset> {
        let (features, texts) = (self.features(table)?, self.texts(table)?);
        let make = || {
            let names = names.iter().cloned();
            let data = match self.width() {
                0 => Dataset::of_texts(texts, labels, names)?,
                width => Dataset::new(features, Shape::Flat(width), labels, names)?.with_texts(texts)?,
            };
            match ids {
                Some(ids) => data.with_ids(ids),
                None => Ok(data),
            }
        };
        make().map_err(|source| DataError::content(&table.path, source))
    }

    /// The texts of all rows of a table, column by column. A missing one is empty.
    ///
    /// # Errors
    /// A column of training is not there.
    pub(crate) fn texts(&self, table: &RawTable) -> Result<Vec<TextColumn>> {
        let words = self.columns.iter().filter(|column| column.rule == Rule::Words);
        let texts = |column: &ColumnRule| {
            let (codes, levels) = table.needed(&column.name)?.values.clone().into_text();
            let levels: Vec<Arc<str>> = levels.into_iter().map(Into::into).collect();
            let text = |&code: &u32| levels.get(code as usize).cloned().unwrap_or_default();
            Ok(TextColumn::new(column.name.clone(), codes.iter().map(text)))
        };
        words.map(texts).collect()
    }
}

/// The cells of one column, ready to be written as features.
enum Cells<'a> {
    /// Numbers, to be scaled.
    Numbers { numbers: &'a [f64], mean: f64, std: f64, missing: bool },
    /// A column of numbers without a single value.
    Empty { missing: bool },
    /// Codes, and which feature is 1 for each; the feature of a missing text.
    Levels { codes: Cow<'a, [u32]>, hot: Vec<Option<usize>>, missing: Option<usize> },
}

impl<'a> Cells<'a> {
    /// The error is the first row whose text should be a number.
    fn of(rule: &Rule, values: &'a Values) -> std::result::Result<Self, usize> {
        Ok(match (rule, values) {
            (&Rule::Number { mean, std, missing, .. }, Values::Numbers(numbers)) => {
                Self::Numbers { numbers, mean, std, missing }
            }
            (Rule::Number { missing, notation, .. }, Values::Text { codes, levels }) => {
                match first_text(codes, levels, notation) {
                    Some(row) => return Err(row),
                    None => Self::Empty { missing: *missing },
                }
            }
            (Rule::Text { levels, other, missing }, values) => {
                let (codes, texts) = match values {
                    Values::Text { codes, levels } => {
                        (Cow::Borrowed(codes.as_slice()), Cow::Borrowed(levels.as_slice()))
                    }
                    numbers => {
                        let (codes, texts) = numbers.clone().into_text();
                        (Cow::Owned(codes), Cow::Owned(texts))
                    }
                };
                let place: HashMap<&str, usize> =
                    levels.iter().enumerate().map(|(place, level)| (level.as_str(), place)).collect();
                let hot = |text: &String| place.get(text.as_str()).copied().or_else(|| other.then_some(levels.len()));
                let hot = texts.iter().map(hot).collect();
                Self::Levels { codes, hot, missing: missing.then_some(levels.len() + usize::from(*other)) }
            }
            (Rule::Words | Rule::Ignored, _) => Self::Empty { missing: false },
        })
    }

    /// Writes the features from `start` on of a block of rows of `width` features, whose first row is `first`.
    fn fill(&self, features: &mut [f32], width: usize, start: usize, first: usize) {
        let rows = features.chunks_exact_mut(width).map(|row| &mut row[start..]);
        match self {
            Self::Numbers { numbers, mean, std, missing } => {
                // All are scaled before any is put into its row: that is done on several numbers at a time.
                let (numbers, mut scaled) = (&numbers[first..], [0f32; MOST_ROWS]);
                let numbers = &numbers[..rows.len().min(numbers.len())];
                let scaled = &mut scaled[..numbers.len()];
                let complete = scale(numbers, *mean, *std, scaled);
                let put = |scaled: &[f32], cells: &mut [f32]| {
                    cells.iter_mut().step_by(width).zip(scaled).for_each(|(cell, scaled)| *cell = *scaled);
                };
                if complete {
                    return put(scaled, &mut features[start..]);
                }
                // One loop for each step: then it has no branch, which nobody could foretell where some numbers are missing.
                let cells = scaled.iter_mut().zip(numbers);
                cells.for_each(|(scaled, number)| *scaled = if number.is_nan() { 0.0 } else { *scaled });
                put(scaled, &mut features[start..]);
                if *missing {
                    let marks = scaled.iter_mut().zip(numbers);
                    marks.for_each(|(mark, number)| *mark = if number.is_nan() { 1.0 } else { 0.0 });
                    put(scaled, &mut features[start + 1..]);
                }
            }
            Self::Empty { missing } => rows.for_each(|row| row[1..1 + usize::from(*missing)].fill(1.0)),
            Self::Levels { codes, hot, missing } => {
                for (row, &code) in rows.zip(&codes[first..]) {
                    let hot = if code == MISSING { *missing } else { hot[code as usize] };
                    hot.into_iter().for_each(|hot| row[hot] = 1.0);
                }
            }
        }
    }
}

/// The first row whose text is no number in this notation, else the first that has a value.
fn first_text(codes: &[u32], levels: &[String], notation: &Notation) -> Option<usize> {
    let is_number: Vec<bool> = levels.iter().map(|level| notation.parse(level).is_some()).collect();
    let odd = codes.iter().position(|&code| code != MISSING && !is_number[code as usize]);
    odd.or_else(|| codes.iter().position(|&code| code != MISSING))
}
