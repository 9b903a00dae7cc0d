//! Checks every row (are these probabilities?) and counts. Everything later relies on it.

use super::missing::MissingRows;
use super::pass::{Block, fold};
use super::probabilities::{Number, Probabilities};
use super::row::{RowSummary, first_choice};
use crate::dataset::Label;
use crate::envelope::{Opened, Sealed};
use crate::error::{Error, Result, same_length};
use crate::widest::{Work, widest};

/// How far a row's sum may be from 1. Half-precision files with 1000 classes need this much.
const SUM_TOLERANCE: f64 = 5e-3;
/// A 32-bit sum this close to 1 is accepted without a 64-bit sum.
const SURELY_FINE: f32 = 2e-3;

/// Probabilities are added up as whole numbers of 2⁻⁵⁰: such sums are the same in every order and grouping of the rows.
const UNITS: f64 = (1u64 << 50) as f64;

/// A classifier with a lower [skill score](Overview::skill) is hardly better than always naming the commonest label.
pub(crate) const LEAST_SKILL: f64 = 0.2;

/// Counts over all rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Overview {
    /// N.
    pub rows: usize,
    /// Rows per given class.
    pub counts: Vec<usize>,
    /// Mean probability of the given label, per given class; `None` for a class without rows.
    pub self_confidence: Vec<Option<f64>>,
    /// Rows whose largest probability is not at the given label.
    pub disagreements: usize,
    /// Mean of the largest probability.
    pub confidence: f64,
}

impl Overview {
    /// Checks every row and counts.
    ///
    /// # Errors
    /// No rows; lengths that differ; labels outside 0..K; NaN or infinite values; logits in place of probabilities;
    /// rows that don't sum to 1: the message names the worst.
    pub fn of<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        Self::of_present(probs, given, MissingRows::Refuse)
    }

    /// The same of the rows that lack nothing, where others are left out.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_present<P: Probabilities + ?Sized>(
        probs: &P,
        given: &[Label],
        missing: MissingRows,
    ) -> Result<Self> {
        check_sizes(probs, given)?;
        let mut total = Tally::new(probs.classes());
        fold(
            probs,
            given,
            || Tally::new(probs.classes()),
            |tally, block| {
                widest(CountBlock { tally, block, missing });
                Ok(())
            },
            |tally| {
                total.merge(tally);
                Ok(())
            },
        )?;
        total.finish(given.len())
    }

    /// The part of rows whose largest probability is not at the given label.
    pub fn disagreement(&self) -> f64 {
        self.disagreements as f64 / self.rows as f64
    }

    /// The part of the rows that have the commonest label.
    pub fn largest_share(&self) -> f64 {
        self.counts.iter().copied().max().unwrap_or(0) as f64 / self.rows as f64
    }

    /// The skill score against always naming the commonest label, 1 − disagreement / (disagreement of that rule): 1 if the classifier
    /// agrees with every label, 0 if it is no better than the rule, negative if it is worse.
    pub fn skill(&self) -> f64 {
        let left = 1.0 - self.largest_share();
        if left > 0.0 { 1.0 - self.disagreement() / left } else { 1.0 - self.disagreement() }
    }
}

impl RowSummary {
    /// Whether these are surely probabilities. Each comparison is false for NaN.
    #[inline(always)]
    pub(crate) fn is_fine(&self) -> bool {
        (self.min >= 0.0) & (self.max <= 1.0) & ((self.sum - 1.0).abs() <= SURELY_FINE)
    }
}

struct CountBlock<'a, R> {
    tally: &'a mut Tally,
    block: &'a Block<'a, R>,
    missing: MissingRows,
}

impl<R: Number> Work for CountBlock<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (index, label, row) in self.block.rows() {
            if self.missing.leaves_out(label, row) {
                continue;
            }
            self.tally.add(index, label, row);
        }
    }
}

/// Checks the sizes before any row is read.
pub(crate) fn check_sizes<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<()> {
    if given.is_empty() {
        return Err(Error::empty("given labels"));
    }
    if probs.classes() < 2 {
        return Err(Error::value("number of classes", "at least 2", probs.classes()));
    }
    same_length("given labels", probs.rows(), given.len())
}

/// Counts over a part of the rows, and the first or worst of each kind of bad row. Tallies of parts merge to that of the whole, in
/// whatever order and grouping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    counts: Vec<usize>,
    /// Per given class, the sum of its probability; in [`UNITS`].
    sums: Vec<i128>,
    disagreements: usize,
    /// The sum of the largest probabilities; in [`UNITS`].
    confidence: i128,
    /// (|sum − 1|, row, sum) of the worst row.
    worst: (f64, usize, f64),
    bad_label: Option<(usize, Label)>,
    bad_value: Option<(usize, usize, f64)>,
    outside: Option<(usize, usize, f64)>,
    outside_rows: usize,
}

impl Tally {
    pub(crate) fn new(classes: usize) -> Self {
        Self {
            counts: vec![0; classes],
            sums: vec![0; classes],
            disagreements: 0,
            confidence: 0,
            worst: (0.0, 0, 1.0),
            bad_label: None,
            bad_value: None,
            outside: None,
            outside_rows: 0,
        }
    }

    /// Counts a row; returns its summary, and whether the given label is the classifier's first choice.
    #[inline(always)]
    pub(crate) fn add<R: Number>(&mut self, index: usize, label: Label, row: &[R]) -> (RowSummary, bool) {
        let (class, summary) = (label as usize, RowSummary::of(row));
        let agrees = class < row.len() && summary.max <= row[class].narrow() && first_choice(row, class);
        self.count(index, label, row, summary, agrees);
        (summary, agrees)
    }

    /// Counts a row whose summary is known.
    #[inline(always)]
    pub(crate) fn count<R: Number>(
        &mut self,
        index: usize,
        label: Label,
        row: &[R],
        summary: RowSummary,
        agrees: bool,
    ) {
        let class = label as usize;
        let fine = summary.is_fine() && class < row.len();
        if !fine && !self.examine(index, label, row) {
            return;
        }
        self.counts[class] += 1;
        self.sums[class] += i128::from(in_units(row[class].into()));
        self.disagreements += usize::from(!agrees);
        self.confidence += i128::from(in_units(f64::from(summary.max)));
    }

    /// Counts rows that are fine, with labels in 0..K: `own` are the probabilities of their labels, `maxima` the largest ones, `choices` the
    /// classes of those.
    #[inline(always)]
    pub(crate) fn count_fine<const L: usize>(
        &mut self,
        labels: &[Label; L],
        own: &[f32; L],
        maxima: &[f32; L],
        choices: &[u32; L],
    ) {
        let (mut disagreements, mut confidence) = (0, 0);
        for lane in 0..L {
            disagreements += u32::from(choices[lane] != labels[lane]);
            confidence += in_units(f64::from(maxima[lane]));
        }
        self.disagreements += disagreements as usize;
        self.confidence += i128::from(confidence);
        for (&label, &own) in labels.iter().zip(own) {
            self.counts[label as usize] += 1;
            self.sums[label as usize] += i128::from(in_units(f64::from(own)));
        }
    }

    /// Finds what is wrong with a row; returns whether it can be counted at all.
    #[cold]
    fn examine<R: Number>(&mut self, index: usize, label: Label, row: &[R]) -> bool {
        if label as usize >= row.len() {
            self.bad_label.get_or_insert((index, label));
            return false;
        }
        let values = || row.iter().map(|&value| value.into());
        let sum: f64 = values().sum();
        if !sum.is_finite() {
            let (column, value) = values().enumerate().find(|(_, value)| !value.is_finite()).unwrap_or((0, sum));
            self.bad_value.get_or_insert((index, column, value));
            return false;
        }
        if let Some((column, value)) =
            values().enumerate().find(|(_, value)| !(-1e-6..=1.0 + SUM_TOLERANCE).contains(value))
        {
            self.outside.get_or_insert((index, column, value));
            self.outside_rows += 1;
        }
        let gap = (sum - 1.0).abs();
        if gap > self.worst.0 {
            self.worst = (gap, index, sum);
        }
        true
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(a, b)| *a += b);
        self.sums.iter_mut().zip(other.sums).for_each(|(a, b)| *a += b);
        self.disagreements += other.disagreements;
        self.confidence += other.confidence;
        let (gap, row, _) = other.worst;
        if gap > self.worst.0 || (gap == self.worst.0 && row < self.worst.1) {
            self.worst = other.worst;
        }
        self.bad_label = earlier(self.bad_label, other.bad_label, |bad| bad.0);
        self.bad_value = earlier(self.bad_value, other.bad_value, |bad| bad.0);
        self.outside = earlier(self.outside, other.outside, |bad| bad.0);
        self.outside_rows += other.outside_rows;
    }

    /// K.
    pub(crate) fn classes(&self) -> usize {
        self.counts.len()
    }

    /// Rows that were counted.
    pub(crate) fn rows(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Appends the counts; only of a tally that [is fine](Self::is_fine).
    pub(crate) fn write(&self, out: &mut Sealed) {
        out.list(&self.counts, |out, count| out.u64(count as u64));
        out.list(&self.sums, Sealed::i128);
        out.u64(self.disagreements as u64);
        out.i128(self.confidence);
        [self.worst.0, self.worst.2].into_iter().for_each(|number| out.f64(number));
        out.u64(self.worst.1 as u64);
    }

    /// Reads what [`write`](Self::write) wrote.
    pub(crate) fn read(from: &mut Opened<'_>) -> Result<Self> {
        let counts = from.list(Opened::size)?;
        let mut tally = Self::new(counts.len());
        (tally.counts, tally.sums) = (counts, from.list(Opened::i128)?);
        tally.disagreements = from.size()?;
        tally.confidence = from.i128()?;
        (tally.worst.0, tally.worst.2) = (from.f64()?, from.f64()?);
        tally.worst.1 = from.size()?;
        if tally.sums.len() != tally.counts.len() {
            return Err(from.bad("lists of different lengths"));
        }
        Ok(tally)
    }

    /// Whether `finish` will succeed.
    pub(crate) fn is_fine(&self) -> bool {
        self.bad_label.is_none() && self.bad_value.is_none() && self.outside.is_none() && self.worst.0 <= SUM_TOLERANCE
    }

    /// The overview, or an error about the rows.
    pub(crate) fn finish(self, rows: usize) -> Result<Overview> {
        let classes = self.counts.len();
        if let Some((row, label)) = self.bad_label {
            return Err(Error::value(
                "given label",
                format!("in 0..{classes} (the columns of the probabilities)"),
                label,
            )
            .at(format!("row {row}")));
        }
        if let Some((row, class, value)) = self.bad_value {
            return Err(Error::value("probability", "a finite number", value).at(format!("row {row}, class {class}")));
        }
        if let Some((row, class, value)) = self.outside {
            let place = format!("row {row}, class {class}");
            if self.outside_rows * 2 > rows {
                return Err(Error::value(
                    "probabilities",
                    "in [0, 1]: these look like logits or scores, apply the softmax first",
                    value,
                )
                .at(place));
            }
            return Err(Error::value("probability", "in [0, 1]", value).at(place));
        }
        if self.worst.0 > SUM_TOLERANCE {
            return Err(Error::value(
                "sum of the probabilities of a row",
                "1 (or ask for rows to be normalised)",
                format!("{}, the worst of all", self.worst.2),
            )
            .at(format!("row {}", self.worst.1)));
        }
        let mean =
            |class: usize| (self.counts[class] > 0).then(|| in_ones(self.sums[class]) / self.counts[class] as f64);
        Ok(Overview {
            rows,
            self_confidence: (0..classes).map(mean).collect(),
            disagreements: self.disagreements,
            confidence: in_ones(self.confidence) / rows as f64,
            counts: self.counts,
        })
    }
}

/// A probability in [`UNITS`], to the nearest: adding 1.5 · 2⁵² leaves the whole number in the low bits. (A cast has to look for numbers
/// that are too large, and none is: what lies outside [0, 1] by more than a rounding is an error.)
#[inline(always)]
fn in_units(probability: f64) -> i64 {
    const ROUND: f64 = 6_755_399_441_055_744.0;
    ((probability * UNITS + ROUND).to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64)
}

fn in_ones(units: i128) -> f64 {
    units as f64 / UNITS
}

fn earlier<T: Copy>(a: Option<T>, b: Option<T>, row: impl Fn(T) -> usize) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if row(a) <= row(b) { a } else { b }),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Normalised, ProbabilityMatrix};

    fn failure(values: &[f64], given: &[Label]) -> String {
        Overview::of(&ProbabilityMatrix::new(values, 2).unwrap(), given).unwrap_err().to_string()
    }

    #[test]
    fn every_bad_input_is_named_with_its_place() {
        assert_eq!(
            failure(&[0.5, 0.5, 0.2, 0.7, 0.1, 0.1], &[0, 1, 1]),
            "sum of the probabilities of a row must be 1 (or ask for rows to be normalised), got 0.2, the worst of all at row 2"
        );
        assert_eq!(
            failure(&[0.5, 0.5, f64::NAN, 0.7], &[0, 1]),
            "probability must be a finite number, got NaN at row 1, class 0"
        );
        assert_eq!(
            failure(&[0.5, 0.5, 0.5, 0.5], &[0, 2]),
            "given label must be in 0..2 (the columns of the probabilities), got 2 at row 1"
        );
        assert!(failure(&[3.0, -2.0, -1.0, 4.5], &[0, 1]).contains("look like logits"));
        assert_eq!(failure(&[0.5, 0.5], &[0, 1]), "given labels must have 1 entries, got 2");
        assert_eq!(failure(&[], &[]), "given labels must not be empty");
    }

    #[test]
    fn tallies_of_parts_merge_in_any_order_and_grouping() {
        let rows: Vec<[f64; 2]> = (0..30).map(|i| [f64::from(i) / 29.0, 1.0 - f64::from(i) / 29.0]).collect();
        let tally = |parts: &[std::ops::Range<usize>]| {
            let mut all = Tally::new(2);
            for part in parts {
                let mut tally = Tally::new(2);
                part.clone().for_each(|i| _ = tally.add(i, (i % 2) as Label, &rows[i]));
                all.merge(tally);
            }
            all
        };
        let whole = tally(std::slice::from_ref(&(0..30)));
        assert_eq!(tally(&[0..7, 7..8, 8..30]), whole);
        assert_eq!(tally(&[20..30, 0..9, 9..9, 9..20]), whole);
        let mut bytes = Sealed::new(b"test", 1);
        whole.write(&mut bytes);
        let bytes = bytes.close();
        assert_eq!(Tally::read(&mut Opened::new("tally", b"test", 1, &bytes).unwrap()).unwrap(), whole);
    }

    #[test]
    fn normalised_rows_pass() {
        let values = [2.0, 6.0, 0.5, 0.5];
        let overview = Overview::of(&Normalised(ProbabilityMatrix::new(&values, 2).unwrap()), &[1, 1]).unwrap();
        assert_eq!(overview.self_confidence, [None, Some(0.625)]);
    }
}
