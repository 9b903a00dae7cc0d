//! Co-teaching (Han et al., 2018): two networks, each learns from what the other finds easy.
//!
//! Both see the same batch; I1, I2 are the ⌊(1 − R(e)) m⌋ smallest cross-entropies of each. Network 1 steps on the mean over
//! I2, network 2 on the mean over I1.

use super::small_loss::{RAMP_MEANING, smallest};
use super::written::{RATE_MEANING, Rate};
use crate::error::Result;
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::{Run, positions};
use crate::schedule::{forget_rate, keep_count};
use serde::{Deserialize, Serialize};

/// The parameters of Co-teaching.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct CoTeaching {
    /// The noise rate: the part of each batch that is left out in the end.
    pub rate: Rate,
    /// Over how many epochs that part grows from 0.
    pub ramp: usize,
}

impl Default for CoTeaching {
    fn default() -> Self {
        Self { rate: Rate::Told, ramp: 10 }
    }
}

impl CoTeaching {
    pub(super) const MEANINGS: &[(&str, &str)] = &[("rate", RATE_MEANING), ("ramp", RAMP_MEANING)];

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let (mut first, mut second) = (run.learner("weights")?, run.learner("second weights")?);
        while let Some(epoch) = run.next_epoch() {
            let forget = forget_rate(self.rate.value(), self.ramp, epoch);
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits1 = first.network.logits(batch.inputs.clone()); // [m, K]
                let logits2 = second.network.logits(batch.inputs.clone());
                let (seen1, seen2) = (run.see(&batch, &logits1)?, run.see(&batch, &logits2)?);
                let [for1, for2] = exchange(&seen1.losses, &seen2.losses, keep_count(forget, batch.len()));
                run.keep(&batch, &for1);
                run.keep(&batch, &for2);
                if for1.is_empty() {
                    run.starve();
                    continue;
                }
                let (kept1, kept2) = (positions(&for1, &run.device), positions(&for2, &run.device));
                let targets1 = batch.targets.clone().select(0, kept1.clone());
                let loss1 = cross_entropy(logits1.select(0, kept1), targets1).mean();
                let loss2 = cross_entropy(logits2.select(0, kept2.clone()), batch.targets.select(0, kept2)).mean();
                first = run.step(first, loss1, "cross-entropy of network 1")?;
                second = run.step(second, loss2, "cross-entropy of network 2")?;
            }
            run.end_epoch(&[&first, &second], &|_| Ok(()))?;
        }
        Ok(vec![first.network, second.network])
    }
}

/// What network 1 and network 2 learn from: the `k` smallest losses *of the other one*.
pub(super) fn exchange(losses1: &[f32], losses2: &[f32], k: usize) -> [Vec<u32>; 2] {
    [smallest(losses2, k), smallest(losses1, k)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_learns_from_the_choice_of_the_other() {
        // By hand: network 1 finds 0, 3 easiest, network 2 finds 1, 2.
        let [for1, for2] = exchange(&[0.1, 2.0, 3.0, 0.2], &[4.0, 0.3, 0.1, 0.9], 2);
        assert_eq!((for1, for2), (vec![1, 2], vec![0, 3]));
    }
}
