//! Whether a single column tells nearly all labels: a copy of the label, something made from it, or a number that rises through a file
//! sorted by label. Judges then agree with wrong labels as readily as with right ones.

use crate::matrix::{InputColumn, MISSING};
use rayon::prelude::*;
use std::collections::BTreeMap;
use tares_core::Label;

/// The share of labels that the column must tell. Honest columns reach 98.5 % (the odour of mushrooms).
const NEARLY_ALL: f64 = 0.995;
/// Of the labels that always naming the largest class gets wrong, the share that the column may get wrong.
const LEFT: f64 = 0.05;
/// With fewer rows than this, a measurement tells all labels by chance.
const LEAST_ROWS: usize = 50;
/// A category with fewer rows says nothing about rows that it has not seen.
const LEAST_OF_LEVEL: usize = 5;
/// Rows per interval of a column of numbers, on average, at least.
const LEAST_OF_INTERVAL: usize = 20;
/// Rows that another interval must win.
const PRICE: usize = 5;
/// Rows that are looked at first: most columns are no candidates.
const SAMPLE: usize = 1_000;

/// A column that tells nearly all labels by itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OneColumn {
    /// Its position.
    pub column: usize,
    /// The part of labels that it tells.
    pub agreement: f64,
}

/// The column that alone tells the most labels, if these are nearly all: a category names its most frequent class, numbers are cut
/// into intervals of one class each. A missing value is a category of its own.
///
/// ```
/// use tares_judges::{InputColumn, one_column};
/// let labels: Vec<u32> = (0..100).map(|row| row % 3 / 2).collect();
/// let code = InputColumn::Numbers(labels.iter().map(|&label| 5.0 - label as f32).collect());
/// let found = one_column::telling(&[code], &labels, 2).unwrap();
/// assert_eq!((found.column, found.agreement), (0, 1.0));
/// ```
///
/// # Panics
/// If a column has another length than the labels.
pub fn telling(columns: &[InputColumn], labels: &[Label], classes: usize) -> Option<OneColumn> {
    let mut counts = vec![0; classes];
    labels.iter().for_each(|&label| counts[label as usize] += 1);
    let by_size = labels.len() - counts.iter().max().copied().unwrap_or(0);
    let most = ((1.0 - NEARLY_ALL) * labels.len() as f64).min(LEFT * by_size as f64) as usize;
    if labels.len() < LEAST_ROWS || by_size == 0 {
        return None;
    }
    let wrong = |column: &InputColumn| match column {
        InputColumn::Categories { codes, .. } => wrong_of_levels(codes, labels, most),
        InputColumn::Numbers(numbers) => wrong_of_intervals(numbers, labels, classes, most),
    };
    let wrong: Vec<Option<usize>> = columns.par_iter().map(wrong).collect();
    let (wrong, column) = wrong.into_iter().zip(0..).filter_map(|(wrong, column)| Some((wrong?, column))).min()?;
    Some(OneColumn { column, agreement: 1.0 - wrong as f64 / labels.len() as f64 })
}

/// Labels that are not the most frequent one of their category, if there are at most `most`.
fn wrong_of_levels(codes: &[u32], labels: &[Label], most: usize) -> Option<usize> {
    assert_eq!(codes.len(), labels.len(), "a code for every label");
    let mut counts: BTreeMap<u32, BTreeMap<Label, usize>> = BTreeMap::new();
    codes
        .iter()
        .zip(labels)
        .for_each(|(&code, &label)| *counts.entry(code).or_default().entry(label).or_default() += 1);
    let wrong = |counts: &BTreeMap<Label, usize>| {
        let (all, largest) = (counts.values().sum::<usize>(), counts.values().max().copied().unwrap_or(0));
        if all < LEAST_OF_LEVEL { all } else { all - largest }
    };
    Some(counts.values().map(wrong).sum()).filter(|&wrong| wrong <= most)
}

/// Labels that are not those of their interval, with the best intervals, if there are at most `most`.
fn wrong_of_intervals(numbers: &[f32], labels: &[Label], classes: usize, most: usize) -> Option<usize> {
    assert_eq!(numbers.len(), labels.len(), "a number for every label");
    let known = |step: usize| {
        let mut rows: Vec<(f32, Label)> =
            (0..labels.len()).step_by(step).map(|row| (numbers[row], labels[row])).collect();
        rows.retain(|(number, _)| !number.is_nan());
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        rows
    };
    // A label that is wrong makes two changes; an eighth is far more than the few wrong ones and the ends of intervals make.
    let sample = known(labels.len().div_ceil(SAMPLE));
    if blocks(&sample).len() > sample.len() / 8 + classes {
        return None;
    }
    let missing: Vec<u32> = numbers.iter().map(|number| if number.is_nan() { 0 } else { MISSING }).collect();
    let of_missing: (Vec<u32>, Vec<Label>) =
        missing.iter().zip(labels).filter(|(code, _)| **code == 0).map(|(&code, &label)| (code, label)).unzip();
    let wrong = wrong_of_levels(&of_missing.0, &of_missing.1, most)?;
    let rows = known(1);
    let blocks = blocks(&rows);
    let intervals = rows.len() / LEAST_OF_INTERVAL;
    if blocks.len() > 2 * most + intervals + 1 {
        return None;
    }
    // For every class the least price of the blocks so far if the last interval is of this class, and the number of intervals.
    let mut best = vec![(0, 1); classes];
    for block in &blocks {
        let total: usize = block.iter().map(|(_, count)| count).sum();
        let cheapest = best.iter().copied().min().unwrap_or((0, 1));
        let other = (cheapest.0 + PRICE, cheapest.1 + 1);
        best.iter_mut().for_each(|price| *price = (*price).min(other));
        best.iter_mut().for_each(|price| price.0 += total);
        block.iter().for_each(|&(label, count)| best[label as usize].0 -= count);
    }
    let (price, cuts) = best.into_iter().min()?;
    let wrong = wrong + price - PRICE * (cuts - 1);
    (wrong <= most && cuts <= intervals.max(2)).then_some(wrong)
}

/// The labels of sorted rows, counted: rows of one number are together, and so are neighbours that have one label alone.
fn blocks(rows: &[(f32, Label)]) -> Vec<Vec<(Label, usize)>> {
    let mut blocks: Vec<Vec<(Label, usize)>> = Vec::new();
    for run in rows.chunk_by(|a, b| a.0 == b.0) {
        let counted: Vec<(Label, usize)> =
            run.chunk_by(|a, b| a.1 == b.1).map(|same| (same[0].1, same.len())).collect();
        match (blocks.last_mut().map(Vec::as_mut_slice), counted.as_slice()) {
            (Some([(label, count)]), &[(next, more)]) if *label == next => *count += more,
            _ => blocks.push(counted),
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    fn numbers(values: impl Iterator<Item = f32>) -> InputColumn {
        InputColumn::Numbers(values.collect())
    }

    /// 900 labels in no order, and three columns that know nothing.
    fn made() -> (Vec<Label>, Vec<InputColumn>) {
        let mut draw = stream(1, "test");
        let labels: Vec<Label> = (0..900).map(|_| draw.below(3) as Label).collect();
        let normal = numbers((0..900).map(|_| draw.normal() as f32));
        let few = numbers((0..900).map(|_| draw.below(5) as f32));
        let level = InputColumn::Categories { codes: (0..900).map(|_| draw.below(4) as u32).collect(), levels: 4 };
        (labels, vec![normal, few, level])
    }

    #[test]
    fn copies_of_the_label_are_found_in_any_form() {
        let (labels, mut columns) = made();
        assert_eq!(telling(&columns, &labels, 3), None);
        let mut draw = stream(2, "test");
        for copy in [
            numbers(labels.iter().map(|&label| [7.0, -1.0, 3.0][label as usize])),
            InputColumn::Categories { codes: labels.iter().map(|&label| 2 - label).collect(), levels: 3 },
            numbers(labels.iter().map(|&label| 10.0 * label as f32 + draw.normal() as f32)),
            // Another class where it is missing.
            numbers(labels.iter().map(|&label| if label == 1 { f32::NAN } else { label as f32 })),
            // Four of 900 differ.
            numbers(labels.iter().enumerate().map(|(row, &label)| if row % 250 == 9 { 0.0 } else { label as f32 })),
        ] {
            columns.push(copy);
            let found = telling(&columns, &labels, 3).unwrap();
            assert!(found.column == 3 && found.agreement >= 0.995, "{found:?}");
            columns.pop();
        }
    }

    #[test]
    fn a_number_that_rises_through_sorted_labels_is_found() {
        let labels: Vec<Label> = (0..600).map(|row| row / 200).collect();
        let id = numbers((0..600).map(|row| (1000 + 3 * row) as f32));
        assert_eq!(telling(&[id], &labels, 3), Some(OneColumn { column: 0, agreement: 1.0 }));
    }

    #[test]
    fn a_strong_feature_is_no_copy() {
        let mut draw = stream(3, "test");
        let labels: Vec<Label> = (0..1_000).map(|_| draw.below(2) as Label).collect();
        // Two bells 4.4 apart: 98.6 % of the rows lie on their own side.
        let strong = numbers(labels.iter().map(|&label| 4.4 * label as f32 + draw.normal() as f32));
        let odour = InputColumn::Categories {
            codes: labels.iter().map(|&label| if draw.below(100) < 4 { 2 } else { label }).collect(),
            levels: 3,
        };
        assert_eq!(telling(&[strong, odour], &labels, 2), None);
    }

    #[test]
    fn a_rare_class_is_not_told_by_naming_the_other() {
        let labels: Vec<Label> = (0..2_000).map(|row| u32::from(row % 400 == 0)).collect();
        let (_, columns) = made();
        let InputColumn::Numbers(normal) = &columns[0] else { panic!() };
        let noise = numbers((0..2_000).map(|row| normal[row * 7 % 900]));
        assert_eq!(telling(&[noise], &labels, 2), None);
        let names = InputColumn::Categories { codes: (0..2_000).collect(), levels: 2_000 };
        assert_eq!(telling(&[names], &labels, 2), None, "a level of one row says nothing");
        assert_eq!(telling(&[numbers((0..40).map(|row| row as f32))], &[0; 40], 2), None);
    }
}
