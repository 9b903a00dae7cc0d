//! Labels that are not certain: the probability of each class, beside the given label.

use super::Dataset;
use crate::error::{Error, Result};

/// How far the probabilities of a row may be from a sum of 1.
const SLACK: f32 = 1e-3;

impl Dataset {
    /// Adds the probability of each class for every row, `[row][class]`: a soft consensus of several labels. Networks then see each
    /// class as often as it is believed; the given label stays the likeliest.
    ///
    /// # Errors
    /// Another number of probabilities; probabilities outside [0, 1] or with another sum than 1.
    pub fn with_beliefs(mut self, beliefs: Vec<f32>) -> Result<Self> {
        let classes = self.classes();
        if beliefs.len() != self.len() * classes {
            return Err(Error::length("beliefs", self.len() * classes, beliefs.len()));
        }
        for (row, parts) in beliefs.chunks_exact(classes).enumerate() {
            let sum: f32 = parts.iter().sum();
            if !parts.iter().all(|part| (0.0..=1.0).contains(part)) || (sum - 1.0).abs() > SLACK {
                return Err(Error::value("sum of the beliefs", "1, of parts in [0, 1]", sum).at(format!("row {row}")));
            }
        }
        self.beliefs = Some(beliefs.into());
        Ok(self)
    }

    /// The probability of each class of a row, if labels are not certain.
    pub fn beliefs(&self, row: usize) -> Option<&[f32]> {
        let classes = self.classes();
        self.beliefs.as_ref().map(|beliefs| &beliefs[row * classes..][..classes])
    }

    /// How much each row counts for a model that takes one label per row: the probability of its given label.
    pub fn certainty(&self) -> Option<Vec<f64>> {
        let sure = |row: usize| self.beliefs(row).map(|parts| f64::from(parts[self.given()[row] as usize]).max(1e-3));
        (0..self.len()).map(sure).collect::<Option<Vec<f64>>>().filter(|_| self.beliefs.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Dataset, Shape};

    #[test]
    fn beliefs_go_with_their_rows_and_other_labels_end_them() {
        let data = Dataset::new(vec![0.0f32, 1.0, 2.0], Shape::Flat(1), vec![0, 1, 0], ["a", "b"]).unwrap();
        assert_eq!((data.beliefs(1), data.certainty()), (None, None));
        let soft = data.clone().with_beliefs(vec![0.75, 0.25, 0.0, 1.0, 0.5, 0.5]).unwrap();
        let part = soft.subset(&[2, 0]).unwrap();
        assert_eq!((part.beliefs(0), part.beliefs(1)), (Some(&[0.5, 0.5][..]), Some(&[0.75, 0.25][..])));
        assert_eq!(soft.certainty(), Some(vec![0.75, 1.0, 0.5]));
        assert_eq!(soft.relabel(vec![1, 1, 1]).unwrap().beliefs(0), None);
        assert!(data.clone().with_beliefs(vec![0.5; 4]).is_err());
        let error = data.with_beliefs(vec![0.5, 0.5, 0.9, 0.9, 0.5, 0.5]).unwrap_err().to_string();
        assert!(error.contains("at row 1"), "{error}");
    }
}
