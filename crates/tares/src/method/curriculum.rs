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

use super::written::{RATE_MEANING, Rate};
use crate::error::{Error, Result};
use crate::loss::{CurriculumLossConfig, SampleLoss};
use crate::network::Classifier;
use crate::run::Run;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::{Selector, Surrogate, Threshold};

/// Which bound of the 0–1 loss: where the threshold C comes from. As text `q`, `e` or a number.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
#[serde(try_from = "NumberOrName", into = "NumberOrName")]
pub enum Bound {
    /// The scaled bound: C = m.
    E,
    /// The tighter bound: C = m + e.
    Q,
    /// Your own threshold: C = c · m.
    Custom(f64),
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::E => f.write_str("e"),
            Self::Q => f.write_str("q"),
            Self::Custom(per_sample) => per_sample.fmt(f),
        }
    }
}

impl FromStr for Bound {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "e" => Ok(Self::E),
            "q" => Ok(Self::Q),
            number => match number.parse::<f64>() {
                Ok(per_sample) if per_sample.is_finite() => Ok(Self::Custom(per_sample)),
                _ => Err(tares_core::Error::value("c of cl", "q, e or a number", text).into()),
            },
        }
    }
}

/// A [`Bound`] in files.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum NumberOrName {
    Number(f64),
    Name(String),
}

impl TryFrom<NumberOrName> for Bound {
    type Error = Error;

    fn try_from(text: NumberOrName) -> Result<Self> {
        match text {
            NumberOrName::Number(per_sample) => Ok(Self::Custom(per_sample)),
            NumberOrName::Name(name) => name.parse(),
        }
    }
}

impl From<Bound> for NumberOrName {
    fn from(bound: Bound) -> Self {
        match bound {
            Bound::Custom(per_sample) => Self::Number(per_sample),
            named => Self::Name(named.to_string()),
        }
    }
}

/// The parameters of the curriculum loss without pruning.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Cl {
    /// Which bound, by its threshold C.
    pub c: Bound,
    /// Epochs without selection at the start.
    #[serde(alias = "burn_in")]
    pub burn_in: usize,
    /// Keep one more sample when there is slack (the T+1 rule).
    pub extra: bool,
    /// One threshold per class.
    pub balanced: bool,
    /// The loss that ranks.
    pub rank: SampleLoss,
    /// The loss that is trained.
    pub train: SampleLoss,
    /// The loss that is trained in the burn-in, if it is another one. The paper's text: soft hinge in the burn-in, then hard.
    pub burn_in_train: Option<SampleLoss>,
}

impl Default for Cl {
    fn default() -> Self {
        Self {
            c: Bound::Q,
            burn_in: 5,
            extra: true,
            balanced: false,
            rank: SampleLoss::Surrogate(Surrogate::Hinge),
            train: SampleLoss::Surrogate(Surrogate::SoftHinge),
            burn_in_train: None,
        }
    }
}

/// The parameters of the noise-pruned curriculum loss.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Npcl {
    /// The noise rate r.
    pub rate: Rate,
    /// Let the threshold follow the number of misclassified samples.
    pub adaptive: bool,
    /// Epochs without selection at the start: 5 on MNIST, 10 on CIFAR-10 and CIFAR-100.
    #[serde(alias = "burn_in")]
    pub burn_in: usize,
    /// Keep one more sample when there is slack (the T+1 rule).
    pub extra: bool,
    /// One threshold per class.
    pub balanced: bool,
    /// The loss that ranks.
    pub rank: SampleLoss,
    /// The loss that is trained.
    pub train: SampleLoss,
    /// The loss that is trained in the burn-in, if it is another one. The paper's text: soft hinge in the burn-in, then hard.
    pub burn_in_train: Option<SampleLoss>,
}

impl Default for Npcl {
    fn default() -> Self {
        Self {
            rate: Rate::Told,
            adaptive: true,
            burn_in: 5,
            extra: true,
            balanced: false,
            rank: SampleLoss::Surrogate(Surrogate::Hinge),
            train: SampleLoss::Surrogate(Surrogate::SoftHinge),
            burn_in_train: None,
        }
    }
}

const BURN_IN: (&str, &str) = ("burn-in", "epochs at the start in which nothing is left out: 5 MNIST, 10 CIFAR");
const EXTRA: (&str, &str) = ("extra", "keep one more sample when there is slack (the T+1 rule)");
const BALANCED: (&str, &str) = ("balanced", "one threshold per class, so that no class is pruned away");
const RANK: (&str, &str) = ("rank", "the loss that ranks the samples");
const TRAIN: (&str, &str) = ("train", "the loss that is trained: hinge, soft-hinge, weighted:0.5, logistic, ...");
const BURN_IN_TRAIN: (&str, &str) = ("burn-in-train", "the loss that is trained in the burn-in");

impl Cl {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("c", "the threshold C: q (the tighter bound, m + e), e (the scaled bound, m), or a number times m"),
        BURN_IN,
        EXTRA,
        BALANCED,
        RANK,
        TRAIN,
        BURN_IN_TRAIN,
    ];

    pub(crate) fn check(&self) -> Result<()> {
        self.loss().init()?;
        Ok(())
    }

    /// The loss that it trains with.
    pub fn loss(&self) -> CurriculumLossConfig {
        let threshold = match self.c {
            Bound::E => Threshold::E,
            Bound::Q => Threshold::Q,
            Bound::Custom(per_sample) => Threshold::Custom { per_sample },
        };
        CurriculumLossConfig {
            threshold,
            ranking: self.rank,
            training: self.train,
            burn_in_training: self.burn_in_train,
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
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("rate", RATE_MEANING),
        ("adaptive", "let C follow the misclassified samples, (1-r)^2 m + (1-r) e; false: (1-r) m"),
        BURN_IN,
        EXTRA,
        BALANCED,
        RANK,
        TRAIN,
        BURN_IN_TRAIN,
    ];

    pub(crate) fn check(&self) -> Result<()> {
        self.loss().init()?;
        Ok(())
    }

    /// The loss that it trains with.
    pub fn loss(&self) -> CurriculumLossConfig {
        let rate = self.rate.value();
        CurriculumLossConfig {
            threshold: if self.adaptive { Threshold::Npcl { rate } } else { Threshold::NpclFixed { rate } },
            ranking: self.rank,
            training: self.train,
            burn_in_training: self.burn_in_train,
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
    let curriculum = loss.init()?;
    let mut learner = run.learner("weights")?;
    let mut selector = Selector::new();
    while let Some(epoch) = run.next_epoch() {
        let curriculum = curriculum.at_epoch(epoch);
        let name = format!("{} of the kept", curriculum.trained());
        for batch in run.batches(epoch) {
            run.begin_step();
            let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
            run.see(&batch, &logits)?;
            let (loss, kept) = curriculum.forward_with(&mut selector, logits, batch.targets.clone());
            run.keep(&batch, &kept.positions);
            run.bound(&batch, kept.objective, kept.total);
            if kept.positions.is_empty() {
                run.starve();
                continue;
            }
            learner = run.step_that_may_starve(learner, loss, &name, kept.starved)?;
        }
        run.end_epoch(&[&learner], &|_| Ok(()))?;
    }
    Ok(vec![learner.network])
}
