//! The consensus of annotators who are drawn towards each other, with or without a classifier.

use super::answers::Answers;
use super::belief::Belief;
use super::confusion::Model;
use super::em::{Em, LEAST_GAIN};
use super::levels::{Edges, Levels, easier_throughout};
use super::majority::vote_shares;
use super::own_prior::OwnPrior;
use super::{CLASS_PRIOR, Consensus, SHARED_PRIOR, VOTE_SMOOTHING, expected_matrix, shared_matrix};
use crate::estimate::row::largest;

/// What all annotators share, and how the classifier is understood, is fitted to this many rows at most.
const SHARED_ROWS: usize = 10_000;
/// That is fitted until a step gains less than this per row: everybody's own matrix is fitted closer afterwards.
const LEARNING_GAIN: f64 = 1e-4;
/// Easy and hard rows are told apart if that explains the answers better by this much log likelihood per answer, and by more than
/// the Bayesian information criterion asks for, and if easy rows are easier whatever the class.
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
        let shared = shared_matrix(&apart.columns, &apart.sums.counts, classes, apart.levels.count());
        if apart.sums.likelihood - em.sums.likelihood > asked && easier_throughout(&shared, classes) {
            (em, kept) = (apart, Some(edges));
        }
    }
    let expect = |em: &Em<'_>| OwnPrior::fitted(&em.columns, &em.sums.counts, classes, em.levels.count());
    let prior = expect(&em);
    if kept.is_some() {
        em.levels = em.levels.with_shared_mistakes();
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::Answer;
    use crate::stream;

    /// What is learnt from 2,000 rows of two classes, five answers each, that err with `wrong` on easy and on hard rows.
    fn learnt_levels(wrong: [f64; 2]) -> Levels {
        let mut draw = stream(17, "levels");
        let (mut given, mut probs) = (Vec::new(), Vec::new());
        for row in 0..2000 {
            let (class, hard) = (draw.below(2), draw.below(2));
            for annotator in 0..5 {
                let label = if draw.chance(wrong[hard]) { 1 - class } else { class } as u32;
                given.push(Answer { row, annotator, label });
            }
            let guess = if draw.chance(0.8) { class } else { 1 - class };
            probs.extend((0..2).map(|k| if k == guess { 0.8 } else { 0.2 }));
        }
        learn(&Answers::new(2000, 5, 2, &given).unwrap(), Some(&probs)).levels
    }

    #[test]
    fn answers_count_less_where_mistakes_are_shared_and_only_there() {
        let (alike, apart) = (learnt_levels([0.2, 0.2]), learnt_levels([0.02, 0.45]));
        assert_eq!((alike.count(), alike.answer_weight()), (1, 1.0));
        assert_eq!(apart.count(), 2);
        assert!(apart.answer_weight() < 1.0);
        // The weight goes with the shares to other rows.
        let (values, edges) = ([0.8, 0.2, 0.3, 0.7], Edges::of(&[0.8, 0.2, 0.3, 0.7], 2));
        assert_eq!(apart.for_rows(&values, 2, &edges).answer_weight(), apart.answer_weight());
    }
}
