//! Truncated GCE (Zhang & Sabuncu, 2018): GCE on the rows whose label the network still believes.
//!
//! ```text
//! L = mean_i w_i (L_q(p_i) − L_q(k))        w_i = 1 if p_i > k, else 0
//! ```
//! p_i is the probability of the given label. After the first part of the run the weights are computed anew every few
//! epochs, for all rows, by the current network (the original takes its best epoch on clean validation data).

use super::within;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::evaluate;
use crate::loss::{gce, gce_ceiling};
use crate::network::Classifier;
use crate::run::{Run, positions};
use serde::{Deserialize, Serialize};

/// The parameters of truncated GCE.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct TruncatedGce {
    /// In (0, 1]: how far from cross-entropy.
    pub q: f64,
    /// In (0, 1): the probability below which a label is not believed.
    pub k: f64,
    /// The fraction of the epochs before the first pruning; 40 of 120 in the original.
    pub hold: f64,
    /// Epochs between prunings.
    pub every: usize,
}

impl Default for TruncatedGce {
    fn default() -> Self {
        Self { q: 0.7, k: 0.5, hold: 1.0 / 3.0, every: 10 }
    }
}

impl TruncatedGce {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("q", "how far from cross-entropy, in (0, 1]"),
        ("k", "the probability below which a label is not believed, in (0, 1)"),
        ("hold", "the part of the epochs before the first pruning"),
        ("every", "epochs between prunings"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        within("q of truncated-gce", "in (0, 1]", self.q, self.q > 0.0 && self.q <= 1.0)?;
        within("k of truncated-gce", "in (0, 1)", self.k, self.k > 0.0 && self.k < 1.0)?;
        within("hold of truncated-gce", "a fraction in [0, 1]", self.hold, (0.0..=1.0).contains(&self.hold))?;
        within("every of truncated-gce", "at least 1", self.every as f64, self.every > 0)
    }

    /// Whether the weights are computed anew before this epoch.
    fn prunes(&self, epoch: usize, epochs: usize) -> bool {
        let start = (self.hold * epochs as f64).round() as usize;
        epoch >= start && (epoch - start).is_multiple_of(self.every)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        let mut believed = match &run.resume {
            Some(checkpoint) => checkpoint.u32s("truncated-gce/believed")?,
            None => vec![1; run.train.len()],
        };
        if believed.len() != run.train.len() {
            return Err(Error::Checkpoint("its weights are not of these rows".into()));
        }
        while let Some(epoch) = run.next_epoch() {
            if self.prunes(epoch, run.plan.epochs) {
                let device = run.device.clone().inner();
                let network = learner.network.valid();
                let probabilities = evaluate::probabilities(&network, &run.transform, run.train, &device)?;
                believed = believe(&probabilities, run.train.given(), self.k as f32);
            }
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                run.see(&batch, &logits)?;
                let rows = batch.indices.iter().enumerate();
                let kept: Vec<u32> =
                    rows.filter(|(_, index)| believed[**index as usize] == 1).map(|(place, _)| place as u32).collect();
                run.keep(&batch, &kept);
                if kept.is_empty() {
                    run.starve();
                    continue;
                }
                let (m, kept) = (batch.len(), positions(&kept, &run.device));
                let losses = gce(logits.select(0, kept.clone()), batch.targets.select(0, kept), self.q);
                // The mean over the whole batch: fewer believed labels, smaller steps.
                let loss = (losses - gce_ceiling(self.q, self.k)).sum() / m as f64;
                learner = run.step(learner, loss, "truncated gce")?;
            }
            let state = |checkpoint: &mut Checkpoint| {
                checkpoint.put_u32s("truncated-gce/believed", &believed);
                Ok(())
            };
            run.end_epoch(&[&learner], &state)?;
        }
        Ok(vec![learner.network])
    }
}

/// 1 where the probability of the given label is above `k`.
fn believe(probabilities: &[f32], given: &[tares_core::Label], k: f32) -> Vec<u32> {
    let rows = probabilities.chunks_exact(probabilities.len() / given.len());
    rows.zip(given).map(|(row, &label)| u32::from(row[label as usize] > k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn believes_labels_above_k_only() {
        assert_eq!(believe(&[0.6, 0.4, 0.5, 0.5, 0.1, 0.9], &[0, 0, 1], 0.5), [1, 0, 1]);
    }

    #[test]
    fn prunes_every_ten_epochs_after_the_first_third() {
        let gce = TruncatedGce::default();
        assert_eq!((0..60).filter(|&epoch| gce.prunes(epoch, 60)).collect::<Vec<_>>(), [20, 30, 40, 50]);
    }
}
