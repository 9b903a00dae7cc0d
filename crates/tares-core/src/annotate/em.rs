//! Expectation maximisation over the unknown true classes and levels of difficulty.
//!
//! E-step: a [`pass`](super::pass) over the rows. M-step: the confusions ([`confusion`](super::confusion)), the beliefs
//! ([`belief`](super::belief)) and the shares of hard rows ([`levels`](super::levels)) that are likeliest under it. The log posterior
//! density of all parameters never falls.

use super::answers::Answers;
use super::belief::Belief;
use super::confusion::{Columns, Confusions, Model};
use super::levels::Levels;
use super::majority::vote_shares;
use super::pass::{Parts, Sums};
use super::{VOTE_SMOOTHING, own_prior::OwnPrior};

/// EM ends when a step gains less than this per row, unless something else is asked for, or after so many steps.
pub(super) const LEAST_GAIN: f64 = 1e-5;
const MOST_STEPS: usize = 200;
/// A classifier's calibration is fitted in every so many steps: it changes little and takes as long as the rest.
const THOROUGH_EVERY: usize = 4;

/// The state of EM.
pub(super) struct Em<'a> {
    pub(super) answers: &'a Answers,
    pub(super) columns: Columns,
    pub(super) belief: Belief,
    pub(super) levels: Levels,
    /// What the last E-step added up.
    pub(super) sums: Sums,
    /// `[row][class]`, while a classifier is being calibrated.
    posterior: Vec<f64>,
    confusions: Confusions,
}

/// What EM found.
pub(super) struct Found {
    /// `[row][class]`.
    pub(super) posterior: Vec<f64>,
    /// The expected number of right answers of every annotator.
    pub(super) right: Vec<f64>,
}

impl<'a> Em<'a> {
    /// Starts from smoothed votes, times what is believed.
    pub(super) fn new(answers: &'a Answers, belief: Belief) -> Self {
        let (columns, levels, classes) = (Columns::new(answers), Levels::single(), answers.classes());
        let votes = vote_shares(answers, VOTE_SMOOTHING);
        let mut posterior = Vec::new();
        let sums = {
            let parts = Parts { answers, columns: &columns, belief: &belief, levels: &levels };
            let states = |row: usize, out: &mut [f64]| {
                let (belief, votes) = (belief.of_row(row, classes), &votes[row * classes..][..classes]);
                out.iter_mut().zip(belief.iter().zip(votes)).for_each(|(out, (belief, vote))| *out = belief * vote);
            };
            if belief.is_learning() {
                posterior = vec![0.0; answers.rows() * classes];
            }
            parts.start(states, (!posterior.is_empty()).then_some(&mut posterior[..]))
        };
        Self { answers, columns, belief, levels, sums, posterior, confusions: Confusions(Vec::new()) }
    }

    /// Starts from what is expected of annotators.
    pub(super) fn expecting(answers: &'a Answers, belief: Belief, levels: Levels, prior: &OwnPrior) -> Self {
        let columns = Columns::new(answers);
        let nothing = vec![0.0; columns.len() * levels.count() * answers.classes()];
        let (confusions, _) = columns.fit(&nothing, levels.count(), &Model::Own { prior });
        let confusions = confusions.weighed(levels.answer_weight());
        let sums = Parts { answers, columns: &columns, belief: &belief, levels: &levels }.expect(&confusions, None);
        Self { answers, columns, belief, levels, sums, posterior: Vec::new(), confusions }
    }

    /// Continues with easy and hard rows, from the share of each row that is hard.
    pub(super) fn with_levels(&self, belief: Belief, levels: Levels, hard: impl Fn(usize) -> f64 + Sync) -> Self {
        let (answers, classes, columns) = (self.answers, self.answers.classes(), Columns::new(self.answers));
        let mut posterior = vec![0.0; answers.rows() * classes];
        let sums = Parts { answers, columns: &columns, belief: &belief, levels: &levels }.start(
            |row, out| {
                let (own, hard) = (&self.posterior[row * classes..][..classes], hard(row));
                for (out, share) in out.chunks_exact_mut(classes).zip([1.0 - hard, hard]) {
                    out.iter_mut().zip(own).for_each(|(out, part)| *out = share * part);
                }
            },
            Some(&mut posterior),
        );
        Self { answers, columns, belief, levels, sums, posterior, confusions: Confusions(Vec::new()) }
    }

    fn parts(&self) -> Parts<'_> {
        Parts { answers: self.answers, columns: &self.columns, belief: &self.belief, levels: &self.levels }
    }

    /// Steps until one gains less than `least_gain` per row: the log posterior density of the parameters after each step, up to a constant.
    pub(super) fn run(&mut self, model: &Model<'_>, least_gain: f64) -> Vec<f64> {
        let mut objectives: Vec<f64> = Vec::new();
        let mut still = false;
        for step in 0..MOST_STEPS {
            let thorough = still || step % THOROUGH_EVERY == 0;
            let (confusions, density) = self.columns.fit(&self.sums.counts, self.levels.count(), model);
            let confusions = confusions.weighed(self.levels.answer_weight());
            let density = density
                + self.belief.fit(&self.sums.classes, &self.posterior, thorough)
                + self.levels.fit(&self.sums.levels);
            let mut posterior = std::mem::take(&mut self.posterior);
            self.sums = self.parts().expect(&confusions, (!posterior.is_empty()).then_some(&mut posterior[..]));
            (self.posterior, self.confusions) = (posterior, confusions);
            let objective = density + self.sums.likelihood;
            let last = objectives.last().copied();
            objectives.push(objective);
            still = last.is_some_and(|last| objective - last < least_gain * self.answers.rows() as f64);
            if still && (thorough || !self.belief.is_learning()) {
                break;
            }
        }
        objectives
    }

    /// What was found, after at least one step.
    pub(super) fn found(&self) -> Found {
        let mut posterior = vec![0.0; self.answers.rows() * self.answers.classes()];
        let sums = self.parts().report(&self.confusions, &mut posterior);
        Found { posterior, right: sums.right }
    }
}
