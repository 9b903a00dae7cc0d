//! [`DrawnRows`]: rows that were drawn from a part of the data, on whatever machine, until all parts are together.

use super::draw::{Draw, by_id};
use super::{Informative, MOST_ENTRIES, Rows, Sample};
use crate::dataset::Label;
use crate::envelope::{Opened, Sealed};
use crate::error::{Result, same_length};
use crate::estimate::check::{Overview, Tally, check_sizes};
use crate::estimate::pass::pick;
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::{MissingRows, Posterior, RowIds};
use std::cmp::Ordering;

const KIND: &[u8; 4] = b"rows";
const VERSION: u32 = 1;

/// The drawn rows of a part of the data: the few probabilities of each that matter. Parts merge in any order and grouping.
///
/// ```
/// use tares_core::estimate::DrawnRows;
/// let (mut here, mut there) = (DrawnRows::new(2), DrawnRows::new(2));
/// here.add(5, 0, &[0.9, 0.1]);
/// there.add(3, 1, &[0.2, 0.8]);
/// here.merge(DrawnRows::from_bytes(&there.to_bytes()?)?);
/// let model = here.fit(&[1, 1])?;
/// assert_eq!(model.classes(), 2);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DrawnRows {
    classes: usize,
    rows: Rows,
    looks: Vec<Look>,
    tally: Tally,
    memory: Informative,
}

/// What else is known about a drawn row.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look {
    /// Rows are put in the order of their keys, so that it does not matter where they came from.
    key: u64,
    label: Label,
    agrees: bool,
    /// The probability of its label.
    own: f64,
    /// The largest probability.
    max: f64,
}

impl DrawnRows {
    /// No rows yet, of `classes` classes.
    pub fn new(classes: usize) -> Self {
        let (rows, looks, memory) = (Rows::default(), Vec::new(), Informative::default());
        Self { classes, rows, looks, tally: Tally::new(classes), memory }
    }

    /// The rows of a part of the data that are drawn by their ids.
    ///
    /// # Errors
    /// Another number of labels than rows; ids or rows that cannot be read.
    pub fn of_part<P: Probabilities>(
        probs: &P,
        given: &[Label],
        ids: &dyn RowIds,
        draw: &Draw,
        missing: MissingRows,
    ) -> Result<Self> {
        check_sizes(probs, given)?;
        Self::read(probs, given, &by_id(draw, given, ids)?, missing)
    }

    /// The `wanted` rows: (index, key), ascending by index.
    pub(super) fn read<P: Probabilities + ?Sized>(
        probs: &P,
        given: &[Label],
        wanted: &[(usize, u64)],
        missing: MissingRows,
    ) -> Result<Self> {
        let places: Vec<usize> = wanted.iter().map(|&(index, _)| index).collect();
        let mut drawn = Self::new(probs.classes());
        drawn.looks.reserve(wanted.len());
        drawn.rows.reserve(wanted.len(), wanted.len() * probs.classes().min(MOST_ENTRIES));
        pick(
            probs,
            &places,
            || Self::new(probs.classes()),
            |rows, place, row| {
                let (index, key) = wanted[place];
                if !missing.skips(row) {
                    rows.add_at(index, key, given[index], row);
                }
            },
            |rows| drawn.merge(rows),
        )?;
        Ok(drawn)
    }

    /// Adds a row with its [key](crate::row_key()). A row that cannot be used is remembered for the error message.
    ///
    /// # Panics
    /// If the row does not have a number for every class.
    pub fn add<R: Number>(&mut self, key: u64, label: Label, row: &[R]) {
        assert_eq!(row.len(), self.classes, "a row has a number for every class");
        self.add_at(self.looks.len(), key, label, row);
    }

    /// The same; `index` is the row's place for messages.
    pub(crate) fn add_at<R: Number>(&mut self, index: usize, key: u64, label: Label, row: &[R]) {
        let (summary, agrees) = self.tally.add(index, label, row);
        if label as usize >= row.len() {
            return;
        }
        self.rows.push(label as usize, row, summary.max, &mut self.memory);
        self.looks.push(Look { key, label, agrees, own: row[label as usize].into(), max: f64::from(summary.max) });
    }

    /// The rows of another part as well.
    pub fn merge(&mut self, other: Self) {
        (0..other.looks.len()).for_each(|at| self.rows.push_from(&other.rows, at));
        self.looks.extend(other.looks);
        self.tally.merge(other.tally);
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.looks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    /// Fits the model. `counts` are the rows of every given label in all of the data.
    ///
    /// # Errors
    /// Rows that are not probabilities, or have labels outside 0..K; a number of counts that is not K.
    pub fn fit(self, counts: &[usize]) -> Result<Posterior> {
        same_length("counts of labels", self.classes, counts.len())?;
        self.check()?;
        Ok(Posterior::of(&self.sample(counts.to_vec())))
    }

    /// As bytes, to be sent elsewhere.
    ///
    /// # Errors
    /// Rows that cannot be used: the worst is named.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let mut out = Sealed::new(KIND, VERSION);
        out.u64(self.classes as u64);
        out.u64(self.looks.len() as u64);
        for (at, look) in self.looks.iter().enumerate() {
            out.u64(look.key);
            out.u32(look.label);
            out.u32(u32::from(look.agrees));
            out.f64(look.own);
            out.f64(look.max);
            let (classes, values) = self.rows.entries(at);
            out.list(classes, Sealed::u32);
            values.iter().for_each(|&value| out.f32(value));
        }
        self.tally.write(&mut out);
        Ok(out.close())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Other bytes; damaged ones; those of a later version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Opened::new("drawn rows", KIND, VERSION, bytes)?;
        let mut read = Self::new(0);
        read.classes = from.size()?;
        read.looks = from.list(|from| {
            let (key, label, agrees) = (from.u64()?, from.u32()?, from.u32()? == 1);
            let (own, max) = (from.f64()?, from.f64()?);
            let classes = from.list(Opened::u32)?;
            let values = (0..classes.len()).map(|_| from.f32()).collect::<Result<Vec<f32>>>()?;
            let ascending = classes.windows(2).all(|pair| pair[0] < pair[1]);
            let known = classes.last().is_some_and(|&last| (last as usize) < read.classes);
            let sound = values.iter().all(|value| value.is_finite()) && classes.len() <= MOST_ENTRIES.max(read.classes);
            if !(ascending && known && sound && (label as usize) < read.classes && classes.contains(&label)) {
                return Err(from.bad("a row that cannot be"));
            }
            read.rows.push_entries(&classes, &values);
            Ok(Look { key, label, agrees, own, max })
        })?;
        read.tally = Tally::read(&mut from)?;
        if read.tally.classes() != read.classes {
            return Err(from.bad("counts of other classes"));
        }
        from.end()?;
        Ok(read)
    }

    fn check(&self) -> Result<()> {
        if self.is_fine() { Ok(()) } else { self.tally.clone().finish(self.looks.len()).map(|_| ()) }
    }

    pub(super) fn is_fine(&self) -> bool {
        self.tally.is_fine()
    }

    /// The rows of each label, in the order of their keys.
    fn by_label(&self, counts: &[usize], order: &[usize]) -> Vec<Rows> {
        let mut sizes = vec![(0, 0); counts.len()];
        for (at, look) in self.looks.iter().enumerate() {
            let (rows, entries) = &mut sizes[look.label as usize];
            (*rows, *entries) = (*rows + 1, *entries + self.rows.entries(at).0.len());
        }
        let mut sample: Vec<Rows> = sizes.into_iter().map(|(rows, entries)| Rows::with_room(rows, entries)).collect();
        for &at in order {
            sample[self.looks[at].label as usize].push_from(&self.rows, at);
        }
        sample
    }

    /// The positions of the rows by key; rows with the same key by what they hold, so that equal ones alone are interchangeable.
    fn order(&self) -> Vec<usize> {
        let content = |a: usize, b: usize| -> Ordering {
            let (look, other) = (&self.looks[a], &self.looks[b]);
            let ((classes, values), (other_classes, other_values)) = (self.rows.entries(a), self.rows.entries(b));
            let of_values = || values.iter().map(|v| v.to_bits()).cmp(other_values.iter().map(|v| v.to_bits()));
            let of_looks = || look.own.total_cmp(&other.own).then(look.max.total_cmp(&other.max));
            look.label
                .cmp(&other.label)
                .then_with(|| classes.cmp(other_classes))
                .then_with(of_values)
                .then_with(of_looks)
        };
        let mut order: Vec<usize> = (0..self.looks.len()).collect();
        // Rows of one machine are in order already.
        order.sort_by(|&a, &b| self.looks[a].key.cmp(&self.looks[b].key).then_with(|| content(a, b)));
        order
    }

    pub(super) fn sample(self, counts: Vec<usize>) -> Sample {
        let classes = counts.len();
        let order = self.order();
        let mut rows = self.by_label(&counts, &order);
        let (mut agreeing, mut sums, mut confidence) = (vec![0usize; classes], vec![0.0; classes], vec![0.0; classes]);
        for look in order.into_iter().map(|at| self.looks[at]) {
            let label = look.label as usize;
            agreeing[label] += usize::from(look.agrees);
            sums[label] += look.own;
            confidence[label] += look.max;
        }
        let (mut disagreements, mut certainty, all) = (0.0, 0.0, counts.iter().sum::<usize>());
        for (class, rows) in rows.iter_mut().enumerate() {
            rows.weight = counts[class] as f64 / (rows.len() as f64).max(1.0);
            disagreements += rows.weight * (rows.len() - agreeing[class]) as f64;
            certainty += rows.weight * confidence[class];
        }
        let mean = |class: usize| (!rows[class].is_empty()).then(|| sums[class] / rows[class].len() as f64);
        let overview = Overview {
            rows: all,
            self_confidence: (0..classes).map(mean).collect(),
            disagreements: disagreements.round() as usize,
            confidence: certainty / all.max(1) as f64,
            counts,
        };
        Sample { rows, overview }
    }
}
