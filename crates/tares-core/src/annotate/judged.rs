//! The consensus of annotators and a classifier.

use super::answers::Answers;
use super::belief::Belief;
use super::confusion::{Columns, Model, normalise_rows};
use super::em::Em;
use super::{Consensus, SHARED_PRIOR, each_own, expected_matrix};
use crate::estimate::row::largest;

/// What all annotators share is fitted to this many rows at most.
const SHARED_ROWS: usize = 20_000;
/// Easy and hard rows are told apart if that explains the answers better by this much log likelihood per answer, and by more than
/// the Bayesian information criterion asks for.
const HARD_ROWS_GAIN: f64 = 0.01;

/// With a classifier. First all annotators alike, then one matrix each, drawn towards that.
///
/// What all do alike needs no more than [`SHARED_ROWS`] rows. If people err far more on the rows the classifier finds hard, easy
/// and hard rows are two groups with matrices of their own: otherwise who guesses on hard rows would be believed there.
pub(super) fn judged(answers: &Answers, values: &[f64], votes: &[f64]) -> Consensus {
    let classes = answers.classes();
    let sample = answers.thinned(SHARED_ROWS);
    let (alike, groups) = match &sample {
        Some((rows, answers)) => {
            let pick = |from: &[f64]| -> Vec<f64> {
                rows.iter().flat_map(|&row| &from[row * classes..][..classes]).copied().collect()
            };
            let values = pick(values);
            let groups = Hardness::of(&values, classes);
            (shared_by_all(answers, &values, &pick(votes), &groups), groups)
        }
        None => {
            let groups = Hardness::of(values, classes);
            (shared_by_all(answers, values, votes, &groups), groups)
        }
    };
    let mut em = Em::new(answers, Belief::classifier(values, classes, alike.sharpness), votes);
    if alike.apart {
        em.columns = Columns::grouped(answers, 2, &|row| groups.of_row(&values[row * classes..][..classes]));
    }
    let confusions = em.columns.all_alike(&alike.shared);
    em.expect(&confusions);
    each_own(em)
}

/// Which rows a classifier finds hard: those it is less sure of than of most.
struct Hardness {
    middle: f64,
    /// Where more than half of the rows are equally hard, those are the hard ones.
    tied: bool,
}

impl Hardness {
    fn of(values: &[f64], classes: usize) -> Self {
        let mut surest: Vec<f64> = values.chunks_exact(classes).map(|row| largest(row).1).collect();
        let place = surest.len() / 2;
        let (_, &mut middle, _) = surest.select_nth_unstable_by(place, f64::total_cmp);
        Self { middle, tied: !surest.iter().any(|&sure| sure < middle) }
    }

    /// 0 for hard rows, 1 for easy ones.
    fn of_row(&self, row: &[f64]) -> usize {
        let sure = largest(row).1;
        usize::from(if self.tied { sure > self.middle } else { sure >= self.middle })
    }
}

/// What all annotators share.
struct Alike {
    /// Whether easy and hard rows are two groups.
    apart: bool,
    /// `[group][true][answered]`.
    shared: Vec<f64>,
    sharpness: f64,
}

fn shared_by_all(answers: &Answers, values: &[f64], votes: &[f64], groups: &Hardness) -> Alike {
    let classes = answers.classes();
    let prior = expected_matrix(classes, SHARED_PRIOR);
    let fit = |columns: Option<Columns>| {
        let mut em = Em::new(answers, Belief::classifier(values, classes, 1.0), votes);
        em.columns = columns.unwrap_or(em.columns);
        em.run(&Model::Shared { prior: &prior });
        em
    };
    let alike = fit(None);
    let group = |row: usize| groups.of_row(&values[row * classes..][..classes]);
    let apart = fit(Some(Columns::grouped(answers, 2, &group)));
    let count = answers.all().len() as f64;
    let parameters = (classes * (classes - 1)) as f64;
    let asked = (HARD_ROWS_GAIN * count).max(0.5 * parameters * count.ln());
    let is_apart = apart.likelihood - alike.likelihood > asked;
    let em = if is_apart { apart } else { alike };
    let mut shared = em.columns.pooled(&em.columns.expected_counts(&em.posterior));
    shared.iter_mut().zip(prior.iter().cycle()).for_each(|(count, prior)| *count += prior);
    normalise_rows(&mut shared, classes);
    Alike { apart: is_apart, shared, sharpness: em.belief.sharpness().unwrap_or(1.0) }
}
