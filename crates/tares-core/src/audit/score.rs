//! How good is a given label? Scores from 0 (certainly wrong) to 1 (certainly right), one number per row.
//!
//! The scores of [`Score`] come from out-of-sample probabilities, [`margin_scores`] and [`kept_scores`] from a training history.

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::estimate::posterior::Posterior;
use crate::estimate::{Number, Overview};
use crate::named::{Named, as_text};
use std::fmt;
use std::str::FromStr;

/// The scores that need nothing but probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub enum Score {
    /// 1 − the probability that the label is wrong under the fitted model of classifier and noise.
    #[default]
    Posterior,
    /// p_y.
    SelfConfidence,
    /// (p_y − max_{j≠y} p_j + 1) / 2.
    NormalisedMargin,
    /// ln(1 + x) / x with x = H(p) / (p_y ln K): a low p_y counts less where the classifier is unsure of all classes.
    EntropyAdjusted,
    /// p_y after subtracting each class's mean self-confidence θ, adding the largest θ and scaling to sum 1. Does not rank a
    /// class low merely because the classifier is unsure of all its rows.
    ClassAdjusted,
}

impl Score {
    /// Names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 5] =
        ["posterior", "self-confidence", "normalised-margin", "entropy-adjusted", "class-adjusted"];
}

impl FromStr for Score {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Named::parse("score", text)?;
        match named.name {
            "posterior" => named.plain(Self::Posterior),
            "self-confidence" => named.plain(Self::SelfConfidence),
            "normalised-margin" => named.plain(Self::NormalisedMargin),
            "entropy-adjusted" => named.plain(Self::EntropyAdjusted),
            "class-adjusted" => named.plain(Self::ClassAdjusted),
            _ => Err(named.unknown(&Self::NAMES)),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

as_text!(Score);

/// A score with what it needs to know about the whole data set.
pub(crate) enum Scorer<'a> {
    Posterior(&'a Posterior),
    SelfConfidence,
    NormalisedMargin,
    EntropyAdjusted,
    /// θ, and the largest θ.
    ClassAdjusted(Vec<f64>, f64),
}

impl<'a> Scorer<'a> {
    /// Only the class-adjusted score needs the overview.
    pub(crate) fn new(score: Score, overview: Option<&Overview>, posterior: &'a Posterior) -> Self {
        match score {
            Score::Posterior => Self::Posterior(posterior),
            Score::SelfConfidence => Self::SelfConfidence,
            Score::NormalisedMargin => Self::NormalisedMargin,
            Score::EntropyAdjusted => Self::EntropyAdjusted,
            Score::ClassAdjusted => {
                // A class without rows has no θ; 0 leaves its probability as it is.
                let means = overview.map_or(&[][..], |overview| &overview.self_confidence);
                let means: Vec<f64> = means.iter().map(|mean| mean.unwrap_or(0.0)).collect();
                let top = means.iter().copied().fold(0.0, f64::max);
                Self::ClassAdjusted(means, top)
            }
        }
    }

    pub(crate) fn of<R: Number>(&self, row: &[R], given: Label) -> f64 {
        let label = given as usize;
        let own: f64 = row[label].into();
        match self {
            Self::Posterior(model) => model.judge(row, given).right,
            Self::SelfConfidence => own,
            Self::NormalisedMargin => normalised_margin(row, label),
            Self::EntropyAdjusted => entropy_adjusted(row, label),
            Self::ClassAdjusted(means, top) => {
                let total: f64 = row.iter().zip(means).map(|(&p, mean)| p.into() - mean + top).sum();
                if total > 0.0 { (own - means[label] + top) / total } else { own }
            }
        }
    }
}

fn normalised_margin<R: Number>(row: &[R], label: usize) -> f64 {
    let others = row.iter().enumerate().filter(|(class, _)| *class != label);
    (row[label].into() - others.map(|(_, &p)| p.into()).fold(0.0, f64::max) + 1.0) / 2.0
}

fn entropy_adjusted<R: Number>(row: &[R], label: usize) -> f64 {
    let entropy: f64 = row.iter().map(|&p| p.into()).filter(|p| *p > 0.0).map(|p| -p * p.ln()).sum();
    let x = (entropy / (row.len() as f64).ln() / row[label].into().max(1e-6)).max(1e-6);
    x.ln_1p() / x
}

/// Scores from the area under the margin: the mean over epochs of the margin of the given label, put into [0, 1] by
/// `1 / (1 + exp(−margin))`.
///
/// # Errors
/// A margin that is not a number.
pub fn margin_scores(mean_margins: &[f64]) -> Result<Vec<f64>> {
    mean_margins
        .iter()
        .enumerate()
        .map(|(index, margin)| match margin.is_nan() {
            true => Err(Error::value("mean margin", "a number", margin).at(format!("row {index}"))),
            false => Ok(1.0 / (1.0 + (-margin).exp())),
        })
        .collect()
}

/// Scores from how often a curriculum kept each row: (kept + 1) / (seen + 2), Laplace's rule, so that a row seen once gets a less
/// extreme score than one seen a hundred times.
///
/// # Errors
/// Lengths that differ; a row kept more often than it was seen.
pub fn kept_scores(kept: &[u32], seen: &[u32]) -> Result<Vec<f64>> {
    crate::error::same_length("times kept", seen.len(), kept.len())?;
    kept.iter()
        .zip(seen)
        .enumerate()
        .map(|(index, (&kept, &seen))| match kept > seen {
            true => {
                Err(Error::value("times kept", format!("at most the {seen} times seen"), kept)
                    .at(format!("row {index}")))
            }
            false => Ok((f64::from(kept) + 1.0) / (f64::from(seen) + 2.0)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::ProbabilityMatrix;

    /// Made with cleanlab 2.9.0 `get_label_quality_scores([0, 1, 2], p, method=…)`, the last with
    /// `adjust_pred_probs=True`.
    #[test]
    fn scores_equal_cleanlab() {
        let values = [0.7, 0.2, 0.1, 0.6, 0.3, 0.1, 0.2, 0.2, 0.6];
        let given = [0, 1, 2];
        let table = ProbabilityMatrix::new(&values, 3).unwrap();
        let overview = Overview::of(&table, &given).unwrap();
        let model = Posterior::fit(&table, &given).unwrap();
        let all = |score| {
            let scorer = Scorer::new(score, Some(&overview), &model);
            values.chunks(3).zip(given).map(|(row, y)| scorer.of(row, y)).collect::<Vec<_>>()
        };
        let near = |got: Vec<f64>, wanted: [f64; 3]| {
            assert!(got.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9), "{got:?} {wanted:?}");
        };
        near(all(Score::SelfConfidence), [0.7, 0.3, 0.6]);
        near(all(Score::NormalisedMargin), [0.75, 0.35, 0.7]);
        near(all(Score::EntropyAdjusted), ENTROPY);
        near(all(Score::ClassAdjusted), CLASS);
    }
    const ENTROPY: [f64; 3] = [0.6850336186085184, 0.482633834582229, 0.6192070185469907];
    const CLASS: [f64; 3] = [0.46666666666666673, 0.46666666666666673, 0.4666666666666666];

    #[test]
    fn history_scores_are_in_order() {
        let scores = margin_scores(&[-3.0, 0.0, 2.0]).unwrap();
        assert!(scores[0] < scores[1] && scores[1] == 0.5 && scores[1] < scores[2]);
        assert!(margin_scores(&[f64::NAN]).is_err());
        assert_eq!(kept_scores(&[0, 8], &[8, 8]).unwrap(), [0.1, 0.9]);
        assert!(kept_scores(&[2], &[1]).is_err());
    }
}
