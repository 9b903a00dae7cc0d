//! How good each annotator is, and which rows are worth one more label.

use super::answers::Answers;
use crate::estimate::counting_interval;

/// Answers' worth of the mean quality in everybody's own: three right answers are no proof of perfection.
const PSEUDO_ANSWERS: f64 = 4.0;

/// How good one annotator is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AnnotatorQuality {
    /// Answers that count.
    pub answers: usize,
    /// The expected part of them that is right, drawn towards the mean of all annotators if they are few; the mean without any.
    pub quality: f64,
    /// Where the quality lies: two standard deviations.
    pub interval: (f64, f64),
    /// The part of their answers that is the consensus; `None` without answers.
    pub agreement: Option<f64>,
}

/// The quality of every annotator, from the expected number of their right answers; `consensus` is the label of each row.
pub(super) fn annotators(answers: &Answers, right: &[f64], consensus: &[u32]) -> Vec<AnnotatorQuality> {
    let mut sums = vec![(0usize, 0usize); answers.annotators()]; // answers, agreed
    for answer in answers.all() {
        let (all, agreed) = &mut sums[answer.annotator];
        *all += 1;
        *agreed += usize::from(consensus[answer.row] == answer.label);
    }
    let mean = right.iter().sum::<f64>() / answers.all().len() as f64;
    sums.into_iter()
        .zip(right)
        .map(|((all, agreed), right)| {
            let quality = (right + PSEUDO_ANSWERS * mean) / (all as f64 + PSEUDO_ANSWERS);
            AnnotatorQuality {
                answers: all,
                quality,
                interval: counting_interval(quality, all),
                agreement: (all > 0).then(|| agreed as f64 / all as f64),
            }
        })
        .collect()
}

/// The expected number of right answers of every annotator under a posterior `[row][class]`.
pub(super) fn expected_right(answers: &Answers, posterior: &[f64]) -> Vec<f64> {
    let mut right = vec![0.0; answers.annotators()];
    for answer in answers.all() {
        right[answer.annotator] += posterior[answer.row * answers.classes() + answer.label as usize];
    }
    right
}

/// How much likelier the consensus of a row is expected to be right after one more answer by a typical annotator:
///
/// ```text
/// Σ_y max_z q_z S[z][y]  −  max_z q_z
/// ```
///
/// with the posterior q and the matrix S that all annotators share.
pub(super) fn expected_gain(posterior: &[f64], shared: &[f64]) -> f64 {
    let classes = posterior.len();
    let now = posterior.iter().copied().fold(0.0, f64::max);
    let after: f64 = (0..classes)
        .map(|label| (0..classes).map(|truth| posterior[truth] * shared[truth * classes + label]).fold(0.0, f64::max))
        .sum();
    (after - now).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::expected_gain;

    #[test]
    fn a_row_that_is_sure_gains_nothing_and_an_open_one_the_annotators_skill() {
        let shared = [0.9, 0.1, 0.1, 0.9];
        assert_eq!(expected_gain(&[1.0, 0.0], &shared), 0.0);
        assert!((expected_gain(&[0.5, 0.5], &shared) - 0.4).abs() < 1e-12);
        // An annotator who guesses tells nothing.
        assert!(expected_gain(&[0.6, 0.4], &[0.5; 4]).abs() < 1e-12);
    }
}
