//! [`JudgeAnswer`]: one judge's out-of-fold prediction for every row.

use super::{Judge, PanelOptions};
use crate::caller::{Caller, JudgeProgress};
use crate::cross_fit::CrossFit;
use crate::error::{Result, value};
use crate::fold::{Fold, folds, repeats_for};
use crate::labelled::Labelled;
use crate::softmax::log_loss;
use crate::trees::{self, TreeOptions};
use crate::{bayes, forest, linear};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Instant;
use tares_core::Label;

/// One judge's predictions for rows that it was not trained on. Judges outside this crate give one too.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeAnswer {
    /// The judge's name.
    pub judge: String,
    /// N × K log-probabilities, row after row, as the judge gives them.
    pub log_probs: Vec<f64>,
    /// The setting that was chosen on held-out rows, if any.
    pub setting: Option<Setting>,
    /// Seconds of wall time.
    pub seconds: f64,
}

/// A setting that was chosen for a judge on held-out rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Strength of the linear model's penalty.
    Penalty(f64),
    /// How trees are boosted.
    Trees {
        /// Rounds of boosting.
        rounds: usize,
        /// Leaves of a tree at most.
        leaves: usize,
    },
    /// Smoothing of naive Bayes.
    Smoothing(f64),
    /// The least rows of a forest's leaves.
    Leaf(usize),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Penalty(strength) => write!(f, "penalty {}", short(strength)),
            Self::Trees { rounds, leaves } => write!(f, "{rounds} rounds of {leaves} leaves"),
            Self::Smoothing(smoothing) => write!(f, "smoothing {}", short(smoothing)),
            Self::Leaf(rows) => write!(f, "leaves of at least {rows} {}", if *rows == 1 { "row" } else { "rows" }),
        }
    }
}

/// At most three digits after the point.
fn short(number: &f64) -> String {
    format!("{number:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// How the rows are cut: folds of each repetition, and repetitions.
///
/// # Errors
/// Fewer than 2 folds or rows.
pub fn cuts(labels: &[Label], groups: Option<&[u32]>, options: &PanelOptions) -> Result<Vec<Vec<Fold>>> {
    if options.folds < 2 {
        return Err(value("number of folds", "at least 2", options.folds));
    }
    let count = options.folds.min(labels.len());
    let repeats = options.repeats.unwrap_or_else(|| repeats_for(labels.len())).max(1);
    (0..repeats).map(|repeat| folds(labels, groups, count, options.seed, repeat)).collect()
}

/// Asks one judge about every row, in every repetition; the answer is the mean of its probabilities.
///
/// # Errors
/// As [`judge`](super::judge).
pub fn ask(judge: Judge, data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<JudgeAnswer> {
    data.check()?;
    let start = Instant::now();
    let cuts = cuts(data.labels, data.groups, options)?;
    let (log_probs, setting) = match judge {
        Judge::Linear => {
            let fits = each(&cuts, caller, |cut, caller| linear::cross_fit(data, cut, options.linear, caller))?;
            let strength = mean_factor(&fits);
            (mean_of(answers(fits)), Setting::Penalty(strength))
        }
        Judge::Trees => {
            let shapes = options.tree_shapes(data.rows());
            let fit = |part: usize, cut: &[Fold], shape: TreeOptions| {
                let progress =
                    |step: JudgeProgress| (caller.progress)(part_of(step, part, cuts.len() + shapes.len() - 1));
                let caller = Caller { progress: &progress, interrupt: caller.interrupt };
                trees::cross_fit(data, cut, shape, caller)
            };
            let loss =
                |fit: &CrossFit<usize>| log_loss(&fit.log_probs, data.labels, data.classes, |row| data.weight(row));
            // The first repetition chooses the shape of trees for all of them.
            let mut best: Option<(TreeOptions, CrossFit<usize>)> = None;
            for (part, &shape) in shapes.iter().enumerate() {
                let next = fit(part, &cuts[0], shape)?;
                if best.as_ref().is_none_or(|(_, best)| loss(&next) < loss(best)) {
                    best = Some((shape, next));
                }
            }
            let (shape, first) = best.expect("there is a shape");
            let mut fits = vec![first];
            for (part, cut) in cuts.iter().enumerate().skip(1) {
                fits.push(fit(part + shapes.len() - 1, cut, shape)?);
            }
            let mean = fits.iter().map(|fit| fit.setting).sum::<usize>() as f64 / fits.len() as f64;
            (mean_of(answers(fits)), Setting::Trees { rounds: mean.round() as usize, leaves: shape.leaves })
        }
        Judge::Bayes => {
            let fits = each(&cuts, caller, |cut, caller| bayes::cross_fit(data, cut, caller))?;
            let smoothing = mean_factor(&fits);
            (mean_of(answers(fits)), Setting::Smoothing(smoothing))
        }
        // Trees that did not draw a row judge it: there are no folds.
        Judge::Forest => {
            let fit = forest::out_of_bag(data, options.seed, caller)?;
            (fit.log_probs, Setting::Leaf(fit.setting))
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    Ok(JudgeAnswer { judge: judge.name().to_owned(), log_probs, setting: Some(setting), seconds })
}

/// One fit per repetition, with the progress of all of them as one.
fn each<S>(
    cuts: &[Vec<Fold>],
    caller: Caller<'_>,
    fit: impl Fn(&[Fold], Caller<'_>) -> Result<CrossFit<S>>,
) -> Result<Vec<CrossFit<S>>> {
    let one = |(part, cut): (usize, &Vec<Fold>)| {
        let progress = |step: JudgeProgress| (caller.progress)(part_of(step, part, cuts.len()));
        fit(cut, Caller { progress: &progress, interrupt: caller.interrupt })
    };
    cuts.iter().enumerate().map(one).collect()
}

fn answers<S>(fits: Vec<CrossFit<S>>) -> Vec<Vec<f64>> {
    fits.into_iter().map(|fit| fit.log_probs).collect()
}

/// Reports the progress of one of several equal parts as progress of the whole.
pub(super) fn part_of(step: JudgeProgress, part: usize, parts: usize) -> JudgeProgress {
    JudgeProgress { done: part * step.total + step.done, total: parts * step.total, ..step }
}

/// Strengths and smoothings are factors: their mean is geometric.
fn mean_factor(fits: &[CrossFit<f64>]) -> f64 {
    (fits.iter().map(|fit| fit.setting.ln()).sum::<f64>() / fits.len() as f64).exp()
}

/// The logarithm of the mean of probabilities that are given as logarithms.
pub(super) fn mean_of(mut all: Vec<Vec<f64>>) -> Vec<f64> {
    if all.len() == 1 {
        return all.remove(0);
    }
    let mean = |place: usize| all.iter().map(|log_probs| log_probs[place].exp()).sum::<f64>() / all.len() as f64;
    (0..all[0].len()).map(|place| mean(place).ln()).collect()
}
