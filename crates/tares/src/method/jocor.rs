//! JoCoR (Wei et al., 2020): two networks that choose together, drawn towards each other.
//!
//! ```text
//! l = (1 − λ) (CE1 + CE2) + λ (KL(p1‖p2) + KL(p2‖p1))        KL(p1‖p2) + KL(p2‖p1) = Σ_k (p1 − p2)(log p1 − log p2)
//! ```
//! The ⌊(1 − R(e)) m⌋ smallest l of the batch are kept; one step of both networks on their mean.

use super::small_loss::{RAMP_MEANING, smallest};
use super::within;
use super::written::{RATE_MEANING, Rate};
use crate::error::Result;
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::{Run, positions, to_host};
use crate::schedule::{forget_rate, keep_count};
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};
use serde::{Deserialize, Serialize};

/// The parameters of JoCoR.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct JoCoR {
    /// The noise rate: the part of each batch that is left out in the end.
    pub rate: Rate,
    /// Over how many epochs that part grows from 0.
    pub ramp: usize,
    /// λ in [0, 1]: how much agreement counts against the labels; 0.9 on MNIST and CIFAR-10, 0.85 on CIFAR-100.
    pub lambda: f64,
}

impl Default for JoCoR {
    fn default() -> Self {
        Self { rate: Rate::Told, ramp: 10, lambda: 0.9 }
    }
}

impl JoCoR {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("rate", RATE_MEANING),
        ("ramp", RAMP_MEANING),
        ("lambda", "how much agreement counts against the labels, in [0, 1]: 0.9 MNIST and CIFAR-10, 0.85 CIFAR-100"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        within("lambda of jocor", "in [0, 1]", self.lambda, (0.0..=1.0).contains(&self.lambda))
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let (mut first, mut second) = (run.learner("weights")?, run.learner("second weights")?);
        while let Some(epoch) = run.next_epoch() {
            let forget = forget_rate(self.rate.value(), self.ramp, epoch);
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits1 = first.network.logits(batch.inputs.clone()); // [m, K]
                let logits2 = second.network.logits(batch.inputs.clone());
                run.see(&batch, &logits1)?;
                run.see(&batch, &logits2)?;
                let losses = joint_loss(logits1, logits2, batch.targets.clone(), self.lambda); // [m]
                let kept = smallest(&to_host(losses.clone()), keep_count(forget, batch.len()));
                run.keep(&batch, &kept);
                run.keep(&batch, &kept);
                if kept.is_empty() {
                    run.starve();
                    continue;
                }
                let loss = losses.select(0, positions(&kept, &run.device)).mean();
                (first, second) = run.step_both(first, second, loss, "joint loss")?;
            }
            run.end_epoch(&[&first, &second], &|_| Ok(()))?;
        }
        Ok(vec![first.network, second.network])
    }
}

/// The loss of every sample: logits `[m, K]` of both networks and targets `[m]` give `[m]`.
fn joint_loss(logits1: Tensor<2>, logits2: Tensor<2>, targets: Tensor<1, Int>, lambda: f64) -> Tensor<1> {
    let [m, _] = logits1.dims();
    let supervised = cross_entropy(logits1.clone(), targets.clone()) + cross_entropy(logits2.clone(), targets);
    let (log1, log2) = (log_softmax(logits1, 1), log_softmax(logits2, 1));
    let divergence = ((log1.clone().exp() - log2.clone().exp()) * (log1 - log2)).sum_dim(1).reshape([m]);
    supervised * (1.0 - lambda) + divergence * lambda
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn joint_loss_by_hand() {
        // p1 = (3/4, 1/4), p2 = (1/2, 1/2), label 0: CE1 + CE2 = ln(4/3) + ln 2, and
        // KL12 + KL21 = (1/4)(ln 3/4 − ln 1/2) + (−1/4)(ln 1/4 − ln 1/2) = (1/4) ln 3.
        let device = Device::flex();
        let logits1 = Tensor::from_data([[3.0f32.ln(), 0.0]], &device);
        let logits2 = Tensor::from_data([[0.7f32, 0.7]], &device);
        let loss = to_host(joint_loss(logits1, logits2, Tensor::from_data([0], &device), 0.9))[0];
        let expected = 0.1 * ((4.0f32 / 3.0).ln() + 2.0f32.ln()) + 0.9 * 0.25 * 3.0f32.ln();
        assert!((loss - expected).abs() < 1e-6, "{loss} against {expected}");
    }
}
