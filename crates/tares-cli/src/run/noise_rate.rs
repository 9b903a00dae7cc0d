//! The noise rate a method is told: given, known because the noise was put in, or estimated.
//!
//! An estimate trains a few networks ("judges") on parts of the data before the run itself; each judges only labels it never
//! saw. The judges are trained with plain cross-entropy: a robust loss keeps wrong labels out of the probabilities, and the
//! estimator counts wrong labels by how they show there.

use super::folds::{FoldProgress, out_of_fold};
use super::spec::Spec;
use crate::record::RateRecord;
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use tares::{CrossValidation, Method, Network, Plan};
use tares_core::audit::audit;
use tares_core::estimate::{Caution, Detector, ProbabilityMatrix};
use tares_core::{Dataset, Error};

/// Parts of the data; each is judged by a network trained on the others.
const FOLDS: usize = 3;
/// Epochs of a judge, however many the run itself has: enough to learn the classes, too few to memorise wrong labels.
const EPOCHS: usize = 10;
/// Steps of a judge, at least: an epoch of a hundred rows is a single step.
const STEPS: usize = 300;

/// The noise rate a method is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateText", into = "RateText")]
pub enum NoiseRate {
    /// Estimated from the data.
    #[default]
    Auto,
    /// The rate of the noise that was put in, as comparisons do.
    Known,
    /// This one.
    Given(f64),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RateText {
    Number(f64),
    Text(String),
}

impl TryFrom<RateText> for NoiseRate {
    type Error = Error;

    fn try_from(text: RateText) -> Result<Self, Error> {
        match text {
            RateText::Number(rate) => rate.to_string().parse(),
            RateText::Text(text) => text.parse(),
        }
    }
}

impl From<NoiseRate> for RateText {
    fn from(rate: NoiseRate) -> Self {
        match rate {
            NoiseRate::Given(rate) => Self::Number(rate),
            other => Self::Text(other.to_string()),
        }
    }
}

impl fmt::Display for NoiseRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Known => f.write_str("known"),
            Self::Given(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for NoiseRate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::value("noise rate", "a number in [0, 1), auto or known", text);
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "known" => Ok(Self::Known),
            number => match number.parse::<f64>() {
                Ok(rate) if (0.0..1.0).contains(&rate) => Ok(Self::Given(rate)),
                _ => Err(wrong()),
            },
        }
    }
}

/// The rate for a run's method; `None` if it needs none. What an interrupted estimate has done stays in `folds`.
///
/// # Errors
/// Training fails on this data, a file cannot be written, or Ctrl-C: an interrupted estimate is no estimate.
pub fn told(
    spec: &Spec,
    train: &Dataset,
    network: &Network,
    folds: &Path,
    hear: &mut dyn FnMut(FoldProgress),
) -> Outcome<Option<RateRecord>> {
    if !spec.method.needs_rate() {
        return Ok(None);
    }
    let exactly = |value: f64, source: &str| RateRecord { value, source: source.to_owned(), band: None, warning: None };
    Ok(Some(match (spec.method.rate(), spec.noise_rate) {
        (Some(rate), _) | (None, NoiseRate::Given(rate)) => exactly(rate, "given"),
        (None, NoiseRate::Known) => exactly(spec.noise.known_rate(train).min(0.99), "the noise that was put in"),
        (None, NoiseRate::Auto) => estimated(spec, train, network, folds, hear)?,
    }))
}

fn estimated(
    spec: &Spec,
    train: &Dataset,
    network: &Network,
    folds: &Path,
    hear: &mut dyn FnMut(FoldProgress),
) -> Outcome<RateRecord> {
    let plan = Plan { epochs: epochs(train.len(), spec.plan.batch), ..spec.plan.clone() };
    let device = tares::device::by_name(&spec.device)?;
    let judges = CrossValidation::new(train, FOLDS, network, &Method::Standard, &plan, &device)?;
    let probabilities = out_of_fold(&judges, folds, hear)?;
    let matrix = ProbabilityMatrix::new(&probabilities, train.classes())?;
    let found = audit(&matrix, train.given(), Detector::default())?;
    let cautions = Caution::about(&found.overview, &found.estimate);
    let doubt = cautions.iter().find(|caution| caution.is_about_the_judge());
    Ok(RateRecord {
        value: found.estimate.rate.clamp(0.0, 0.95),
        source: format!("estimated by {FOLDS} networks on rows they were not trained on"),
        band: Some(found.estimate.interval),
        warning: doubt.map(|caution| caution.sentence(|class| train.class_names()[class].clone())),
    })
}

fn epochs(rows: usize, batch: usize) -> usize {
    let steps = (rows - rows / FOLDS).div_ceil(batch.max(1)).max(1);
    EPOCHS.max(STEPS.div_ceil(steps))
}

/// What a wrong noise rate costs: NPCL's published test accuracy on MNIST when told half the rate, the rate, and one and a
/// half times the rate (table "different ε" of the paper).
pub fn sensitivity(rate: f64) -> &'static str {
    if rate < 0.1 {
        "with so few wrong labels a rate that is off by half costs little"
    } else if rate < 0.3 {
        "what if it is off? Published for NPCL at 20 %: 96.3 % told half of it, 99.4 % told it, 99.1 % told 1.5 times it; \
         --noise-rate R sets it"
    } else {
        "what if it is off? Published for NPCL at 50 %: 78.7 % told half of it, 98.5 % told it, 67.6 % told 1.5 times it; \
         --noise-rate R sets it"
    }
}

#[cfg(test)]
mod tests {
    use super::{epochs, sensitivity};

    #[test]
    fn few_rows_are_gone_through_more_often() {
        assert_eq!([epochs(150, 128), epochs(3823, 128), epochs(60_000, 128)], [300, 15, 10]);
    }

    #[test]
    fn the_note_follows_the_rate() {
        assert!(sensitivity(0.02).contains("little"));
        assert!(sensitivity(0.2).contains("96.3 %"));
        assert!(sensitivity(0.5).contains("67.6 %") && sensitivity(0.35).contains("78.7 %"));
    }
}
