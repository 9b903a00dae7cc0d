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

use super::within;
use crate::error::Result;
use crate::fit::{Run, positions, to_host};
use crate::loss::SampleLoss;
use crate::network::Classifier;
use serde::{Deserialize, Serialize};
use tares_core::{Curriculum, Extra, Selector, Threshold};

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
            rank: SampleLoss::Hinge,
            train: SampleLoss::SoftHinge,
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
            rank: SampleLoss::Hinge,
            train: SampleLoss::SoftHinge,
        }
    }
}

impl Cl {
    pub(crate) fn check(&self) -> Result<()> {
        if let Bound::Custom(per_sample) = self.bound {
            within("custom bound per sample", "in [0, 2]", per_sample, (0.0..=2.0).contains(&per_sample))?;
        }
        self.rank.check()?;
        Ok(self.train.check()?)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let threshold = match self.bound {
            Bound::E => Threshold::Scaled,
            Bound::Q => Threshold::Count,
            Bound::Custom(per_sample) => Threshold::Custom { per_sample },
        };
        let curriculum = Curriculum { threshold, extra: extra(self.extra), balanced: self.balanced };
        train(run, curriculum, self.burn_in, self.rank, self.train)
    }
}

impl Npcl {
    pub(crate) fn check(&self) -> Result<()> {
        self.rank.check()?;
        Ok(self.train.check()?)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let rate = self.rate.unwrap_or(0.0);
        let threshold = if self.adaptive { Threshold::Prune { rate } } else { Threshold::PruneFixed { rate } };
        let curriculum = Curriculum { threshold, extra: extra(self.extra), balanced: self.balanced };
        train(run, curriculum, self.burn_in, self.rank, self.train)
    }
}

fn extra(when_slack: bool) -> Extra {
    if when_slack { Extra::WhenSlack } else { Extra::Never }
}

fn train<N: Classifier>(
    run: &mut Run<'_, N>,
    curriculum: Curriculum,
    burn_in: usize,
    rank: SampleLoss,
    objective: SampleLoss,
) -> Result<Vec<N>> {
    let name = format!("{objective} of the kept");
    let mut learner = run.learner("weights")?;
    let mut selector = Selector::new();
    while let Some(epoch) = run.next_epoch() {
        for batch in run.batches(epoch) {
            run.begin_step();
            let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
            let seen = run.see(&batch, &logits)?;
            if epoch < burn_in {
                run.keep_all(&batch);
                let loss = objective.forward(logits, batch.targets).mean();
                learner = run.step(learner, loss, &name)?;
                continue;
            }
            let losses = to_host(rank.forward(logits.clone().inner(), batch.targets.clone().inner())); // [m]
            let wrong: Vec<bool> = seen.predictions.iter().zip(&batch.given).map(|(a, b)| a != b).collect();
            let selection = curriculum.select(&mut selector, &losses, &wrong, &batch.given, run.train.classes())?;
            run.keep(&batch, selection.kept);
            if selection.kept.is_empty() {
                run.starve();
                continue;
            }
            let kept = positions(selection.kept, &run.device);
            let loss = objective.forward(logits.select(0, kept.clone()), batch.targets.select(0, kept)).mean();
            learner = run.step(learner, loss, &name)?;
        }
        run.end_epoch(&[&learner], &|_| Ok(()))?;
    }
    Ok(vec![learner.network])
}
