//! The rows a model of the noise is fitted to: all of a small data set, a part of a large one, few numbers per row.

use super::check::{Overview, Tally, check_sizes};
use super::glance::LANES;
use super::probabilities::{Number, Probabilities, pick};
use crate::dataset::Label;
use crate::error::Result;
use rayon::prelude::*;

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

    fn push<R: Number>(&mut self, label: usize, row: &[R], top: f64, scratch: &mut Vec<(f64, u32)>) {
        scratch.clear();
        telling(row, label, top, |class, value| scratch.push((value, class as u32)));
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

    /// Every `every`-th row, each standing for as many more.
    pub(crate) fn thinned(&self, every: usize) -> Self {
        let mut thin = Self::default();
        (0..self.len()).step_by(every).for_each(|at| thin.push_from(self, at));
        thin.weight = self.weight * self.len() as f64 / (thin.len() as f64).max(1.0);
        thin
    }

    /// Appends row `at` of another list.
    fn push_from(&mut self, other: &Self, at: usize) {
        let start = if at == 0 { 0 } else { other.ends[at - 1] as usize };
        let span = start..other.ends[at] as usize;
        self.own.push(other.own[at]);
        self.classes.extend_from_slice(&other.classes[span.clone()]);
        self.values.extend_from_slice(&other.values[span]);
        self.ends.push(self.values.len() as u32);
    }
}

/// Shows `take` the entries (class, value) of a row that matter, in the order of the classes: not negligible, or the
/// given label's.
#[inline]
pub(crate) fn telling<R: Number>(row: &[R], label: usize, top: f64, mut take: impl FnMut(usize, f64)) {
    let least = top * NEGLIGIBLE;
    // Rounded to 32 bits no entry above `least` falls below this.
    let surely = (least * (1.0 - 1e-6)) as f32;
    for (number, chunk) in row.chunks(LANES).enumerate() {
        let first = number * LANES;
        let any = chunk.iter().fold(false, |any, value| any | (value.narrow() >= surely));
        if !any && !(first..first + LANES).contains(&label) {
            continue;
        }
        for (class, &value) in (first..).zip(chunk) {
            let value: f64 = value.into();
            if value >= least || class == label {
                take(class, value);
            }
        }
    }
}

/// The drawn rows, and what they say about the whole.
pub(crate) struct Sample {
    /// Per given label.
    pub(crate) rows: Vec<Rows>,
    /// The counts of labels are exact; the rest is what the drawn rows stand for.
    pub(crate) overview: Overview,
}

impl Sample {
    /// Draws rows per given label: always the same ones, whatever the number of threads.
    ///
    /// # Errors
    /// Everything [`Overview::of`] finds, if it is in the drawn rows.
    pub(crate) fn draw<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        check_sizes(probs, given)?;
        let classes = probs.classes();
        let Some(counts) = count(given, classes) else {
            // It knows the words for this.
            return Overview::of(probs, given).map(|overview| Self { rows: Vec::new(), overview });
        };
        let wanted = choose(given, &counts);
        let mut sample: Vec<Rows> = counts.iter().map(|_| Rows::default()).collect();
        let (mut agreeing, mut sums, mut confidence, mut fine) =
            (vec![0usize; classes], vec![0.0; classes], vec![0.0; classes], true);
        pick(
            probs,
            &wanted,
            || (Rows::default(), Vec::new(), Tally::new(classes), Vec::new()),
            |(rows, looks, tally, scratch), place, row| {
                let label = given[wanted[place]];
                let (glance, agrees) = tally.add(wanted[place], label, row);
                rows.push(label as usize, row, f64::from(glance.top), scratch);
                looks.push((label, agrees, row[label as usize].into(), f64::from(glance.top)));
            },
            |(rows, looks, tally, _)| {
                fine &= tally.is_fine();
                for (at, (label, agrees, own, top)) in looks.into_iter().enumerate() {
                    let label = label as usize;
                    sample[label].push_from(&rows, at);
                    agreeing[label] += usize::from(agrees);
                    sums[label] += own;
                    confidence[label] += top;
                }
            },
        )?;
        if !fine {
            // What is wrong is said about all rows, not about the drawn ones.
            let overview = Overview::of(probs, given)?;
            return Ok(Self { rows: sample, overview });
        }
        let (mut disagreements, mut certainty) = (0.0, 0.0);
        for (class, rows) in sample.iter_mut().enumerate() {
            rows.weight = counts[class] as f64 / (rows.len() as f64).max(1.0);
            disagreements += rows.weight * (rows.len() - agreeing[class]) as f64;
            certainty += rows.weight * confidence[class];
        }
        let mean = |class: usize| (counts[class] > 0).then(|| sums[class] / sample[class].len() as f64);
        let overview = Overview {
            rows: given.len(),
            self_confidence: (0..classes).map(mean).collect(),
            disagreements: disagreements.round() as usize,
            confidence: certainty / given.len() as f64,
            counts,
        };
        Ok(Self { rows: sample, overview })
    }
}

/// Rows per given label; `None` if a label is not among the classes.
fn count(given: &[Label], classes: usize) -> Option<Vec<usize>> {
    let mut counts = vec![0; classes];
    for &label in given {
        *counts.get_mut(label as usize)? += 1;
    }
    Some(counts)
}

/// The rows to draw, in order.
fn choose(given: &[Label], counts: &[usize]) -> Vec<usize> {
    let share = (WANTED as f64 / given.len() as f64).min(1.0);
    let chances: Vec<f64> = counts
        .iter()
        .map(|&count| share.max(WANTED_PER_CLASS as f64 / (count as f64).max(1.0)))
        // A part above 4/5 is not worth its randomness.
        .map(|chance| if chance > 0.8 { 1.0 } else { chance })
        .collect();
    let part = 1 << 16;
    let of_part = |(number, labels): (usize, &[Label])| {
        let first = number * part;
        let drawn = |&(i, label): &(usize, &Label)| unit_of((first + i) as u64) < chances[*label as usize];
        labels.iter().enumerate().filter(drawn).map(|(i, _)| first + i).collect::<Vec<usize>>()
    };
    given.par_chunks(part).enumerate().map(of_part).collect::<Vec<_>>().concat()
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
        let Sample { rows: sample, overview } = Sample::draw(&table, &given).unwrap();
        assert_eq!(overview, Overview { disagreements: 60, ..Overview::of(&table, &given).unwrap() });
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
        rows.push(7, &row, 0.02, &mut Vec::new());
        let (span, own) = rows.spans().next().unwrap();
        assert_eq!((span.len(), rows.classes()[own]), (MOST_ENTRIES, 7));
    }
}
