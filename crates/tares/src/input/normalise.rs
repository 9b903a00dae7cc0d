//! [`Normalise`]: how inputs are shifted and scaled.

use crate::error::Result;
use serde::{Deserialize, Serialize};
use tares_core::Error;

/// How inputs are shifted and scaled after bytes became [0, 1].
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Normalise {
    /// Not at all.
    #[default]
    None,
    /// To mean 0 and standard deviation 1 over the training rows: per channel for pictures, per column for plain rows.
    Standardise,
    /// By given numbers, one per channel or column.
    Given {
        /// Subtracted.
        mean: Vec<f32>,
        /// Divided by.
        std: Vec<f32>,
    },
}

impl Normalise {
    /// Refuses impossible numbers.
    ///
    /// # Errors
    /// Lists of different lengths; a mean that is not finite; a deviation that is not above 0.
    pub fn check(&self) -> Result<()> {
        if let Self::Given { mean, std } = self {
            if mean.len() != std.len() {
                return Err(Error::length("standard deviations", mean.len(), std.len()).into());
            }
            if let Some(position) = mean.iter().position(|value| !value.is_finite()) {
                let error = Error::value("mean", "a finite number", mean[position]);
                return Err(error.at(format!("position {position}")).into());
            }
            if let Some(position) = std.iter().position(|value| !(*value > 0.0 && value.is_finite())) {
                let error = Error::value("standard deviation", "above 0", std[position]);
                return Err(error.at(format!("position {position}")).into());
            }
        }
        Ok(())
    }
}
