//! How often annotators agree with each other, before anything is assumed about the truth.

use super::answers::Answers;

/// Agreement of some annotators with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// The annotators, in the order they were asked for.
    pub annotators: Vec<usize>,
    /// Rows that both labelled, `[one][other]`.
    pub common: Vec<Vec<usize>>,
    /// Rows among them that got the same label from both, `[one][other]`.
    pub same: Vec<Vec<usize>>,
}

impl Agreement {
    /// Counts in one pass over the answers; memory grows with the square of the number of `annotators`.
    pub fn of(answers: &Answers, annotators: &[usize]) -> Self {
        let count = annotators.len();
        let mut place = vec![None; answers.annotators()];
        annotators.iter().enumerate().for_each(|(at, &who)| place[who] = Some(at));
        let (mut common, mut same) = (vec![vec![0; count]; count], vec![vec![0; count]; count]);
        let mut here: Vec<(usize, u32)> = Vec::new();
        for row in 0..answers.rows() {
            here.clear();
            here.extend(answers.of_row(row).iter().filter_map(|answer| Some((place[answer.annotator]?, answer.label))));
            for &(one, label) in &here {
                for &(other, also) in &here {
                    common[one][other] += 1;
                    same[one][other] += usize::from(label == also);
                }
            }
        }
        Self { annotators: annotators.to_vec(), common, same }
    }

    /// The part of common rows on which two annotators agree; `None` if they share no row.
    pub fn share(&self, one: usize, other: usize) -> Option<f64> {
        let common = self.common[one][other];
        (common > 0).then(|| self.same[one][other] as f64 / common as f64)
    }
}

/// The part of all pairs of answers to one row that are the same; `None` if no row has two answers.
pub fn pair_agreement(answers: &Answers) -> Option<f64> {
    let mut counts = vec![0u64; answers.classes()];
    let (mut pairs, mut same) = (0u64, 0u64);
    for row in 0..answers.rows() {
        let here = answers.of_row(row);
        here.iter().for_each(|answer| counts[answer.label as usize] += 1);
        let all = here.len() as u64;
        pairs += all * all.saturating_sub(1) / 2;
        for answer in here {
            // Each label is counted once: its count is 0 afterwards.
            let count = std::mem::take(&mut counts[answer.label as usize]);
            same += count * count.saturating_sub(1) / 2;
        }
    }
    (pairs > 0).then(|| same as f64 / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotate::Answer;

    #[test]
    fn pairs_are_counted_where_both_answered() {
        let given: Vec<Answer> = [(0, 0, 1), (0, 1, 1), (0, 2, 0), (1, 0, 0), (1, 1, 1), (2, 2, 1)]
            .map(|(row, annotator, label)| Answer { row, annotator, label })
            .to_vec();
        let answers = Answers::new(3, 3, 2, &given).unwrap();
        let found = Agreement::of(&answers, &[1, 0, 2]);
        assert_eq!(found.common, [[2, 2, 1], [2, 2, 1], [1, 1, 2]]);
        assert_eq!(found.share(0, 1), Some(0.5));
        assert_eq!((found.share(0, 2), found.share(2, 2)), (Some(0.0), Some(1.0)));
        // Row 0 has three pairs, one of them equal; row 1 one, which differs.
        assert_eq!(pair_agreement(&answers), Some(0.25));
        let alone = Answers::new(1, 1, 2, &[given[0]]).unwrap();
        assert_eq!(pair_agreement(&alone), None);
    }
}
