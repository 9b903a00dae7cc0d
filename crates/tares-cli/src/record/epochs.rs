//! `epochs.jsonl`: one line of JSON per epoch.

use super::manifest::fraction;
use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares_core::Error;

/// One line of `epochs.jsonl`. Fractions are between 0 and 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Mean loss over the batches.
    pub train_loss: f64,
    /// Accuracy on the training rows and their given labels, as seen during the epoch. (Absent in runs before 0.1.)
    #[serde(default)]
    pub train_accuracy: Option<f64>,
    /// Accuracy on the test rows, if there are any.
    #[serde(default)]
    pub test_accuracy: Option<f64>,
    /// Rows that were kept: they contributed to the gradient.
    pub kept: u64,
    /// The same as a fraction of all rows.
    pub kept_fraction: f64,
    /// Of the kept rows, the fraction with a right label; only if the truth is known.
    #[serde(default)]
    pub label_precision: Option<f64>,
    /// Of the rows with a right label, the fraction that was kept; only if the truth is known.
    #[serde(default)]
    pub label_recall: Option<f64>,
    /// The learning rate of the epoch.
    pub learning_rate: f64,
    /// Steps made.
    #[serde(default)]
    pub steps: u64,
    /// Steps without any gradient: nothing kept, or every kept sample beyond the loss's margin.
    #[serde(default)]
    pub starved_steps: u64,
    /// The curriculum losses only: their objective per sample, a bound of the share of misclassified samples.
    #[serde(default)]
    pub bound: Option<f64>,
    /// The curriculum losses only: the mean ranking loss of all samples (the paper's Ĵ).
    #[serde(default)]
    pub plain_bound: Option<f64>,
    /// Methods that estimate it on the way only: the share of labels believed to be wrong.
    #[serde(default)]
    pub estimated_rate: Option<f64>,
    /// Duration of the epoch, including evaluation.
    pub seconds: f64,
}

impl EpochRecord {
    /// The line, with its newline.
    ///
    /// # Errors
    /// A number that JSON cannot hold.
    pub fn line(&self) -> Outcome<Vec<u8>> {
        let mut line = serde_json::to_vec(self).map_err(Failure::new)?;
        line.push(b'\n');
        Ok(line)
    }

    fn check(&self, number: usize) -> tares_core::Result<()> {
        if self.epoch != number {
            return Err(Error::value("epoch", number.to_string(), self.epoch));
        }
        fraction("kept_fraction", self.kept_fraction)?;
        let parts =
            [self.train_accuracy, self.test_accuracy, self.label_precision, self.label_recall, self.estimated_rate];
        parts
            .into_iter()
            .flatten()
            .try_for_each(|part| fraction("accuracy, precision, recall or estimated rate", part))?;
        if self.starved_steps > self.steps {
            let allowed = format!("at most {}, the steps", self.steps);
            return Err(Error::value("starved_steps", allowed, self.starved_steps));
        }
        match [self.bound, self.plain_bound].into_iter().flatten().find(|bound| !(0.0..f64::INFINITY).contains(bound)) {
            Some(bound) => Err(Error::value("bound", "at least 0", bound)),
            None => Ok(()),
        }
    }

    /// The share of steps without gradient.
    pub fn starved_fraction(&self) -> Option<f64> {
        (self.steps > 0).then(|| self.starved_steps as f64 / self.steps as f64)
    }
}

/// Reads all complete lines. A last line without its newline was cut off by a crash and is left out.
///
/// # Errors
/// A line is not an epoch, or an epoch is missing before it.
pub fn read_epochs(path: &Path) -> Outcome<Vec<EpochRecord>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_text(path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let read = |(position, line): (usize, &str)| {
        let place = format!("{}: line {}", path.display(), position + 1);
        let epoch: EpochRecord = serde_json::from_str(line).map_err(|error| Failure::new(error).within(&place))?;
        epoch.check(position + 1).map_err(|error| Failure::from(error).within(&place))?;
        Ok(epoch)
    };
    whole.lines().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::super::made_up::made_up;
    use super::*;

    #[test]
    fn a_line_cut_by_a_crash_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("epochs.jsonl");
        let epochs = made_up("npcl", "symmetric", 0.5, 1, 0.9).epochs;
        let text: Vec<u8> = epochs.iter().flat_map(|epoch| epoch.line().unwrap()).collect();
        std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        assert_eq!(read_epochs(&path).unwrap(), epochs[..11]);
    }

    #[test]
    fn a_damaged_line_says_where_and_what() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("epochs.jsonl");
        let epochs = made_up("npcl", "symmetric", 0.5, 1, 0.9).epochs;
        let said = |second: &EpochRecord| {
            std::fs::write(&path, [epochs[0].line().unwrap(), second.line().unwrap()].concat()).unwrap();
            read_epochs(&path).unwrap_err().to_string()
        };
        let text = said(&epochs[2]);
        assert!(text.ends_with("epochs.jsonl: line 2: epoch must be 2, got 3"), "{text}");
        let text = said(&EpochRecord { kept_fraction: 1e300, ..epochs[1].clone() });
        assert!(text.contains("kept_fraction must be in [0, 1]"), "{text}");
        let text = said(&EpochRecord { starved_steps: 31, ..epochs[1].clone() });
        assert!(text.contains("starved_steps must be at most 30, the steps, got 31"), "{text}");
        let text = said(&EpochRecord { bound: Some(-1.0), ..epochs[1].clone() });
        assert!(text.contains("bound must be at least 0, got -1"), "{text}");
    }

    #[test]
    fn lines_of_runs_before_these_were_recorded_are_read() {
        let line = r#"{"epoch":1,"train_loss":2.0,"kept":5,"kept_fraction":0.5,"learning_rate":0.001,"seconds":1.0}"#;
        let epoch: EpochRecord = serde_json::from_str(line).unwrap();
        assert_eq!((epoch.train_accuracy, epoch.bound, epoch.starved_fraction()), (None, None, None));
    }
}
