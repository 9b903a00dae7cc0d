//! The rows that the model is fitted to, few numbers per row, and what is known about all rows.

mod draw;
mod drawn_rows;

pub use draw::Draw;
pub use drawn_rows::DrawnRows;

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::check::{Overview, check_sizes};
use crate::estimate::math32::{larger, smaller};
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::row::across;
use crate::estimate::{MissingRows, RowIds};
use crate::widest::{Work, widest};
use draw::{by_id, by_position};

/// Probabilities kept per row: the largest ones and the given label's.
pub(crate) const MOST_ENTRIES: usize = 16;
/// Entries below this part of the largest are negligible.
pub(crate) const NEGLIGIBLE: f64 = 1e-3;

/// The drawn rows of one given label.
#[derive(Clone, Debug, Default, PartialEq)]
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

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
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

    pub(crate) fn push<R: Number>(&mut self, label: usize, row: &[R], max: f32, informative: &mut Informative) {
        let Informative { names, values, .. } = widest(FindLargest { informative, row, label, max });
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

    /// No rows yet, but room for so many, with so many entries in all.
    pub(crate) fn with_room(rows: usize, entries: usize) -> Self {
        let mut list = Self::default();
        list.reserve(rows, entries);
        list
    }

    /// Makes room: a list that grows is copied, and takes memory of every size on its way.
    pub(crate) fn reserve(&mut self, rows: usize, entries: usize) {
        self.ends.reserve_exact(rows);
        self.classes.reserve_exact(entries);
        self.values.reserve_exact(entries);
    }

    /// Every `every`-th row; each stands for correspondingly more rows.
    pub(crate) fn thinned(&self, every: usize) -> Self {
        let mut thin = Self::with_room(self.len().div_ceil(every), self.values.len().div_ceil(every));
        (0..self.len()).step_by(every).for_each(|at| thin.push_from(self, at));
        thin.weight = self.weight * self.len() as f64 / (thin.len() as f64).max(1.0);
        thin
    }

    /// Appends row `at` of another list.
    pub(crate) fn push_from(&mut self, other: &Self, at: usize) {
        let (classes, values) = other.entries(at);
        self.push_entries(classes, values);
    }

    pub(crate) fn push_entries(&mut self, classes: &[u32], values: &[f32]) {
        self.classes.extend_from_slice(classes);
        self.values.extend_from_slice(values);
        self.ends.push(self.values.len() as u32);
    }

    /// The classes and values of row `at`.
    pub(crate) fn entries(&self, at: usize) -> (&[u32], &[f32]) {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        let span = start..self.ends[at] as usize;
        (&self.classes[span.clone()], &self.values[span])
    }
}

/// The informative entries of a row: those that are not negligible, and the given label's. Ascending by class.
#[derive(Debug, Default)]
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
        self.find_from(row, label, max * NEGLIGIBLE as f32);
    }

    /// Finds entries of at least `least`, and the given label's.
    #[inline(always)]
    fn find_from<R: Number>(&mut self, row: &[R], label: usize, least: f32) {
        self.marks.resize(row.len().next_multiple_of(8), 0);
        for (mark, value) in self.marks.iter_mut().zip(row) {
            *mark = u8::from(value.narrow() >= least);
        }
        self.marks[label] = 1;
        self.collect(row);
    }

    /// Lists the marked ones.
    #[inline(always)]
    fn collect<R: Number>(&mut self, row: &[R]) {
        self.names.clear();
        self.values.clear();
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

/// Finds at least the [`MOST_ENTRIES`] largest informative entries of a row, and not many more.
struct FindLargest<'a, R> {
    informative: &'a mut Informative,
    row: &'a [R],
    label: usize,
    max: f32,
}

impl<'a, R: Number> Work for FindLargest<'a, R> {
    type Output = &'a mut Informative;

    #[inline(always)]
    fn run(self) -> &'a mut Informative {
        let Self { informative, row, label, max } = self;
        // The largest entries of sixteen parts of the row: sixteen entries are at least as large as the smallest of these.
        let mut parts = [0.0; MOST_ENTRIES];
        for chunk in row.as_chunks::<MOST_ENTRIES>().0 {
            for lane in 0..MOST_ENTRIES {
                parts[lane] = larger(parts[lane], chunk[lane].narrow());
            }
        }
        informative.find_from(row, label, larger(across(parts, smaller), max * NEGLIGIBLE as f32));
        informative
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
    /// Draws rows of each given label, by their positions or, where rows have ids, by those. The same data give the same rows,
    /// whatever the number of threads.
    ///
    /// # Errors
    /// Everything [`Overview::of`] finds, if it is in the drawn rows; ids that cannot be read.
    pub(crate) fn draw<P: Probabilities + ?Sized>(
        probs: &P,
        given: &[Label],
        ids: Option<&dyn RowIds>,
        missing: MissingRows,
    ) -> Result<Self> {
        check_sizes(probs, given)?;
        let classes = probs.classes();
        let Some(counts) = missing.count(given, classes) else {
            // The overview produces the error message.
            return Overview::of_present(probs, given, missing).map(|overview| Self { rows: Vec::new(), overview });
        };
        let draw = Draw::of(&counts)?;
        let wanted = match ids {
            None => by_position(&draw, given),
            Some(ids) => by_id(&draw, given, ids)?,
        };
        let drawn = DrawnRows::read(probs, given, &wanted, missing)?;
        if !drawn.is_fine() {
            // The error message is about all rows, not only about the drawn ones.
            let overview = Overview::of_present(probs, given, missing)?;
            return Ok(Self { rows: drawn.sample(counts).rows, overview });
        }
        Ok(drawn.sample(counts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{NO_LABEL, ProbabilityMatrix};
    use crate::stream::stream;

    #[test]
    fn a_rare_class_is_drawn_whole_and_a_common_one_in_part() {
        let rows = 60_000;
        let given: Vec<Label> = (0..rows).map(|i| Label::from(i % 4000 == 0)).collect();
        let values: Vec<f32> = given.iter().flat_map(|_| [0.75, 0.25]).collect();
        let table = ProbabilityMatrix::new(&values, 2).unwrap();
        let Sample { rows: sample, overview } = Sample::draw(&table, &given, None, MissingRows::Refuse).unwrap();
        assert_eq!(overview, Overview { disagreements: 15, ..Overview::of(&table, &given).unwrap() });
        assert!(sample[0].len().abs_diff(20_000) < 700, "{}", sample[0].len());
        assert_eq!((sample[1].len(), sample[1].weight), (15, 1.0));
        let total: f64 = sample.iter().map(|rows| rows.weight * rows.len() as f64).sum();
        assert!((total - f64::from(rows)).abs() < 1e-6);
    }

    #[test]
    fn a_bad_row_is_named_where_others_that_lack_a_label_are_left_out() {
        let values = [0.75, 0.25, 0.5, 0.5, 0.9, 0.4];
        let table = ProbabilityMatrix::new(&values, 2).unwrap();
        let drawn = Sample::draw(&table, &[0, NO_LABEL, 0], None, MissingRows::Skip);
        let said = drawn.err().unwrap().to_string();
        assert!(said.contains("sum of the probabilities") && said.contains("row 2"), "{said}");
    }

    #[test]
    fn the_largest_entries_of_a_row_are_kept() {
        let mut draws = stream(3, "rows");
        for classes in [10, 40, 300, 1003] {
            let row: Vec<f32> = (0..classes).map(|_| draws.unit().powi(4) as f32).collect();
            let max = row.iter().copied().fold(0.0, larger);
            let mut rows = Rows::default();
            rows.push(5, &row, max, &mut Informative::default());
            let mut wanted: Vec<u32> = (0..classes as u32).filter(|&class| class != 5).collect();
            wanted.sort_by(|&a, &b| row[b as usize].total_cmp(&row[a as usize]));
            wanted.retain(|&class| row[class as usize] >= max * NEGLIGIBLE as f32);
            wanted.truncate(MOST_ENTRIES - 1);
            wanted.push(5);
            wanted.sort_unstable();
            assert_eq!(rows.classes(), wanted, "{classes}");
        }
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
