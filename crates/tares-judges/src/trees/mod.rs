//! The tree judge: gradient-boosted trees on histograms, grown leaf by leaf.
//!
//! `bins` → `histogram` → `split` → `grow` → `boost`; `curriculum` decides which rows have gradients. Sums of
//! gradients are exact integers, so neither threads nor the order of rows change a split.

pub(crate) mod bins;
mod boost;
mod curriculum;
mod grow;
mod histogram;
mod loss;
mod options;
mod split;
pub(crate) mod tree;

pub use boost::Boosting;
pub use curriculum::TreeCurriculum;
pub use histogram::Slope;
pub use options::TreeOptions;

use crate::caller::Caller;
use crate::cross_fit::{CrossFit, scatter};
use crate::error::{Result, stored, value};
use crate::fold::Fold;
use crate::labelled::{Labelled, Part};
use crate::matrix::Matrix;
use crate::softmax::log_loss;
use bins::{Binned, Binner};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use tares_core::Label;
use tree::Tree;

/// Rounds between two evaluations on the held-out rows of all folds.
const STRIDE: usize = 5;

/// The trees of a round: one per output, or a single one for all.
type Round = Vec<Tree>;

/// Fitted trees. Also the whole state of their training: see [`Boosting::resume`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trees {
    classes: usize,
    options: TreeOptions,
    binner: Binner,
    /// The scores before the first round.
    start: Vec<f64>,
    rounds: Vec<Round>,
}

impl Trees {
    /// Fits [`TreeOptions::rounds`] rounds.
    ///
    /// # Errors
    /// As [`Boosting::new`] and [`Boosting::step`]; [`Interrupted`](crate::Error::Interrupted).
    pub fn fit(data: &Labelled<'_>, options: TreeOptions, caller: Caller<'_>) -> Result<Self> {
        let mut boosting = Boosting::new(data, options)?;
        for round in 0..options.rounds {
            caller.go_on()?;
            boosting.step()?;
            caller.report("trees", round + 1, options.rounds);
        }
        Ok(boosting.into_model())
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Rounds so far.
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// How it is trained.
    pub fn options(&self) -> &TreeOptions {
        &self.options
    }

    /// N × K log-probabilities, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn log_probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        let binned = self.binner.bin(inputs)?;
        let mut scores = self.start.repeat(binned.rows);
        for round in &self.rounds {
            boost::add_round(round, &binned, &mut scores, self.start.len());
        }
        Ok(loss::log_probs(&scores, self.classes))
    }

    /// Numbers that were fitted: the values of all leaves.
    pub fn parameters(&self) -> usize {
        self.rounds.iter().flatten().map(|tree| tree.values.len()).sum()
    }

    pub(crate) fn check(&self) -> Result<()> {
        stored((2..=1 << 20).contains(&self.classes), "number of classes must be in 2..=1048576")?;
        self.options.check().map_err(|error| crate::Error::Stored(error.to_string()))?;
        let outputs = loss::outputs(self.classes);
        stored(self.start.len() == outputs, "trees must start with a score per output")?;
        stored(self.start.iter().all(|score| score.is_finite()), "scores must be finite")?;
        stored(self.binner.columns() > 0, "trees must have a column")?;
        self.binner.check()?;
        for round in &self.rounds {
            let own = if self.options.shared { outputs } else { 1 };
            stored(round.len() * own == outputs, "a round must have a tree per output")?;
            round.iter().try_for_each(|tree| tree.check(&self.binner, own))?;
        }
        Ok(())
    }
}

/// Refuses rows that trees cannot be grown from.
pub(crate) fn check_columns(data: &Labelled<'_>) -> Result<()> {
    data.check()?;
    if data.inputs.columns().is_empty() {
        return Err(tares_core::Error::empty("list of columns that trees read (they read no texts)").into());
    }
    if u32::try_from(data.rows()).is_err() {
        return Err(value("number of rows", "below 4294967296", data.rows()));
    }
    Ok(())
}

/// Rows that are scored while trees are still being added.
pub struct Scorer {
    binned: Binned,
    scores: Vec<f64>,
    rounds: usize,
}

impl Scorer {
    /// These rows, before the first round of `model`.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn new(model: &Trees, inputs: &Matrix) -> Result<Self> {
        Ok(Self { binned: model.binner.bin(inputs)?, scores: model.start.repeat(inputs.rows()), rounds: 0 })
    }

    /// N × K log-probabilities by all rounds so far. Only the rounds since the last call are added.
    pub fn log_probs(&mut self, model: &Trees) -> Vec<f64> {
        for round in &model.rounds[self.rounds..] {
            boost::add_round(round, &self.binned, &mut self.scores, model.start.len());
        }
        self.rounds = model.rounds.len();
        loss::log_probs(&self.scores, model.classes)
    }
}

/// One fold while it is trained.
struct Training {
    boosting: Boosting,
    held: Scorer,
    labels: Vec<Label>,
    weights: Vec<f64>,
    /// Sum of weighted losses of the held-out rows, before the first round and after each.
    losses: Vec<f64>,
}

impl Training {
    fn start(data: &Labelled<'_>, fold: &Fold, options: TreeOptions) -> Result<Self> {
        let part = Part::of(data, &fold.train);
        let boosting = Boosting::new(&part.labelled(), options)?;
        let mut training = Self {
            held: Scorer::new(boosting.model(), &data.inputs.select(&fold.held))?,
            labels: fold.held.iter().map(|&row| data.labels[row]).collect(),
            weights: fold.held.iter().map(|&row| data.weight(row)).collect(),
            losses: Vec::new(),
            boosting,
        };
        training.look();
        Ok(training)
    }

    fn look(&mut self) {
        let classes = self.boosting.model().classes;
        let log_probs = self.held.log_probs(self.boosting.model());
        let total: f64 = self.weights.iter().sum();
        self.losses.push(total * log_loss(&log_probs, &self.labels, classes, |row| self.weights[row]));
    }

    fn step(&mut self) -> Result<()> {
        self.boosting.step()?;
        self.look();
        Ok(())
    }

    /// The predictions of the first `rounds` rounds for the held-out rows.
    fn log_probs(&self, rounds: usize) -> Vec<f64> {
        let model = self.boosting.model();
        let mut scores = model.start.repeat(self.held.binned.rows);
        for round in &model.rounds[..rounds] {
            boost::add_round(round, &self.held.binned, &mut scores, model.start.len());
        }
        loss::log_probs(&scores, model.classes)
    }
}

/// Trains all folds side by side; the number of rounds with the least out-of-fold log-loss is taken for all of them.
///
/// # Errors
/// As [`Trees::fit`].
pub fn cross_fit(
    data: &Labelled<'_>,
    folds: &[Fold],
    options: TreeOptions,
    caller: Caller<'_>,
) -> Result<CrossFit<usize>> {
    data.check()?;
    let start = |fold: &Fold| Training::start(data, fold, options);
    let mut trainings: Vec<Training> = folds.par_iter().map(start).collect::<Result<_>>()?;
    let (done, total) = (AtomicUsize::new(0), options.rounds * folds.len());
    let mut rounds = 0;
    let mut best = 0;
    while rounds < options.rounds {
        let next = options.rounds.min(rounds + STRIDE);
        trainings.par_iter_mut().try_for_each(|training| {
            for _ in rounds..next {
                caller.go_on()?;
                training.step()?;
                caller.report("trees", done.fetch_add(1, Ordering::Relaxed) + 1, total);
            }
            Ok::<(), crate::Error>(())
        })?;
        rounds = next;
        let loss = |round: usize| trainings.iter().map(|training| training.losses[round]).sum::<f64>();
        best = (0..=rounds).fold(0, |best, round| if loss(round) < loss(best) { round } else { best });
        if best + options.patience <= rounds {
            break;
        }
    }
    caller.report("trees", total, total);
    let answers: Vec<Vec<f64>> = trainings.par_iter().map(|training| training.log_probs(best)).collect();
    let mut log_probs = vec![0.0; data.rows() * data.classes];
    for (fold, answers) in folds.iter().zip(&answers) {
        scatter(&mut log_probs, &fold.held, answers, data.classes);
    }
    Ok(CrossFit { log_probs, setting: best })
}
