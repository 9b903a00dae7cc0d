//! Tares, this project's own method: labels are corrected by the network's remembered predictions.
//!
//! ```text
//! l = mean_i −Σ_c q_i(c) log p_i(c)        q_i(c) ∝ t_i(c)^γ T[c][y_i]
//! t_i ← moving average of the answers to row i        T[c][y] = share of label y where the memory is surest of c
//! ```
//! During the burn-in q is the label, and a tenth of the rows is not learnt from. Their labels tell when the network begins to memorise,
//! whether it knows enough to correct labels, and how often labels are wrong. The first two end the burn-in; if neither is seen within 60 %
//! of the epochs, or with fewer than ten such rows per class, it lasts to the end: plain cross-entropy is right for a network that
//! memorises nothing, and a network that knows little can't tell hard rows from wrong labels. Then q is the posterior of the true class, given label and memory
//! ([`tares_core::memory`] explains why): with right labels T is nearly the identity and this is plain cross-entropy; where labels
//! are wrong, T says how often and in favour of which class, and rows whose label is rejected are trained on the remembered
//! prediction instead of being dropped. Neither the rate nor the kind of noise has to be known.
//!
//! A row counts as kept while its label is believed (q_i(y_i) ≥ ½); the estimated rate is the mean of 1 − q_i(y_i).

use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::loss::{BurnIn, MemoryLossConfig, soft_cross_entropy};
use crate::network::Classifier;
use crate::run::Run;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

/// The parameters of Tares.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Tares {
    /// β, in [0, 1): how long answers are remembered.
    pub beta: f64,
    /// γ at the end, at least 1: how much a remembered answer counts against a label.
    pub sharpness: f64,
    /// In (0, 1]: the fraction of the rows of each class, the surest first, on which mistakes are counted.
    pub surest: f64,
    /// In [0, 1): the fraction of the rows that is not learnt from in the burn-in. 0: the burn-in has a fixed length.
    pub hidden: f64,
    /// In [0, 1]: the fraction of the epochs after which the burn-in ends if the network knows enough; at least one epoch.
    pub burn_in: f64,
    /// In [0, 1]: the part of what it knows, above chance, about its surer rows that it must know about the others.
    pub known: f64,
    /// In [0, 1]: the fraction of the epochs after which a burn-in that has not ended lasts to the end.
    pub decide: f64,
    /// In [0, 1]: the fraction of the epochs, after the burn-in, in which γ rises from 1 to `sharpness`.
    pub rise: f64,
}

impl Default for Tares {
    fn default() -> Self {
        let MemoryLossConfig { beta, sharpness, surest, hidden, burn_in, known, decide, rise, .. } =
            MemoryLossConfig::new(1);
        Self { beta, sharpness, surest, hidden, burn_in, known, decide, rise }
    }
}

impl Tares {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("beta", "how long answers are remembered, in [0, 1)"),
        ("sharpness", "how much a remembered answer counts against a label in the end, at least 1"),
        ("surest", "the fraction of each class's rows, surest first, on which mistakes are counted, in (0, 1]"),
        ("hidden", "the fraction of the rows whose labels are hidden in the burn-in, to see when others are memorised"),
        (
            "burn-in",
            "the fraction of the epochs in which all labels are believed; longer while little is known, shorter once labels are memorised",
        ),
        (
            "known",
            "the part of what is known, above chance, about the surer hidden rows that must be known about the others",
        ),
        ("decide", "the fraction of the epochs after which labels are believed to the end if they still are"),
        ("rise", "the fraction of the epochs, after the burn-in, in which the sharpness rises from 1"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        Ok(self.loss(1, 1).check()?)
    }

    /// The loss of a run of this many epochs.
    fn loss(&self, epochs: usize, seed: u64) -> MemoryLossConfig {
        let Self { beta, sharpness, surest, hidden, burn_in, known, decide, rise } = *self;
        MemoryLossConfig { epochs, seed, beta, sharpness, surest, hidden, burn_in, known, decide, rise }
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        let classes = run.train.classes();
        let mut believer = self.loss(run.plan.epochs, run.plan.seed).init(run.train.given(), classes)?;
        if let Some(checkpoint) = &run.resume {
            let (sums, burn_in) = (checkpoint.f32s("tares/memory")?, checkpoint.f64s("tares/burn-in")?);
            let burn_in = match burn_in[..] {
                [] => None,
                [epochs, disagreement] => Some(BurnIn { epochs: epochs as usize, disagreement }),
                _ => return Err(Error::Checkpoint("'tares/burn-in' must hold 0 or 2 numbers".into())),
            };
            believer = believer.with_state(sums, burn_in).map_err(|error| Error::Checkpoint(error.to_string()))?;
        }
        while let Some(epoch) = run.next_epoch() {
            believer.begin_epoch(epoch)?;
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                let seen = run.see(&batch, &logits)?;
                let beliefs = believer.learn(seen.probabilities(), &batch.indices);
                let mut kept = believed(&beliefs, &batch.given);
                kept.retain(|&place| !believer.hides(batch.indices[place as usize] as usize));
                run.keep(&batch, &kept);
                let beliefs = Tensor::<2>::from_data(TensorData::new(beliefs, [batch.len(), classes]), &run.device);
                let loss = soft_cross_entropy(logits, beliefs).mean();
                learner = run.step(learner, loss, "cross-entropy of beliefs")?;
            }
            // While all labels are believed, nothing is known about how many are wrong.
            if believer.burn_in().is_some() {
                run.estimated_rate(believer.rate());
            }
            let state = |checkpoint: &mut Checkpoint| {
                checkpoint.put_f32s("tares/memory", believer.memory().sums());
                let burn_in = believer.burn_in().map_or(vec![], |end| vec![end.epochs as f64, end.disagreement]);
                checkpoint.put_f64s("tares/burn-in", &burn_in);
                Ok(())
            };
            run.end_epoch(&[&learner], &state)?;
        }
        // Counted anew: a run that continues after its last epoch has no counts yet.
        believer.begin_epoch(run.epochs.len())?;
        // Plain training to the end: its network may know better than the labels that were all believed.
        match believer.doubt() {
            None => run.history.believe(believer.beliefs()),
            Some(doubt) => run.history.doubt(doubt),
        }
        Ok(vec![learner.network])
    }
}

/// The positions of the rows whose label is at least as likely to be right as to be wrong.
fn believed(beliefs: &[f32], given: &[tares_core::Label]) -> Vec<u32> {
    let rows = beliefs.chunks_exact(beliefs.len() / given.len()).zip(given).enumerate();
    rows.filter(|(_, (belief, label))| belief[**label as usize] >= 0.5).map(|(place, _)| place as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_rows_whose_label_is_believed() {
        assert_eq!(believed(&[0.6, 0.4, 0.5, 0.5, 0.1, 0.9], &[0, 1, 0]), [0, 1]);
    }
}
