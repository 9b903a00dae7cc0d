//! Columns → the numbers that a linear model multiplies: numbers to mean 0 and variance 1, one column per category, one column
//! that says where a number is missing, TF-IDF weights of texts. Fitted on the training rows alone.

use crate::error::{Result, stored, value};
use crate::labelled::Labelled;
use crate::matrix::{InputColumn, Matrix, SparseRows};
use crate::text::features::TextFeatures;
use serde::{Deserialize, Serialize};

/// How every column is encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Encoder {
    columns: Vec<Encoding>,
    texts: Vec<TextFeatures>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Encoding {
    /// (x − mean) · scale; scale 0 for a constant column. A missing number counts as the mean; if some were missing in
    /// training, an entry of its own says so.
    Number { mean: f64, scale: f64, missing: bool },
    /// An entry per level that a training row has. A missing or new level has none.
    Category { levels: u32, used: Vec<u32> },
}

/// Which entry of a block a row has, if any.
type PlaceOf<'a> = Box<dyn Fn(usize) -> Option<u32> + 'a>;

/// Encoded rows: dense columns and sparse rows.
pub(crate) struct Design {
    pub(crate) rows: usize,
    /// Column after column, each N long.
    pub(crate) dense: Vec<Vec<f32>>,
    pub(crate) sparse: SparseRows,
}

impl Encoder {
    /// # Errors
    /// No row.
    pub(crate) fn fit(data: &Labelled<'_>) -> Result<Self> {
        let columns = data
            .inputs
            .columns()
            .iter()
            .map(|column| match column {
                InputColumn::Numbers(numbers) => standardise(numbers, |row| data.weight(row)),
                InputColumn::Categories { codes, levels } => {
                    let mut seen = vec![false; *levels as usize];
                    codes.iter().filter(|code| **code < *levels).for_each(|&code| seen[code as usize] = true);
                    let used = (0..*levels).filter(|&code| seen[code as usize]).collect();
                    Encoding::Category { levels: *levels, used }
                }
            })
            .collect();
        let texts = data.inputs.texts().iter().map(TextFeatures::fit).collect::<Result<_>>()?;
        Ok(Self { columns, texts })
    }

    /// Entries per row.
    pub(crate) fn width(&self) -> usize {
        let dense = self.columns.iter().filter(|column| matches!(column, Encoding::Number { .. })).count();
        let sparse: usize = self
            .columns
            .iter()
            .map(|column| match column {
                Encoding::Number { missing, .. } => usize::from(*missing),
                Encoding::Category { used, .. } => used.len(),
            })
            .sum();
        dense + sparse + self.texts.iter().map(TextFeatures::width).sum::<usize>()
    }

    /// Encodes rows like those it was fitted on.
    ///
    /// # Errors
    /// Other columns than in training.
    pub(crate) fn encode(&self, inputs: &Matrix) -> Result<Design> {
        self.check_inputs(inputs)?;
        let mut dense = Vec::new();
        // One entry of a row: the first column of its block, and the place in it by row.
        let mut blocks: Vec<(u32, PlaceOf<'_>)> = Vec::new();
        let mut width = 0;
        for (column, encoding) in inputs.columns().iter().zip(&self.columns) {
            match (column, encoding) {
                (InputColumn::Numbers(numbers), Encoding::Number { mean, scale, missing }) => {
                    let encode = |number: &f32| match number.is_nan() {
                        true => 0.0,
                        false => ((f64::from(*number) - mean) * scale) as f32,
                    };
                    dense.push(numbers.iter().map(encode).collect());
                    if *missing {
                        blocks.push((width, Box::new(|row| numbers[row].is_nan().then_some(0))));
                        width += 1;
                    }
                }
                (InputColumn::Categories { codes, .. }, Encoding::Category { used, .. }) => {
                    blocks
                        .push((width, Box::new(|row| used.binary_search(&codes[row]).ok().map(|place| place as u32))));
                    width += used.len() as u32;
                }
                _ => unreachable!("checked above"),
            }
        }
        // A block of entries per column of text.
        let mut texts = Vec::with_capacity(self.texts.len());
        let mut first = width;
        for (features, counts) in self.texts.iter().zip(inputs.texts()) {
            texts.push((first, features.transform(counts)?));
            first += features.width() as u32;
        }
        let mut sparse = SparseRows::empty(first as usize);
        let mut entries = Vec::new();
        for row in 0..inputs.rows() {
            entries.clear();
            entries.extend(blocks.iter().filter_map(|(first, place)| Some((first + place(row)?, 1.0))));
            for (first, text) in &texts {
                let (columns, values) = text.row(row);
                entries.extend(columns.iter().zip(values).map(|(&column, &value)| (first + column, value)));
            }
            sparse.push(&entries);
        }
        Ok(Design { rows: inputs.rows(), dense, sparse })
    }

    fn check_inputs(&self, inputs: &Matrix) -> Result<()> {
        crate::error::same_length("list of columns", self.columns.len(), inputs.columns().len())?;
        for (place, pair) in inputs.columns().iter().zip(&self.columns).enumerate() {
            let expected = match pair {
                (InputColumn::Numbers(_), Encoding::Number { .. }) => continue,
                (InputColumn::Categories { .. }, Encoding::Category { .. }) => continue,
                (_, Encoding::Number { .. }) => "numbers",
                (_, Encoding::Category { .. }) => "categories",
            };
            return Err(value(&format!("column {place}"), expected, "the other kind"));
        }
        crate::error::same_length("list of text columns", self.texts.len(), inputs.texts().len())
    }

    pub(crate) fn check(&self) -> Result<()> {
        for column in &self.columns {
            match column {
                Encoding::Number { mean, scale, .. } => {
                    stored(mean.is_finite() && scale.is_finite(), "mean and scale of a column must be finite")?;
                }
                Encoding::Category { levels, used } => {
                    let ascending = used.windows(2).all(|pair| pair[0] < pair[1]);
                    stored(ascending && used.iter().all(|code| code < levels), "levels of a column must ascend")?;
                }
            }
        }
        self.texts.iter().try_for_each(TextFeatures::check)
    }
}

fn standardise(numbers: &[f32], weight: impl Fn(usize) -> f64) -> Encoding {
    let known = || numbers.iter().enumerate().filter(|(_, number)| !number.is_nan());
    let total: f64 = known().map(|(row, _)| weight(row)).sum();
    let missing = known().count() < numbers.len();
    if total == 0.0 {
        return Encoding::Number { mean: 0.0, scale: 0.0, missing: false };
    }
    let mean = known().map(|(row, &number)| weight(row) * f64::from(number)).sum::<f64>() / total;
    let square = |number: f32| (f64::from(number) - mean).powi(2);
    let variance = known().map(|(row, &number)| weight(row) * square(number)).sum::<f64>() / total;
    // Rounding leaves a trace of variance in a constant column; divided by, it would become noise.
    let constant = variance.sqrt() <= 1e-7 * mean.abs() || variance == 0.0;
    Encoding::Number { mean, scale: if constant { 0.0 } else { 1.0 / variance.sqrt() }, missing }
}
