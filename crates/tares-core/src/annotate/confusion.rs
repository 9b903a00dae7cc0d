//! What each annotator makes of each class: `T_a[true][answered]`, one matrix per annotator and level of difficulty.
//!
//! Only the columns of labels that an annotator used are stored: somebody who labelled three rows has at most three, however many
//! classes there are. So memory and time of a step grow with the number of answers times K.
//!
//! A row's state is its level of difficulty and its true class; tables are `[column][level][true]`.

use super::answers::Answers;
use super::own_prior::OwnPrior;
use rayon::prelude::*;

/// Every (annotator, label) that occurs is a column, by annotator, then by label.
pub(super) struct Columns {
    classes: usize,
    /// The label of every column.
    labels: Vec<u32>,
    /// The column of every answer, in the order of [`Answers::all`].
    of_answer: Vec<u32>,
    /// Where the columns of each annotator begin, and the end.
    annotators: Vec<usize>,
}

/// The stored columns of all annotators, `[column][level][true]`.
pub(super) struct Confusions(pub(super) Vec<f64>);

/// What is assumed about annotators.
pub(super) enum Model<'a> {
    /// All have the same matrix, one at each level.
    Shared {
        /// Pseudo-counts, `[true][answered]`.
        prior: &'a [f64],
    },
    /// Each has a matrix of their own.
    Own {
        /// What an annotator is expected to do until their answers show otherwise.
        prior: &'a OwnPrior,
    },
    /// Each is right with one probability, whatever the class; mistakes fall on all other classes alike.
    OneCoin {
        /// Pseudo-counts of right and of wrong answers.
        prior: [f64; 2],
    },
}

impl Columns {
    pub(super) fn new(answers: &Answers) -> Self {
        let (all, classes) = (answers.all(), answers.classes());
        let possible = answers.annotators() * classes;
        let key = |answer: &super::Answer| answer.annotator * classes + answer.label as usize;
        // A place per possible column is cheaper than sorting, unless most of them would stay empty.
        let (keys, of_answer): (Vec<usize>, Vec<u32>) = if possible <= 4 * all.len() + 1024 {
            let mut place = vec![0u32; possible];
            all.iter().for_each(|answer| place[key(answer)] = 1);
            let keys: Vec<usize> = (0..possible).filter(|&key| place[key] == 1).collect();
            keys.iter().enumerate().for_each(|(at, &key)| place[key] = at as u32);
            let of_answer = all.par_iter().map(|answer| place[key(answer)]).collect();
            (keys, of_answer)
        } else {
            let mut keys: Vec<usize> = all.iter().map(key).collect();
            keys.par_sort_unstable();
            keys.dedup();
            let place = |answer: &super::Answer| keys.partition_point(|&other| other < key(answer)) as u32;
            let of_answer = all.par_iter().map(place).collect();
            (keys, of_answer)
        };
        let mut annotators = vec![0; answers.annotators() + 1];
        keys.iter().for_each(|key| annotators[key / classes + 1] += 1);
        (1..annotators.len()).for_each(|who| annotators[who] += annotators[who - 1]);
        let labels = keys.iter().map(|key| (key % classes) as u32).collect();
        Self { classes, labels, of_answer, annotators }
    }

    /// The number of columns.
    pub(super) fn len(&self) -> usize {
        self.labels.len()
    }

    /// The number of annotators.
    pub(super) fn annotators(&self) -> usize {
        self.annotators.len() - 1
    }

    /// The columns of one annotator, each with its label.
    pub(super) fn of_annotator(&self, who: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        (self.annotators[who]..self.annotators[who + 1]).map(|at| (at, self.labels[at] as usize))
    }

    /// The columns of the answers `from..to`.
    pub(super) fn of_answers(&self, from: usize, to: usize) -> &[u32] {
        &self.of_answer[from..to]
    }

    /// All annotators together, `[level][true][answered]`.
    pub(super) fn pooled(&self, counts: &[f64], levels: usize) -> Vec<f64> {
        let classes = self.classes;
        let mut pooled = vec![0.0; levels * classes * classes];
        for (&label, counts) in self.labels.iter().zip(counts.chunks_exact(levels * classes)) {
            // A state is level · K + true, so that its matrix row begins at state · K.
            counts.iter().enumerate().for_each(|(state, count)| pooled[state * classes + label as usize] += count);
        }
        pooled
    }

    /// M-step: the confusions with the largest posterior density, and the logarithm of that density up to a constant.
    pub(super) fn fit(&self, counts: &[f64], levels: usize, model: &Model<'_>) -> (Confusions, f64) {
        match model {
            Model::Shared { prior } => self.fit_shared(counts, levels, prior),
            Model::Own { prior } => self.fit_own(counts, levels, prior),
            Model::OneCoin { prior } => self.fit_one_coin(counts, *prior),
        }
    }

    fn fit_shared(&self, counts: &[f64], levels: usize, prior: &[f64]) -> (Confusions, f64) {
        let classes = self.classes;
        let mut shared = self.pooled(counts, levels);
        shared.iter_mut().zip(prior.iter().cycle()).for_each(|(count, prior)| *count += prior);
        normalise_rows(&mut shared, classes);
        let density = shared.iter().zip(prior.iter().cycle()).map(|(part, prior)| prior * part.ln()).sum();
        let states = levels * classes;
        let mut table = vec![0.0; self.len() * states];
        for (&label, column) in self.labels.iter().zip(table.chunks_exact_mut(states)) {
            column.iter_mut().enumerate().for_each(|(state, part)| *part = shared[state * classes + label as usize]);
        }
        (Confusions(table), density)
    }

    fn fit_own(&self, counts: &[f64], levels: usize, prior: &OwnPrior) -> (Confusions, f64) {
        let states = levels * self.classes;
        let mut table = vec![0.0; counts.len()];
        let (mut right, mut totals) = (vec![0.0; states], vec![0.0; states]);
        let mut density = 0.0;
        for who in 0..self.annotators() {
            prior.expected_right(who, &mut right);
            totals.fill(prior.weight);
            for (at, _) in self.of_annotator(who) {
                totals.iter_mut().zip(&counts[at * states..]).for_each(|(total, count)| *total += count);
            }
            // Σ prior · ln T over all columns: those that are not stored hold the prior alone.
            density -= totals.iter().map(|total| prior.weight * total.ln()).sum::<f64>();
            for (at, label) in self.of_annotator(who) {
                for state in 0..states {
                    let expected = prior.pseudo_count(state, label, right[state]);
                    let count = counts[at * states + state] + expected;
                    density += expected * (count / expected).ln();
                    table[at * states + state] = count / totals[state];
                }
            }
        }
        (Confusions(table), density)
    }

    fn fit_one_coin(&self, counts: &[f64], [right, wrong]: [f64; 2]) -> (Confusions, f64) {
        let classes = self.classes;
        let mut table = vec![0.0; counts.len()];
        let mut density = 0.0;
        for who in 0..self.annotators() {
            let mine = self.annotators[who]..self.annotators[who + 1];
            let all: f64 = counts[mine.start * classes..mine.end * classes].iter().sum();
            let hits: f64 = self.of_annotator(who).map(|(at, label)| counts[at * classes + label]).sum();
            let skill = (hits + right) / (all + right + wrong);
            density += right * skill.ln() + wrong * (1.0 - skill).ln();
            for (at, label) in self.of_annotator(who) {
                table[at * classes..(at + 1) * classes].fill((1.0 - skill) / (classes - 1) as f64);
                table[at * classes + label] = skill;
            }
        }
        (Confusions(table), density)
    }

    /// The expected rows of one annotator, `[true][answered]`, from `counts` of one level.
    pub(super) fn own_counts(&self, who: usize, counts: &[f64]) -> Vec<f64> {
        let classes = self.classes;
        let mut own = vec![0.0; classes * classes];
        for (at, label) in self.of_annotator(who) {
            (0..classes).for_each(|truth| own[truth * classes + label] += counts[at * classes + truth]);
        }
        own
    }
}

impl Confusions {
    /// Raised to a power: what answers count.
    pub(super) fn weighed(mut self, weight: f64) -> Self {
        if weight != 1.0 {
            self.0.par_iter_mut().for_each(|part| *part = part.powf(weight));
        }
        self
    }

    /// T_a[·][answered] of a stored column, at every level.
    pub(super) fn column(&self, at: u32, states: usize) -> &[f64] {
        &self.0[at as usize * states..][..states]
    }
}

/// Divides every row by its sum.
pub(super) fn normalise_rows(matrix: &mut [f64], classes: usize) {
    for row in matrix.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|part| *part /= sum);
    }
}
