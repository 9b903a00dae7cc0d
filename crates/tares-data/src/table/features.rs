//! Applies rules: the cells of a table become features.

use super::columns::{MISSING, RawTable, Values};
use super::number::Notation;
use super::rules::{ColumnRule, Rule, TableRules};
use crate::error::{DataError, Result};
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
        (Rule::Words | Rule::Ignored, _) => {}
    }
    Ok(())
}

/// The first row whose text is no number in this notation, else the first that has a value.
fn first_text(codes: &[u32], levels: &[String], notation: &Notation) -> Option<usize> {
    let is_number: Vec<bool> = levels.iter().map(|level| notation.parse(level).is_some()).collect();
    let odd = codes.iter().position(|&code| code != MISSING && !is_number[code as usize]);
    odd.or_else(|| codes.iter().position(|&code| code != MISSING))
}
