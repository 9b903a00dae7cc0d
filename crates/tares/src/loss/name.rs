//! [`SampleLoss`]: the losses by name.

use super::hinge::{hinge_of, squared_hinge_of, truncated_hinge_of};
use super::margin::margin;
use super::sigmoid::{logistic_of, savage_of, sigmoid_of};
use super::soft_hinge::{soft_hinge_of, weighted_hinge_of};
use super::{cross_entropy, gce, mae, symmetric_cross_entropy, truncated_gce};
use burn::tensor::{Int, Tensor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::{Error, Result, Surrogate};

/// A loss per sample, as files and command lines write it; numbers follow the name after a colon.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use tares::loss::SampleLoss;
/// let loss: SampleLoss = "gce:0.7".parse()?;
/// let device = Device::flex();
/// let logits = Tensor::<2>::from_floats([[2.0, -1.0, 0.5], [0.0, 0.0, 0.0]], &device);
/// let values = loss.forward(logits, Tensor::<1, Int>::from_ints([0, 2], &device));
/// assert_eq!(values.dims(), [2]);
/// assert_eq!("gce".parse::<SampleLoss>()?, loss);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SampleLoss {
    /// `cross-entropy`: [`cross_entropy`].
    CrossEntropy,
    /// `gce` (= `gce:0.7`): [`gce`].
    Gce {
        /// In (0, 1].
        q: f64,
    },
    /// `truncated-gce` (= `truncated-gce:0.7:0.5`): [`truncated_gce`].
    TruncatedGce {
        /// In (0, 1].
        q: f64,
        /// The probability below which a sample no longer counts, in (0, 1).
        k: f64,
    },
    /// `mae`: [`mae`].
    Mae,
    /// `symmetric-ce` (= `symmetric-ce:0.1:1`): [`symmetric_cross_entropy`].
    SymmetricCrossEntropy {
        /// Weight of cross-entropy, ≥ 0.
        alpha: f64,
        /// Weight of reverse cross-entropy, ≥ 0.
        beta: f64,
    },
    /// A base loss of the core by its name there, `hinge`, `soft-hinge`, `weighted:0.3`, ...: these lie above the 0–1
    /// loss, as the paper's theorems need.
    Surrogate(Surrogate),
}

/// The names here; those of the base losses are [`Surrogate`]'s.
const NAMES: [&str; 5] = ["cross-entropy", "gce", "truncated-gce", "mae", "symmetric-ce"];

impl SampleLoss {
    /// The loss of every sample: logits `[batch, K]`, targets `[batch]` in 0..K → `[batch]`.
    pub fn forward(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
        match *self {
            Self::CrossEntropy => cross_entropy(logits, targets),
            Self::Gce { q } => gce(logits, targets, q),
            Self::TruncatedGce { q, k } => truncated_gce(logits, targets, q, k),
            Self::Mae => mae(logits, targets),
            Self::SymmetricCrossEntropy { alpha, beta } => symmetric_cross_entropy(logits, targets, alpha, beta),
            Self::Surrogate(base) => {
                let margin = margin(logits.clone(), targets.clone());
                match base {
                    Surrogate::Hinge => hinge_of(margin),
                    Surrogate::SoftHinge => soft_hinge_of(margin, logits, targets),
                    Surrogate::Weighted { beta } => weighted_hinge_of(margin, logits, targets, beta),
                    Surrogate::SquaredHinge => squared_hinge_of(margin),
                    Surrogate::Logistic => logistic_of(margin),
                    Surrogate::Sigmoid => sigmoid_of(margin),
                    Surrogate::Savage => savage_of(margin),
                    Surrogate::TruncatedHinge { cap } => truncated_hinge_of(margin, cap),
                }
            }
        }
    }

    /// The base loss of the core this is, if it is one.
    pub fn surrogate(&self) -> Option<Surrogate> {
        match *self {
            Self::Surrogate(base) => Some(base),
            _ => None,
        }
    }

    /// Checks the numbers in the name.
    ///
    /// # Errors
    /// A number outside its domain.
    pub fn check(&self) -> Result<()> {
        let within = |what: &str, allowed: &str, value: f64, fine: bool| {
            if fine { Ok(()) } else { Err(Error::value(what, allowed, value)) }
        };
        match *self {
            Self::Gce { q } => within("q of gce", "in (0, 1]", q, q > 0.0 && q <= 1.0),
            Self::TruncatedGce { q, k } => {
                within("q of truncated-gce", "in (0, 1]", q, q > 0.0 && q <= 1.0)?;
                within("k of truncated-gce", "in (0, 1)", k, k > 0.0 && k < 1.0)
            }
            Self::SymmetricCrossEntropy { alpha, beta } => {
                within("alpha of symmetric-ce", "a number >= 0", alpha, alpha >= 0.0 && alpha.is_finite())?;
                within("beta of symmetric-ce", "a number >= 0", beta, beta >= 0.0 && beta.is_finite())
            }
            Self::Surrogate(base) => base.check().map(drop),
            Self::CrossEntropy | Self::Mae => Ok(()),
        }
    }
}

impl fmt::Display for SampleLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CrossEntropy => f.write_str("cross-entropy"),
            Self::Gce { q } => write!(f, "gce:{q}"),
            Self::TruncatedGce { q, k } => write!(f, "truncated-gce:{q}:{k}"),
            Self::Mae => f.write_str("mae"),
            Self::SymmetricCrossEntropy { alpha, beta } => write!(f, "symmetric-ce:{alpha}:{beta}"),
            Self::Surrogate(base) => base.fmt(f),
        }
    }
}

impl FromStr for SampleLoss {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let numbers: Vec<f64> = parts
            .map(|part| part.parse().map_err(|_| Error::value(format!("number in '{text}'"), "like 0.7", part)))
            .collect::<Result<_>>()?;
        let loss = match (name, &numbers[..]) {
            ("cross-entropy", []) => Self::CrossEntropy,
            ("gce", []) => Self::Gce { q: 0.7 },
            ("gce", &[q]) => Self::Gce { q },
            ("truncated-gce", []) => Self::TruncatedGce { q: 0.7, k: 0.5 },
            ("truncated-gce", &[q, k]) => Self::TruncatedGce { q, k },
            ("mae", []) => Self::Mae,
            ("symmetric-ce", []) => Self::SymmetricCrossEntropy { alpha: 0.1, beta: 1.0 },
            ("symmetric-ce", &[alpha, beta]) => Self::SymmetricCrossEntropy { alpha, beta },
            (known, _) if NAMES.contains(&known) => {
                return Err(Error::value(format!("numbers of loss '{name}'"), "as many as it takes", text));
            }
            (base, _) if tares_core::surrogate::NAMES.contains(&base) => Self::Surrogate(text.parse()?),
            _ => return Err(Error::unknown("loss", name, &[&NAMES[..], &tares_core::surrogate::NAMES].concat())),
        };
        loss.check()?;
        Ok(loss)
    }
}

impl From<Surrogate> for SampleLoss {
    fn from(base: Surrogate) -> Self {
        Self::Surrogate(base)
    }
}

impl TryFrom<String> for SampleLoss {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<SampleLoss> for String {
    fn from(loss: SampleLoss) -> Self {
        loss.to_string()
    }
}
