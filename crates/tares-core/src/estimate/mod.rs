//! How many labels are wrong, and which are mistaken for which: from given labels and **out-of-sample** probabilities.
//!
//! N rows, K classes; matrices are `T[true][given]`. Probabilities on rows that the model was trained on are useless here: it has
//! learnt their wrong labels.
//!
//! Without probabilities: from features, by the labels of neighbours ([`neighbours`]), or from a training history, by the margins
//! over its epochs ([`margins`]).

pub mod accuracy;
pub(crate) mod argmax;
pub mod caution;
pub mod check;
pub mod confident;
pub mod margins;
pub(crate) mod math32;
mod missing;
pub mod neighbours;
pub(crate) mod pass;
pub mod posterior;
pub mod probabilities;
pub(crate) mod row;
mod row_ids;
pub mod surest;

pub use accuracy::{TrueAccuracy, accuracy_behind, true_accuracy};
pub use caution::Caution;
pub use check::Overview;
pub use confident::ConfidentJoint;
pub use missing::{MissingRows, NO_LABEL};
pub use posterior::sample::{Draw, DrawnRows};
pub use posterior::{Posterior, Verdict};
pub use probabilities::{Normalised, Number, Probabilities, ProbabilityMatrix, read_spans};
pub use row_ids::{ListedIds, RowIds};

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::named::{Named, as_text};
use crate::noise::Transition;
use probabilities::sealed::{AnyWidth, Erase};
use std::fmt;
use std::str::FromStr;

/// How wrong labels are found and counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub enum Detector {
    /// The posterior probability that each label is wrong, under a model of classifier and noise: [`Posterior`].
    #[default]
    Posterior,
    /// Confident learning, as cleanlab's default: [`ConfidentJoint`].
    Confident,
    /// Every label that is not the classifier's first choice.
    Argmax,
}

impl Detector {
    /// Names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 3] = ["posterior", "confident", "argmax"];
}

impl FromStr for Detector {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Named::parse("way to estimate noise", text)?;
        match named.name {
            "posterior" => named.plain(Self::Posterior),
            "confident" => named.plain(Self::Confident),
            "argmax" => named.plain(Self::Argmax),
            _ => Err(named.unknown(&Self::NAMES)),
        }
    }
}

impl fmt::Display for Detector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

as_text!(Detector);

/// How many labels are wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// N.
    pub rows: usize,
    /// The part of labels that are wrong.
    pub rate: f64,
    /// Where the rate lies, as far as the data can tell.
    pub interval: (f64, f64),
    /// The rate of noise that does not depend on difficulty, such as injected noise. It leaves out the additional mistakes that
    /// people make on hard rows, which look like a weak classifier's own. Only [`Posterior`] makes the difference;
    /// other detectors repeat `rate`.
    pub uniform_rate: f64,
    /// Which classes are mistaken for which.
    pub transition: Transition,
}

impl Estimate {
    /// A rate that was counted on `rows` rows.
    pub(crate) fn counted(rate: f64, rows: usize, transition: Transition) -> Self {
        Self { rows, rate, interval: counting_interval(rate, rows), uniform_rate: rate, transition }
    }

    /// The number of wrong labels.
    pub fn wrong(&self) -> usize {
        (self.rate * self.rows as f64).round() as usize
    }
}

/// Estimates the noise rate and the transition matrix.
///
/// ```
/// use tares_core::estimate::{Detector, ProbabilityMatrix, estimate};
/// use tares_core::stream;
/// // A classifier that is right 9 times of 10 and says so; 20 % of the labels were replaced by the other class.
/// let (mut probs, mut given) = (Vec::new(), Vec::new());
/// let mut draw = stream(1, "example");
/// for _ in 0..4000 {
///     let truth = u32::from(draw.chance(0.5));
///     let sure = 0.5 + 0.5 * draw.unit().powf(0.25);
///     let guess = if draw.chance(sure) { truth } else { 1 - truth };
///     probs.extend(if guess == 0 { [sure, 1.0 - sure] } else { [1.0 - sure, sure] });
///     given.push(if draw.chance(0.2) { 1 - truth } else { truth });
/// }
/// let found = estimate(&ProbabilityMatrix::new(&probs, 2)?, &given, Detector::default())?;
/// assert!((found.rate - 0.2).abs() < 0.05, "{}", found.rate);
/// assert!(found.interval.0 <= 0.2 && 0.2 <= found.interval.1);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Everything [`Overview::of`] finds.
pub fn estimate<P: Probabilities>(probs: &P, given: &[Label], detector: Detector) -> Result<Estimate> {
    estimate_any(P::Number::erase(probs), given, detector)
}

fn estimate_any(probs: AnyWidth<'_>, given: &[Label], detector: Detector) -> Result<Estimate> {
    match probs {
        AnyWidth::Narrow(probs) => estimate_rows(probs, given, detector),
        AnyWidth::Wide(probs) => estimate_rows(probs, given, detector),
    }
}

fn estimate_rows<P: Probabilities + ?Sized>(probs: &P, given: &[Label], detector: Detector) -> Result<Estimate> {
    match detector {
        Detector::Posterior => {
            let model = Posterior::fit(probs, given)?;
            Ok(model.judge_all(probs, given)?.finish(&model)?.1)
        }
        Detector::Confident => {
            let overview = Overview::of(probs, given)?;
            ConfidentJoint::of(probs, given, &overview)?.estimate()
        }
        Detector::Argmax => {
            Overview::of(probs, given)?;
            Ok(argmax::disagreements(probs, given, |_: &mut Vec<()>, _, _, _, _| {})?.0)
        }
    }
}

/// Where a rate lies that was counted on `rows` rows: Wilson's interval at two standard deviations. It is never empty, also where
/// nothing was found: 0 of 1,000 may be 0.4 %.
pub(crate) fn counting_interval(rate: f64, rows: usize) -> (f64, f64) {
    let (n, z2) = (rows.max(1) as f64, 4.0);
    let middle = (rate + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let spread = z2.sqrt() * (rate * (1.0 - rate) / n + z2 / (4.0 * n * n)).sqrt() / (1.0 + z2 / n);
    // Rounding must not put the rate itself outside.
    ((middle - spread).clamp(0.0, rate), (middle + spread).clamp(rate, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counting_interval_holds_the_rate_and_is_never_empty() {
        for rows in [1, 10, 1000, 1_000_000_000] {
            for rate in [0.0, 1e-9, 0.2, 0.5, 1.0] {
                let (low, high) = counting_interval(rate, rows);
                assert!(0.0 <= low && low <= rate && rate <= high && high <= 1.0 && low < high, "{rate} of {rows}");
            }
        }
        let (low, high) = counting_interval(0.2, 10_000);
        assert!((low - 0.192).abs() < 1e-3 && (high - 0.208).abs() < 1e-3);
    }
}
