//! The rows that the model is fitted to: all rows of a small data set, a sample of a large one; few numbers per row.

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::check::{Overview, Tally, check_sizes};
use crate::estimate::pass::pick;
use crate::estimate::probabilities::{Number, Probabilities};
use crate::stream::hashed_unit;
use rayon::prelude::*;

/// About this many rows are drawn …
const WANTED: usize = 20_000;
/// … and at least this many of every class, however rare.
const WANTED_PER_CLASS: usize = 20;
/// Neighbouring rows that share a random number, so that rows with the same chance are drawn, and read, together.
const TOGETHER: usize = 8;
/// Probabilities kept per row: the largest ones and the given label's.
const MOST_ENTRIES: usize = 16;
/// Entries below this part of the largest are negligible.
pub(crate) const NEGLIGIBLE: f64 = 1e-3;

/// The drawn rows of one given label.
#[derive(Default)]
pub(crate) struct Rows {
    /// For each row, the position after its last entry.
    ends: Vec<u32>,
    classes: Vec<u32>,
    values: Vec<f32>,
    /// The number of rows of the data that each drawn row stands for.
    pub(crate) weight: f64,
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The positions of each row's entries.
    pub(crate) fn spans(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|&end| end as usize));
        starts.zip(&self.ends).map(|(start, &end)| start..end as usize)
    }

    pub(crate) fn classes(&self) -> &[u32] {
        &self.classes
    }

    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    fn push<R: Number>(&mut self, label: usize, row: &[R], max: f32, informative: &mut Informative) {
        informative.find(row, label, max);
        let Informative { names, values, .. } = informative;
        if names.len() > MOST_ENTRIES {
            let mut entries: Vec<(f32, u32)> = values.drain(..).zip(names.drain(..)).collect();
            // The given label always stays.
            let first = entries.iter().position(|entry| entry.1 as usize == label).unwrap_or(0);
            entries.swap(0, first);
            let order = |a: &(f32, u32), b: &(f32, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            entries[1..].select_nth_unstable_by(MOST_ENTRIES - 2, order);
            entries.truncate(MOST_ENTRIES);
            entries.sort_unstable_by_key(|entry| entry.1);
            (*values, *names) = entries.into_iter().unzip();
        }
        self.classes.extend_from_slice(names);
        self.values.extend_from_slice(values);
        self.ends.push(self.values.len() as u32);
    }

    /// Every `every`-th row; each stands for correspondingly more rows.
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
        self.classes.extend_from_slice(&other.classes[span.clone()]);
        self.values.extend_from_slice(&other.values[span]);
        self.ends.push(self.values.len() as u32);
    }
}

/// The informative entries of a row: those that are not negligible, and the given label's. Ascending by class.
#[derive(Default)]
pub(crate) struct Informative {
    pub(crate) names: Vec<u32>,
    pub(crate) values: Vec<f32>,
    /// 1 for informative classes.
    marks: Vec<u8>,
}

impl Informative {
    /// Finds them; `max` is the largest entry.
    #[inline(always)]
    pub(crate) fn find<R: Number>(&mut self, row: &[R], label: usize, max: f32) {
        let least = max * NEGLIGIBLE as f32;
        self.names.clear();
        self.values.clear();
        self.marks.resize(row.len().next_multiple_of(8), 0);
        for (mark, value) in self.marks.iter_mut().zip(row) {
            *mark = u8::from(value.narrow() >= least);
        }
        self.marks[label] = 1;
        // Most marks are 0, so eight are tested at a time.
        for (first, marks) in (0..).step_by(8).zip(self.marks.as_chunks::<8>().0) {
            let mut marks = u64::from_le_bytes(*marks);
            while marks != 0 {
                let class = first + marks.trailing_zeros() as usize / 8;
                self.names.push(class as u32);
                self.values.push(row[class].narrow());
                marks &= marks - 1;
            }
        }
    }
}

/// The drawn rows, and an overview of all rows.
pub(crate) struct Sample {
    /// Per given label.
    pub(crate) rows: Vec<Rows>,
    /// The counts of labels are exact, everything else is estimated from the drawn rows.
    pub(crate) overview: Overview,
}

impl Sample {
    /// Draws rows of each given label. The same data give the same rows, whatever the number of threads.
    ///
    /// # Errors
    /// Everything [`Overview::of`] finds, if it is in the drawn rows.
    pub(crate) fn draw<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        check_sizes(probs, given)?;
        let classes = probs.classes();
        let Some(counts) = count(given, classes) else {
            // `Overview::of` produces the error message.
            return Overview::of(probs, given).map(|overview| Self { rows: Vec::new(), overview });
        };
        let wanted = choose(given, &counts);
        let mut sample: Vec<Rows> = counts.iter().map(|_| Rows::default()).collect();
        let (mut agreeing, mut sums, mut confidence, mut fine) =
            (vec![0usize; classes], vec![0.0; classes], vec![0.0; classes], true);
        pick(
            probs,
            &wanted,
            || (Rows::default(), Vec::new(), Tally::new(classes), Informative::default()),
            |(rows, looks, tally, informative), place, row| {
                let label = given[wanted[place]];
                let (summary, agrees) = tally.add(wanted[place], label, row);
                rows.push(label as usize, row, summary.max, informative);
                looks.push((label, agrees, row[label as usize].into(), f64::from(summary.max)));
            },
            |(rows, looks, tally, _)| {
                fine &= tally.is_fine();
                for (at, (label, agrees, own, max)) in looks.into_iter().enumerate() {
                    let label = label as usize;
                    sample[label].push_from(&rows, at);
                    agreeing[label] += usize::from(agrees);
                    sums[label] += own;
                    confidence[label] += max;
                }
            },
        )?;
        if !fine {
            // The error message is about all rows, not only about the drawn ones.
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
        // Above 4/5, all rows are taken.
        .map(|chance| if chance > 0.8 { 1.0 } else { chance })
        .collect();
    let part = 1 << 16;
    let of_part = |(number, labels): (usize, &[Label])| {
        let mut drawn = Vec::new();
        for (group, labels) in (number * part..).step_by(TOGETHER).zip(labels.chunks(TOGETHER)) {
            let place = hashed_unit(group as u64);
            drawn.extend((group..).zip(labels).filter(|(_, label)| place < chances[**label as usize]).map(|(i, _)| i));
        }
        drawn
    };
    given.par_chunks(part).enumerate().map(of_part).collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ProbabilityMatrix;

    #[test]
    fn a_rare_class_is_drawn_whole_and_a_common_one_in_part() {
        let rows = 60_000;
        let given: Vec<Label> = (0..rows).map(|i| Label::from(i % 4000 == 0)).collect();
        let values: Vec<f32> = given.iter().flat_map(|_| [0.75, 0.25]).collect();
        let table = ProbabilityMatrix::new(&values, 2).unwrap();
        let Sample { rows: sample, overview } = Sample::draw(&table, &given).unwrap();
        assert_eq!(overview, Overview { disagreements: 15, ..Overview::of(&table, &given).unwrap() });
        assert!(sample[0].len().abs_diff(20_000) < 700, "{}", sample[0].len());
        assert_eq!((sample[1].len(), sample[1].weight), (15, 1.0));
        let total: f64 = sample.iter().map(|rows| rows.weight * rows.len() as f64).sum();
        assert!((total - f64::from(rows)).abs() < 1e-6);
    }

    #[test]
    fn the_given_label_is_kept_among_many_larger_ones() {
        let mut row = vec![0.02; 50];
        row[7] = 1e-9;
        let mut rows = Rows::default();
        rows.push(7, &row, 0.02, &mut Informative::default());
        assert_eq!(rows.spans().next(), Some(0..MOST_ENTRIES));
        assert!(rows.classes().contains(&7));
    }
}
