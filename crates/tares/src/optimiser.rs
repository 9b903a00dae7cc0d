//! [`Optimiser`]: how weights follow their gradients, Adam or SGD with momentum, and the numbers of each.

pub mod descent;
pub mod schedule;

use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use tares_core::Error;

/// The rule by which a step changes the weights. Weight decay is L2: it is added to the gradient.
///
/// ```
/// use tares::Optimiser;
/// let adam: Optimiser = serde_json::from_str(r#"{"adam": {"lr": 0.01}}"#).unwrap();
/// assert_eq!(adam.learning_rate(), 0.01);
/// ```
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Adam.
    Adam(Adam),
    /// Stochastic gradient descent with momentum.
    Sgd(Sgd),
}

/// Adam: moving averages of the gradient and of its square, with bias correction.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Adam {
    /// Learning rate.
    pub lr: f64,
    /// Decay of the average of the gradient.
    pub beta1: f64,
    /// Decay of the average of its square.
    pub beta2: f64,
    /// Added to the denominator, so that it is never 0.
    pub eps: f64,
    /// Weight decay: this number times the weight is added to the gradient.
    pub weight_decay: f64,
}

impl Default for Adam {
    fn default() -> Self {
        Self { lr: 1e-3, beta1: 0.9, beta2: 0.999, eps: 1e-8, weight_decay: 0.0 }
    }
}

/// SGD: `v ← momentum · v + gradient`, `weight ← weight − lr · v`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Sgd {
    /// Learning rate.
    pub lr: f64,
    /// Decay of the velocity.
    pub momentum: f64,
    /// Weight decay: this number times the weight is added to the gradient.
    pub weight_decay: f64,
    /// Nesterov momentum: step along `gradient + momentum · v` instead of `v`.
    pub nesterov: bool,
}

impl Default for Sgd {
    fn default() -> Self {
        Self { lr: 0.1, momentum: 0.9, weight_decay: 5e-4, nesterov: false }
    }
}

impl Default for Optimiser {
    fn default() -> Self {
        Self::Adam(Adam::default())
    }
}

/// `adam` or `sgd`, with its defaults.
impl FromStr for Optimiser {
    type Err = crate::error::Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "adam" => Ok(Self::Adam(Adam::default())),
            "sgd" => Ok(Self::Sgd(Sgd::default())),
            _ => Err(Error::unknown("optimiser", name, &["adam", "sgd"]).into()),
        }
    }
}

impl Optimiser {
    /// Its name, without its numbers.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Adam(_) => "adam",
            Self::Sgd(_) => "sgd",
        }
    }

    /// The learning rate before any schedule.
    pub fn learning_rate(&self) -> f64 {
        match self {
            Self::Adam(adam) => adam.lr,
            Self::Sgd(sgd) => sgd.lr,
        }
    }

    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// The first value that is outside, by name.
    pub fn check(&self) -> Result<()> {
        let (lr, weight_decay) = match self {
            Self::Adam(adam) => {
                for (what, beta) in [("beta1", adam.beta1), ("beta2", adam.beta2)] {
                    if !(0.0..1.0).contains(&beta) {
                        return Err(Error::value(what, "in [0, 1)", beta).into());
                    }
                }
                if !(adam.eps > 0.0 && adam.eps.is_finite()) {
                    return Err(Error::value("eps", "above 0", adam.eps).into());
                }
                (adam.lr, adam.weight_decay)
            }
            Self::Sgd(sgd) => {
                if !(0.0..1.0).contains(&sgd.momentum) {
                    return Err(Error::value("momentum", "in [0, 1)", sgd.momentum).into());
                }
                (sgd.lr, sgd.weight_decay)
            }
        };
        if !(lr > 0.0 && lr.is_finite()) {
            return Err(Error::value("learning rate", "above 0", lr).into());
        }
        if !(weight_decay >= 0.0 && weight_decay.is_finite()) {
            return Err(Error::value("weight decay", "at least 0", weight_decay).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_what_is_outside_its_domain() {
        let adam = |adam: Adam| Optimiser::Adam(adam).check();
        assert!(adam(Adam { lr: 0.0, ..Adam::default() }).is_err());
        assert!(adam(Adam { beta1: 1.0, ..Adam::default() }).is_err());
        assert!(adam(Adam { eps: f64::NAN, ..Adam::default() }).is_err());
        assert!(Optimiser::Sgd(Sgd { momentum: 1.0, ..Sgd::default() }).check().is_err());
        assert!(Optimiser::Sgd(Sgd { weight_decay: -1.0, ..Sgd::default() }).check().is_err());
        assert!(Optimiser::default().check().is_ok());
    }
}
