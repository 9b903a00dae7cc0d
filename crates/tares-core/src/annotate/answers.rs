//! [`Answers`]: who gave which row which label.

use crate::dataset::Label;
use crate::error::{Error, Result};
use rayon::prelude::*;

/// One annotator's label of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// The row.
    pub row: usize,
    /// The annotator.
    pub annotator: usize,
    /// The label.
    pub label: Label,
}

/// All answers, found by row and by annotator. Memory grows with the number of answers; most annotators label few rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    classes: usize,
    annotators: usize,
    /// Row by row, and by annotator within a row.
    answers: Vec<Answer>,
    /// Where the answers of each row begin, and the end.
    rows: Vec<usize>,
    /// Answers that a later one of the same annotator to the same row replaced.
    replaced: usize,
}

impl Answers {
    /// Answers to `rows` rows by `annotators` annotators in any order. A row or an annotator may have none. If somebody answers
    /// a row twice, the later answer counts: it is a correction.
    ///
    /// # Errors
    /// A row, an annotator or a label that does not exist; fewer than two classes; no answer at all.
    pub fn new(rows: usize, annotators: usize, classes: usize, answers: &[Answer]) -> Result<Self> {
        if classes < 2 {
            return Err(Error::value("classes", "at least 2", classes));
        }
        if answers.is_empty() {
            return Err(Error::empty("answers"));
        }
        for (position, answer) in answers.iter().enumerate() {
            let parts = [
                ("row", answer.row, rows),
                ("annotator", answer.annotator, annotators),
                ("label", answer.label as usize, classes),
            ];
            if let Some((what, got, end)) = parts.into_iter().find(|(_, got, end)| got >= end) {
                return Err(Error::value(what, format!("below {end}"), got).at(format!("answer {position}")));
            }
        }
        let mut sorted = answers.to_vec();
        let place = |answer: &Answer| (answer.row, answer.annotator);
        if !sorted.is_sorted_by(|one, next| place(one) < place(next)) {
            // Stable: answers of one annotator to one row stay in the order they were given.
            sorted.par_sort_by_key(place);
            sorted.reverse();
            sorted.dedup_by_key(|answer| place(answer));
            sorted.reverse();
        }
        let mut starts = vec![0; rows + 1];
        sorted.iter().for_each(|answer| starts[answer.row + 1] += 1);
        (0..rows).for_each(|row| starts[row + 1] += starts[row]);
        Ok(Self { classes, annotators, replaced: answers.len() - sorted.len(), answers: sorted, rows: starts })
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.rows.len() - 1
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The number of annotators.
    pub fn annotators(&self) -> usize {
        self.annotators
    }

    /// Every answer that counts, row by row.
    pub fn all(&self) -> &[Answer] {
        &self.answers
    }

    /// The answers to one row, by annotator.
    pub fn of_row(&self, row: usize) -> &[Answer] {
        let (from, to) = self.places(row);
        &self.answers[from..to]
    }

    /// Where the answers to a row stand in [`all`](Self::all): from, to.
    pub(super) fn places(&self, row: usize) -> (usize, usize) {
        (self.rows[row], self.rows[row + 1])
    }

    /// Answers that a later one of the same annotator to the same row replaced.
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// At most `most` rows, evenly spaced, and the answers to them; `None` if there are not more, or nobody answered these.
    pub(super) fn thinned(&self, most: usize) -> Option<(Vec<usize>, Self)> {
        if self.rows() <= most {
            return None;
        }
        let rows: Vec<usize> = (0..most).map(|place| place * self.rows() / most).collect();
        let own = |(place, &row): (usize, &usize)| {
            self.of_row(row).iter().map(move |answer| Answer { row: place, ..*answer }).collect::<Vec<_>>()
        };
        let answers: Vec<Answer> = rows.iter().enumerate().flat_map(own).collect();
        let thinned = Self::new(most, self.annotators, self.classes, &answers).ok()?;
        Some((rows, thinned))
    }

    /// How often each class was answered.
    pub(super) fn class_counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.classes];
        self.answers.iter().for_each(|answer| counts[answer.label as usize] += 1.0);
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(row: usize, annotator: usize, label: Label) -> Answer {
        Answer { row, annotator, label }
    }

    #[test]
    fn answers_are_found_by_row_in_any_order_of_input() {
        let answers = Answers::new(4, 3, 2, &[answer(2, 1, 0), answer(0, 2, 1), answer(2, 0, 1)]).unwrap();
        assert_eq!(answers.of_row(2), [answer(2, 0, 1), answer(2, 1, 0)]);
        assert_eq!((answers.of_row(1).len(), answers.of_row(3).len(), answers.rows()), (0, 0, 4));
    }

    #[test]
    fn the_later_answer_of_one_annotator_counts() {
        let given = [answer(0, 0, 1), answer(0, 1, 1), answer(0, 0, 2), answer(0, 0, 0)];
        let answers = Answers::new(1, 2, 3, &given).unwrap();
        assert_eq!(answers.all(), [answer(0, 0, 0), answer(0, 1, 1)]);
        assert_eq!(answers.replaced(), 2);
    }

    #[test]
    fn what_does_not_exist_is_refused_with_its_place() {
        let error = |given: &[Answer], classes| Answers::new(2, 2, classes, given).unwrap_err().to_string();
        assert_eq!(error(&[answer(0, 0, 0), answer(2, 0, 0)], 2), "row must be below 2, got 2 at answer 1");
        assert_eq!(error(&[answer(0, 5, 0)], 2), "annotator must be below 2, got 5 at answer 0");
        assert_eq!(error(&[answer(0, 0, 3)], 3), "label must be below 3, got 3 at answer 0");
        assert_eq!(error(&[], 2), "answers must not be empty");
        assert_eq!(error(&[answer(0, 0, 0)], 1), "classes must be at least 2, got 1");
    }
}
