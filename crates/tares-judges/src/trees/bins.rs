//! Columns → bytes: every value becomes one of at most 256 bins. Fitted on the training rows alone.
//!
//! Bin 0 is "missing". Numbers get bins 1..=255, cut at quantiles; a category gets a bin of its own, the 254 most frequent ones
//! when there are more than 255, and the rest share the last bin.

use crate::error::{Result, same_length, stored, value};
use crate::labelled::Labelled;
use crate::matrix::{InputColumn, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// Bins besides the one for missing values.
const BINS: usize = 255;
/// With more rows than this, quantiles are computed from every n-th row.
const SAMPLE: usize = 200_000;

/// How every column is cut into bins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Binner {
    columns: Vec<Bins>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Bins {
    /// Bin 1 + (how many edges lie below x).
    Number { edges: Vec<f32> },
    /// The bin of every code; `others` is the bin of codes that no training row had, if there is one for rare codes.
    Category { bin_of: Vec<u8>, others: Option<u8> },
}

/// N rows as bytes, column after column.
#[derive(Clone, Debug)]
pub(crate) struct Binned {
    pub(crate) rows: usize,
    pub(crate) columns: Vec<Vec<u8>>,
    /// Bins of each column, with bin 0.
    pub(crate) bins: Vec<usize>,
    /// Which columns are categories.
    pub(crate) categories: Vec<bool>,
}

impl Binner {
    /// A bin of numbers has at least this weight: where leaves are larger anyway, fewer bins are faster.
    pub(crate) fn fit(data: &Labelled<'_>, least_weight: f64) -> Self {
        let fit = |column: &InputColumn| match column {
            InputColumn::Numbers(numbers) => {
                Bins::Number { edges: edges(numbers, least_weight, |row| data.weight(row)) }
            }
            InputColumn::Categories { codes, levels } => categories(codes, *levels, |row| data.weight(row)),
        };
        Self { columns: data.inputs.columns().par_iter().map(fit).collect() }
    }

    /// The bins of rows like those it was fitted on.
    ///
    /// # Errors
    /// Other columns than in training.
    pub(crate) fn bin(&self, inputs: &Matrix) -> Result<Binned> {
        same_length("list of columns", self.columns.len(), inputs.columns().len())?;
        let bin = |(place, (bins, column)): (usize, (&Bins, &InputColumn))| match (bins, column) {
            (Bins::Number { edges }, InputColumn::Numbers(numbers)) => Ok(numbers
                .iter()
                .map(|&x| if x.is_nan() { 0 } else { 1 + edges.partition_point(|&edge| edge < x) as u8 })
                .collect()),
            (Bins::Category { bin_of, others }, InputColumn::Categories { codes, .. }) => Ok(codes
                .iter()
                .map(|&code| match bin_of.get(code as usize) {
                    Some(0) | None if code != crate::matrix::MISSING => others.unwrap_or(0),
                    Some(&bin) => bin,
                    None => 0,
                })
                .collect()),
            (Bins::Number { .. }, _) => Err(value(&format!("column {place}"), "numbers", "categories")),
            (Bins::Category { .. }, _) => Err(value(&format!("column {place}"), "categories", "numbers")),
        };
        let pairs: Vec<(&Bins, &InputColumn)> = self.columns.iter().zip(inputs.columns()).collect();
        Ok(Binned {
            rows: inputs.rows(),
            columns: pairs.into_par_iter().enumerate().map(bin).collect::<Result<_>>()?,
            bins: self.columns.iter().map(Bins::count).collect(),
            categories: self.columns.iter().map(|bins| matches!(bins, Bins::Category { .. })).collect(),
        })
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn is_category(&self, column: usize) -> bool {
        matches!(self.columns[column], Bins::Category { .. })
    }

    pub(crate) fn check(&self) -> Result<()> {
        for bins in &self.columns {
            if let Bins::Number { edges } = bins {
                let ascending = edges.windows(2).all(|pair| pair[0] < pair[1]);
                let fine = edges.len() < BINS && ascending && edges.iter().all(|edge| edge.is_finite());
                stored(fine, "edges of bins must be finite, ascending and at most 254")?;
            }
        }
        Ok(())
    }
}

impl Bins {
    fn count(&self) -> usize {
        match self {
            Self::Number { edges } => edges.len() + 2,
            Self::Category { bin_of, others } => 1 + bin_of.iter().chain(others).copied().max().unwrap_or(0) as usize,
        }
    }
}

/// Edges between bins of nearly equal weight, half-way between two values that occur. x ≤ edge lies on the left.
fn edges(numbers: &[f32], least_weight: f64, weight: impl Fn(usize) -> f64) -> Vec<f32> {
    let every = numbers.len().div_ceil(SAMPLE).max(1);
    let mut known: Vec<(f32, f64)> = (0..numbers.len())
        .step_by(every)
        .filter(|&row| !numbers[row].is_nan())
        .map(|row| (numbers[row], weight(row)))
        .collect();
    known.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    known.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    let total: f64 = known.iter().map(|value| value.1).sum();
    let mut edges = Vec::new();
    let (mut inside, mut passed) = (0.0, 0.0);
    for pair in known.windows(2) {
        inside += pair[0].1;
        passed += pair[0].1;
        // The remaining weight is shared by the remaining bins, so that one frequent value does not starve the others.
        let share = (total - passed + inside) / (BINS - edges.len()) as f64;
        let few = known.len() <= BINS;
        if inside >= if few { least_weight } else { share.max(least_weight) } && edges.len() < BINS - 1 {
            let middle = pair[0].0 + (pair[1].0 - pair[0].0) / 2.0;
            // Neither rounding nor an overflow may put the edge onto the value on its right.
            edges.push(if middle.is_finite() && middle < pair[1].0 { middle } else { pair[0].0 });
            inside = 0.0;
        }
    }
    edges
}

fn categories(codes: &[u32], levels: u32, weight: impl Fn(usize) -> f64) -> Bins {
    let mut weights = vec![0.0; levels as usize];
    for (row, &code) in codes.iter().enumerate().filter(|(_, code)| **code < levels) {
        weights[code as usize] += weight(row);
    }
    let mut used: Vec<u32> = (0..levels).filter(|&code| weights[code as usize] > 0.0).collect();
    let pooled = used.len() > BINS;
    if pooled {
        used.sort_by(|&a, &b| weights[b as usize].total_cmp(&weights[a as usize]).then(a.cmp(&b)));
    }
    let mut bin_of = vec![0; levels as usize];
    for (place, &code) in used.iter().enumerate() {
        bin_of[code as usize] = place.min(BINS - 1) as u8 + 1;
    }
    Bins::Category { bin_of, others: pooled.then_some(BINS as u8) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    fn bins_of(numbers: Vec<f32>) -> (Binned, usize) {
        let labels = vec![0; numbers.len()];
        let inputs = Matrix::new(vec![InputColumn::Numbers(numbers)]).unwrap();
        let binned = Binner::fit(&Labelled::new(&inputs, &labels, 2), 3.0).bin(&inputs).unwrap();
        let bins = binned.bins[0];
        (binned, bins)
    }

    #[test]
    fn bins_keep_the_order_of_numbers_and_hold_nearly_equal_weight() {
        let mut draw = stream(1, "test");
        let numbers: Vec<f32> = (0..20_000).map(|_| draw.normal() as f32).collect();
        let (binned, bins) = bins_of(numbers.clone());
        assert_eq!(bins, 256);
        let mut counts = [0; 256];
        for row in 0..numbers.len() {
            counts[binned.columns[0][row] as usize] += 1;
            let other = draw.below(numbers.len());
            if numbers[row] <= numbers[other] {
                assert!(binned.columns[0][row] <= binned.columns[0][other]);
            }
        }
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&count| (60..=100).contains(&count)), "{counts:?}");
    }

    #[test]
    fn a_value_that_fills_most_rows_leaves_bins_for_the_others() {
        let numbers = (0..10_000).map(|row| if row % 10 == 0 { row as f32 } else { 0.0 }).collect();
        assert!(bins_of(numbers).1 > 200);
    }

    #[test]
    fn missing_and_constant_columns_have_a_single_bin() {
        let (binned, _) = bins_of(vec![f32::NAN; 5]);
        assert_eq!(binned.columns[0], [0; 5]);
        let (binned, _) = bins_of(vec![3.5; 5]);
        assert_eq!(binned.columns[0], [1; 5]);
        let (binned, _) = bins_of([f32::MIN; 4].into_iter().chain([f32::MAX; 4]).collect());
        assert_eq!(binned.columns[0], [1, 1, 1, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn ten_thousand_categories_fit_into_a_byte() {
        let codes: Vec<u32> = (0..30_000u32).map(|row| if row % 3 == 0 { row % 200 } else { row % 10_000 }).collect();
        let inputs = Matrix::new(vec![InputColumn::Categories { codes, levels: 10_000 }]).unwrap();
        let labels = vec![0; 30_000];
        let binner = Binner::fit(&Labelled::new(&inputs, &labels, 2), 3.0);
        let binned = binner.bin(&inputs).unwrap();
        let mut seen: Vec<u8> = binned.columns[0].clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!((seen.len(), seen[0]), (255, 1)); // nothing is missing
        let new = Matrix::new(vec![InputColumn::Categories { codes: vec![10_001, u32::MAX], levels: 10_002 }]).unwrap();
        assert_eq!(binner.bin(&new).unwrap().columns[0], [255, 0]);
    }
}
