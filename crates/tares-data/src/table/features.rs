//! Applies rules: the cells of a table become features.

use super::columns::{MISSING, RawTable, Values};
use super::number::Notation;
use super::rules::{ColumnRule, Rule, TableRules};
use crate::error::{DataError, Result};
use rayon::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;
use tares_core::{Dataset, Label, Shape, TextColumn};

impl TableRules {
    /// The features of all rows of a table. Columns are found by name; their order may differ from training.
    ///
    /// # Errors
    /// A column of training is not there, or holds text instead of numbers.
    pub(crate) fn features(&self, table: &RawTable) -> Result<Vec<f32>> {
        let width = self.width();
        let (mut columns, mut start) = (Vec::new(), 0);
        for ColumnRule { name, rule } in self.columns.iter().filter(|column| column.rule.width() > 0) {
            let values = &table.columns[table.position(name)?].values;
            let cells = Cells::of(rule, values).map_err(|row| {
                let cell = match values {
                    Values::Text { codes, levels } => levels.get(codes[row] as usize).map_or("", String::as_str),
                    Values::Numbers(_) => "",
                };
                let problem = format!("column \"{name}\" held numbers in training and holds \"{cell}\" here");
                DataError::format(&table.path, table.place(row), problem)
            })?;
            columns.push((start, cells));
            start += rule.width();
        }
        let mut features = vec![0f32; width * table.rows];
        // Some rows at a time: in a pass over a whole column, every number lies on a cache line of its own.
        let blocks = features.par_chunks_mut((width * TOGETHER).max(1)).enumerate();
        blocks.for_each(|(block, features)| {
            for (start, cells) in &columns {
                cells.fill(block * TOGETHER, features.chunks_exact_mut(width).map(|row| &mut row[*start..]));
            }
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
            let (codes, levels) = table.columns[table.position(&column.name)?].values.clone().into_text();
            let levels: Vec<Arc<str>> = levels.into_iter().map(Into::into).collect();
            let text = |&code: &u32| levels.get(code as usize).cloned().unwrap_or_default();
            Ok(TextColumn::new(column.name.clone(), codes.iter().map(text)))
        };
        words.map(texts).collect()
    }
}

/// Rows that are filled together.
const TOGETHER: usize = 64;

/// The cells of a column, and what they become.
enum Cells<'a> {
    Numbers {
        numbers: &'a [f64],
        mean: f64,
        std: f64,
        /// Features that mark a missing number: 1 or none.
        marks: usize,
    },
    /// A column of numbers in training, without a single one here.
    NoNumbers { marks: usize },
    Text {
        codes: Vec<u32>,
        /// The feature of each code that is 1.
        hot: Vec<Option<usize>>,
        /// The one of a missing text.
        missing: Option<usize>,
    },
    /// Without features.
    Nothing,
}

impl<'a> Cells<'a> {
    /// The error is the first row whose text should be a number.
    fn of(rule: &Rule, values: &'a Values) -> std::result::Result<Self, usize> {
        Ok(match (rule, values) {
            (&Rule::Number { mean, std, missing, .. }, Values::Numbers(numbers)) => {
                Self::Numbers { numbers, mean, std, marks: usize::from(missing) }
            }
            (Rule::Number { missing, notation, .. }, Values::Text { codes, levels }) => {
                if let Some(row) = first_text(codes, levels, notation) {
                    return Err(row);
                }
                Self::NoNumbers { marks: usize::from(*missing) }
            }
            (Rule::Text { levels, other, missing }, values) => {
                let (codes, texts) = values.clone().into_text();
                let place: HashMap<&str, usize> =
                    levels.iter().enumerate().map(|(i, level)| (level.as_str(), i)).collect();
                let of_text = |text: &String| place.get(text.as_str()).copied();
                let hot = texts.iter().map(|text| of_text(text).or_else(|| other.then_some(levels.len()))).collect();
                Self::Text { codes, hot, missing: missing.then_some(levels.len() + usize::from(*other)) }
            }
            (Rule::Words | Rule::Ignored, _) => Self::Nothing,
        })
    }

    /// Writes the features of the rows from `first`; each of `rows` begins with this column's.
    fn fill<'r>(&self, first: usize, rows: impl Iterator<Item = &'r mut [f32]>) {
        match self {
            Self::Numbers { numbers, mean, std, marks } => {
                for (row, number) in rows.zip(&numbers[first..]) {
                    if number.is_nan() {
                        row[1..1 + marks].fill(1.0);
                    } else {
                        // A far outlier must stay finite as a 32-bit number.
                        row[0] = (((number - mean) / std).clamp(f64::from(f32::MIN), f64::from(f32::MAX))) as f32;
                    }
                }
            }
            Self::NoNumbers { marks } => rows.for_each(|row| row[1..1 + marks].fill(1.0)),
            Self::Text { codes, hot, missing } => {
                for (row, &code) in rows.zip(&codes[first..]) {
                    let hot = if code == MISSING { *missing } else { hot[code as usize] };
                    hot.into_iter().for_each(|hot| row[hot] = 1.0);
                }
            }
            Self::Nothing => {}
        }
    }
}

/// The first row whose text is no number in this notation, else the first that has a value.
fn first_text(codes: &[u32], levels: &[String], notation: &Notation) -> Option<usize> {
    let is_number: Vec<bool> = levels.iter().map(|level| notation.parse(level).is_some()).collect();
    let odd = codes.iter().position(|&code| code != MISSING && !is_number[code as usize]);
    odd.or_else(|| codes.iter().position(|&code| code != MISSING))
}
