//! [`Rate`]: the noise rate a method works with.

use crate::error::Error;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The meaning of `rate`, the same for all methods that have it.
pub(in crate::method) const RATE_MEANING: &str = "the noise rate: told, a number, or a factor of what is told (x0.5)";

/// A rate that is multiplied stays below this: with rate 1 nothing would be kept.
const MOST: f64 = 0.99;

/// Where the noise rate of a method comes from: from the caller, or from the method's name.
///
/// ```
/// use tares::method::Rate;
/// assert_eq!("x0.5".parse::<Rate>()?.told(0.4), Rate::Given(0.2));
/// assert_eq!("0.3".parse::<Rate>()?.told(0.4), Rate::Given(0.4));
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// Whatever the method is told: the known rate, or an estimate.
    #[default]
    Told,
    /// This one.
    Given(f64),
    /// This multiple of what the method is told, for experiments with a wrong rate: `x0.5`.
    Times(f64),
}

impl Rate {
    /// The rate as a number; `None` while the method has not been told.
    pub fn given(self) -> Option<f64> {
        match self {
            Self::Given(rate) => Some(rate),
            Self::Told | Self::Times(_) => None,
        }
    }

    /// What it becomes when the method is told `rate`; a multiple stays below 1.
    #[must_use]
    pub fn told(self, rate: f64) -> Self {
        match self {
            Self::Told | Self::Given(_) => Self::Given(rate),
            Self::Times(factor) => Self::Given((rate * factor).min(MOST)),
        }
    }

    /// The number the loops work with; `check` has made sure that there is one.
    pub(in crate::method) fn value(self) -> f64 {
        self.given().unwrap_or(0.0)
    }
}

impl From<f64> for Rate {
    fn from(rate: f64) -> Self {
        Self::Given(rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Told => f.write_str("told"),
            Self::Given(rate) => rate.fmt(f),
            Self::Times(factor) => write!(f, "x{factor}"),
        }
    }
}

impl FromStr for Rate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
        let rate = match text.strip_prefix('x') {
            Some(factor) => number(factor).filter(|&factor| factor > 0.0).map(Self::Times),
            None if text == "told" => Some(Self::Told),
            None => number(text).map(Self::Given),
        };
        rate.ok_or_else(|| {
            tares_core::Error::value("noise rate", "a number in [0, 1), or a factor like x0.5", text).into()
        })
    }
}

/// In files a number, `"x0.5"`, or nothing.
impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Told => serializer.serialize_none(),
            Self::Given(rate) => serializer.serialize_f64(*rate),
            Self::Times(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrText)
    }
}

struct NumberOrText;

impl<'de> Visitor<'de> for NumberOrText {
    type Value = Rate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a noise rate, or a factor like \"x0.5\"")
    }

    fn visit_f64<E: serde::de::Error>(self, rate: f64) -> Result<Rate, E> {
        Ok(Rate::Given(rate))
    }

    fn visit_u64<E: serde::de::Error>(self, rate: u64) -> Result<Rate, E> {
        Ok(Rate::Given(rate as f64))
    }

    fn visit_i64<E: serde::de::Error>(self, rate: i64) -> Result<Rate, E> {
        Ok(Rate::Given(rate as f64))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Rate, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Rate, E> {
        Ok(Rate::Told)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Rate, E> {
        Ok(Rate::Told)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Rate, D::Error> {
        deserializer.deserialize_any(self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_multiplies_what_is_told_and_stays_below_1() {
        assert_eq!(Rate::Times(0.5).told(0.4), Rate::Given(0.2));
        assert_eq!(Rate::Times(1.5).told(0.8), Rate::Given(0.99));
        assert_eq!(Rate::Told.told(0.4), Rate::Given(0.4));
    }

    #[test]
    fn rates_survive_text_and_files_and_nonsense_is_refused() {
        for rate in [Rate::Told, Rate::Given(0.35), Rate::Given(0.0), Rate::Times(0.75), Rate::Times(1e-7)] {
            assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
            let text = serde_json::to_string(&rate).unwrap();
            assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), rate, "{text}");
        }
        for bad in ["x", "x0", "x-1", "xnan", "nan", "inf", "", "half", "0.5x"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
    }
}
