//! ELR, early-learning regularisation (Liu et al., 2020): the network is held to its early predictions, against the labels.
//!
//! ```text
//! l = CE + λ log(1 − ⟨t_i, p⟩)        t_i ← β t_i + (1 − β) p
//! ```
//! t_i is the running target of sample i; no gradient flows through it.

use super::within;
use crate::error::{Error, Result};
use crate::loss::cross_entropy;
use crate::network::Classifier;
use crate::run::Run;
use burn::tensor::activation::softmax;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

/// Answers are kept this far from 0 and 1, so that the logarithm stays finite.
const EDGE: f32 = 1e-4;

/// The parameters of ELR.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Elr {
    /// How long answers are remembered, in [0, 1): 0.7 on CIFAR-10, 0.9 on CIFAR-100.
    pub beta: f64,
    /// How much they count: 3 on CIFAR-10, 7 on CIFAR-100.
    pub lambda: f64,
}

impl Default for Elr {
    fn default() -> Self {
        Self { beta: 0.7, lambda: 3.0 }
    }
}

impl Elr {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("beta", "how long answers are remembered, in [0, 1): 0.7 CIFAR-10, 0.9 CIFAR-100"),
        ("lambda", "how much they count: 3 CIFAR-10, 7 CIFAR-100"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        within("beta of elr", "in [0, 1)", self.beta, (0.0..1.0).contains(&self.beta))?;
        within("lambda of elr", "at least 0", self.lambda, self.lambda >= 0.0 && self.lambda.is_finite())
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        let classes = run.train.classes();
        let mut targets = match &run.resume {
            Some(checkpoint) => checkpoint.f32s("elr/targets")?,
            None => vec![0.0; run.train.len() * classes],
        };
        if targets.len() != run.train.len() * classes {
            return Err(Error::Checkpoint("its targets are not of these rows".into()));
        }
        while let Some(epoch) = run.next_epoch() {
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                let seen = run.see(&batch, &logits)?;
                run.keep_all(&batch);
                let mut current = seen.probabilities();
                for (row, &index) in current.chunks_exact_mut(classes).zip(&batch.indices) {
                    let target = &mut targets[index as usize * classes..(index as usize + 1) * classes];
                    remember(target, row, self.beta as f32);
                    row.copy_from_slice(target);
                }
                let current = Tensor::<2>::from_data(TensorData::new(current, [batch.len(), classes]), &run.device);
                let answers = softmax(logits.clone(), 1).clamp(EDGE, 1.0 - EDGE);
                // 1 − ⟨t, p⟩ can round to below 0 when both are sure of the same class.
                let doubt = (-(answers * current).sum_dim(1) + 1.0).clamp_min(EDGE).log().mean();
                let loss = cross_entropy(logits, batch.targets).mean() + doubt * self.lambda;
                learner = run.step(learner, loss, "early-learning loss")?;
            }
            let state = |checkpoint: &mut crate::Checkpoint| {
                checkpoint.put_f32s("elr/targets", &targets);
                Ok(())
            };
            run.end_epoch(&[&learner], &state)?;
        }
        Ok(vec![learner.network])
    }
}

/// t ← β t + (1 − β) p, with p kept off the edges and summing to 1.
fn remember(target: &mut [f32], answer: &[f32], beta: f32) {
    let kept = |p: f32| p.clamp(EDGE, 1.0 - EDGE);
    let sum: f32 = answer.iter().map(|&p| kept(p)).sum();
    target.iter_mut().zip(answer).for_each(|(t, &p)| *t = beta * *t + (1.0 - beta) * kept(p) / sum);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_by_hand() {
        let mut target = [0.0, 0.0];
        remember(&mut target, &[0.8, 0.2], 0.7);
        assert!((target[0] - 0.24).abs() < 1e-6 && (target[1] - 0.06).abs() < 1e-6, "{target:?}");
        remember(&mut target, &[0.4, 0.6], 0.7);
        // 0.7 · 0.24 + 0.3 · 0.4 and 0.7 · 0.06 + 0.3 · 0.6
        assert!((target[0] - 0.288).abs() < 1e-6 && (target[1] - 0.222).abs() < 1e-6, "{target:?}");
        let mut sure = [0.0, 0.0];
        remember(&mut sure, &[1.0, 0.0], 0.0);
        assert!((sure[0] - 0.9999).abs() < 1e-6 && (sure[1] - 0.0001).abs() < 1e-6, "{sure:?}");
    }
}
