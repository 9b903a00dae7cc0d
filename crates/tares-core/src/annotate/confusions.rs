//! What every annotator makes of every class, with intervals: [`AnnotatorConfusions`].

use super::answers::Answers;
use super::confusion::Columns;
use super::own_prior::OwnPrior;
use super::pass::expected_counts;
use crate::dataset::Label;
use crate::estimate::counting_interval;

/// One entry of an annotator's matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfusionEntry {
    /// The true class.
    pub truth: Label,
    /// What the annotator answers.
    pub answered: Label,
    /// The expected number of rows of this class with this answer.
    pub rows: f64,
    /// How often rows of this class get this answer: drawn towards what is expected of anybody if there are few.
    pub share: f64,
    /// Where the share lies: two standard deviations.
    pub interval: (f64, f64),
}

/// The matrices of all annotators, found once.
pub struct AnnotatorConfusions {
    columns: Columns,
    counts: Vec<f64>,
    prior: OwnPrior,
    classes: usize,
}

impl AnnotatorConfusions {
    pub(super) fn new(answers: &Answers, posterior: &[f64], prior: &OwnPrior) -> Self {
        let columns = Columns::new(answers);
        let counts = expected_counts(answers, &columns, posterior);
        Self { columns, counts, prior: prior.clone(), classes: answers.classes() }
    }

    /// One annotator's whole matrix, `[true][answered]`; the expectation for someone without answers.
    pub fn matrix(&self, annotator: usize) -> Vec<f64> {
        self.prior.matrix(annotator, self.columns.own_counts(annotator, &self.counts))
    }

    /// The entries of one annotator that at least half a row speaks for, by true class, then by answer.
    pub fn entries(&self, annotator: usize) -> Vec<ConfusionEntry> {
        let classes = self.classes;
        let matrix = self.matrix(annotator);
        let counts = self.columns.own_counts(annotator, &self.counts);
        let mut entries = Vec::new();
        for truth in 0..classes {
            let all: f64 = (0..classes).map(|answered| counts[truth * classes + answered]).sum();
            for answered in 0..classes {
                let (rows, share) = (counts[truth * classes + answered], matrix[truth * classes + answered]);
                if rows >= 0.5 {
                    let interval = counting_interval(share, all.round() as usize);
                    let (truth, answered) = (truth as Label, answered as Label);
                    entries.push(ConfusionEntry { truth, answered, rows, share, interval });
                }
            }
        }
        entries
    }
}
