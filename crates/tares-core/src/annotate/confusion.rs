//! What each annotator makes of each class: `T_a[true][answered]`, one matrix per annotator.
//!
//! Only the columns of labels that an annotator used are stored: somebody who labelled three rows has at most three, however many
//! classes there are. So memory and time of a step grow with the number of answers times K.

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
    /// Where the columns of each annotator begin, and the end.
    annotators: Vec<usize>,
}

struct Column {
    label: usize,
    first: usize,
    end: usize,
}

/// The logarithms of the stored columns, `[column][true]`.
pub(super) struct LogConfusions(Vec<f64>);

/// What is assumed about annotators.
pub(super) enum Model<'a> {
    /// All have the same matrix.
    Shared {
        /// Pseudo-counts, `[true][answered]`.
        prior: &'a [f64],
    },
    /// Each has a matrix of their own.
    Own {
        /// Pseudo-counts, `[true][answered]`: what an annotator is expected to do until their answers show otherwise.
        prior: &'a [f64],
    },
    /// Each is right with one probability, whatever the class; mistakes fall on all other classes alike.
    OneCoin {
        /// Pseudo-counts of right and of wrong answers.
        prior: [f64; 2],
    },
}

impl Columns {
    pub(super) fn new(answers: &Answers) -> Self {
        let all = answers.all();
        let mut order: Vec<u32> = (0..all.len() as u32).collect();
        order.sort_by_key(|&at| (all[at as usize].annotator, all[at as usize].label));
        let mut columns: Vec<Column> = Vec::new();
        let mut of_answer = vec![0; all.len()];
        let mut annotators = vec![0; answers.annotators() + 1];
        let mut last = None;
        for (place, &at) in order.iter().enumerate() {
            let answer = all[at as usize];
            if last != Some((answer.annotator, answer.label)) {
                last = Some((answer.annotator, answer.label));
                columns.push(Column { label: answer.label as usize, first: place, end: place });
                annotators[answer.annotator + 1] += 1;
            }
            let column = columns.len() - 1;
            columns[column].end = place + 1;
            of_answer[at as usize] = column as u32;
        }
        (0..answers.annotators()).for_each(|who| annotators[who + 1] += annotators[who]);
        let rows = order.iter().map(|&at| all[at as usize].row as u32).collect();
        Self { classes: answers.classes(), columns, rows, of_answer, annotators }
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

    /// All counts together, `[true][answered]`.
    pub(super) fn pooled(&self, counts: &[f64]) -> Vec<f64> {
        let classes = self.classes;
        let mut pooled = vec![0.0; classes * classes];
        for (column, counts) in self.columns.iter().zip(counts.chunks_exact(classes)) {
            counts.iter().enumerate().for_each(|(truth, count)| pooled[truth * classes + column.label] += count);
        }
        pooled
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
        shared.iter_mut().zip(prior).for_each(|(count, prior)| *count += prior);
        normalise_rows(&mut shared, classes);
        let density = shared.iter().zip(prior).map(|(part, prior)| prior * part.ln()).sum();
        let column = |column: &Column| (0..classes).map(|truth| shared[truth * classes + column.label].ln()).collect();
        let columns: Vec<Vec<f64>> = self.columns.iter().map(column).collect();
        (LogConfusions(columns.concat()), density)
    }

    fn fit_own(&self, counts: &[f64], prior: &[f64]) -> (LogConfusions, f64) {
        let classes = self.classes;
        let mut logs = vec![0.0; counts.len()];
        let prior_rows: Vec<f64> = prior.chunks_exact(classes).map(|row| row.iter().sum()).collect();
        let mut density = 0.0;
        for who in 0..self.annotators.len() - 1 {
            let mine = self.annotators[who]..self.annotators[who + 1];
            let mut totals = prior_rows.clone();
            for column in counts[mine.start * classes..mine.end * classes].chunks_exact(classes) {
                totals.iter_mut().zip(column).for_each(|(total, count)| *total += count);
            }
            // Σ prior · ln T over all columns: those that are not stored hold the prior alone.
            density -= totals.iter().zip(&prior_rows).map(|(total, prior)| prior * total.ln()).sum::<f64>();
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

    /// The whole matrix of one annotator, `[true][answered]`, with the pseudo-counts `prior`.
    pub(super) fn matrix(&self, who: usize, counts: &[f64], prior: &[f64]) -> Vec<f64> {
        let classes = self.classes;
        let mut matrix = prior.to_vec();
        for at in self.annotators[who]..self.annotators[who + 1] {
            for truth in 0..classes {
                matrix[truth * classes + self.columns[at].label] += counts[at * classes + truth];
            }
        }
        normalise_rows(&mut matrix, classes);
        matrix
    }
}

impl LogConfusions {
    /// ln T_a[·][answered] of a stored column.
    pub(super) fn column(&self, at: u32, classes: usize) -> &[f64] {
        &self.0[at as usize * classes..][..classes]
    }
}

/// Divides every row by its sum.
pub(super) fn normalise_rows(matrix: &mut [f64], classes: usize) {
    for row in matrix.chunks_exact_mut(classes) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|part| *part /= sum);
    }
}
