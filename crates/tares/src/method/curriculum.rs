//! CL and NPCL, the curriculum losses of the paper (Lyu & Tsang, 2020).
//!
//! Every batch is ranked by one loss (the hard hinge), Algorithm 1 selects a prefix of it for the threshold C, and the mean
//! of another loss (the soft hinge) over the selected samples is the objective. During the burn-in all samples count.
//!
//! | | C |
//! |---|---|
//! | `cl` (Q) | m + e |
//! | `cl-e` (E) | m |
//! | `npcl` | (1−r)² m + (1−r) e, or (1−r) m when not adaptive |

use crate::error::Result;
use crate::loss::{CurriculumLossConfig, SampleLoss};
use crate::network::Classifier;
use crate::run::Run;
use serde::{Deserialize, Serialize};
use tares_core::{Selector, Surrogate, Threshold};

/// Which bound of the 0–1 loss.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The scaled bound: C = m.
    E,
    /// The tighter bound: C = m + e.
    Q,
    /// A prior of your own: C = c · m.
    Custom(f64),
}

/// The parameters of the curriculum loss without pruning.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Cl {
    /// Which bound.
    pub bound: Bound,
    /// Epochs without selection at the start.
    pub burn_in: usize,
    /// Keep one more sample when there is slack (the T+1 rule).
    pub extra: bool,
    /// One threshold per class.
    pub balanced: bool,
    /// The loss that ranks.
    pub rank: SampleLoss,
    /// The loss that is trained.
    pub train: SampleLoss,
}

impl Default for Cl {
    fn default() -> Self {
        Self {
            bound: Bound::Q,
            burn_in: 5,
            extra: true,
            balanced: false,
            rank: SampleLoss::Surrogate(Surrogate::Hinge),
            train: SampleLoss::Surrogate(Surrogate::SoftHinge),
        }
    }
}

/// The parameters of the noise-pruned curriculum loss.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Npcl {
    /// The noise rate r.
    pub rate: Option<f64>,
    /// Let the threshold follow the number of misclassified samples.
    pub adaptive: bool,
    /// Epochs without selection at the start: 5 on MNIST, 10 on CIFAR-10 and CIFAR-100.
    pub burn_in: usize,
    /// Keep one more sample when there is slack (the T+1 rule).
    pub extra: bool,
    /// One threshold per class.
    pub balanced: bool,
    /// The loss that ranks.
    pub rank: SampleLoss,
    /// The loss that is trained.
    pub train: SampleLoss,
}

impl Default for Npcl {
    fn default() -> Self {
        Self {
            rate: None,
            adaptive: true,
            burn_in: 5,
            extra: true,
            balanced: false,
            rank: SampleLoss::Surrogate(Surrogate::Hinge),
            train: SampleLoss::Surrogate(Surrogate::SoftHinge),
        }
    }
}

impl Cl {
    pub(crate) fn check(&self) -> Result<()> {
        self.loss().init()?;
        Ok(())
    }

    fn loss(&self) -> CurriculumLossConfig {
        let threshold = match self.bound {
            Bound::E => Threshold::E,
            Bound::Q => Threshold::Q,
            Bound::Custom(per_sample) => Threshold::Custom { per_sample },
        };
        CurriculumLossConfig {
            threshold,
            ranking: self.rank,
            training: self.train,
            extra: self.extra,
            balanced: self.balanced,
            burn_in: self.burn_in,
        }
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        train(run, &self.loss())
    }
}

impl Npcl {
    pub(crate) fn check(&self) -> Result<()> {
        self.loss().init()?;
        Ok(())
    }

    fn loss(&self) -> CurriculumLossConfig {
        let rate = self.rate.unwrap_or(0.0);
        CurriculumLossConfig {
            threshold: if self.adaptive { Threshold::Npcl { rate } } else { Threshold::NpclFixed { rate } },
            ranking: self.rank,
            training: self.train,
            extra: self.extra,
            balanced: self.balanced,
            burn_in: self.burn_in,
        }
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        train(run, &self.loss())
    }
}

fn train<N: Classifier>(run: &mut Run<'_, N>, loss: &CurriculumLossConfig) -> Result<Vec<N>> {
    let name = format!("{} of the kept", loss.training);
    let curriculum = loss.init()?;
    let mut learner = run.learner("weights")?;
    let mut selector = Selector::new();
    while let Some(epoch) = run.next_epoch() {
        let curriculum = curriculum.at_epoch(epoch);
        for batch in run.batches(epoch) {
            run.begin_step();
            let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
            run.see(&batch, &logits)?;
            let (loss, kept) = curriculum.forward_with(&mut selector, logits, batch.targets.clone());
            run.keep(&batch, &kept.positions);
            if kept.positions.is_empty() {
                run.starve();
                continue;
            }
            learner = run.step(learner, loss, &name)?;
        }
        run.end_epoch(&[&learner], &|_| Ok(()))?;
    }
    Ok(vec![learner.network])
}
