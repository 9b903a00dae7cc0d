//! The panel: several judges asked out-of-fold, each calibrated, blended by how well they predict the given labels.
//!
//! N rows, K classes. [`judge`] gives probabilities of every row by judges that did not train on it: what an audit needs.
//! [`fit`] also trains the judges on all rows, for new rows.

use crate::calibrate;
use crate::caller::Caller;
use crate::cross_fit::CrossFit;
use crate::error::{Result, stored, value};
use crate::fold::{Fold, folds, repeats_for};
use crate::labelled::Labelled;
use crate::linear::{self, Linear, LinearOptions};
use crate::matrix::Matrix;
use crate::softmax::{first_choice, log_loss};
use crate::trees::{self, TreeOptions, Trees};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Instant;
use tares_core::Label;

/// A judge by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// Logistic regression.
    Linear,
    /// Gradient-boosted trees.
    Trees,
}

impl Judge {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Linear, Self::Trees];
    /// Their names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 2] = ["linear", "trees"];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Judge {
    type Err = tares_core::Error;

    fn from_str(text: &str) -> tares_core::Result<Self> {
        let found = Self::ALL.into_iter().find(|judge| judge.name() == text.trim());
        found.ok_or_else(|| tares_core::Error::unknown("judge", text.trim(), &Self::NAMES))
    }
}

/// The judges for data of this shape: trees where there are dense columns to ask about, the linear model always.
pub fn portfolio(inputs: &Matrix) -> Vec<Judge> {
    match inputs.columns().is_empty() {
        true => vec![Judge::Linear],
        false => vec![Judge::Linear, Judge::Trees],
    }
}

/// How a panel is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelOptions {
    /// The judges; empty for the [`portfolio`] of the data.
    pub judges: Vec<Judge>,
    /// Folds; fewer when there are fewer rows.
    pub folds: usize,
    /// How often folds are cut anew; `None`: [`repeats_for`] the number of rows.
    pub repeats: Option<usize>,
    /// Seed of all draws.
    pub seed: u64,
    /// How linear models are fitted.
    pub linear: LinearOptions,
    /// How trees are grown. Their seed is the panel's.
    pub trees: TreeOptions,
}

impl Default for PanelOptions {
    fn default() -> Self {
        let (linear, trees) = (LinearOptions::default(), TreeOptions::default());
        Self { judges: Vec::new(), folds: 5, repeats: None, seed: 0, linear, trees }
    }
}

/// How well one judge did.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeScore {
    /// Which judge.
    pub judge: Judge,
    /// Out-of-fold log-loss of the given labels, after calibration. Wrong labels count like any other.
    pub log_loss: f64,
    /// The part of given labels that were its first choice out-of-fold.
    pub agreement: f64,
    /// Its calibration.
    pub temperature: f64,
    /// Its share in the blend.
    pub weight: f64,
    /// What was chosen by out-of-fold log-loss, in words: `penalty 3`, `57 rounds`.
    pub setting: String,
    /// Seconds of wall time.
    pub seconds: f64,
}

/// What the panel says about rows it has not seen.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// N × K blended probabilities, row after row; every row sums to 1.
    pub probs: Vec<f64>,
    /// K.
    pub classes: usize,
    /// Judge by judge.
    pub scores: Vec<JudgeScore>,
    /// Out-of-fold log-loss of the blend.
    pub log_loss: f64,
    /// The part of given labels that were the blend's first choice.
    pub agreement: f64,
    /// Folds of each repetition.
    pub folds: usize,
    /// Repetitions.
    pub repeats: usize,
    settings: Vec<Setting>,
}

/// What was chosen for a judge.
#[derive(Clone, Copy, Debug)]
enum Setting {
    Penalty(f64),
    Rounds(usize),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Penalty(strength) => {
                let text = format!("{strength:.3}");
                write!(f, "penalty {}", text.trim_end_matches('0').trim_end_matches('.'))
            }
            Self::Rounds(rounds) => write!(f, "{rounds} rounds"),
        }
    }
}

/// Asks every judge about every row, out-of-fold.
///
/// # Errors
/// Data that don't fit together; fewer rows than two; options outside their domain;
/// [`Interrupted`](crate::Error::Interrupted).
pub fn judge(data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<Judgement> {
    data.check()?;
    let judges = if options.judges.is_empty() { portfolio(data.inputs) } else { options.judges.clone() };
    if options.folds < 2 {
        return Err(value("number of folds", "at least 2", options.folds));
    }
    let count = options.folds.min(data.rows());
    let repeats = options.repeats.unwrap_or_else(|| repeats_for(data.rows())).max(1);
    let cuts: Vec<Vec<Fold>> =
        (0..repeats).map(|repeat| folds(data.labels, count, options.seed, repeat)).collect::<Result<_>>()?;
    let mut answers = Vec::new();
    let (mut scores, mut settings) = (Vec::new(), Vec::new());
    for &judge in &judges {
        let start = Instant::now();
        let (mut log_probs, setting) = ask(judge, data, &cuts, options, caller)?;
        let temperature = calibrate::temperature(&log_probs, data.labels, data.classes)?;
        calibrate::apply(&mut log_probs, data.classes, temperature);
        scores.push(JudgeScore {
            judge,
            log_loss: log_loss(&log_probs, data.labels, data.classes, |row| data.weight(row)),
            agreement: agreement(&log_probs, data.labels, data.classes),
            temperature,
            weight: 0.0,
            setting: setting.to_string(),
            seconds: start.elapsed().as_secs_f64(),
        });
        settings.push(setting);
        answers.push(log_probs);
    }
    let weights = blend_weights(&answers, data);
    scores.iter_mut().zip(&weights).for_each(|(score, &weight)| score.weight = weight);
    let probs = blend(&answers, &weights);
    let log_probs: Vec<f64> = probs.iter().map(|p| p.ln()).collect();
    Ok(Judgement {
        log_loss: log_loss(&log_probs, data.labels, data.classes, |row| data.weight(row)),
        agreement: agreement(&probs, data.labels, data.classes),
        classes: data.classes,
        folds: count,
        repeats,
        probs,
        scores,
        settings,
    })
}

/// One judge over all repetitions: the mean of its probabilities, as logarithms, and its setting.
fn ask(
    judge: Judge,
    data: &Labelled<'_>,
    cuts: &[Vec<Fold>],
    options: &PanelOptions,
    caller: Caller<'_>,
) -> Result<(Vec<f64>, Setting)> {
    match judge {
        Judge::Linear => {
            let fits: Vec<CrossFit<f64>> =
                cuts.iter().map(|cut| linear::cross_fit(data, cut, options.linear, caller)).collect::<Result<_>>()?;
            // Strengths are factors: their mean is geometric.
            let mean = (fits.iter().map(|fit| fit.setting.ln()).sum::<f64>() / fits.len() as f64).exp();
            Ok((mean_of(fits), Setting::Penalty(mean)))
        }
        Judge::Trees => {
            let trees = TreeOptions { seed: options.seed, ..options.trees };
            let fits: Vec<CrossFit<usize>> =
                cuts.iter().map(|cut| trees::cross_fit(data, cut, trees, caller)).collect::<Result<_>>()?;
            let mean = fits.iter().map(|fit| fit.setting).sum::<usize>() as f64 / fits.len() as f64;
            Ok((mean_of(fits), Setting::Rounds(mean.round() as usize)))
        }
    }
}

fn mean_of<S>(fits: Vec<CrossFit<S>>) -> Vec<f64> {
    if let [only] = &fits[..] {
        return only.log_probs.clone();
    }
    let mean = |place: usize| fits.iter().map(|fit| fit.log_probs[place].exp()).sum::<f64>() / fits.len() as f64;
    (0..fits[0].log_probs.len()).map(|place| mean(place).ln()).collect()
}

fn agreement(scores: &[f64], labels: &[Label], classes: usize) -> f64 {
    let rows = scores.chunks_exact(classes).zip(labels);
    rows.filter(|(row, label)| first_choice(row) == **label as usize).count() as f64 / labels.len() as f64
}

/// The shares, each ≥ 0 and together 1, with which the blend Σ share · p has the least log-loss: EM for a mixture, whose every
/// turn lowers the loss. A few rows' worth of equal shares is added, so that few rows don't silence a judge.
fn blend_weights(answers: &[Vec<f64>], data: &Labelled<'_>) -> Vec<f64> {
    const PSEUDO_ROWS: f64 = 4.0;
    let judges = answers.len();
    let own: Vec<f64> = (0..data.rows())
        .flat_map(|row| {
            let place = row * data.classes + data.labels[row] as usize;
            answers.iter().map(move |log_probs| log_probs[place].exp())
        })
        .collect();
    let mut weights = vec![1.0 / judges as f64; judges];
    for _ in 0..200 {
        let mut shares = vec![PSEUDO_ROWS / judges as f64; judges];
        for (row, own) in own.chunks_exact(judges).enumerate() {
            let total: f64 = weights.iter().zip(own).map(|(weight, p)| weight * p).sum();
            if total > 0.0 {
                let scale = data.weight(row) / total;
                shares.iter_mut().zip(&weights).zip(own).for_each(|((share, w), p)| *share += scale * w * p);
            }
        }
        let total: f64 = shares.iter().sum();
        weights = shares.into_iter().map(|share| share / total).collect();
    }
    weights
}

fn blend(answers: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mix =
        |place: usize| answers.iter().zip(weights).map(|(log_probs, weight)| weight * log_probs[place].exp()).sum();
    (0..answers[0].len()).map(mix).collect()
}

/// Judges trained on all rows, with the temperatures and shares they had out-of-fold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Member {
    model: Model,
    temperature: f64,
    weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Model {
    Linear(Linear),
    Trees(Trees),
}

/// Asks all judges out-of-fold, then trains each on all rows with the setting that was best.
///
/// # Errors
/// As [`judge`].
pub fn fit(data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<(Panel, Judgement)> {
    let judgement = judge(data, options, caller)?;
    let member = |(score, setting): (&JudgeScore, &Setting)| {
        let model = match *setting {
            Setting::Penalty(strength) => Model::Linear(Linear::fit(data, strength, options.linear, caller)?),
            Setting::Rounds(rounds) => {
                let trees = TreeOptions { seed: options.seed, rounds, ..options.trees };
                Model::Trees(Trees::fit(data, trees, caller)?)
            }
        };
        Ok(Member { model, temperature: score.temperature, weight: score.weight })
    };
    let members = judgement.scores.iter().zip(&judgement.settings).map(member).collect::<Result<_>>()?;
    Ok((Panel { members }, judgement))
}

impl Panel {
    /// K.
    pub fn classes(&self) -> usize {
        match &self.members[0].model {
            Model::Linear(model) => model.classes(),
            Model::Trees(model) => model.classes(),
        }
    }

    /// N × K probabilities of new rows, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        let answer = |member: &Member| {
            let mut log_probs = match &member.model {
                Model::Linear(model) => model.log_probs(inputs)?,
                Model::Trees(model) => model.log_probs(inputs)?,
            };
            calibrate::apply(&mut log_probs, self.classes(), member.temperature);
            Ok(log_probs)
        };
        let answers: Vec<Vec<f64>> = self.members.iter().map(answer).collect::<Result<_>>()?;
        let weights: Vec<f64> = self.members.iter().map(|member| member.weight).collect();
        Ok(blend(&answers, &weights))
    }

    pub(crate) fn check(&self) -> Result<()> {
        stored(!self.members.is_empty(), "a panel must have a judge")?;
        for member in &self.members {
            let classes = match &member.model {
                Model::Linear(model) => model.check().map(|()| model.classes())?,
                Model::Trees(model) => model.check().map(|()| model.classes())?,
            };
            stored(classes == self.classes(), "judges of a panel must know the same classes")?;
            stored(
                member.temperature > 0.0 && member.temperature.is_finite(),
                "temperatures must be finite and above 0",
            )?;
            stored(member.weight >= 0.0, "shares must be at least 0")?;
        }
        let total: f64 = self.members.iter().map(|member| member.weight).sum();
        stored((total - 1.0).abs() < 1e-6, "shares must add up to 1")
    }
}
