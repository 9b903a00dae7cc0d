//! The noise rate that a method is told: typed, known because we put the noise in, or estimated.
//!
//! To estimate it, judges are asked before the run itself, each about rows that it was not trained on: for tables a linear model
//! and trees, for pictures a few networks. Networks are trained with plain cross-entropy, because the estimator recognises wrong
//! labels by their trace in the probabilities, and a robust loss removes that trace.

use super::spec::Spec;
use crate::judges::name::JudgeName;
use crate::judges::panel::{COLUMN_FOLDS, Judges, JudgesProgress, refine};
use crate::record::RateRecord;
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use tares::{Method, Network, Plan};
use tares_core::audit::audit;
use tares_core::estimate::{Detector, ProbabilityMatrix};
use tares_core::{Dataset, Error};
use tares_data::Reading;

/// Number of folds: each is judged by a network trained on the others.
const FOLDS: usize = 3;
/// Epochs of a judge, whatever the run's own number: enough to learn the classes, too few to memorise wrong labels.
const EPOCHS: usize = 10;
/// Fewest optimiser steps of a judge. With a hundred rows an epoch is one step, and ten steps learn nothing.
const STEPS: usize = 300;

/// Where the noise rate that a method is told comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateText", into = "RateText")]
pub enum NoiseRate {
    /// Estimated from the data.
    #[default]
    Auto,
    /// The rate of the noise that we put in, as in published comparisons.
    Known,
    /// Typed by the user.
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

/// The rate that the run's method works with; `None` if the method cannot use one, or can do without and none is known. A factor
/// in the method's name (`npcl:rate=x0.5`) is applied. The folds of an interrupted estimate stay in the directory `folds`, so
/// that it can be resumed.
///
/// # Errors
/// Training fails on this data, a file cannot be written, or Ctrl-C: part of the folds would give a wrong estimate.
pub fn told(
    spec: &Spec,
    train: &Dataset,
    reading: &Reading,
    network: Option<&Network>,
    folds: &Path,
    hear: &(dyn Fn(JudgesProgress) + Sync),
) -> Outcome<Option<RateRecord>> {
    if !spec.method.takes_rate() {
        return Ok(None);
    }
    let exactly =
        |value: f64, source: &str| RateRecord { value, source: source.to_owned(), interval: None, warning: None };
    let told = match (spec.method.rate(), spec.noise_rate) {
        (Some(rate), _) => return Ok(Some(exactly(rate, "given"))),
        (None, NoiseRate::Given(rate)) => exactly(rate, "given"),
        (None, NoiseRate::Known) => exactly(spec.noise.known_rate(train).min(0.99), "the noise that was put in"),
        // Estimating takes long, and this method works without a rate.
        (None, NoiseRate::Auto) if !spec.method.needs_rate() => return Ok(None),
        // A soft consensus says itself how often it is expected to be wrong.
        (None, NoiseRate::Auto) if train.beliefs(0).is_some() => {
            let wrong = |row: usize| {
                let parts = train.beliefs(row).unwrap_or_default();
                match network {
                    // Networks see labels that are drawn from the consensus, models of columns the likeliest.
                    Some(_) => 1.0 - parts.iter().map(|&part| f64::from(part) * f64::from(part)).sum::<f64>(),
                    None => 1.0 - f64::from(parts[train.given()[row] as usize]),
                }
            };
            let rate = (0..train.len()).map(wrong).sum::<f64>() / train.len() as f64;
            exactly(rate.clamp(0.0, 0.99), "what the consensus is not sure of")
        }
        (None, NoiseRate::Auto) => estimated(spec, train, reading, network, folds, hear)?,
    };
    Ok(Some(multiplied(told, &spec.method)))
}

/// The record of the rate that a method uses when it is told this one: some multiply it.
fn multiplied(told: RateRecord, method: &Method) -> RateRecord {
    let value = method.clone().with_rate(told.value).rate().unwrap_or(told.value);
    if value == told.value {
        return told;
    }
    let source = format!("{:.3} ({}), changed by {method}", told.value, told.source);
    RateRecord { value, source, interval: None, ..told }
}

fn estimated(
    spec: &Spec,
    train: &Dataset,
    reading: &Reading,
    network: Option<&Network>,
    folds: &Path,
    hear: &(dyn Fn(JudgesProgress) + Sync),
) -> Outcome<RateRecord> {
    let plan = Plan { epochs: epochs(train.len(), spec.plan.batch), ..spec.plan.clone() };
    let judges = Judges {
        names: JudgeName::portfolio(
            train,
            reading,
            &network.cloned().unwrap_or_else(|| Network::suggest(train.shape())),
        ),
        folds: COLUMN_FOLDS,
        network_folds: FOLDS,
        method: Method::Standard,
        plan,
        device: spec.device.clone(),
    };
    let judgement = judges.ask(train, reading, folds, hear)?;
    let matrix = ProbabilityMatrix::new(&judgement.probs, train.classes())?;
    let mut found = audit(&matrix, train.given(), Detector::default())?;
    refine(&mut found, &judgement.probs, train.given(), Some(train), reading, Detector::default())?;
    let cautions = found.cautions();
    let doubt = cautions.iter().find(|caution| caution.is_about_the_rate());
    Ok(RateRecord {
        value: found.estimate.rate.clamp(0.0, 0.95),
        source: format!("estimated by {}", judges.origin()),
        interval: Some(found.estimate.interval),
        warning: doubt.map(|caution| caution.sentence(|class| train.class_names()[class].clone())),
    })
}

/// Whether judges are asked for the noise rate before the run itself.
pub fn estimates(spec: &Spec) -> bool {
    let (method, auto) = (&spec.method, spec.noise_rate == NoiseRate::Auto);
    auto && method.takes_rate() && method.needs_rate() && method.rate().is_none()
}

/// How many epochs of all `rows` the network judges of a run train before it, each on the other folds; 0 where no rate is estimated.
pub fn judging_epochs(spec: &Spec, rows: usize) -> f64 {
    if estimates(spec) { (epochs(rows, spec.plan.batch) * (FOLDS - 1)) as f64 } else { 0.0 }
}

fn epochs(rows: usize, batch: usize) -> usize {
    let steps = (rows - rows / FOLDS).div_ceil(batch.max(1)).max(1);
    EPOCHS.max(STEPS.div_ceil(steps))
}

/// What a wrong noise rate costs: the paper's test accuracy of NPCL on MNIST when it is told 0.5, 1 and 1.5 times the true
/// rate (its table "different ε").
pub fn sensitivity(rate: f64) -> &'static str {
    if rate < 0.1 {
        "with so few wrong labels, a rate that is wrong by half costs little accuracy"
    } else if rate < 0.3 {
        "if this rate is wrong: on MNIST with 20 % noise, NPCL reaches 99.4 % when told the true rate, 96.3 % when told half of \
         it, 99.1 % when told 1.5 times it (published); --noise-rate R sets the rate"
    } else {
        "if this rate is wrong: on MNIST with 50 % noise, NPCL reaches 98.5 % when told the true rate, 78.7 % when told half of \
         it, 67.6 % when told 1.5 times it (published); --noise-rate R sets the rate"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_changes_the_rate_and_the_record_says_so() {
        let told = RateRecord { value: 0.5, source: "given".into(), interval: Some((0.4, 0.6)), warning: None };
        let half = multiplied(told.clone(), &"npcl:rate=x0.5".parse().unwrap());
        assert_eq!((half.value, half.interval), (0.25, None));
        assert_eq!(half.source, "0.500 (given), changed by npcl:rate=x0.5");
        assert_eq!(multiplied(told.clone(), &"npcl".parse().unwrap()), told);
        let more = multiplied(told, &"npcl:rate=x3".parse().unwrap());
        assert_eq!(more.value, 0.99);
    }

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
