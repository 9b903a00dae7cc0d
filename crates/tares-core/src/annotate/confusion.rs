//! What each annotator makes of each class: `T_a[true][answered]`, one matrix per annotator.
//!
//! Only the columns of labels that an annotator used are stored: somebody who labelled three rows has at most three, however many
//! classes there are. So memory and time of a step grow with the number of answers times K.
//!
//! Rows may be in groups, such as easy and hard ones. Everybody then has a matrix per group: who is careful with easy rows need not be
//! right on hard ones, and mistakes that many make on the same hard rows don't count as agreement.

use super::answers::Answers;
use rayon::prelude::*;

/// The answers sorted by annotator and label: every (annotator, label) that occurs is a column.
pub(super) struct Columns {
    classes: usize,
    columns: Vec<Column>,
    /// The rows of every column, one column after the other.
    rows: Vec<u32>,
    /// The column of every answer, in the order of [`Answers::all`].
    of_answer: Vec<u32>,
    /// Where the columns of each annotator in each group begin, and the end: `[annotator][group]`.
    annotators: Vec<usize>,
    groups: usize,
}

struct Column {
    label: usize,
    group: usize,
    first: usize,
    end: usize,
}

/// The logarithms of the stored columns, `[column][true]`.
pub(super) struct LogConfusions(Vec<f64>);

/// What is assumed about annotators.
pub(super) enum Model<'a> {
    /// All have the same matrix, one in each group.
    Shared {
        /// Pseudo-counts, `[true][answered]`.
        prior: &'a [f64],
    },
    /// Each has a matrix of their own.
    Own {
        /// Pseudo-counts, `[group][true][answered]`: what an annotator is expected to do until their answers show otherwise.
        prior: &'a [f64],
    },
    /// Each is right with one probability, whatever the class; mistakes fall on all other classes alike.
    OneCoin {
        /// Pseudo-counts of right and of wrong answers.
        prior: [f64; 2],
    },
}

impl Columns {
    /// All rows in one group.
    pub(super) fn new(answers: &Answers) -> Self {
        Self::grouped(answers, 1, &|_| 0)
    }

    /// Rows in `groups` groups.
    pub(super) fn grouped(answers: &Answers, groups: usize, group: &(dyn Fn(usize) -> usize + Sync)) -> Self {
        let all = answers.all();
        let classes = answers.classes();
        let own = |answer: &super::Answer| answer.annotator * groups + group(answer.row);
        // Counted, not compared: there may be millions of answers. Within a column they stay in the order of their rows.
        let keys: Vec<usize> = all.par_iter().map(|answer| own(answer) * classes + answer.label as usize).collect();
        let order = sorted_places(&keys, answers.annotators() * groups * classes);
        let mut columns: Vec<Column> = Vec::new();
        let mut of_answer = vec![0; all.len()];
        let mut annotators = vec![0; answers.annotators() * groups + 1];
        let mut last = None;
        for (place, &at) in order.iter().enumerate() {
            let (answer, key) = (all[at as usize], keys[at as usize]);
            if last != Some(key) {
                last = Some(key);
                let who = key / classes;
                columns.push(Column { label: answer.label as usize, group: who % groups, first: place, end: place });
                annotators[who + 1] += 1;
            }
            let column = columns.len() - 1;
            columns[column].end = place + 1;
            of_answer[at as usize] = column as u32;
        }
        (1..annotators.len()).for_each(|who| annotators[who] += annotators[who - 1]);
        let rows = order.iter().map(|&at| all[at as usize].row as u32).collect();
        Self { classes, columns, rows, of_answer, annotators, groups }
    }

    /// The columns of the answers `from..to`.
    pub(super) fn of_answers(&self, from: usize, to: usize) -> &[u32] {
        &self.of_answer[from..to]
    }

    /// The expected number of rows of each true class behind every column, `[column][true]`. Each sum runs over its rows in order,
    /// so it does not depend on the number of threads.
    pub(super) fn expected_counts(&self, posterior: &[f64]) -> Vec<f64> {
        let classes = self.classes;
        let mut counts = vec![0.0; self.columns.len() * classes];
        counts.par_chunks_exact_mut(classes).zip(&self.columns).for_each(|(counts, column)| {
            for &row in &self.rows[column.first..column.end] {
                let row = &posterior[row as usize * classes..][..classes];
                counts.iter_mut().zip(row).for_each(|(count, part)| *count += part);
            }
        });
        counts
    }

    /// All annotators together, `[group][true][answered]`.
    pub(super) fn pooled(&self, counts: &[f64]) -> Vec<f64> {
        let classes = self.classes;
        let mut pooled = vec![0.0; self.groups * classes * classes];
        for (column, counts) in self.columns.iter().zip(counts.chunks_exact(classes)) {
            let own = &mut pooled[column.group * classes * classes..][..classes * classes];
            counts.iter().enumerate().for_each(|(truth, count)| own[truth * classes + column.label] += count);
        }
        pooled
    }

    /// Number of groups.
    pub(super) fn groups(&self) -> usize {
        self.groups
    }

    /// M-step: the confusions with the largest posterior density, and the logarithm of that density up to a constant.
    pub(super) fn fit(&self, counts: &[f64], model: &Model<'_>) -> (LogConfusions, f64) {
        match model {
            Model::Shared { prior } => self.fit_shared(counts, prior),
            Model::Own { prior } => self.fit_own(counts, prior),
            Model::OneCoin { prior } => self.fit_one_coin(counts, *prior),
        }
    }

    fn fit_shared(&self, counts: &[f64], prior: &[f64]) -> (LogConfusions, f64) {
        let classes = self.classes;
        let mut shared = self.pooled(counts);
        shared.iter_mut().zip(prior.iter().cycle()).for_each(|(count, prior)| *count += prior);
        normalise_rows(&mut shared, classes);
        let density = shared.iter().zip(prior.iter().cycle()).map(|(part, prior)| prior * part.ln()).sum();
        (self.all_alike(&shared), density)
    }

    /// Everybody has the same matrix, `[group][true][answered]`.
    pub(super) fn all_alike(&self, shared: &[f64]) -> LogConfusions {
        let classes = self.classes;
        let mut logs = vec![0.0; self.columns.len() * classes];
        for (column, logs) in self.columns.iter().zip(logs.chunks_exact_mut(classes)) {
            let own = &shared[column.group * classes * classes..][..classes * classes];
            logs.iter_mut().enumerate().for_each(|(truth, log)| *log = own[truth * classes + column.label].ln());
        }
        LogConfusions(logs)
    }

    fn fit_own(&self, counts: &[f64], prior: &[f64]) -> (LogConfusions, f64) {
        let classes = self.classes;
        let mut logs = vec![0.0; counts.len()];
        let all_rows: Vec<f64> = prior.chunks_exact(classes).map(|row| row.iter().sum()).collect();
        let mut density = 0.0;
        for who in 0..self.annotators.len() - 1 {
            let mine = self.annotators[who]..self.annotators[who + 1];
            let group = who % self.groups;
            let prior = &prior[group * classes * classes..][..classes * classes];
            let prior_rows = &all_rows[group * classes..][..classes];
            let mut totals = prior_rows.to_vec();
            for column in counts[mine.start * classes..mine.end * classes].chunks_exact(classes) {
                totals.iter_mut().zip(column).for_each(|(total, count)| *total += count);
            }
            // Σ prior · ln T over all columns: those that are not stored hold the prior alone.
            density -= totals.iter().zip(prior_rows).map(|(total, prior)| prior * total.ln()).sum::<f64>();
            for at in mine {
                let label = self.columns[at].label;
                for truth in 0..classes {
                    let (expected, count) = (prior[truth * classes + label], counts[at * classes + truth]);
                    let log = (count + expected).ln();
                    density += expected * (log - expected.ln());
                    logs[at * classes + truth] = log - totals[truth].ln();
                }
            }
        }
        (LogConfusions(logs), density)
    }

    fn fit_one_coin(&self, counts: &[f64], [right, wrong]: [f64; 2]) -> (LogConfusions, f64) {
        let classes = self.classes;
        let mut logs = vec![0.0; counts.len()];
        let mut density = 0.0;
        for who in 0..self.annotators.len() - 1 {
            let mine = self.annotators[who]..self.annotators[who + 1];
            let all: f64 = counts[mine.start * classes..mine.end * classes].iter().sum();
            let hits: f64 = mine.clone().map(|at| counts[at * classes + self.columns[at].label]).sum();
            let skill = (hits + right) / (all + right + wrong);
            density += right * skill.ln() + wrong * (1.0 - skill).ln();
            let miss = ((1.0 - skill) / (classes - 1) as f64).ln();
            for at in mine {
                logs[at * classes..(at + 1) * classes].fill(miss);
                logs[at * classes + self.columns[at].label] = skill.ln();
            }
        }
        (LogConfusions(logs), density)
    }

    /// The expected rows of one annotator, `[true][answered]`.
    pub(super) fn own_counts(&self, who: usize, counts: &[f64]) -> Vec<f64> {
        let mut own = vec![0.0; self.classes * self.classes];
        self.add_counts(who, counts, &mut own);
        own
    }

    /// The whole matrix of one annotator, `[true][answered]`, with the pseudo-counts `prior`.
    pub(super) fn matrix(&self, who: usize, counts: &[f64], prior: &[f64]) -> Vec<f64> {
        let mut matrix = prior.to_vec();
        self.add_counts(who, counts, &mut matrix);
        normalise_rows(&mut matrix, self.classes);
        matrix
    }

    fn add_counts(&self, who: usize, counts: &[f64], matrix: &mut [f64]) {
        let classes = self.classes;
        for at in self.annotators[who]..self.annotators[who + 1] {
            for truth in 0..classes {
                matrix[truth * classes + self.columns[at].label] += counts[at * classes + truth];
            }
        }
    }
}

impl LogConfusions {
    /// ln T_a[·][answered] of a stored column.
    pub(super) fn column(&self, at: u32, classes: usize) -> &[f64] {
        &self.0[at as usize * classes..][..classes]
    }
}

/// The places of the keys in their order; places of equal keys in their own. Keys are below `most`.
fn sorted_places(keys: &[usize], most: usize) -> Vec<u32> {
    // Counting needs a place per key; with far more possible keys than keys, comparing is cheaper.
    if most > 4 * keys.len() + 1024 {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        order.par_sort_by_key(|&at| keys[at as usize]);
        return order;
    }
    let mut starts = vec![0u32; most + 1];
    keys.iter().for_each(|&key| starts[key + 1] += 1);
    (0..most).for_each(|key| starts[key + 1] += starts[key]);
    let mut order = vec![0; keys.len()];
    for (at, &key) in keys.iter().enumerate() {
        order[starts[key] as usize] = at as u32;
        starts[key] += 1;
    }
    order
}

/// Divides every row by its sum.
pub(super) fn normalise_rows(matrix: &mut [f64], classes: usize) {
    for row in matrix.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|part| *part /= sum);
    }
}
