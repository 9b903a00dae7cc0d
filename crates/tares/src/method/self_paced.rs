//! Self-paced: one network that learns from the smallest losses of each batch ("MentorNet" in these comparisons).
//!
//! Keeps the ⌊(1 − R(e)) m⌋ smallest cross-entropies; the objective is their mean.

use super::small_loss::{RAMP_MEANING, smallest};
use super::written::{RATE_MEANING, Rate};
use crate::error::Result;
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::{Run, positions};
use crate::schedule::{forget_rate, keep_count};
use serde::{Deserialize, Serialize};

/// The parameters of self-paced learning.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct SelfPaced {
    /// The noise rate: the part of each batch that is left out in the end.
    pub rate: Rate,
    /// Over how many epochs that part grows from 0.
    pub ramp: usize,
}

impl Default for SelfPaced {
    fn default() -> Self {
        Self { rate: Rate::Told, ramp: 10 }
    }
}

impl SelfPaced {
    pub(super) const MEANINGS: &[(&str, &str)] = &[("rate", RATE_MEANING), ("ramp", RAMP_MEANING)];

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        while let Some(epoch) = run.next_epoch() {
            let forget = forget_rate(self.rate.value(), self.ramp, epoch);
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                let seen = run.see(&batch, &logits)?;
                let kept = smallest(&seen.losses, keep_count(forget, batch.len()));
                run.keep(&batch, &kept);
                if kept.is_empty() {
                    run.starve();
                    continue;
                }
                let kept = positions(&kept, &run.device);
                let loss = cross_entropy(logits.select(0, kept.clone()), batch.targets.select(0, kept)).mean();
                learner = run.step(learner, loss, "cross-entropy of the kept")?;
            }
            run.end_epoch(&[&learner], &|_| Ok(()))?;
        }
        Ok(vec![learner.network])
    }
}
