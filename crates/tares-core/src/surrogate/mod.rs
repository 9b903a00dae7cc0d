//! Base losses: functions l with `l(u) ≥ 1(u < 0)`, the bound on which everything in the paper stands.
//!
//! One file each. All but the soft hinge depend on the logits only through the margin; [`Surrogate`] names them all
//! and turns a derivative with respect to the margin into one with respect to the logits.
//!
//! The caveat: a loss that does *not* bound the 0-1 loss (cross-entropy in base e, GCE) gives a selection, but none of
//! the theorems.

pub mod hinge;
pub mod logistic;
pub mod savage;
pub mod sigmoid;
pub mod soft_hinge;
pub mod squared_hinge;
pub mod truncated_hinge;
pub mod weighted;

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::margin::{check_rows, own_and_best_other};
use std::fmt;
use std::str::FromStr;

/// A base loss by name: `hinge`, `soft-hinge`, `weighted:0.3`, `squared-hinge`, `logistic`, `sigmoid`, `savage`,
/// `truncated-hinge:2`.
///
/// ```
/// use tares_core::Surrogate;
/// let loss: Surrogate = "weighted:0.3".parse()?;
/// assert_eq!(loss, Surrogate::Weighted { beta: 0.3 });
/// assert_eq!(Surrogate::Hinge.value(&[1.0, 0.5, 0.0], 0), 0.5);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum Surrogate {
    /// `max(0, 1 − u)`.
    Hinge,
    /// The paper's S(t, y): hinge where the sample is right, `1 − t_y + LogSumExp(t)` where it is wrong.
    SoftHinge,
    /// The paper's F(t, y; β) = β S + (1 − β) H.
    Weighted {
        /// Share of the soft hinge, in [0, 1].
        beta: f64,
    },
    /// `max(0, 1 − u)²`.
    SquaredHinge,
    /// `log₂(1 + e^{−u})`.
    Logistic,
    /// `2 / (1 + e^u)`.
    Sigmoid,
    /// `4 / (1 + e^u)²`.
    Savage,
    /// `min(max(0, 1 − u), cap)`.
    TruncatedHinge {
        /// The largest value, at least 1.
        cap: f64,
    },
}

/// The names, as they are written.
pub const NAMES: [&str; 8] =
    ["hinge", "soft-hinge", "weighted", "squared-hinge", "logistic", "sigmoid", "savage", "truncated-hinge"];

impl Surrogate {
    /// One of each kind, parameters at telling values: for tests and tables over all base losses.
    pub const ALL: [Self; 8] = [
        Self::Hinge,
        Self::SoftHinge,
        Self::Weighted { beta: 0.3 },
        Self::SquaredHinge,
        Self::Logistic,
        Self::Sigmoid,
        Self::Savage,
        Self::TruncatedHinge { cap: 2.0 },
    ];

    /// The loss of one sample.
    ///
    /// # Panics
    /// If there are fewer than two logits or `label` is not one of them; [`Surrogate::values`] checks instead.
    pub fn value(&self, logits: &[f64], label: Label) -> f64 {
        let (own, other) = own_and_best_other(logits, label);
        let margin = own - logits[other];
        match *self {
            Self::SoftHinge => soft_hinge::value(logits, label, margin),
            Self::Weighted { beta } => weighted::value(logits, label, margin, beta),
            _ => self.of_margin(margin),
        }
    }

    /// The derivative of [`value`](Self::value) with respect to each logit, written to `out`.
    ///
    /// Where the loss has a kink, the side away from the loss is taken: no gradient at u = 1 of a hinge.
    ///
    /// # Panics
    /// As [`value`](Self::value), and if `out` is not as long as `logits`.
    pub fn gradient(&self, logits: &[f64], label: Label, out: &mut [f64]) {
        self.value_and_gradient(logits, label, out);
    }

    /// [`value`](Self::value) and [`gradient`](Self::gradient) for little more than the price of one of them.
    ///
    /// # Panics
    /// As [`gradient`](Self::gradient).
    pub fn value_and_gradient(&self, logits: &[f64], label: Label, out: &mut [f64]) -> f64 {
        assert_eq!(logits.len(), out.len(), "logits and gradient");
        let (own, other) = own_and_best_other(logits, label);
        let margin = own - logits[other];
        out.fill(0.0);
        match *self {
            Self::SoftHinge => soft_hinge::value_and_gradient(logits, label, other, margin, out),
            Self::Weighted { beta } => weighted::value_and_gradient(logits, label, other, margin, beta, out),
            _ => {
                let slope = self.slope_of_margin(margin);
                out[label as usize] = slope;
                out[other] = -slope;
                self.of_margin(margin)
            }
        }
    }

    /// The derivative of [`of_margin`](Self::of_margin); the soft hinge has one only where a sample is right (u ≥ 0).
    pub(crate) fn slope_of_margin(&self, margin: f64) -> f64 {
        match *self {
            Self::Hinge | Self::SoftHinge | Self::Weighted { .. } => hinge::derivative(margin),
            Self::SquaredHinge => squared_hinge::derivative(margin),
            Self::Logistic => logistic::derivative(margin),
            Self::Sigmoid => sigmoid::derivative(margin),
            Self::Savage => savage::derivative(margin),
            Self::TruncatedHinge { cap } => truncated_hinge::derivative(margin, cap),
        }
    }

    /// The losses of N samples, `logits` row after row.
    ///
    /// # Errors
    /// K < 2; lengths that don't fit; labels outside 0..K; NaN.
    pub fn values(&self, logits: &[f64], labels: &[Label], classes: usize) -> Result<Vec<f64>> {
        check_rows(logits, labels, classes)?;
        Ok(logits.chunks_exact(classes).zip(labels).map(|(row, &label)| self.value(row, label)).collect())
    }

    /// The loss of a margin, as for two classes.
    ///
    /// The soft hinge needs all logits; with two classes they are known from the margin up to a shift that doesn't matter.
    pub fn of_margin(&self, margin: f64) -> f64 {
        match *self {
            Self::Hinge => hinge::value(margin),
            Self::SquaredHinge => squared_hinge::value(margin),
            Self::Logistic => logistic::value(margin),
            Self::Sigmoid => sigmoid::value(margin),
            Self::Savage => savage::value(margin),
            Self::TruncatedHinge { cap } => truncated_hinge::value(margin, cap),
            Self::SoftHinge => soft_hinge::value(&[margin, 0.0], 0, margin),
            Self::Weighted { beta } => weighted::value(&[margin, 0.0], 0, margin, beta),
        }
    }

    /// Checks the parameter, if there is one.
    ///
    /// # Errors
    /// β outside [0, 1]; a cap below 1 or not finite (the loss would no longer bound the 0-1 loss).
    pub fn check(self) -> Result<Self> {
        match self {
            Self::Weighted { beta } if !(0.0..=1.0).contains(&beta) => {
                Err(Error::value("beta of weighted", "in [0, 1]", beta))
            }
            Self::TruncatedHinge { cap } if !(cap >= 1.0 && cap.is_finite()) => {
                Err(Error::value("cap of truncated-hinge", "a finite number >= 1", cap))
            }
            _ => Ok(self),
        }
    }
}

impl fmt::Display for Surrogate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hinge => f.write_str("hinge"),
            Self::SoftHinge => f.write_str("soft-hinge"),
            Self::Weighted { beta } => write!(f, "weighted:{beta}"),
            Self::SquaredHinge => f.write_str("squared-hinge"),
            Self::Logistic => f.write_str("logistic"),
            Self::Sigmoid => f.write_str("sigmoid"),
            Self::Savage => f.write_str("savage"),
            Self::TruncatedHinge { cap } => write!(f, "truncated-hinge:{cap}"),
        }
    }
}

impl FromStr for Surrogate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = crate::named::Named::parse("base loss", text)?;
        match named.name {
            "hinge" => named.plain(Self::Hinge),
            "soft-hinge" => named.plain(Self::SoftHinge),
            "weighted" => Self::Weighted { beta: named.number()? }.check(),
            "squared-hinge" => named.plain(Self::SquaredHinge),
            "logistic" => named.plain(Self::Logistic),
            "sigmoid" => named.plain(Self::Sigmoid),
            "savage" => named.plain(Self::Savage),
            "truncated-hinge" => Self::TruncatedHinge { cap: named.number_or(2.0)? }.check(),
            _ => Err(named.unknown(&NAMES)),
        }
    }
}

crate::named::as_text!(Surrogate);
