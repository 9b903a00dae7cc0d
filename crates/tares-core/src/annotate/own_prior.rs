//! What an annotator is expected to make of each class before their own answers are counted: [`OwnPrior`].
//!
//! The matrix S that all share, with the annotator's own skill: on every class the odds of being right are those of S times one factor
//! per annotator, and mistakes fall on the other classes in S's proportions. A few answers to each class show how good somebody
//! is long before they show each entry of a matrix.

use super::confusion::{Columns, normalise_rows};
use super::{OWN_PRIOR, SKILL_PRIOR, shared_matrix};

/// Skills nearer to 0 or 1 count as this near: the odds stay finite.
const SURE_SKILL: f64 = 1e-3;

/// Pseudo-counts of every annotator's matrix.
#[derive(Clone, Debug)]
pub(super) struct OwnPrior {
    /// Pseudo-answers per true class.
    pub(super) weight: f64,
    classes: usize,
    /// S, `[level][true][answered]`.
    shared: Vec<f64>,
    /// The logarithm of the factor on the odds of being right, `[annotator][level]`; empty if there is none.
    shifts: Vec<f64>,
}

impl OwnPrior {
    /// The same for everybody: pseudo-counts `[true][answered]` whose rows have one sum.
    pub(super) fn alike(pseudo_counts: &[f64], classes: usize) -> Self {
        let weight = pseudo_counts[..classes].iter().sum();
        let shared = pseudo_counts.iter().map(|count| count / weight).collect();
        Self { weight, classes, shared, shifts: Vec::new() }
    }

    /// From the expected counts of all annotators, `[column][level][true]`.
    pub(super) fn fitted(columns: &Columns, counts: &[f64], classes: usize, levels: usize) -> Self {
        let shared = shared_matrix(columns, counts, classes, levels);
        let states = levels * classes;
        let mut sums = vec![(0.0, 0.0); columns.annotators() * levels]; // right, all
        for who in 0..columns.annotators() {
            for (at, label) in columns.of_annotator(who) {
                for level in 0..levels {
                    let counts = &counts[at * states + level * classes..][..classes];
                    let (right, all) = &mut sums[who * levels + level];
                    *right += counts[label];
                    *all += counts.iter().sum::<f64>();
                }
            }
        }
        let mut means = vec![(0.0, 0.0); levels];
        for own in sums.chunks_exact(levels) {
            means.iter_mut().zip(own).for_each(|(mean, own)| *mean = (mean.0 + own.0, mean.1 + own.1));
        }
        let shift = |(at, &(right, all)): (usize, &(f64, f64))| {
            let mean = means[at % levels].0 / means[at % levels].1.max(f64::MIN_POSITIVE);
            log_odds((right + SKILL_PRIOR * mean) / (all + SKILL_PRIOR)) - log_odds(mean)
        };
        let shifts = sums.iter().enumerate().map(shift).collect();
        Self { weight: OWN_PRIOR, classes, shared, shifts }
    }

    /// The expected probability that an annotator is right, per level and true class.
    pub(super) fn expected_right(&self, who: usize, out: &mut [f64]) {
        let classes = self.classes;
        for (state, right) in out.iter_mut().enumerate() {
            let shared = self.shared[state * classes + state % classes];
            *right = match self.shifts.is_empty() {
                true => shared,
                false => {
                    let levels = self.shared.len() / (classes * classes);
                    let odds = (shared / (1.0 - shared)) * self.shifts[who * levels + state / classes].exp();
                    odds / (1.0 + odds)
                }
            };
        }
    }

    /// The pseudo-count of a label in a state, for somebody who is expected to be `right` that often there.
    pub(super) fn pseudo_count(&self, state: usize, label: usize, right: f64) -> f64 {
        let (classes, truth) = (self.classes, state % self.classes);
        let own = &self.shared[state * classes..][..classes];
        self.weight * if label == truth { right } else { own[label] * (1.0 - right) / (1.0 - own[truth]) }
    }

    /// One annotator's whole matrix, `[true][answered]`, with the expected rows `counts` of one level added.
    pub(super) fn matrix(&self, who: usize, mut counts: Vec<f64>) -> Vec<f64> {
        let classes = self.classes;
        let mut right = vec![0.0; classes];
        self.expected_right(who, &mut right);
        for truth in 0..classes {
            for label in 0..classes {
                counts[truth * classes + label] += self.pseudo_count(truth, label, right[truth]);
            }
        }
        normalise_rows(&mut counts, classes);
        counts
    }
}

fn log_odds(share: f64) -> f64 {
    let share = share.clamp(SURE_SKILL, 1.0 - SURE_SKILL);
    (share / (1.0 - share)).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::{Answer, Answers};

    #[test]
    fn the_expectation_is_a_distribution_and_follows_the_skill() {
        // Annotator 0 is right on every row, annotator 1 on every second one; annotator 2 has no answers.
        let given: Vec<Answer> = (0..60)
            .flat_map(|row| {
                let truth = (row % 3) as u32;
                let other = if row % 2 == 0 { truth } else { (truth + 1) % 3 };
                [Answer { row, annotator: 0, label: truth }, Answer { row, annotator: 1, label: other }]
            })
            .collect();
        let answers = Answers::new(60, 3, 3, &given).unwrap();
        let columns = Columns::new(&answers);
        let posterior: Vec<f64> = (0..180).map(|at| f64::from(u8::from((at / 3) % 3 == at % 3))).collect();
        let counts = crate::annotate::pass::expected_counts(&answers, &columns, &posterior);
        let prior = OwnPrior::fitted(&columns, &counts, 3, 1);
        let mut right = vec![vec![0.0; 3]; 3];
        right.iter_mut().enumerate().for_each(|(who, right)| prior.expected_right(who, right));
        for truth in 0..3 {
            assert!(right[0][truth] > right[2][truth] && right[2][truth] > right[1][truth], "{right:?}");
            for right in &right {
                let sum: f64 = (0..3).map(|label| prior.pseudo_count(truth, label, right[truth])).sum();
                assert!((sum - OWN_PRIOR).abs() < 1e-9, "{sum}");
            }
        }
        // Nobody's answers change what is expected of a stranger: the shared matrix.
        assert!((right[2][0] - prior.shared[0]).abs() < 1e-12);
    }
}
