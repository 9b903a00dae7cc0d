//! The curriculum loss on trees: in every round Algorithm 1 looks at the margins of **all** training rows, and only the rows
//! it keeps have gradients.
//!
//! There are no batches, so this is the paper's own E, Q or NPCL of the whole training set. A pruned row is still scored:
//! once the trees agree with its label, it is kept again.

use super::histogram::Slope;
use super::loss;
use crate::error::Result;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tares_core::margin::margin;
use tares_core::{Curriculum, Extra, Label, Selector, Surrogate, Threshold};

/// Which rows have gradients, and of which loss.
///
/// ```
/// use tares_core::{Surrogate, Threshold};
/// use tares_judges::TreeCurriculum;
/// let npcl = TreeCurriculum::new(Threshold::Npcl { rate: 0.2 });
/// assert_eq!((npcl.base, npcl.burn_in), (Surrogate::Hinge, 10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TreeCurriculum {
    /// Where Algorithm 1's threshold comes from.
    pub threshold: Threshold,
    /// The base loss that ranks rows.
    pub base: Surrogate,
    /// Whether one more row is kept when there is slack.
    pub extra: bool,
    /// One selection per class, so that a rare class is not pruned away.
    pub balanced: bool,
    /// Rounds in which all rows are kept.
    pub burn_in: usize,
    /// Train kept rows on the base loss itself, with a hessian of 1, instead of the log-loss.
    pub base_gradients: bool,
}

impl TreeCurriculum {
    /// A curriculum with this threshold: ranked by the hinge, ten rounds of burn-in, kept rows trained on the log-loss.
    pub fn new(threshold: Threshold) -> Self {
        Self { threshold, base: Surrogate::Hinge, extra: false, balanced: false, burn_in: 10, base_gradients: false }
    }

    /// Checks threshold and base loss.
    ///
    /// # Errors
    /// A parameter outside its domain.
    pub fn check(&self) -> Result<()> {
        self.threshold.check()?;
        self.base.check()?;
        Ok(())
    }

    /// The rows that `round` keeps, ascending.
    ///
    /// # Errors
    /// Scores that are not numbers.
    pub(crate) fn kept(
        &self,
        selector: &mut Selector,
        round: usize,
        scores: &[f64],
        labels: &[Label],
        classes: usize,
    ) -> Result<Vec<u32>> {
        if round < self.burn_in {
            return Ok((0..labels.len() as u32).collect());
        }
        let outputs = loss::outputs(classes);
        let judged: Vec<(f64, bool)> = scores
            .par_chunks(outputs)
            .with_min_len(1024)
            .zip(labels)
            .map_init(
                || vec![0.0; classes],
                |logits, (scores, &label)| {
                    loss::to_logits(scores, logits);
                    (self.base.value(logits, label), margin(logits, label) < 0.0)
                },
            )
            .collect();
        let (losses, wrong): (Vec<f64>, Vec<bool>) = judged.into_iter().unzip();
        let curriculum = Curriculum {
            threshold: self.threshold,
            extra: if self.extra { Extra::WhenSlack } else { Extra::Never },
            balanced: self.balanced,
        };
        Ok(curriculum.select(selector, &losses, &wrong, labels, classes)?.kept.to_vec())
    }

    /// The slopes of all rows; only those of kept rows are used.
    pub(crate) fn slopes(
        &self,
        scores: &[f64],
        labels: &[Label],
        classes: usize,
        weight: impl Fn(usize) -> f64 + Sync,
    ) -> Vec<Slope> {
        if !self.base_gradients {
            return loss::slopes(scores, labels, classes, weight);
        }
        let outputs = loss::outputs(classes);
        let (mut logits, mut gradient) = (vec![0.0; classes], vec![0.0; classes]);
        let mut slopes = Vec::with_capacity(scores.len());
        for (row, (scores, &label)) in scores.chunks_exact(outputs).zip(labels).enumerate() {
            loss::to_logits(scores, &mut logits);
            self.base.gradient(&logits, label, &mut gradient);
            let weight = weight(row);
            // With two classes the first logit stays 0, and the only score is the second.
            let own = &gradient[classes - outputs..];
            slopes.extend(own.iter().map(|slope| Slope { gradient: weight * slope, hessian: weight }));
        }
        slopes
    }
}
