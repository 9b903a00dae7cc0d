//! The panel: several judges asked out-of-fold, each calibrated, blended by how well they predict the given labels.
//!
//! N rows, K classes. [`judge`] gives probabilities of every row by judges that did not train on it: what an audit needs.
//! [`fit`] also trains the judges on all rows, for new rows.

mod answer;
mod blend;

pub use answer::{Answer, Setting, ask, cuts};
pub use blend::{JudgeScore, Judgement};

use crate::bayes::Bayes;
use crate::calibrate;
use crate::caller::Caller;
use crate::error::{Result, stored};
use crate::labelled::Labelled;
use crate::linear::{Linear, LinearOptions};
use crate::matrix::Matrix;
use crate::trees::{TreeOptions, Trees};
use blend::blend;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A judge by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// Logistic regression.
    Linear,
    /// Gradient-boosted trees. They read no texts.
    Trees,
    /// Naive Bayes of texts. It reads nothing else.
    Bayes,
}

impl Judge {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Trees, Self::Bayes];
    /// Their names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 3] = ["linear", "trees", "bayes"];

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

/// The judges for data of this shape: the linear model always, trees where there are columns to ask about, naive Bayes where
/// there are texts.
pub fn portfolio(inputs: &Matrix) -> Vec<Judge> {
    let useful = |judge: &Judge| match judge {
        Judge::Linear => true,
        Judge::Trees => !inputs.columns().is_empty(),
        Judge::Bayes => !inputs.texts().is_empty(),
    };
    Judge::ALL.into_iter().filter(useful).collect()
}

/// How a panel is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelOptions {
    /// The judges; empty for the [`portfolio`] of the data.
    pub judges: Vec<Judge>,
    /// Folds; fewer when there are fewer rows.
    pub folds: usize,
    /// How often folds are cut anew; `None`: [`repeats_for`](crate::fold::repeats_for) the number of rows.
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

impl PanelOptions {
    fn tree_options(&self) -> TreeOptions {
        TreeOptions { seed: self.seed, ..self.trees }
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
    let answers = judges.iter().map(|&judge| ask(judge, data, options, caller)).collect::<Result<_>>()?;
    Judgement::of(answers, data.labels, data.classes, data.weights)
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
    Bayes(Bayes),
}

/// Asks all judges out-of-fold, then trains each on all rows with the setting that was best.
///
/// # Errors
/// As [`judge`].
pub fn fit(data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<(Panel, Judgement)> {
    let judgement = judge(data, options, caller)?;
    Ok((Panel::fit(data, &judgement.scores, options, caller)?, judgement))
}

impl Panel {
    /// Trains judges on all rows with the settings, temperatures and shares that they had out-of-fold. Judges from outside
    /// (without a setting) are left out, and the shares of the others add up to 1 again.
    ///
    /// # Errors
    /// No judge of this crate; as [`judge`].
    pub fn fit(data: &Labelled<'_>, scores: &[JudgeScore], options: &PanelOptions, caller: Caller<'_>) -> Result<Self> {
        let own: Vec<(&JudgeScore, Setting)> =
            scores.iter().filter_map(|score| Some((score, score.setting?))).collect();
        let total: f64 = own.iter().map(|(score, _)| score.weight).sum();
        if own.is_empty() || total <= 0.0 {
            return Err(tares_core::Error::empty("list of judges").into());
        }
        let member = |&(score, setting): &(&JudgeScore, Setting)| {
            let model = match setting {
                Setting::Penalty(strength) => Model::Linear(Linear::fit(data, strength, options.linear, caller)?),
                Setting::Rounds(rounds) => {
                    Model::Trees(Trees::fit(data, TreeOptions { rounds, ..options.tree_options() }, caller)?)
                }
                Setting::Smoothing(smoothing) => Model::Bayes(Bayes::fit(data, smoothing, caller)?),
            };
            Ok(Member { model, temperature: score.temperature, weight: score.weight / total })
        };
        Ok(Self { members: own.iter().map(member).collect::<Result<_>>()? })
    }

    /// K.
    pub fn classes(&self) -> usize {
        match &self.members[0].model {
            Model::Linear(model) => model.classes(),
            Model::Trees(model) => model.classes(),
            Model::Bayes(model) => model.classes(),
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
                Model::Bayes(model) => model.log_probs(inputs)?,
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
                Model::Bayes(model) => model.check().map(|()| model.classes())?,
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
