//! Transition matrices: `T[true][given]`, the probability that a sample of class `true` is given the label `given`.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length, unit_interval};
use crate::stream::Stream;

/// A checked K×K matrix whose rows are distributions.
///
/// ```
/// use tares_core::Transition;
/// let t = Transition::pair(3, 0.25)?;
/// assert_eq!(t.rows()[2], [0.25, 0.0, 0.75]); // class 2 is mistaken for class 0
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    rows: Vec<Vec<f64>>,
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
            check_distribution("row of the transition matrix", row)
                .map_err(|error| error.at(format!("row {class}")))?;
        }
        Ok(Self { rows })
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
        Self::filled(classes, rate, |truth, given| if truth == given { 1.0 - rate } else { share })
    }

    /// With probability `rate` the next class, the last one going over to the first.
    ///
    /// # Errors
    /// Fewer than two classes; a rate outside [0, 1].
    pub fn pair(classes: usize, rate: f64) -> Result<Self> {
        Self::filled(classes, rate, |truth, given| match given {
            _ if given == truth => 1.0 - rate,
            _ if given == (truth + 1) % classes => rate,
            _ => 0.0,
        })
    }

    /// With probability `rate` redrawn over all K classes.
    ///
    /// # Errors
    /// Fewer than two classes; a rate outside [0, 1].
    pub fn uniform_all(classes: usize, rate: f64) -> Result<Self> {
        let share = rate / classes as f64;
        Self::filled(classes, rate, |truth, given| if truth == given { 1.0 - rate + share } else { share })
    }

    fn filled(classes: usize, rate: f64, entry: impl Fn(usize, usize) -> f64) -> Result<Self> {
        check_classes(classes)?;
        unit_interval("noise rate", rate)?;
        Ok(Self { rows: (0..classes).map(|t| (0..classes).map(|g| entry(t, g)).collect()).collect() })
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.rows.len()
    }

    /// `rows()[true][given]`.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }

    /// The share of wrong labels when class k makes up `prior[k]` of the samples.
    ///
    /// # Errors
    /// A prior of another length.
    pub fn rate(&self, prior: &[f64]) -> Result<f64> {
        same_length("class shares", self.classes(), prior.len())?;
        Ok(prior.iter().enumerate().map(|(class, share)| share * (1.0 - self.rows[class][class])).sum())
    }

    /// A given label for every true one.
    ///
    /// # Errors
    /// Labels outside 0..K.
    pub fn draw(&self, truth: &[Label], draws: &mut Stream) -> Result<Vec<Label>> {
        check_labels("label", truth, self.classes())?;
        Ok(truth.iter().map(|&class| draws.weighted(&self.rows[class as usize]) as Label).collect())
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
                    Transition::new(t.rows().to_vec()).unwrap();
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
