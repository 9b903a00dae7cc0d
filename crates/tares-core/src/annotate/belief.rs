//! What is believed of a row before any annotator is heard.
//!
//! Without a classifier: the share of each class. With one, its out-of-sample probabilities p, as [`Calibration`] understands them.

use super::calibration::{Calibration, Classifier};
use rayon::prelude::*;

/// What is believed of a row before any annotator is heard.
pub(super) enum Belief {
    /// The share of each class, and the pseudo-count of rows in each class.
    Shares { shares: Vec<f64>, prior: f64 },
    /// A classifier whose calibration is being fitted: b, `[row][class]`.
    Learning { classifier: Classifier, beliefs: Vec<f64> },
    /// A classifier whose calibration is known: b, `[row][class]`.
    Known { calibration: Calibration, beliefs: Vec<f64> },
}

impl Belief {
    pub(super) fn shares(classes: usize, prior: f64) -> Self {
        Self::Shares { shares: vec![1.0 / classes as f64; classes], prior }
    }

    /// From probabilities `[row][class]`; their calibration is fitted to the answers.
    pub(super) fn learning(probabilities: &[f64], classes: usize) -> Self {
        let classifier = Classifier::new(probabilities, classes);
        let beliefs = classifier.beliefs();
        Self::Learning { classifier, beliefs }
    }

    /// From probabilities `[row][class]` with a calibration that was fitted before.
    pub(super) fn known(probabilities: &[f64], classes: usize, calibration: Calibration) -> Self {
        let mut beliefs = vec![0.0; probabilities.len()];
        beliefs
            .par_chunks_exact_mut(classes)
            .zip(probabilities.par_chunks_exact(classes))
            .for_each(|(out, row)| calibration.of_probabilities(row, out));
        Self::Known { calibration, beliefs }
    }

    /// How the classifier is understood, if there is one.
    pub(super) fn calibration(&self) -> Option<&Calibration> {
        match self {
            Self::Shares { .. } => None,
            Self::Learning { classifier, .. } => Some(&classifier.calibration),
            Self::Known { calibration, .. } => Some(calibration),
        }
    }

    /// Whether its M-step needs the posterior of every row.
    pub(super) fn is_learning(&self) -> bool {
        matches!(self, Self::Learning { .. })
    }

    /// b of one row.
    pub(super) fn of_row(&self, row: usize, classes: usize) -> &[f64] {
        match self {
            Self::Shares { shares, .. } => shares,
            Self::Learning { beliefs, .. } | Self::Known { beliefs, .. } => &beliefs[row * classes..][..classes],
        }
    }

    /// M-step, from the expected rows of each class and, while it is learning, the posterior `[row][class]`: the class shares; the
    /// calibration too if `thorough`, which takes longer. Returns the log density of its prior, up to a constant.
    pub(super) fn fit(&mut self, class_rows: &[f64], posterior: &[f64], thorough: bool) -> f64 {
        match self {
            Self::Shares { shares, prior } => {
                let all = class_rows.iter().sum::<f64>() + *prior * class_rows.len() as f64;
                shares.iter_mut().zip(class_rows).for_each(|(share, rows)| *share = (rows + *prior) / all);
                shares.iter().map(|share| *prior * share.ln()).sum()
            }
            Self::Learning { classifier, beliefs } => {
                if thorough {
                    classifier.fit(posterior, beliefs);
                    *beliefs = classifier.beliefs();
                }
                classifier.calibration.log_prior()
            }
            Self::Known { .. } => 0.0,
        }
    }
}
