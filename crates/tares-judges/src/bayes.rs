//! The naive Bayes judge: how often every n-gram occurs in the texts of each class.
//!
//! ```text
//! ln p(k | x) = ln p(k) + Σ_j x_j ln θ_kj + constant      θ_kj = (α + Σ_{i of class k} x_ij) / Σ_j' (…)
//! ```
//!
//! x are the TF-IDF weights of a row's texts (other columns are not read). The smoothing α is chosen by out-of-fold
//! log-loss. With few texts it predicts better than a linear model, and it makes different mistakes.

use crate::calibrate;
use crate::caller::Caller;
use crate::cross_fit::{CrossFit, scatter};
use crate::error::{Result, same_length, stored, value};
use crate::fold::Fold;
use crate::labelled::{Labelled, Part};
use crate::matrix::{Matrix, SparseRows};
use crate::softmax::normalise;
use crate::text::features::TextFeatures;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use tares_core::Label;

/// Smoothings that are tried, until one is worse than the one before.
const PATH: [f64; 6] = [3.0, 1.0, 0.3, 0.1, 0.03, 0.01];

/// A fitted naive Bayes model of texts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bayes {
    classes: usize,
    texts: Vec<TextFeatures>,
    /// ln p(k).
    prior: Vec<f64>,
    /// ln θ: n-gram after n-gram, its K classes side by side.
    weights: Vec<f32>,
}

impl Bayes {
    /// Fits with a given smoothing.
    ///
    /// # Errors
    /// Data that don't fit together or have no text; a smoothing that is not above 0;
    /// [`Interrupted`](crate::Error::Interrupted).
    pub fn fit(data: &Labelled<'_>, smoothing: f64, caller: Caller<'_>) -> Result<Self> {
        let sums = Sums::of(data)?;
        caller.go_on()?;
        sums.model(smoothing)
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Numbers that were fitted.
    pub fn parameters(&self) -> usize {
        self.weights.len() + self.prior.len()
    }

    /// N × K log-probabilities, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn log_probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        Ok(self.log_probs_of(&weighted(&self.texts, inputs)?))
    }

    /// How much one n-gram of a text column speaks for `class` and against `other`; `None` if the n-gram has no column.
    pub(crate) fn evidence(&self, text: usize, gram: u32, class: Label, other: Label) -> Option<f64> {
        let before: usize = self.texts[..text].iter().map(TextFeatures::width).sum();
        let (column, idf) = self.texts[text].column(gram)?;
        let weights = &self.weights[(before + column) * self.classes..][..self.classes];
        Some(idf * f64::from(weights[class as usize] - weights[other as usize]))
    }

    fn log_probs_of(&self, blocks: &[SparseRows]) -> Vec<f64> {
        let classes = self.classes;
        let mut all = vec![0.0; blocks[0].rows() * classes];
        all.par_chunks_mut(classes).enumerate().for_each(|(row, out)| {
            out.copy_from_slice(&self.prior);
            let mut before = 0;
            for block in blocks {
                let (columns, values) = block.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    let weights = &self.weights[(before + column as usize) * classes..][..classes];
                    out.iter_mut().zip(weights).for_each(|(out, &weight)| *out += f64::from(weight * value));
                }
                before += block.width();
            }
            normalise(out);
        });
        all
    }

    pub(crate) fn check(&self) -> Result<()> {
        stored((2..=1 << 20).contains(&self.classes), "number of classes must be in 2..=1048576")?;
        stored(!self.texts.is_empty(), "naive Bayes must have a text")?;
        self.texts.iter().try_for_each(TextFeatures::check)?;
        let width: usize = self.texts.iter().map(TextFeatures::width).sum();
        stored(self.prior.len() == self.classes, "classes must have a frequency each")?;
        stored(width.checked_mul(self.classes) == Some(self.weights.len()), "n-grams must have a weight per class")?;
        let finite = self.weights.iter().all(|w| w.is_finite()) && self.prior.iter().all(|p| p.is_finite());
        stored(finite, "weights of naive Bayes must be finite")
    }
}

/// The weights of every column of text.
fn weighted(texts: &[TextFeatures], inputs: &Matrix) -> Result<Vec<SparseRows>> {
    same_length("list of text columns", texts.len(), inputs.texts().len())?;
    texts.iter().zip(inputs.texts()).map(|(features, counts)| features.transform(counts)).collect()
}

/// What the fits share, whatever their smoothing: the sum of each n-gram's weights in each class.
struct Sums {
    texts: Vec<TextFeatures>,
    class_weights: Vec<f64>,
    /// N-gram after n-gram, its K classes side by side.
    sums: Vec<f64>,
}

impl Sums {
    fn of(data: &Labelled<'_>) -> Result<Self> {
        data.check()?;
        if data.inputs.texts().is_empty() {
            return Err(tares_core::Error::empty("list of texts (naive Bayes reads no other columns)").into());
        }
        let texts: Vec<TextFeatures> = data.inputs.texts().iter().map(TextFeatures::fit).collect::<Result<_>>()?;
        let width: usize = texts.iter().map(TextFeatures::width).sum();
        let mut sums = vec![0.0; width * data.classes];
        let mut before = 0;
        for block in weighted(&texts, data.inputs)? {
            for row in 0..block.rows() {
                let (columns, values) = block.row(row);
                let (class, weight) = (data.labels[row] as usize, data.weight(row));
                for (&column, &value) in columns.iter().zip(values) {
                    sums[(before + column as usize) * data.classes + class] += weight * f64::from(value);
                }
            }
            before += block.width();
        }
        Ok(Self { texts, class_weights: data.class_weights(), sums })
    }

    fn model(&self, smoothing: f64) -> Result<Bayes> {
        if !(smoothing > 0.0 && smoothing.is_finite()) {
            return Err(value("smoothing", "a finite number > 0", smoothing));
        }
        let classes = self.class_weights.len();
        let mut totals = vec![0.0; classes];
        for sums in self.sums.chunks_exact(classes) {
            totals.iter_mut().zip(sums).for_each(|(total, sum)| *total += smoothing + sum);
        }
        let weight = |(place, sum): (usize, &f64)| ((smoothing + sum) / totals[place % classes]).ln() as f32;
        // Half a row for every class: the usual pseudo-count.
        let rows: f64 = self.class_weights.iter().map(|weight| weight + 0.5).sum();
        Ok(Bayes {
            classes,
            texts: self.texts.clone(),
            prior: self.class_weights.iter().map(|weight| ((weight + 0.5) / rows).ln()).collect(),
            weights: self.sums.iter().enumerate().map(weight).collect(),
        })
    }
}

/// Fits once per fold and smoothing; the smoothing with the least out-of-fold log-loss is taken for all folds. Naive Bayes is
/// overconfident, so losses are compared after calibration.
///
/// # Errors
/// As [`Bayes::fit`].
pub fn cross_fit(data: &Labelled<'_>, folds: &[Fold], caller: Caller<'_>) -> Result<CrossFit<f64>> {
    data.check()?;
    let total = folds.len() + PATH.len();
    let prepare = |fold: &Fold| {
        caller.go_on()?;
        let sums = Sums::of(&Part::of(data, &fold.train).labelled())?;
        let held = weighted(&sums.texts, &data.inputs.select(&fold.held))?;
        Ok((sums, held))
    };
    let prepared: Vec<(Sums, Vec<SparseRows>)> = folds.par_iter().map(prepare).collect::<Result<_>>()?;
    let mut best: Option<(f64, CrossFit<f64>)> = None;
    for (step, smoothing) in PATH.into_iter().enumerate() {
        caller.go_on()?;
        caller.report("bayes", folds.len() + step, total);
        let answer = |(sums, held): &(Sums, Vec<SparseRows>)| Ok(sums.model(smoothing)?.log_probs_of(held));
        let answers: Vec<Vec<f64>> = prepared.par_iter().map(answer).collect::<Result<_>>()?;
        let mut log_probs = vec![0.0; data.rows() * data.classes];
        for (fold, answers) in folds.iter().zip(&answers) {
            scatter(&mut log_probs, &fold.held, answers, data.classes);
        }
        let loss = calibrate::loss(&log_probs, data.labels, data.classes, |row| data.weight(row))?;
        if best.as_ref().is_some_and(|(least, _)| loss >= *least) {
            break;
        }
        best = Some((loss, CrossFit { log_probs, setting: smoothing }));
    }
    caller.report("bayes", total, total);
    Ok(best.expect("the path is not empty").1)
}
