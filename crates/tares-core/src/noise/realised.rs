//! What the noise really did: counted, not promised.

use super::Transition;
use crate::dataset::{Dataset, Label, check_labels};
use crate::error::{Error, Result, same_length};

/// The noise found by comparing given labels with the truth.
#[derive(Clone, Debug, PartialEq)]
pub struct Realised {
    /// Rows.
    pub rows: usize,
    /// Rows whose label is wrong; foreign rows (open-set noise) are among them.
    pub wrong: usize,
    /// Rows that belong to no class at all.
    pub foreign: usize,
    /// `counts[true][given]`, foreign rows left out.
    pub counts: Vec<Vec<usize>>,
}

impl Realised {
    /// The noise of a data set whose truth is known.
    ///
    /// # Errors
    /// No truth.
    pub fn of(data: &Dataset) -> Result<Self> {
        let truth = data.truth().ok_or_else(|| Error::empty("true labels"))?;
        let mut realised = Self::between(truth, data.given(), data.classes())?;
        for (index, _) in data.foreign().unwrap_or(&[]).iter().enumerate().filter(|(_, foreign)| **foreign) {
            let (t, g) = (truth[index] as usize, data.given()[index] as usize);
            realised.counts[t][g] -= 1;
            realised.foreign += 1;
            realised.wrong += usize::from(t == g);
        }
        Ok(realised)
    }

    /// The noise between two lists of labels.
    ///
    /// # Errors
    /// Different lengths, none at all, or labels outside 0..`classes`.
    pub fn between(truth: &[Label], given: &[Label], classes: usize) -> Result<Self> {
        if truth.is_empty() {
            return Err(Error::empty("true labels"));
        }
        same_length("given labels", truth.len(), given.len())?;
        check_labels("true label", truth, classes)?;
        check_labels("given label", given, classes)?;
        let mut counts = vec![vec![0; classes]; classes];
        truth.iter().zip(given).for_each(|(&t, &g)| counts[t as usize][g as usize] += 1);
        let right: usize = (0..classes).map(|class| counts[class][class]).sum();
        Ok(Self { rows: truth.len(), wrong: truth.len() - right, foreign: 0, counts })
    }

    /// The part of wrong labels.
    pub fn rate(&self) -> f64 {
        self.wrong as f64 / self.rows as f64
    }

    /// The matrix that was realised; a class without samples gets the row of the identity.
    ///
    /// # Errors
    /// Fewer than two classes.
    pub fn transition(&self) -> Result<Transition> {
        let of_class = |(class, row): (Label, &Vec<usize>)| {
            (0..).zip(row.clone()).map(|(given, count)| ((class, given), count as f64)).collect::<Vec<_>>()
        };
        Transition::of_counts(self.counts.len(), &(0..).zip(&self.counts).flat_map(of_class).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Shape;

    #[test]
    fn foreign_rows_are_wrong_whatever_their_label() {
        let data = Dataset::new(vec![0u8; 4], Shape::Flat(1), vec![0, 1, 1, 0], ["a", "b"]).unwrap();
        let data = data.with_truth(vec![0, 1, 0, 0]).unwrap().with_foreign(vec![true, false, false, false]).unwrap();
        let realised = Realised::of(&data).unwrap();
        assert_eq!((realised.wrong, realised.foreign), (2, 1));
        assert_eq!(realised.counts, [vec![1, 1], vec![0, 1]]);
        assert_eq!(realised.rate(), data.noise_rate().unwrap());
    }

    #[test]
    fn a_class_without_samples_gets_a_row_of_the_identity() {
        let realised = Realised::between(&[0, 0], &[0, 1], 3).unwrap();
        assert_eq!(realised.transition().unwrap().to_dense()[2], [0.0, 0.0, 1.0]);
    }
}
