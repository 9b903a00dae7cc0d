//! [`CurriculumLossConfig`]: the settings of a [`CurriculumLoss`].

use super::CurriculumLoss;
use crate::loss::name::SampleLoss;
use burn::config::{Config, config_to_json};
use serde::{Deserialize, Serialize};
use std::fmt;
use tares_core::{Result, Surrogate, Threshold};

/// The configuration of a [`CurriculumLoss`], a Burn [`Config`] that can be saved to and loaded from a file.
///
/// Burn's derive reads a file with a misspelt key as if the key were absent. Here the trait is implemented by hand,
/// so that unknown keys are errors and missing ones take their defaults.
///
/// ```
/// use tares::loss::CurriculumLossConfig;
/// use tares_core::{Surrogate, Threshold};
/// let loss = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.3 })
///     .with_training(Surrogate::Weighted { beta: 0.5 })
///     .with_balanced(true)
///     .with_burn_in(10)
///     .init()?;
/// assert!(!loss.at_epoch(9).selects() && loss.at_epoch(10).selects());
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurriculumLossConfig {
    /// Where the selection threshold C comes from: E, Q (= CL), NPCL fixed or adaptive, or your own.
    pub threshold: Threshold,
    /// The loss samples are ranked by; the hard hinge unless said otherwise.
    #[serde(default = "hard")]
    pub ranking: SampleLoss,
    /// The loss whose mean over the kept samples is trained; the soft hinge unless said otherwise.
    #[serde(default = "soft")]
    pub training: SampleLoss,
    /// Keep one more sample when `L_T ≤ C − T` (the T+1 rule); true unless said otherwise.
    #[serde(default = "yes")]
    pub extra: bool,
    /// The loss that is trained in the burn-in, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burn_in_training: Option<SampleLoss>,
    /// One threshold per class, so that no class is pruned away; false unless said otherwise.
    #[serde(default)]
    pub balanced: bool,
    /// Epochs at the start without selection; 0 unless said otherwise (the paper: 5 on MNIST, 10 on CIFAR).
    #[serde(default)]
    pub burn_in: usize,
}

fn hard() -> SampleLoss {
    SampleLoss::Surrogate(Surrogate::Hinge)
}

fn soft() -> SampleLoss {
    SampleLoss::Surrogate(Surrogate::SoftHinge)
}

fn yes() -> bool {
    true
}

impl CurriculumLossConfig {
    /// As the authors train: rank by hard hinge, train the soft hinge, T+1 rule, no burn-in.
    pub fn new(threshold: Threshold) -> Self {
        Self {
            threshold,
            ranking: hard(),
            training: soft(),
            extra: true,
            burn_in_training: None,
            balanced: false,
            burn_in: 0,
        }
    }

    /// Ranks by another loss.
    #[must_use]
    pub fn with_ranking(mut self, ranking: impl Into<SampleLoss>) -> Self {
        self.ranking = ranking.into();
        self
    }

    /// Trains another loss.
    #[must_use]
    pub fn with_training(mut self, training: impl Into<SampleLoss>) -> Self {
        self.training = training.into();
        self
    }

    /// Trains another loss in the burn-in.
    #[must_use]
    pub fn with_burn_in_training(mut self, training: impl Into<SampleLoss>) -> Self {
        self.burn_in_training = Some(training.into());
        self
    }

    /// Switches the T+1 rule.
    #[must_use]
    pub fn with_extra(mut self, extra: bool) -> Self {
        self.extra = extra;
        self
    }

    /// Switches selection class by class.
    #[must_use]
    pub fn with_balanced(mut self, balanced: bool) -> Self {
        self.balanced = balanced;
        self
    }

    /// Sets the number of epochs without selection.
    #[must_use]
    pub fn with_burn_in(mut self, epochs: usize) -> Self {
        self.burn_in = epochs;
        self
    }

    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// A rate, custom threshold or number of a loss outside its domain.
    pub fn check(&self) -> Result<()> {
        self.threshold.check()?;
        self.ranking.check()?;
        self.burn_in_training.map_or(Ok(()), |loss| loss.check())?;
        self.training.check()
    }

    /// Checks the values and makes the loss.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn init(&self) -> Result<CurriculumLoss> {
        self.check()?;
        Ok(CurriculumLoss { config: *self, selects: true })
    }
}

impl Config for CurriculumLossConfig {}

impl fmt::Display for CurriculumLossConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&config_to_json(self))
    }
}
