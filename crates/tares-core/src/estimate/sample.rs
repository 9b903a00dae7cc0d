//! The rows a model of the noise is fitted to: all of a small data set, a part of a large one, few numbers per row.

use super::check::Overview;
use super::probabilities::{Probabilities, fold};
use crate::dataset::Label;
use crate::error::Result;

/// Rows wanted when classes are equally frequent …
const WANTED: usize = 20_000;
/// … and of every class, however rare.
const WANTED_PER_CLASS: usize = 100;
/// Probabilities kept per row: the largest ones and the given label's.
const MOST_ENTRIES: usize = 16;
/// Entries this much smaller than the largest say nothing.
pub(crate) const NEGLIGIBLE: f64 = 1e-3;

/// The drawn rows of one given label.
#[derive(Default)]
pub(crate) struct Rows {
    /// Where the entries of each row end.
    ends: Vec<u32>,
    classes: Vec<u32>,
    values: Vec<f32>,
    /// Position of the given label among the entries of its row.
    own: Vec<u32>,
    /// How many rows of the data each stands for.
    pub(crate) weight: f64,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// (range of entries, position of the given label's entry) per row.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (std::ops::Range<usize>, usize)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&end| end as usize));
        starts.zip(&self.ends).zip(&self.own).map(|((start, &end), &own)| (start..end as usize, start + own as usize))
    }

    pub(crate) fn classes(&self) -> &[u32] {
        &self.classes
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    fn push(&mut self, label: usize, row: &[f64], scratch: &mut Vec<(f64, u32)>) {
        scratch.clear();
        let top = row.iter().copied().fold(0.0, f64::max);
        scratch.extend(telling(row, label, top).map(|(class, value)| (value, class as u32)));
        if scratch.len() > MOST_ENTRIES {
            let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            // The given label always stays.
            let first = scratch.iter().position(|entry| entry.1 as usize == label).unwrap_or(0);
            scratch.swap(0, first);
            scratch[1..].select_nth_unstable_by(MOST_ENTRIES - 2, order);
            scratch.truncate(MOST_ENTRIES);
            scratch.sort_unstable_by_key(|entry| entry.1);
        }
        let own = scratch.iter().position(|entry| entry.1 as usize == label).unwrap_or(0);
        self.own.push(own as u32);
        self.classes.extend(scratch.iter().map(|entry| entry.1));
        self.values.extend(scratch.iter().map(|entry| entry.0 as f32));
        self.ends.push(self.values.len() as u32);
    }
}

/// The entries of a row that matter, in the order of the classes: not negligible, or the given label's.
pub(crate) fn telling(row: &[f64], label: usize, top: f64) -> impl Iterator<Item = (usize, f64)> {
    let least = top * NEGLIGIBLE;
    row.iter().copied().enumerate().filter(move |&(class, value)| value >= least || class == label)
}

/// Draws rows per given label: always the same ones, whatever the number of threads.
pub(crate) fn draw<P: Probabilities + ?Sized>(probs: &P, given: &[Label], overview: &Overview) -> Result<Vec<Rows>> {
    let share = (WANTED as f64 / overview.rows as f64).min(1.0);
    let chances: Vec<f64> = overview
        .counts
        .iter()
        .map(|&count| share.max(WANTED_PER_CLASS as f64 / (count as f64).max(1.0)))
        // A part above 4/5 is not worth its randomness.
        .map(|chance| if chance > 0.8 { 1.0 } else { chance })
        .collect();
    let mut sample: Vec<Rows> = overview.counts.iter().map(|_| Rows::default()).collect();
    fold(
        probs,
        given,
        |block| {
            let mut drawn = Vec::new();
            let mut scratch = Vec::new();
            for (index, label, row) in block.rows() {
                if unit_of(index as u64) < chances[label as usize] {
                    let mut one = Rows::default();
                    one.push(label as usize, row, &mut scratch);
                    drawn.push((label, one));
                }
            }
            Ok(drawn)
        },
        |drawn| {
            for (label, one) in drawn {
                let rows = &mut sample[label as usize];
                rows.own.extend(one.own);
                rows.classes.extend(one.classes);
                rows.values.extend(one.values);
                rows.ends.push(rows.values.len() as u32);
            }
            Ok(())
        },
    )?;
    for (rows, &count) in sample.iter_mut().zip(&overview.counts) {
        rows.weight = count as f64 / (rows.len() as f64).max(1.0);
    }
    Ok(sample)
}

/// A number in [0, 1) that depends on the row's index alone (the finaliser of SplitMix64).
fn unit_of(index: u64) -> f64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::Table;

    #[test]
    fn a_rare_class_is_drawn_whole_and_a_common_one_in_part() {
        let rows = 60_000;
        let given: Vec<Label> = (0..rows).map(|i| Label::from(i % 1000 == 0)).collect();
        let values: Vec<f32> = given.iter().flat_map(|_| [0.75, 0.25]).collect();
        let table = Table::new(&values, 2).unwrap();
        let sample = draw(&table, &given, &Overview::of(&table, &given).unwrap()).unwrap();
        assert!(sample[0].len().abs_diff(20_000) < 700, "{}", sample[0].len());
        assert_eq!((sample[1].len(), sample[1].weight), (60, 1.0));
        let total: f64 = sample.iter().map(|rows| rows.weight * rows.len() as f64).sum();
        assert!((total - f64::from(rows)).abs() < 1e-6);
    }

    #[test]
    fn the_given_label_is_kept_among_many_larger_ones() {
        let mut row = vec![0.02; 50];
        row[7] = 1e-9;
        let mut rows = Rows::default();
        rows.push(7, &row, &mut Vec::new());
        let (span, own) = rows.spans().next().unwrap();
        assert_eq!((span.len(), rows.classes()[own]), (MOST_ENTRIES, 7));
    }
}
