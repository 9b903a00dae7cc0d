//! Methods that learn every row alike and differ in the loss alone: its mean over the batch is the objective.
//!
//! | method | loss |
//! |---|---|
//! | `standard` | cross-entropy |
//! | `gce` | generalised cross-entropy (Zhang & Sabuncu, 2018): `(1 − p_y^q) / q`; q → 0 is cross-entropy, q = 1 is 1 − p_y |
//! | `loss:NAME` | any other; with a base loss this is the paper's Ĵ, the bound that the curriculum tightens |

use super::within;
use crate::error::Result;
use crate::loss::SampleLoss;
use crate::network::Classifier;
use crate::run::Run;
use serde::{Deserialize, Serialize};
use tares_core::Surrogate;

/// The parameter of GCE.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Gce {
    /// In (0, 1]: how far from cross-entropy.
    pub q: f64,
}

/// The parameter of a plain loss.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct PlainLoss {
    /// The loss that is trained.
    pub loss: SampleLoss,
}

impl Default for Gce {
    fn default() -> Self {
        Self { q: 0.7 }
    }
}

impl Default for PlainLoss {
    fn default() -> Self {
        Self { loss: SampleLoss::Surrogate(Surrogate::SoftHinge) }
    }
}

impl Gce {
    pub(super) const MEANINGS: &[(&str, &str)] = &[("q", "how far from cross-entropy, in (0, 1]")];

    pub(crate) fn check(&self) -> Result<()> {
        within("q of gce", "in (0, 1]", self.q, self.q > 0.0 && self.q <= 1.0)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        train(run, SampleLoss::Gce { q: self.q })
    }
}

impl PlainLoss {
    pub(super) const MEANINGS: &[(&str, &str)] =
        &[("loss", "the loss that is trained: hinge, soft-hinge, logistic, cross-entropy, mae, ...")];

    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.loss.check()?)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        train(run, self.loss)
    }
}

pub(super) fn train_standard<N: Classifier>(run: &mut Run<'_, N>) -> Result<Vec<N>> {
    train(run, SampleLoss::CrossEntropy)
}

fn train<N: Classifier>(run: &mut Run<'_, N>, loss: SampleLoss) -> Result<Vec<N>> {
    let name = loss.to_string();
    let mut learner = run.learner("weights")?;
    while let Some(epoch) = run.next_epoch() {
        for batch in run.batches(epoch) {
            run.begin_step();
            let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
            run.see(&batch, &logits)?;
            run.keep_all(&batch);
            let loss = loss.forward(logits, batch.targets).mean();
            learner = run.step(learner, loss, &name)?;
        }
        run.end_epoch(&[&learner], &|_| Ok(()))?;
    }
    Ok(vec![learner.network])
}
