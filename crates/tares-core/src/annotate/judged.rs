//! The consensus of annotators who are drawn towards each other, with or without a classifier.

use super::answers::Answers;
use super::belief::Belief;
use super::confusion::Model;
use super::em::{Em, LEAST_GAIN};
use super::levels::{Edges, Levels};
use super::majority::vote_shares;
use super::own_prior::OwnPrior;
use super::{CLASS_PRIOR, Consensus, SHARED_PRIOR, VOTE_SMOOTHING, expected_matrix};
use crate::estimate::row::largest;

/// What all annotators share, and how the classifier is understood, is fitted to this many rows at most.
const SHARED_ROWS: usize = 10_000;
/// That is fitted until a step gains less than this per row: everybody's own matrix is fitted closer afterwards.
const LEARNING_GAIN: f64 = 1e-4;
/// Easy and hard rows are told apart if that explains the answers better by this much log likelihood per answer, and by more than
/// the Bayesian information criterion asks for.
const HARD_ROWS_GAIN: f64 = 0.01;
/// How fast a row counts as hard, before anything is fitted, as fewer people than usual agree about it.
const DISAGREEMENT: f64 = 8.0;

/// First all annotators alike, then one matrix each, drawn towards what is expected of them: both on at most [`SHARED_ROWS`] rows,
/// which say enough about what all do alike. Then everybody's own matrix on all rows.
pub(super) fn drawn_together(answers: &Answers, values: Option<&[f64]>) -> Consensus {
    let classes = answers.classes();
    let learnt = match answers.thinned(SHARED_ROWS) {
        Some((rows, answers)) => {
            let pick = |values: &[f64]| -> Vec<f64> {
                rows.iter().flat_map(|&row| &values[row * classes..][..classes]).copied().collect()
            };
            learn(&answers, values.map(pick).as_deref())
        }
        None => learn(answers, values),
    };
    let (belief, levels) = match (values, learnt.belief.calibration()) {
        (Some(values), Some(calibration)) => {
            let levels = match &learnt.edges {
                Some(edges) => learnt.levels.for_rows(values, classes, edges),
                None => Levels::single(),
            };
            (Belief::known(values, classes, calibration.clone()), levels)
        }
        _ => (learnt.belief, Levels::single()),
    };
    let mut em = Em::expecting(answers, belief, levels, &learnt.prior);
    let objectives = em.run(&Model::Own { prior: &learnt.prior }, LEAST_GAIN);
    Consensus::of(&em, objectives, None)
}

/// What some of the rows teach.
struct Learnt {
    prior: OwnPrior,
    belief: Belief,
    levels: Levels,
    /// If easy and hard rows are told apart.
    edges: Option<Edges>,
}

fn learn(answers: &Answers, values: Option<&[f64]>) -> Learnt {
    let classes = answers.classes();
    let prior = expected_matrix(classes, SHARED_PRIOR);
    let belief = || match values {
        Some(values) => Belief::learning(values, classes),
        None => Belief::shares(classes, CLASS_PRIOR),
    };
    let mut em = Em::new(answers, belief());
    em.run(&Model::Shared { prior: &prior }, LEARNING_GAIN);
    let mut kept = None;
    if let Some(values) = values {
        let edges = Edges::of(values, classes);
        let mut apart = em.with_levels(belief(), Levels::two(values, classes, &edges), disagreement(answers));
        apart.run(&Model::Shared { prior: &prior }, LEARNING_GAIN);
        let count = answers.all().len() as f64;
        let parameters = (classes * (classes - 1) + apart.levels.bins()) as f64;
        let asked = (HARD_ROWS_GAIN * count).max(0.5 * parameters * count.ln());
        if apart.sums.likelihood - em.sums.likelihood > asked {
            (em, kept) = (apart, Some(edges));
        }
    }
    let expect = |em: &Em<'_>| OwnPrior::fitted(&em.columns, &em.sums.counts, classes, em.levels.count());
    let prior = expect(&em);
    em.run(&Model::Own { prior: &prior }, LEARNING_GAIN);
    Learnt { prior: expect(&em), belief: em.belief, levels: em.levels, edges: kept }
}

/// How hard each row looks, from 0 to 1: fewer people agree about it than about others.
fn disagreement(answers: &Answers) -> impl Fn(usize) -> f64 + Sync {
    let votes = vote_shares(answers, VOTE_SMOOTHING);
    let agreed: Vec<f64> = votes.chunks_exact(answers.classes()).map(|row| largest(row).1).collect();
    let mean = agreed.iter().sum::<f64>() / agreed.len() as f64;
    move |row| 1.0 / (1.0 + (DISAGREEMENT * (agreed[row] - mean)).exp())
}
