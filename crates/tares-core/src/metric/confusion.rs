//! Accuracy, overall and per class, and the matrix behind both.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};

/// The part of predictions that equal the truth.
///
/// ```
/// assert_eq!(tares_core::metric::accuracy(&[0, 1, 1, 2], &[0, 1, 2, 2])?, 0.75);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Different lengths; nothing to compare.
pub fn accuracy(truth: &[Label], predicted: &[Label]) -> Result<f64> {
    if truth.is_empty() {
        return Err(Error::empty("true labels"));
    }
    same_length("predictions", truth.len(), predicted.len())?;
    Ok(truth.iter().zip(predicted).filter(|(t, p)| t == p).count() as f64 / truth.len() as f64)
}

/// How often each true class was predicted as each class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confusion {
    /// `counts[true][predicted]`.
    pub counts: Vec<Vec<usize>>,
}

impl Confusion {
    /// Counts.
    ///
    /// # Errors
    /// Different lengths; nothing to compare; labels outside 0..`classes`.
    pub fn new(truth: &[Label], predicted: &[Label], classes: usize) -> Result<Self> {
        if truth.is_empty() {
            return Err(Error::empty("true labels"));
        }
        same_length("predictions", truth.len(), predicted.len())?;
        check_labels("true label", truth, classes)?;
        check_labels("prediction", predicted, classes)?;
        let mut counts = vec![vec![0; classes]; classes];
        truth.iter().zip(predicted).for_each(|(&t, &p)| counts[t as usize][p as usize] += 1);
        Ok(Self { counts })
    }

    /// The part on the diagonal.
    pub fn accuracy(&self) -> f64 {
        let right: usize = (0..self.counts.len()).map(|class| self.counts[class][class]).sum();
        right as f64 / self.counts.iter().flatten().sum::<usize>() as f64
    }

    /// The part of each true class that was recognised; `None` for a class without samples.
    pub fn per_class_accuracy(&self) -> Vec<Option<f64>> {
        let of_class = |(class, row): (usize, &Vec<usize>)| {
            let total: usize = row.iter().sum();
            (total > 0).then(|| row[class] as f64 / total as f64)
        };
        self.counts.iter().enumerate().map(of_class).collect()
    }

    /// The mean of the per-class accuracies: what accuracy would be if all classes were equally frequent.
    pub fn balanced_accuracy(&self) -> f64 {
        let known: Vec<f64> = self.per_class_accuracy().into_iter().flatten().collect();
        known.iter().sum::<f64>() / known.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_without_samples_has_no_accuracy() {
        let confusion = Confusion::new(&[0, 0, 2], &[0, 1, 2], 3).unwrap();
        assert_eq!(confusion.per_class_accuracy(), [Some(0.5), None, Some(1.0)]);
        assert_eq!(confusion.balanced_accuracy(), 0.75);
        assert_eq!(confusion.accuracy(), accuracy(&[0, 0, 2], &[0, 1, 2]).unwrap());
    }
}
