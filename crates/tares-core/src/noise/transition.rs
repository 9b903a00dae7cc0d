//! Transition matrices: `T[true][given]`, the probability that a sample of class `true` is given the label `given`.
//!
//! A row is a list of entries and one value that all others share. Twenty thousand classes have 400 million pairs, of which
//! any noise and any data name few: a matrix takes the memory of those.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length, unit_interval};
use crate::stream::Stream;
use std::collections::BTreeMap;

/// A checked K×K matrix whose rows are distributions.
///
/// ```
/// use tares_core::Transition;
/// let t = Transition::pair(3, 0.25)?;
/// assert_eq!(t.to_dense()[2], [0.25, 0.0, 0.75]); // class 2 is mistaken for class 0
/// assert_eq!(t.at(2, 0), 0.25);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Transition {
    rows: Vec<TransitionRow>,
}

/// The labels that one class is given.
#[derive(Clone, Debug)]
pub struct TransitionRow {
    listed: Vec<(Label, f64)>,
    others: f64,
}

impl TransitionRow {
    /// A row with some labels listed, each once; all others are `others` likely each.
    pub fn new(mut listed: Vec<(Label, f64)>, others: f64) -> Self {
        listed.sort_unstable_by_key(|entry| entry.0);
        Self { listed, others }
    }

    /// The labels that are listed, in order, with their probabilities.
    pub fn listed(&self) -> &[(Label, f64)] {
        &self.listed
    }

    /// The probability of each label that is not listed.
    pub fn others(&self) -> f64 {
        self.others
    }

    /// The probability of a label.
    pub fn at(&self, given: usize) -> f64 {
        match self.listed.binary_search_by_key(&(given as Label), |entry| entry.0) {
            Ok(place) => self.listed[place].1,
            Err(_) => self.others,
        }
    }

    /// The sum of all probabilities.
    fn sum(&self, classes: usize) -> f64 {
        let listed: f64 = self.listed.iter().map(|entry| entry.1).sum();
        listed + self.others * (classes - self.listed.len()) as f64
    }

    /// Every probability, written into `row`.
    fn fill(&self, row: &mut [f64]) {
        row.fill(self.others);
        self.listed.iter().for_each(|&(given, part)| row[given as usize] = part);
    }
}

/// Two matrices are equal if all their entries are, however they are listed.
impl PartialEq for Transition {
    fn eq(&self, other: &Self) -> bool {
        let classes = self.classes();
        let same = |(a, b): (&TransitionRow, &TransitionRow)| (0..classes).all(|given| a.at(given) == b.at(given));
        classes == other.classes() && self.rows.iter().zip(&other.rows).all(same)
    }
}

impl Transition {
    /// Checks a matrix.
    ///
    /// # Errors
    /// Fewer than two rows; rows that are not K long; entries outside [0, 1]; rows that don't sum to 1 (within 1e-6).
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self> {
        check_classes(rows.len())?;
        for (class, row) in rows.iter().enumerate() {
            same_length(&format!("row {class} of the transition matrix"), rows.len(), row.len())?;
        }
        let listed = |row: Vec<f64>| (0..).zip(row).filter(|entry: &(Label, f64)| entry.1 != 0.0).collect();
        Self::of_rows(rows.into_iter().map(|row| TransitionRow { listed: listed(row), others: 0.0 }).collect())
    }

    /// Checks a matrix of which only some entries are listed.
    ///
    /// # Errors
    /// Fewer than two rows; labels listed twice or outside 0..K; entries outside [0, 1]; rows that don't sum to 1 (within
    /// 1e-6).
    pub fn of_rows(rows: Vec<TransitionRow>) -> Result<Self> {
        let classes = rows.len();
        check_classes(classes)?;
        for (class, row) in rows.iter().enumerate() {
            let at = |error: Error| error.at(format!("row {class}"));
            let entries = || row.listed.iter().map(|entry| entry.1).chain([row.others]);
            if let Some(entry) = entries().find(|entry| !(0.0..=1.0).contains(entry)) {
                return Err(at(Error::value("entry of row of the transition matrix", "in [0, 1]", entry)));
            }
            let in_order = row.listed.windows(2).all(|pair| pair[0].0 < pair[1].0);
            if !in_order || row.listed.last().is_some_and(|last| last.0 as usize >= classes) {
                let allowed = format!("different labels in 0..{classes}");
                return Err(at(Error::value("labels of a row of the transition matrix", allowed, "others")));
            }
            let sum = row.sum(classes);
            if (sum - 1.0).abs() > 1e-6 || sum.is_nan() {
                return Err(at(Error::value("sum of row of the transition matrix", "1", sum)));
            }
        }
        Ok(Self { rows })
    }

    /// From how many samples of each (true class, given label) there are; a class without samples gets the row of the
    /// identity.
    ///
    /// # Errors
    /// Fewer than two classes; labels outside 0..K; negative counts.
    pub fn of_counts(classes: usize, counts: &BTreeMap<(Label, Label), f64>) -> Result<Self> {
        let row = |class: Label| {
            let of_class = || counts.range((class, 0)..=(class, Label::MAX)).filter(|(_, count)| **count != 0.0);
            let total: f64 = of_class().map(|(_, count)| count).sum();
            let listed = match total > 0.0 {
                true => of_class().map(|(&(_, given), count)| (given, count / total)).collect(),
                false => vec![(class, 1.0)],
            };
            TransitionRow { listed, others: 0.0 }
        };
        Self::of_rows((0..classes as Label).map(row).collect())
    }

    /// Labels never change.
    ///
    /// # Errors
    /// Fewer than two classes.
    pub fn identity(classes: usize) -> Result<Self> {
        Self::symmetric(classes, 0.0)
    }

    /// With probability `rate` one of the K−1 other classes.
    ///
    /// # Errors
    /// Fewer than two classes; a rate outside [0, 1].
    pub fn symmetric(classes: usize, rate: f64) -> Result<Self> {
        check_classes(classes)?;
        let share = rate / (classes as f64 - 1.0);
        Self::mistaken(classes, rate, |truth| TransitionRow::new(vec![(truth, 1.0 - rate)], share))
    }

    /// With probability `rate` the next class, the last one going over to the first.
    ///
    /// # Errors
    /// Fewer than two classes; a rate outside [0, 1].
    pub fn pair(classes: usize, rate: f64) -> Result<Self> {
        let next = |truth: Label| (truth + 1) % classes as Label;
        Self::mistaken(classes, rate, |truth| TransitionRow::new(vec![(truth, 1.0 - rate), (next(truth), rate)], 0.0))
    }

    /// With probability `rate` redrawn over all K classes.
    ///
    /// # Errors
    /// Fewer than two classes; a rate outside [0, 1].
    pub fn uniform_all(classes: usize, rate: f64) -> Result<Self> {
        let share = rate / classes as f64;
        Self::mistaken(classes, rate, |truth| TransitionRow::new(vec![(truth, 1.0 - rate + share)], share))
    }

    fn mistaken(classes: usize, rate: f64, row: impl Fn(Label) -> TransitionRow) -> Result<Self> {
        check_classes(classes)?;
        unit_interval("noise rate", rate)?;
        Ok(Self { rows: (0..classes as Label).map(row).collect() })
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.rows.len()
    }

    /// The row of each true class.
    pub fn rows(&self) -> &[TransitionRow] {
        &self.rows
    }

    /// The probability that class `truth` is given the label `given`.
    pub fn at(&self, truth: usize, given: usize) -> f64 {
        self.rows[truth].at(given)
    }

    /// All K² entries, `[true][given]`.
    pub fn to_dense(&self) -> Vec<Vec<f64>> {
        let mut rows = vec![vec![0.0; self.classes()]; self.classes()];
        rows.iter_mut().zip(&self.rows).for_each(|(all, row)| row.fill(all));
        rows
    }

    /// The share of wrong labels when class k makes up `prior[k]` of the samples.
    ///
    /// # Errors
    /// A prior of another length.
    pub fn rate(&self, prior: &[f64]) -> Result<f64> {
        same_length("class shares", self.classes(), prior.len())?;
        Ok(prior.iter().enumerate().map(|(class, share)| share * (1.0 - self.at(class, class))).sum())
    }

    /// A given label for every true one.
    ///
    /// # Errors
    /// Labels outside 0..K.
    pub fn draw(&self, truth: &[Label], draws: &mut Stream) -> Result<Vec<Label>> {
        check_labels("label", truth, self.classes())?;
        let mut weights = vec![0.0; self.classes()];
        let mut draw = |&class: &Label| {
            self.rows[class as usize].fill(&mut weights);
            draws.weighted(&weights) as Label
        };
        Ok(truth.iter().map(&mut draw).collect())
    }
}

fn check_classes(classes: usize) -> Result<()> {
    if classes < 2 { Err(Error::value("number of classes", "at least 2", classes)) } else { Ok(()) }
}

/// Checks that a row is a probability distribution.
pub(crate) fn check_distribution(what: &str, row: &[f64]) -> Result<()> {
    if let Some(entry) = row.iter().find(|entry| !(0.0..=1.0).contains(*entry)) {
        return Err(Error::value(format!("entry of {what}"), "in [0, 1]", entry));
    }
    let sum: f64 = row.iter().sum();
    if (sum - 1.0).abs() > 1e-6 { Err(Error::value(format!("sum of {what}"), "1", sum)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_rows_that_sum_to_1() {
        for classes in [2, 3, 10] {
            for rate in [0.0, 0.35, 1.0] {
                for t in [Transition::symmetric, Transition::pair, Transition::uniform_all] {
                    let t = t(classes, rate).unwrap();
                    assert_eq!(Transition::new(t.to_dense()).unwrap(), t);
                }
            }
        }
    }

    #[test]
    fn bad_matrices_are_named_by_their_row() {
        let say = |rows| Transition::new(rows).unwrap_err().to_string();
        assert_eq!(
            say(vec![vec![1.0, 0.0], vec![0.5, 0.4]]),
            "sum of row of the transition matrix must be 1, got 0.9 at row 1"
        );
        assert_eq!(
            say(vec![vec![1.5, -0.5], vec![0.0, 1.0]]),
            "entry of row of the transition matrix must be in [0, 1], got 1.5 at row 0"
        );
        assert_eq!(say(vec![vec![1.0]]), "number of classes must be at least 2, got 1");
        assert_eq!(say(vec![vec![1.0, 0.0], vec![1.0]]), "row 1 of the transition matrix must have 2 entries, got 1");
    }
}
