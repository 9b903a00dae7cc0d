//! Co-teaching+ (Yu et al., 2019): Co-teaching on the samples the two networks disagree about.
//!
//! Before `init_epoch` it is Co-teaching. Then D are the samples of the batch whose two answers differ; of these the
//! k = ⌊(1 − R(e)) |D|⌋ smallest losses are exchanged, all of D if k is 0. If D is empty, both step on the plain
//! cross-entropy of the batch during the first 5,000 steps, and not at all afterwards.

use super::co_teaching::exchange;
use super::small_loss::{RAMP_MEANING, smallest_among};
use super::written::{RATE_MEANING, Rate};
use crate::error::Result;
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::{Run, positions};
use crate::schedule::{forget_rate, keep_count};
use burn::tensor::Tensor;
use burn::tensor::activation::softmax;
use serde::{Deserialize, Serialize};
use tares_core::Label;

/// The parameters of Co-teaching+.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct CoTeachingPlus {
    /// The noise rate: the part that is left out in the end.
    pub rate: Rate,
    /// Over how many epochs that part grows from 0.
    pub ramp: usize,
    /// The first epoch in which disagreement counts: 0 on MNIST, 20 on CIFAR-10, 5 on CIFAR-100, 100 on Tiny-ImageNet.
    #[serde(alias = "init_epoch")]
    pub init_epoch: usize,
    /// For how many steps a batch without disagreement is learnt as a whole.
    #[serde(alias = "plain_steps")]
    pub plain_steps: u64,
}

impl Default for CoTeachingPlus {
    fn default() -> Self {
        Self { rate: Rate::Told, ramp: 10, init_epoch: 0, plain_steps: 5000 }
    }
}

impl CoTeachingPlus {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("rate", RATE_MEANING),
        ("ramp", RAMP_MEANING),
        (
            "init-epoch",
            "the first epoch in which disagreement counts: 0 MNIST, 20 CIFAR-10, 5 CIFAR-100, 100 Tiny-ImageNet",
        ),
        ("plain-steps", "for how many steps a batch without disagreement is learnt as a whole"),
    ];

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let (mut first, mut second) = (run.learner("weights")?, run.learner("second weights")?);
        while let Some(epoch) = run.next_epoch() {
            let forget = forget_rate(self.rate.value(), self.ramp, epoch);
            for batch in run.batches(epoch) {
                let step = run.begin_step();
                let mut logits1 = first.network.logits(batch.inputs.clone()); // [m, K]
                let mut logits2 = second.network.logits(batch.inputs.clone());
                let (seen1, seen2) = (run.see(&batch, &logits1)?, run.see(&batch, &logits2)?);
                let [for1, for2] = if epoch < self.init_epoch {
                    exchange(&seen1.losses, &seen2.losses, keep_count(forget, batch.len()))
                } else {
                    let disagreed = disagreement(&seen1.predictions, &seen2.predictions);
                    if disagreed.is_empty() {
                        let all = if step < self.plain_steps { (0..batch.len() as u32).collect() } else { Vec::new() };
                        [all.clone(), all]
                    } else {
                        exchange_among(&seen1.losses, &seen2.losses, &disagreed, forget)
                    }
                };
                run.keep(&batch, &for1);
                run.keep(&batch, &for2);
                if for1.is_empty() {
                    run.starve();
                    continue;
                }
                if run.plan.quirks {
                    // The original hands probabilities to a cross-entropy that takes logits.
                    (logits1, logits2) = (softmax(logits1, 1), softmax(logits2, 1));
                }
                let mean = |logits: Tensor<2>, kept: &[u32]| {
                    let kept = positions(kept, &logits.device());
                    cross_entropy(logits.select(0, kept.clone()), batch.targets.clone().select(0, kept)).mean()
                };
                let (loss1, loss2) = (mean(logits1, &for1), mean(logits2, &for2));
                first = run.step(first, loss1, "cross-entropy of network 1")?;
                second = run.step(second, loss2, "cross-entropy of network 2")?;
            }
            run.end_epoch(&[&first, &second], &|_| Ok(()))?;
        }
        Ok(vec![first.network, second.network])
    }
}

/// Where the two answers differ.
fn disagreement(answers1: &[Label], answers2: &[Label]) -> Vec<u32> {
    (0..answers1.len() as u32).filter(|&i| answers1[i as usize] != answers2[i as usize]).collect()
}

/// Co-teaching's exchange among the positions `among`; all of them if the forget rate leaves none.
fn exchange_among(losses1: &[f32], losses2: &[f32], among: &[u32], forget: f64) -> [Vec<u32>; 2] {
    match keep_count(forget, among.len()) {
        0 => [among.to_vec(), among.to_vec()],
        k => [smallest_among(losses2, among, k), smallest_among(losses1, among, k)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_from_the_others_choice_among_what_they_disagree_about() {
        // By hand: they disagree about 0, 2, 3 and 5; half of them are exchanged.
        let disagreed = disagreement(&[1, 0, 2, 2, 4, 0], &[0, 0, 1, 3, 4, 1]);
        assert_eq!(disagreed, [0, 2, 3, 5]);
        let losses1 = [0.9, 0.0, 0.8, 0.1, 0.0, 0.2];
        let losses2 = [0.3, 0.0, 0.2, 5.0, 0.0, 4.0];
        let [for1, for2] = exchange_among(&losses1, &losses2, &disagreed, 0.5);
        assert_eq!((for1, for2), (vec![0, 2], vec![3, 5]));
    }

    #[test]
    fn a_set_too_small_for_the_forget_rate_is_taken_whole() {
        let [for1, for2] = exchange_among(&[0.5, 0.1], &[0.1, 0.9], &[1], 0.5);
        assert_eq!((for1, for2), (vec![1], vec![1]));
    }

    #[test]
    fn networks_that_agree_have_no_disagreement() {
        assert!(disagreement(&[1, 2], &[1, 2]).is_empty());
    }
}
