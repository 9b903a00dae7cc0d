//! [`Answer`]: what one judge says about every row, out-of-fold.

use super::{Judge, PanelOptions};
use crate::caller::{Caller, JudgeProgress};
use crate::cross_fit::CrossFit;
use crate::error::{Result, value};
use crate::fold::{Fold, folds, repeats_for};
use crate::labelled::Labelled;
use crate::{bayes, linear, trees};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Instant;
use tares_core::Label;

/// What one judge says about every row that it was not trained on. A judge from outside this crate gives one too.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The judge's name.
    pub judge: String,
    /// N × K log-probabilities, row after row, as the judge gives them.
    pub log_probs: Vec<f64>,
    /// What was chosen for it on held-out rows, if anything was.
    pub setting: Option<Setting>,
    /// Seconds of wall time.
    pub seconds: f64,
}

/// What was chosen for a judge on the rows held out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// Strength of the linear model's penalty.
    Penalty(f64),
    /// Rounds of boosting.
    Rounds(usize),
    /// Smoothing of naive Bayes.
    Smoothing(f64),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Penalty(strength) => write!(f, "penalty {}", short(strength)),
            Self::Rounds(rounds) => write!(f, "{rounds} rounds"),
            Self::Smoothing(smoothing) => write!(f, "smoothing {}", short(smoothing)),
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
pub fn cuts(labels: &[Label], options: &PanelOptions) -> Result<Vec<Vec<Fold>>> {
    if options.folds < 2 {
        return Err(value("number of folds", "at least 2", options.folds));
    }
    let count = options.folds.min(labels.len());
    let repeats = options.repeats.unwrap_or_else(|| repeats_for(labels.len())).max(1);
    (0..repeats).map(|repeat| folds(labels, count, options.seed, repeat)).collect()
}

/// Asks one judge about every row, in every repetition; the answer is the mean of its probabilities.
///
/// # Errors
/// As [`judge`](super::judge).
pub fn ask(judge: Judge, data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<Answer> {
    data.check()?;
    let start = Instant::now();
    let cuts = cuts(data.labels, options)?;
    let (log_probs, setting) = match judge {
        Judge::Linear => {
            let fits = each(&cuts, caller, |cut, caller| linear::cross_fit(data, cut, options.linear, caller))?;
            let strength = mean_factor(&fits);
            (mean_of(fits), Setting::Penalty(strength))
        }
        Judge::Trees => {
            let trees = options.tree_options();
            let fits = each(&cuts, caller, |cut, caller| trees::cross_fit(data, cut, trees, caller))?;
            let mean = fits.iter().map(|fit| fit.setting).sum::<usize>() as f64 / fits.len() as f64;
            (mean_of(fits), Setting::Rounds(mean.round() as usize))
        }
        Judge::Bayes => {
            let fits = each(&cuts, caller, |cut, caller| bayes::cross_fit(data, cut, caller))?;
            let smoothing = mean_factor(&fits);
            (mean_of(fits), Setting::Smoothing(smoothing))
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    Ok(Answer { judge: judge.name().to_owned(), log_probs, setting: Some(setting), seconds })
}

/// One fit per repetition, with the progress of all of them as one.
fn each<S>(
    cuts: &[Vec<Fold>],
    caller: Caller<'_>,
    fit: impl Fn(&[Fold], Caller<'_>) -> Result<CrossFit<S>>,
) -> Result<Vec<CrossFit<S>>> {
    let one = |(repeat, cut): (usize, &Vec<Fold>)| {
        let progress = |part: JudgeProgress| {
            let (done, total) = (repeat * part.total + part.done, cuts.len() * part.total);
            (caller.progress)(JudgeProgress { done, total, ..part });
        };
        fit(cut, Caller { progress: &progress, interrupt: caller.interrupt })
    };
    cuts.iter().enumerate().map(one).collect()
}

/// Strengths and smoothings are factors: their mean is geometric.
fn mean_factor(fits: &[CrossFit<f64>]) -> f64 {
    (fits.iter().map(|fit| fit.setting.ln()).sum::<f64>() / fits.len() as f64).exp()
}

fn mean_of<S>(mut fits: Vec<CrossFit<S>>) -> Vec<f64> {
    if fits.len() == 1 {
        return fits.remove(0).log_probs;
    }
    let mean = |place: usize| fits.iter().map(|fit| fit.log_probs[place].exp()).sum::<f64>() / fits.len() as f64;
    (0..fits[0].log_probs.len()).map(|place| mean(place).ln()).collect()
}
