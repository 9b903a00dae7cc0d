//! [`Normalise`]: how inputs are shifted and scaled.

use crate::error::Result;
use crate::text_or_table::text_or_table;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::Error;

/// How inputs are shifted and scaled after bytes became [0, 1].
///
/// As text `none`, `standardise`, or means and deviations: `0.48,0.45,0.4/0.23,0.23,0.23`; in files that text or a table.
///
/// ```
/// use tares::Normalise;
/// let given: Normalise = "0.5/0.25".parse()?;
/// assert_eq!(given, Normalise::Given { mean: vec![0.5], std: vec![0.25] });
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Serialize, Clone, Debug, Default, PartialEq)]
#[serde(into = "String")]
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

impl fmt::Display for Normalise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |values: &[f32]| values.iter().map(f32::to_string).collect::<Vec<_>>().join(",");
        match self {
            Self::None => f.write_str("none"),
            Self::Standardise => f.write_str("standardise"),
            Self::Given { mean, std } => write!(f, "{}/{}", list(mean), list(std)),
        }
    }
}

impl FromStr for Normalise {
    type Err = crate::error::Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let allowed = "none, standardise, or MEAN/STD with a number per channel, like 0.5,0.4,0.3/0.2,0.2,0.2";
            Error::value("normalisation", allowed, format!("'{text}'"))
        };
        let numbers = |list: &str| {
            let number = |part: &str| part.trim().parse().map_err(|_| wrong());
            list.split(',').map(number).collect::<std::result::Result<Vec<f32>, Error>>()
        };
        let normalise = match (text.trim(), text.split_once('/')) {
            ("none", _) => Self::None,
            ("standardise", _) => Self::Standardise,
            (_, Some((mean, std))) => Self::Given { mean: numbers(mean)?, std: numbers(std)? },
            (_, None) => return Err(wrong().into()),
        };
        normalise.check()?;
        Ok(normalise)
    }
}

impl From<Normalise> for String {
    fn from(normalise: Normalise) -> Self {
        normalise.to_string()
    }
}

impl<'de> Deserialize<'de> for Normalise {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let expected = "a normalisation such as \"standardise\" or \"0.5/0.25\", or a table with its numbers";
        text_or_table::<_, _, NormaliseTable>(deserializer, expected)
    }
}

/// A [`Normalise`] as a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum NormaliseTable {
    Given { mean: Vec<f32>, std: Vec<f32> },
}

impl From<NormaliseTable> for Normalise {
    fn from(NormaliseTable::Given { mean, std }: NormaliseTable) -> Self {
        Self::Given { mean, std }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalisations_survive_their_text_and_files_take_tables_too() {
        for text in ["none", "standardise", "0.4802,0.4481,0.3975/0.2302,0.2265,0.2262", "0/1"] {
            let normalise: Normalise = text.parse().unwrap();
            assert_eq!(normalise.to_string(), text);
            let file = serde_json::to_string(&normalise).unwrap();
            assert_eq!(serde_json::from_str::<Normalise>(&file).unwrap(), normalise, "{file}");
        }
        let table = r#"{"given": {"mean": [0.5], "std": [0.25]}}"#;
        assert_eq!(serde_json::from_str::<Normalise>(table).unwrap(), "0.5/0.25".parse().unwrap());
        for bad in ["", "0.5", "0.5/", "0.5/0", "0.5,0.4/0.2", "a/b", "standardize", "0.5/0.2/0.1"] {
            assert!(bad.parse::<Normalise>().is_err(), "{bad}");
        }
    }
}
