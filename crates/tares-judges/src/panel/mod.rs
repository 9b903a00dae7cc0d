//! The panel: several judges asked out-of-fold, each calibrated, blended by how well they predict the given labels.
//!
//! N rows, K classes. [`judge`] predicts every row by judges that were not trained on it: what an audit needs.
//! [`fit`] also trains the judges on all rows, for new rows.

mod answer;
mod blend;

pub use answer::{JudgeAnswer, Setting, ask, cuts};
pub use blend::{JudgeScore, Judgement};

use crate::bayes::Bayes;
use crate::calibrate;
use crate::caller::{Caller, JudgeProgress};
use crate::error::{Result, stored};
use crate::fold::{Fold, folds};
use crate::forest::Forest;
use crate::labelled::{Labelled, Part};
use crate::linear::{Linear, LinearOptions};
use crate::matrix::Matrix;
use crate::trees::{TreeOptions, Trees};
use answer::{mean_of, part_of};
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
    /// The mean of deep trees. It reads no texts.
    Forest,
}

impl Judge {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Linear, Self::Trees, Self::Bayes, Self::Forest];
    /// Their names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 4] = ["linear", "trees", "bayes", "forest"];

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

/// A forest judges at most this many rows unless it is asked to: with more of them, boosted trees are ahead of it.
pub const MOST_FOR_FOREST: usize = 20_000;

/// The judges for data of this shape: the linear model always, trees if there are columns, beside them a forest unless rows are
/// many, naive Bayes if there are texts.
pub fn portfolio(inputs: &Matrix) -> Vec<Judge> {
    let useful = |judge: &Judge| match judge {
        Judge::Linear => true,
        Judge::Trees => !inputs.columns().is_empty(),
        Judge::Bayes => !inputs.texts().is_empty(),
        Judge::Forest => !inputs.columns().is_empty() && inputs.rows() <= MOST_FOR_FOREST,
    };
    Judge::ALL.into_iter().filter(useful).collect()
}

/// The options of a panel.
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
    /// The shapes of trees that held-out rows choose from: the one in the options and, unless there are many rows, small trees on
    /// samples of rows and columns, which cope better with wrong labels and few rows.
    fn tree_shapes(&self, rows: usize) -> Vec<TreeOptions> {
        let large = TreeOptions { seed: self.seed, ..self.trees };
        let small = TreeOptions { leaves: 8, row_part: 0.5, column_part: 0.7, patience: 30, ..large };
        if large.leaves > small.leaves && rows <= self.trees.most_rows { vec![large, small] } else { vec![large] }
    }

    /// The shape with this many leaves, by which a [`Setting`] identifies it.
    pub fn tree_shape(&self, leaves: usize) -> TreeOptions {
        let shapes = self.tree_shapes(0);
        shapes.iter().copied().find(|shape| shape.leaves == leaves).unwrap_or(shapes[0])
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
    /// The judge's prediction is their mean.
    models: Vec<Model>,
    temperature: f64,
    weight: f64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Model {
    Linear(Linear),
    Trees(Trees),
    Bayes(Bayes),
    Forest(Forest),
}

impl Model {
    fn classes(&self) -> usize {
        match self {
            Self::Linear(model) => model.classes(),
            Self::Trees(model) => model.classes(),
            Self::Bayes(model) => model.classes(),
            Self::Forest(model) => model.classes(),
        }
    }

    fn log_probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        match self {
            Self::Linear(model) => model.log_probs(inputs),
            Self::Trees(model) => model.log_probs(inputs),
            Self::Bayes(model) => model.log_probs(inputs),
            Self::Forest(model) => model.log_probs(inputs),
        }
    }

    fn check(&self) -> Result<()> {
        match self {
            Self::Linear(model) => model.check(),
            Self::Trees(model) => model.check(),
            Self::Bayes(model) => model.check(),
            Self::Forest(model) => model.check(),
        }
    }
}

/// How many times trees are trained for new rows, each time leaving out a different part of the rows.
pub const BAGS: usize = 5;

/// The repetition number of the folds that define bags; no other folds use it.
const BAG_CUT: usize = 1_000;

/// For each part of the rows, trees trained on all other parts.
fn bag(data: &Labelled<'_>, shape: TreeOptions, caller: Caller<'_>) -> Result<Vec<Trees>> {
    if data.rows() < 2 {
        return Ok(vec![Trees::fit(data, shape, caller)?]);
    }
    let parts = folds(data.labels, data.groups, BAGS.min(data.rows()), shape.seed, BAG_CUT)?;
    let count = parts.len();
    let fit = |(part, fold): (usize, &Fold)| {
        let progress = |step: JudgeProgress| (caller.progress)(part_of(step, part, count));
        let caller = Caller { progress: &progress, interrupt: caller.interrupt };
        Trees::fit(&Part::of(data, &fold.train).labelled(), shape, caller)
    };
    parts.iter().enumerate().map(fit).collect()
}

/// Asks all judges out-of-fold, then trains each on all rows with the setting that was best.
///
/// # Errors
/// As [`judge`].
pub fn fit(data: &Labelled<'_>, options: &PanelOptions, caller: Caller<'_>) -> Result<(Panel, Judgement)> {
    let judgement = judge(data, options, caller)?;
    Ok((Panel::fit(data, &judgement.scores, options, caller)?, judgement))
}

impl From<Trees> for Panel {
    /// A panel of these trees alone.
    fn from(trees: Trees) -> Self {
        Self { members: vec![Member { models: vec![Model::Trees(trees)], temperature: 1.0, weight: 1.0 }] }
    }
}

impl Panel {
    /// Trains judges on all rows with the settings, temperatures and shares that they had out-of-fold. Trees are trained
    /// [`BAGS`] times on different parts of the rows and averaged: most of them do not see a given wrong label. Judges from
    /// outside (without a setting) are left out, and the shares of the others are scaled to sum to 1.
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
            let models = match setting {
                Setting::Penalty(strength) => vec![Model::Linear(Linear::fit(data, strength, options.linear, caller)?)],
                Setting::Trees { rounds, leaves } => {
                    let shape = TreeOptions { rounds, ..options.tree_shape(leaves) };
                    bag(data, shape, caller)?.into_iter().map(Model::Trees).collect()
                }
                Setting::Smoothing(smoothing) => vec![Model::Bayes(Bayes::fit(data, smoothing, caller)?)],
                Setting::Leaf(rows) => vec![Model::Forest(Forest::fit(data, rows, options.seed, caller)?)],
            };
            Ok(Member { models, temperature: score.temperature, weight: score.weight / total })
        };
        Ok(Self { members: own.iter().map(member).collect::<Result<_>>()? })
    }

    /// Numbers that were fitted, of all models.
    pub fn parameters(&self) -> usize {
        let models = self.members.iter().flat_map(|member| &member.models);
        models
            .map(|model| match model {
                Model::Linear(model) => model.parameters(),
                Model::Trees(model) => model.parameters(),
                Model::Bayes(model) => model.parameters(),
                Model::Forest(model) => model.parameters(),
            })
            .sum()
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.members[0].models[0].classes()
    }

    /// N × K probabilities of new rows, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        let answer = |member: &Member| {
            let said = member.models.iter().map(|model| model.log_probs(inputs)).collect::<Result<_>>()?;
            let mut log_probs = mean_of(said);
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
            stored(!member.models.is_empty(), "a judge of a panel must have a model")?;
            member.models.iter().try_for_each(Model::check)?;
            stored(
                member.temperature > 0.0 && member.temperature.is_finite(),
                "temperatures must be finite and above 0",
            )?;
            stored(member.weight >= 0.0, "shares must be at least 0")?;
        }
        let mut models = self.members.iter().flat_map(|member| &member.models);
        stored(models.all(|model| model.classes() == self.classes()), "judges of a panel must know the same classes")?;
        let total: f64 = self.members.iter().map(|member| member.weight).sum();
        stored((total - 1.0).abs() < 1e-6, "shares must add up to 1")
    }
}
