//! GCE, generalised cross-entropy (Zhang & Sabuncu, 2018).
//!
//! ```text
//! l = (1 − p_y^q) / q        q → 0: cross-entropy        q = 1: 1 − p_y
//! ```

use super::within;
use crate::error::Result;
use crate::loss::gce;
use crate::network::Classifier;
use crate::run::Run;
use serde::{Deserialize, Serialize};

/// The parameter of GCE.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Gce {
    /// In (0, 1]: how far from cross-entropy.
    pub q: f64,
}

impl Default for Gce {
    fn default() -> Self {
        Self { q: 0.7 }
    }
}

impl Gce {
    pub(crate) fn check(&self) -> Result<()> {
        within("q of gce", "in (0, 1]", self.q, self.q > 0.0 && self.q <= 1.0)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        while let Some(epoch) = run.next_epoch() {
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                run.see(&batch, &logits)?;
                run.keep_all(&batch);
                let loss = gce(logits, batch.targets, self.q).mean();
                learner = run.step(learner, loss, "gce")?;
            }
            run.end_epoch(&[&learner], &|_| Ok(()))?;
        }
        Ok(vec![learner.network])
    }
}
