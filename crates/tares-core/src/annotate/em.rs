//! Expectation maximisation over the unknown true classes.
//!
//! ```text
//! P(true = z | row) ∝ b_z(row) · Π_a T_a[z][answer of a]
//! ```
//!
//! E-step: this posterior for every row. M-step: the confusions T_a ([`confusion`](super::confusion)) and the beliefs b
//! ([`belief`](super::belief)) that are likeliest under it. The log posterior density of all parameters never falls.

use super::answers::Answers;
use super::belief::{Belief, TASK_ROWS, log_sum_exp};
use super::confusion::{Columns, LogConfusions, Model};
use rayon::prelude::*;

/// EM ends when a step gains less than this per row, or after so many steps.
const LEAST_GAIN: f64 = 1e-5;
pub(super) const MOST_STEPS: usize = 200;
/// The classifier's sharpness is fitted in every so many steps: it changes little and takes as long as the rest.
const SHARPNESS_EVERY: usize = 4;

/// The state of EM.
pub(super) struct Em<'a> {
    pub(super) answers: &'a Answers,
    pub(super) columns: Columns,
    pub(super) belief: Belief,
    /// `[row][class]`.
    pub(super) posterior: Vec<f64>,
    /// The log likelihood of the answers after the last step.
    pub(super) likelihood: f64,
}

impl<'a> Em<'a> {
    /// Starts from smoothed votes, times the classifier's probabilities if there is one.
    pub(super) fn new(answers: &'a Answers, belief: Belief, votes: &[f64]) -> Self {
        let classes = answers.classes();
        let mut posterior = vec![0.0; votes.len()];
        posterior.par_chunks_exact_mut(classes).zip(votes.par_chunks_exact(classes)).enumerate().for_each(
            |(row, (posterior, votes))| {
                belief.of_row(row, posterior);
                posterior.iter_mut().zip(votes).for_each(|(log, vote)| *log += vote.ln());
                let total = log_sum_exp(posterior);
                posterior.iter_mut().for_each(|log| *log = (*log - total).exp());
            },
        );
        Self { answers, columns: Columns::new(answers), belief, posterior, likelihood: f64::NEG_INFINITY }
    }

    /// Steps until the objective stands still: the log posterior density of the parameters after each step, up to a constant.
    pub(super) fn run(&mut self, model: &Model<'_>) -> Vec<f64> {
        let mut objectives: Vec<f64> = Vec::new();
        let mut still = false;
        for step in 0..MOST_STEPS {
            let thorough = still || step % SHARPNESS_EVERY == 0;
            let counts = self.columns.expected_counts(&self.posterior);
            let (confusions, density) = self.columns.fit(&counts, model);
            let density = density + self.belief.fit(&self.posterior, self.answers.classes(), thorough);
            self.likelihood = self.expect(&confusions);
            let objective = density + self.likelihood;
            let last = objectives.last().copied();
            objectives.push(objective);
            still = last.is_some_and(|last| objective - last < LEAST_GAIN * self.answers.rows() as f64);
            if still && thorough {
                break;
            }
        }
        objectives
    }

    /// E-step; returns the log likelihood of the answers.
    pub(super) fn expect(&mut self, confusions: &LogConfusions) -> f64 {
        let (answers, columns, belief, classes) = (self.answers, &self.columns, &self.belief, self.answers.classes());
        let parts: Vec<f64> = self
            .posterior
            .par_chunks_mut(TASK_ROWS * classes)
            .enumerate()
            .map(|(task, posterior)| {
                let mut likelihood = 0.0;
                for (row, posterior) in (task * TASK_ROWS..).zip(posterior.chunks_exact_mut(classes)) {
                    belief.of_row(row, posterior);
                    let (from, to) = answers.places(row);
                    for &column in columns.of_answers(from, to) {
                        let logs = confusions.column(column, classes);
                        posterior.iter_mut().zip(logs).for_each(|(sum, log)| *sum += log);
                    }
                    let most = posterior.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let mut sum = 0.0;
                    for part in posterior.iter_mut() {
                        *part = (*part - most).exp();
                        sum += *part;
                    }
                    posterior.iter_mut().for_each(|part| *part /= sum);
                    likelihood += most + sum.ln();
                }
                likelihood
            })
            .collect();
        parts.iter().sum()
    }
}
