//! The linear judge: multinomial logistic regression with an L2 penalty, on columns and texts.
//!
//! The strength of the penalty is chosen by out-of-fold log-loss along a short path from strong to weak, each fit
//! starting from the one before.

mod encode;
mod lbfgs;
mod objective;

use crate::calibrate;
use crate::caller::Caller;
use crate::cross_fit::{CrossFit, scatter};
use crate::error::{Result, stored, value};
use crate::fold::Fold;
use crate::labelled::{Labelled, Part};
use crate::matrix::Matrix;
use crate::softmax::normalise;
use crate::text::counts::TextCounts;
use encode::{Design, Encoder};
use lbfgs::Stop;
use objective::{Objective, Transposed, outputs};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use tares_core::Label;

/// Strengths of the penalty that are tried, strong to weak, until one is worse than the one before: the penalty on ‖W‖²/2 beside
/// the *sum* of losses, scikit-learn's 1/C.
const PATH: [f64; 6] = [1000.0, 100.0, 10.0, 1.0, 0.1, 0.01];
/// Then the two half-way points beside the best one are tried.
const NEIGHBOURS: [f64; 2] = [3.0, 1.0 / 3.0];
/// From this many multiplications per pass over all rows, the first fold alone chooses the strength: it has enough held-out
/// rows then, and fits take most of the time.
const LARGE: usize = 10_000_000;

/// How a linear model is fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinearOptions {
    /// The fit ends when the next step is expected to lower the loss by less than this fraction of it.
    pub tolerance: f64,
    /// Iterations of L-BFGS at most.
    pub iterations: usize,
}

impl Default for LinearOptions {
    fn default() -> Self {
        // More digits are not needed: log-losses along the path differ by far more.
        Self { tolerance: 1e-4, iterations: 200 }
    }
}

impl LinearOptions {
    /// Checks the numbers.
    ///
    /// # Errors
    /// A tolerance that is negative or not finite; no iteration.
    pub fn check(&self) -> Result<()> {
        if !(self.tolerance >= 0.0 && self.tolerance.is_finite()) {
            return Err(value("tolerance", "a finite number >= 0", self.tolerance));
        }
        if self.iterations == 0 {
            return Err(value("iterations", "at least 1", 0));
        }
        Ok(())
    }
}

/// A fitted linear model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    classes: usize,
    /// Classes that had a row, ascending. The others get the same small probability everywhere.
    present: Vec<Label>,
    /// The probability of a class that had no row.
    absent: f64,
    encoder: Encoder,
    /// Feature after feature, M outputs side by side, then M biases.
    parameters: Vec<f64>,
}

impl Linear {
    /// Fits with a penalty of `strength`/2 · ‖W‖² beside the sum of the rows' losses (scikit-learn's 1/C).
    ///
    /// # Errors
    /// Data that don't fit together; options outside their domain; [`Interrupted`](crate::Error::Interrupted).
    pub fn fit(data: &Labelled<'_>, strength: f64, options: LinearOptions, caller: Caller<'_>) -> Result<Self> {
        let mut path = Fitting::start(data, options)?;
        path.continue_at(strength, caller)?;
        Ok(path.model)
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Numbers that were fitted: weights and biases.
    pub fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// N × K log-probabilities, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn log_probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        Ok(self.log_probs_of(&self.encoder.encode(inputs)?))
    }

    fn log_probs_of(&self, design: &Design) -> Vec<f64> {
        let (classes, present) = (self.classes, self.present.len());
        let mut all = vec![self.absent.ln(); design.rows * classes];
        let seen = (1.0 - self.absent * (classes - present) as f64).ln();
        let outputs = outputs(present);
        all.par_chunks_mut(256 * classes).enumerate().for_each(|(block, out)| {
            let mut logits = vec![0.0; out.len() / classes * outputs];
            objective::logits(design, &self.parameters, outputs, block * 256, &mut logits);
            for (out, logits) in out.chunks_exact_mut(classes).zip(logits.chunks_exact(outputs)) {
                let mut row = if outputs == present { logits.to_vec() } else { vec![0.0, logits[0]] };
                normalise(&mut row);
                for (&class, log_prob) in self.present.iter().zip(row) {
                    out[class as usize] = log_prob + seen;
                }
            }
        });
        all
    }

    pub(crate) fn check(&self) -> Result<()> {
        stored((2..=1 << 20).contains(&self.classes), "number of classes must be in 2..=1048576")?;
        let ascending = self.present.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = self.present.iter().all(|&class| (class as usize) < self.classes);
        stored(!self.present.is_empty() && ascending && in_range, "classes of a linear model must ascend")?;
        let left = self.absent * (self.classes - self.present.len()) as f64;
        stored(self.absent > 0.0 && left < 1.0, "probability of absent classes must be above 0 and leave some")?;
        self.encoder.check()?;
        let expected = (self.encoder.width() + 1).checked_mul(outputs(self.present.len()));
        stored(expected == Some(self.parameters.len()), "weights of a linear model must fit its columns and classes")?;
        stored(self.parameters.iter().all(|weight| weight.is_finite()), "weights of a linear model must be finite")
    }
}

/// A model and its encoded training rows, fitted at one strength after the other.
struct Fitting {
    model: Linear,
    design: Design,
    /// Made once for all strengths.
    transposed: Transposed,
    labels: Vec<Label>,
    weights: Vec<f64>,
    options: LinearOptions,
}

impl Fitting {
    fn start(data: &Labelled<'_>, options: LinearOptions) -> Result<Self> {
        data.check()?;
        options.check()?;
        let totals = data.class_weights();
        let present: Vec<Label> = (0..data.classes).filter(|&k| totals[k] > 0.0).map(|k| k as Label).collect();
        let place = |label: &Label| present.binary_search(label).expect("a class with a row") as Label;
        let labels = data.labels.iter().map(place).collect();
        let encoder = Encoder::fit(data)?;
        let design = encoder.encode(data.inputs)?;
        let transposed = Transposed::of(&design);
        // Half a row for every class: the usual pseudo-count.
        let absent = 0.5 / (totals.iter().sum::<f64>() + 0.5 * data.classes as f64);
        let parameters = vec![0.0; (encoder.width() + 1) * outputs(present.len())];
        let model = Linear { classes: data.classes, present, absent, encoder, parameters };
        let weights = (0..data.rows()).map(|row| data.weight(row)).collect();
        Ok(Self { model, design, transposed, labels, weights, options })
    }

    /// Fits again, starting where the last fit ended.
    fn continue_at(&mut self, strength: f64, caller: Caller<'_>) -> Result<()> {
        if !(strength > 0.0 && strength.is_finite()) {
            return Err(value("strength of the penalty", "a finite number > 0", strength));
        }
        let present = self.model.present.len();
        if present == 1 {
            return caller.go_on(); // nothing to tell apart
        }
        let penalty = strength / self.weights.iter().sum::<f64>();
        let mut objective =
            Objective::new(&self.design, &self.transposed, &self.labels, present, |row| self.weights[row]);
        let stop = Stop { tolerance: self.options.tolerance, iterations: self.options.iterations };
        let step = |parameters: &[f64], gradient: &mut [f64]| {
            caller.go_on()?;
            Ok(objective.value(parameters, penalty, gradient))
        };
        lbfgs::minimise(step, &mut self.model.parameters, stop)?;
        Ok(())
    }
}

/// Fits once per fold and strength; the strength with the least out-of-fold log-loss is taken for all folds. Where fits
/// take long, the first fold decides for the others.
///
/// # Errors
/// As [`Linear::fit`].
pub fn cross_fit(
    data: &Labelled<'_>,
    folds: &[Fold],
    options: LinearOptions,
    caller: Caller<'_>,
) -> Result<CrossFit<f64>> {
    data.check()?;
    let inputs = data.inputs;
    let entries =
        inputs.rows() * inputs.columns().len() + inputs.texts().iter().map(TextCounts::entries).sum::<usize>();
    let deciding = if entries * outputs(data.classes) > LARGE { 1 } else { folds.len() };
    let total = (PATH.len() + NEIGHBOURS.len()) * deciding + (folds.len() - deciding);
    let done = AtomicUsize::new(0);
    // A fold's model and its encoded held-out rows.
    let start = |fold: &Fold| {
        let fitting = Fitting::start(&Part::of(data, &fold.train).labelled(), options)?;
        let held = fitting.model.encoder.encode(&inputs.select(&fold.held))?;
        Ok::<_, crate::Error>((fitting, held))
    };
    let fit = |(fitting, held): &mut (Fitting, Design), strength: f64| {
        fitting.continue_at(strength, caller)?;
        caller.report("linear", done.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok::<_, crate::Error>(fitting.model.log_probs_of(held))
    };

    let mut fittings: Vec<(Fitting, Design)> = folds[..deciding].par_iter().map(start).collect::<Result<_>>()?;
    let mut best: Option<Tried> = None;
    let mut try_strength = |strength: f64, best: &mut Option<Tried>| {
        let answers: Vec<Vec<f64>> =
            fittings.par_iter_mut().map(|fitting| fit(fitting, strength)).collect::<Result<_>>()?;
        let loss = held_loss(data, folds, &answers)?;
        let better = best.as_ref().is_none_or(|best| loss < best.loss);
        if better {
            *best = Some(Tried { strength, loss, answers });
        }
        Ok::<bool, crate::Error>(better)
    };
    for strength in PATH {
        if !try_strength(strength, &mut best)? {
            break;
        }
    }
    let middle = best.as_ref().expect("the path is not empty").strength;
    for factor in NEIGHBOURS {
        try_strength(middle * factor, &mut best)?;
    }

    let Tried { strength, mut answers, .. } = best.expect("the path is not empty");
    let rest = folds[deciding..].par_iter().map(|fold| fit(&mut start(fold)?, strength));
    answers.extend(rest.collect::<Result<Vec<_>>>()?);
    caller.report("linear", total, total);
    let mut log_probs = vec![0.0; data.rows() * data.classes];
    for (fold, answers) in folds.iter().zip(&answers) {
        scatter(&mut log_probs, &fold.held, answers, data.classes);
    }
    Ok(CrossFit { log_probs, setting: strength })
}

/// A strength, the log-loss on the held-out rows of the folds that decide, and the predictions for them.
struct Tried {
    strength: f64,
    loss: f64,
    answers: Vec<Vec<f64>>,
}

/// The held-out rows' log-loss after calibration, because answers are calibrated anyway. Without it a strong penalty would look
/// worse than it is: it makes every answer less confident.
fn held_loss(data: &Labelled<'_>, folds: &[Fold], answers: &[Vec<f64>]) -> Result<f64> {
    let held: Vec<usize> = folds.iter().zip(answers).flat_map(|(fold, _)| fold.held.iter().copied()).collect();
    let labels: Vec<Label> = held.iter().map(|&row| data.labels[row]).collect();
    calibrate::loss(&answers.concat(), &labels, data.classes, |place| data.weight(held[place]))
}
