//! Boosting, round by round: slopes at the current scores → a tree per output (or one for all) → new scores.
//!
//! Random draws of a round depend on (seed, round) only, and scores are the sum of the trees in order, so a model that was
//! stored after any round continues to the same bits.

use super::bins::{Binned, Binner};
use super::grow::{Grown, Growth};
use super::histogram::{Outputs, Quantised, Slope};
use super::loss;
use super::options::TreeOptions;
use super::split::Limits;
use super::tree::Tree;
use super::{Round, Trees, check_columns};
use crate::error::{Result, same_length, value};
use crate::labelled::Labelled;
use rayon::prelude::*;
use tares_core::{Label, Selector, stream};

/// The least weight of a bin of numbers.
const LEAST_BIN: f64 = 3.0;

/// Training in progress.
pub struct Boosting {
    model: Trees,
    binned: Binned,
    labels: Vec<Label>,
    weights: Option<Vec<f64>>,
    scores: Vec<f64>,
    /// How often each row had gradients.
    kept: Vec<u32>,
    least_weight: f64,
    selector: Selector,
}

impl Boosting {
    /// Before the first round: the scores of every row are the logarithms of the class frequencies.
    ///
    /// # Errors
    /// Data that don't fit together; options outside their domain; no dense column; 2³² or more rows.
    pub fn new(data: &Labelled<'_>, options: TreeOptions) -> Result<Self> {
        check_columns(data)?;
        options.check()?;
        let totals = data.class_weights();
        // Half a row is added to every class, so that a class without rows has a finite score.
        let share =
            |class: usize| ((totals[class] + 0.5) / (totals.iter().sum::<f64>() + 0.5 * data.classes as f64)).ln();
        let start = match loss::outputs(data.classes) {
            1 => vec![share(1) - share(0)],
            outputs => (0..outputs).map(share).collect(),
        };
        let binner = Binner::fit(data, LEAST_BIN);
        let model = Trees { classes: data.classes, options, binner, start, rounds: Vec::new() };
        Self::with(data, model)
    }

    /// Continues a model on the rows it was trained on, exactly as if training had not stopped.
    ///
    /// # Errors
    /// Other classes or columns than the model's.
    pub fn resume(data: &Labelled<'_>, model: Trees) -> Result<Self> {
        check_columns(data)?;
        if model.classes != data.classes {
            return Err(value("number of classes", format!("the model's {}", model.classes), data.classes));
        }
        Self::with(data, model)
    }

    fn with(data: &Labelled<'_>, mut model: Trees) -> Result<Self> {
        let binned = model.binner.bin(data.inputs)?;
        let rounds = std::mem::take(&mut model.rounds);
        let total: f64 = (0..data.rows()).map(|row| data.weight(row)).sum();
        let mut boosting = Self {
            scores: model.start.repeat(data.rows()),
            kept: vec![0; data.rows()],
            least_weight: model.options.least_weight(total),
            labels: data.labels.to_vec(),
            weights: data.weights.map(<[f64]>::to_vec),
            selector: Selector::new(),
            model,
            binned,
        };
        for round in rounds {
            let kept = boosting.select()?;
            boosting.count(kept.as_deref());
            boosting.take(round);
        }
        Ok(boosting)
    }

    /// One round with the options' own loss.
    ///
    /// # Errors
    /// Scores that have become infinite.
    pub fn step(&mut self) -> Result<()> {
        let weights = self.weights.as_deref();
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let slopes = match &self.model.options.curriculum {
            Some(curriculum) => curriculum.slopes(&self.scores, &self.labels, self.model.classes, weight),
            None => loss::slopes(&self.scores, &self.labels, self.model.classes, weight),
        };
        let kept = self.select()?;
        let round = self.grow(&slopes, kept.as_deref())?;
        self.count(kept.as_deref());
        self.take_grown(round);
        Ok(())
    }

    /// One round with slopes from outside: [`outputs`](Self::outputs) per row, row after row. Only the rows `kept`
    /// (ascending) are used for the trees; `None` means all.
    ///
    /// # Errors
    /// Lengths that differ; rows that are not there; slopes that are not finite; options with a curriculum of their own.
    pub fn step_with(&mut self, slopes: &[Slope], kept: Option<&[u32]>) -> Result<()> {
        if self.model.options.curriculum.is_some() {
            return Err(value("slopes from outside", "given to trees without a curriculum", "a curriculum"));
        }
        same_length("slopes", self.scores.len(), slopes.len())?;
        if let Some(&row) = kept.and_then(|kept| kept.iter().find(|row| **row as usize >= self.labels.len())) {
            return Err(value("kept row", format!("below {}", self.labels.len()), row));
        }
        let round = self.grow(slopes, kept)?;
        self.count(None);
        self.take_grown(round);
        Ok(())
    }

    /// M: scores per row. One per class; with two classes a single one, the logit of class 1 beside a 0 for class 0.
    pub fn outputs(&self) -> usize {
        loss::outputs(self.model.classes)
    }

    /// N × M scores, row after row.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// N × K log-probabilities **of the training rows**: not for audits.
    pub fn log_probs(&self) -> Vec<f64> {
        loss::log_probs(&self.scores, self.model.classes)
    }

    /// How often the options' curriculum kept each row, out of [`rounds`](Trees::rounds); without one, always.
    pub fn times_kept(&self) -> &[u32] {
        &self.kept
    }

    /// The model as it is now.
    pub fn model(&self) -> &Trees {
        &self.model
    }

    /// The model, without its training rows.
    pub fn into_model(self) -> Trees {
        self.model
    }

    fn select(&mut self) -> Result<Option<Vec<u32>>> {
        let (round, classes) = (self.model.rounds.len(), self.model.classes);
        let selector = &mut self.selector;
        let kept =
            |curriculum: super::TreeCurriculum| curriculum.kept(selector, round, &self.scores, &self.labels, classes);
        self.model.options.curriculum.map(kept).transpose()
    }

    fn grow(&self, slopes: &[Slope], kept: Option<&[u32]>) -> Result<Vec<Grown>> {
        let options = &self.model.options;
        let (outputs, round) = (self.outputs(), self.model.rounds.len());
        let rows: Vec<u32> = self.drawn_rows(round, kept);
        let columns = self.binned.columns.len();
        let limits = Limits { least_weight: self.least_weight, l2: options.l2 };
        let one_tree = |tree: usize, part: Outputs| {
            let quantised = Quantised::new(slopes, part, &rows, self.weights.as_deref())?;
            let columns = &drawn_columns(options, round, tree, columns);
            let (leaves, rate) = (options.leaves, options.rate);
            let growth = Growth { binned: &self.binned, quantised: &quantised, columns, leaves, limits, rate };
            Ok(growth.grow(rows.clone()))
        };
        if options.shared || outputs == 1 {
            return Ok(vec![one_tree(0, Outputs { first: 0, count: outputs, of: outputs })?]);
        }
        (0..outputs).into_par_iter().map(|first| one_tree(first, Outputs { first, count: 1, of: outputs })).collect()
    }

    /// Bernoulli draws row by row: the same rows whatever the curriculum keeps.
    fn drawn_rows(&self, round: usize, kept: Option<&[u32]>) -> Vec<u32> {
        let rows = self.labels.len();
        let options = &self.model.options;
        let part = options.drawn_part(rows);
        let drawn: Option<Vec<bool>> = (part < 1.0).then(|| {
            let mut draw = stream(options.seed, &format!("rows of round {round}"));
            (0..rows).map(|_| draw.chance(part)).collect()
        });
        let wanted = |row: &u32| drawn.as_ref().is_none_or(|drawn| drawn[*row as usize]);
        match kept {
            Some(kept) => kept.iter().copied().filter(wanted).collect(),
            None => (0..rows as u32).filter(wanted).collect(),
        }
    }

    fn count(&mut self, kept: Option<&[u32]>) {
        match kept {
            Some(kept) => kept.iter().for_each(|&row| self.kept[row as usize] += 1),
            None => self.kept.iter_mut().for_each(|times| *times += 1),
        }
    }

    fn take(&mut self, round: Round) {
        add_round(&round, &self.binned, &mut self.scores, loss::outputs(self.model.classes));
        self.model.rounds.push(round);
    }

    /// The leaves of rows that the trees were grown from are known; only other rows are sent down the trees.
    fn take_grown(&mut self, round: Vec<Grown>) {
        let outputs = loss::outputs(self.model.classes);
        let shared = round.len() < outputs || outputs == 1;
        let mut placed = vec![false; self.labels.len()];
        round[0].each_row(|row, _| placed[row] = true);
        for (output, grown) in round.iter().enumerate() {
            let values = &grown.tree.values;
            match shared {
                true => grown.each_row(|row, first| {
                    let scores = &mut self.scores[row * outputs..][..outputs];
                    scores.iter_mut().zip(&values[first..]).for_each(|(score, value)| *score += value);
                }),
                false => grown.each_row(|row, first| self.scores[row * outputs + output] += values[first]),
            }
        }
        let trees: Round = round.into_iter().map(|grown| grown.tree).collect();
        if placed.iter().any(|placed| !placed) {
            add_round_where(&trees, &self.binned, &mut self.scores, outputs, |row| !placed[row]);
        }
        self.model.rounds.push(trees);
    }
}

/// The columns that a tree may ask about, ascending.
fn drawn_columns(options: &TreeOptions, round: usize, tree: usize, columns: usize) -> Vec<u32> {
    let wanted = ((options.column_part * columns as f64).ceil() as usize).clamp(1, columns);
    let mut drawn: Vec<u32> = (0..columns as u32).collect();
    if wanted < columns {
        stream(options.seed, &format!("columns of tree {tree} in round {round}")).shuffle(&mut drawn);
        drawn.truncate(wanted);
        drawn.sort_unstable();
    }
    drawn
}

/// Adds the values of a round's trees to N × M scores.
pub(crate) fn add_round(round: &[Tree], binned: &Binned, scores: &mut [f64], outputs: usize) {
    add_round_where(round, binned, scores, outputs, |_| true);
}

fn add_round_where(
    round: &[Tree],
    binned: &Binned,
    scores: &mut [f64],
    outputs: usize,
    wanted: impl Fn(usize) -> bool + Sync,
) {
    let rows = scores.par_chunks_mut(outputs).with_min_len(1024).enumerate().filter(|(row, _)| wanted(*row));
    rows.for_each(|(row, scores)| match round {
        [tree] => {
            let values = &tree.values[tree.leaf(binned, row)..][..outputs];
            scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
        }
        _ => scores.iter_mut().zip(round).for_each(|(score, tree)| *score += tree.values[tree.leaf(binned, row)]),
    });
}
