//! The label that most annotators gave.

use super::answers::Answers;

/// The share of each class among the answers to each row, `[row][class]`, with `smoothing` answers added to every class. A row
/// without answers gets equal shares.
pub(super) fn vote_shares(answers: &Answers, smoothing: f64) -> Vec<f64> {
    let classes = answers.classes();
    let mut shares = vec![smoothing; answers.rows() * classes];
    answers.all().iter().for_each(|answer| shares[answer.row * classes + answer.label as usize] += 1.0);
    for row in shares.chunks_exact_mut(classes) {
        let all: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share = if all > 0.0 { *share / all } else { 1.0 / classes as f64 });
    }
    shares
}
