//! The moving average of a network's predictions for its training rows, and what it says about their labels.
//!
//! N rows, K classes; i is a row, y its given label, c a class that may be the true one.
//!
//! ```text
//! memory     m_i ← β m_i + (1 − β) p          p: the network's answer;  t_i = m_i / Σ m_i
//! mistakes   T[c][y] = the share of label y among the rows that the memory is surest are c
//! belief     q_i(c) ∝ t_i(c)^γ T[c][y]         the probability that c is the true class of row i
//! ```
//! The label is rejected, `q_i(c) > q_i(y)`, once the memory's odds against it exceed the odds that such labels are right:
//! `(t_i(c) / t_i(y))^γ > T[y][y] / T[c][y]`. With right labels T is nearly the identity and hardly any label is rejected; with heavy
//! noise a slight preference of the memory is enough. So the threshold adapts to the noise that the memory sees, class by class.
//!
//! T is counted on the rows where the memory is sure, because hard rows look like rows with wrong labels. γ = 1 is the posterior of a
//! calibrated memory, but a network that can memorise every label confirms the label in the end. With γ > 1, a belief that beats the
//! label grows from epoch to epoch, and so do the mistakes of a poor memory. So γ is 1 while the memory is young and rises later.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};

/// Answers are kept this far from 0, so that no class becomes impossible.
const LEAST: f32 = 1e-4;

/// The remembered answers of N rows.
///
/// ```
/// use tares_core::memory::Memory;
/// let mut memory = Memory::new(2, 2);
/// memory.remember(0, &[0.8, 0.2], 0.5);
/// memory.remember(0, &[0.6, 0.4], 0.5);
/// let mut answer = [0.0; 2];
/// memory.answer(0, &mut answer);
/// assert!((answer[0] - 2.0 / 3.0).abs() < 1e-4); // (0.4 · 0.5 + 0.3) / 0.75
/// memory.answer(1, &mut answer);
/// assert_eq!(answer, [0.5, 0.5]); // never seen
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    classes: usize,
    /// `[N][K]`, decaying sums.
    sums: Vec<f32>,
}

/// `T[true][given]`: how labels are mistaken, as far as a memory can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistakes {
    classes: usize,
    /// `[true][given]`, rows sum to 1.
    matrix: Vec<f32>,
}

impl Memory {
    /// Nothing is remembered of `rows` rows yet.
    ///
    /// # Panics
    /// With fewer than two classes.
    pub fn new(rows: usize, classes: usize) -> Self {
        assert!(classes >= 2, "a memory needs at least 2 classes, got {classes}");
        Self { classes, sums: vec![0.0; rows * classes] }
    }

    /// The memory that [`sums`](Self::sums) came from.
    ///
    /// # Errors
    /// Another number of values than rows × classes; a value that no memory holds.
    pub fn from_sums(sums: Vec<f32>, rows: usize, classes: usize) -> Result<Self> {
        same_length("remembered answers", rows.saturating_mul(classes), sums.len())?;
        match sums.iter().position(|sum| !(0.0..=1.0).contains(sum)) {
            Some(place) => {
                Err(Error::value("remembered answer", "in [0, 1]", sums[place]).at(format!("value {place}")))
            }
            None => Ok(Self { classes, sums }),
        }
    }

    /// What a checkpoint must hold: `[N][K]` decaying sums of answers.
    pub fn sums(&self) -> &[f32] {
        &self.sums
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.sums.len() / self.classes
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// `m ← β m + (1 − β) p`, with p kept off 0 and summing to 1.
    ///
    /// # Panics
    /// If the row or the number of probabilities doesn't fit.
    pub fn remember(&mut self, row: usize, answer: &[f32], beta: f32) {
        assert_eq!(answer.len(), self.classes, "one probability per class");
        let total: f32 = answer.iter().map(|&p| p.max(LEAST)).sum();
        let sums = &mut self.sums[row * self.classes..(row + 1) * self.classes];
        sums.iter_mut().zip(answer).for_each(|(sum, &p)| *sum = beta * *sum + (1.0 - beta) * p.max(LEAST) / total);
    }

    /// t: the remembered answer of a row, summing to 1; all classes alike for a row that was never seen.
    ///
    /// # Panics
    /// If the row or the number of classes doesn't fit.
    pub fn answer(&self, row: usize, out: &mut [f32]) {
        let sums = &self.sums[row * self.classes..(row + 1) * self.classes];
        let total: f32 = sums.iter().sum();
        let even = 1.0 / self.classes as f32;
        out.copy_from_slice(sums);
        out.iter_mut().for_each(|t| *t = if total > 0.0 { *t / total } else { even });
    }

    /// How labels are mistaken: the labels of the surest `part` of the rows that are remembered as each class, counted.
    ///
    /// Every class starts with one row whose label is right, so that a class that nothing is remembered as keeps its labels, and
    /// with one row spread over all labels, so that no mistake is impossible.
    ///
    /// # Errors
    /// Another number of labels than rows, or a label outside 0..K.
    pub fn mistakes(&self, given: &[Label], part: f64) -> Result<Mistakes> {
        let k = self.classes;
        same_length("labels", self.rows(), given.len())?;
        check_labels("label", given, k)?;
        let mut remembered: Vec<Vec<(f32, usize)>> = vec![Vec::new(); k];
        let mut answer = vec![0.0; k];
        for row in 0..given.len() {
            self.answer(row, &mut answer);
            let best = (1..k).fold(0, |best, class| if answer[class] > answer[best] { class } else { best });
            remembered[best].push((answer[best], row));
        }
        let mut matrix = vec![1.0 / k as f32; k * k];
        for (class, mut rows) in remembered.into_iter().enumerate() {
            let counted = (part * rows.len() as f64).ceil() as usize;
            rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let counts = &mut matrix[class * k..(class + 1) * k];
            counts[class] += 1.0;
            rows[..counted.min(rows.len())].iter().for_each(|&(_, row)| counts[given[row] as usize] += 1.0);
            let total: f32 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count /= total);
        }
        Ok(Mistakes { classes: k, matrix })
    }
}

impl Mistakes {
    /// `T[true][given]`.
    pub fn at(&self, truth: usize, given: usize) -> f32 {
        self.matrix[truth * self.classes + given]
    }

    /// `q(c) ∝ t(c)^γ T[c][y]`: turns a remembered answer into what is believed about the row's true class.
    ///
    /// ```
    /// use tares_core::memory::Memory;
    /// // 90 rows whose label the memory repeats, 10 where it is sure of the other class.
    /// let mut memory = Memory::new(100, 2);
    /// (0..100).for_each(|row| memory.remember(row, &[0.9, 0.1], 0.0));
    /// let given: Vec<u32> = (0..100).map(|row| u32::from(row >= 90)).collect();
    /// let mistakes = memory.mistakes(&given, 1.0)?;
    /// let mut belief = [0.9, 0.1];
    /// mistakes.believe(&mut belief, 1, 2.0);
    /// // 0.81 · T[0][1] against 0.01 · T[1][1]
    /// assert!(belief[0] > 0.85);
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the number of classes doesn't fit.
    pub fn believe(&self, answer: &mut [f32], given: Label, sharpness: f32) {
        assert_eq!(answer.len(), self.classes, "one probability per class");
        let largest = answer.iter().fold(LEAST, |largest, &t| largest.max(t));
        for (class, t) in answer.iter_mut().enumerate() {
            let likely = t.max(LEAST) / largest;
            let sharp = if sharpness == 2.0 { likely * likely } else { likely.powf(sharpness) };
            *t = sharp * self.at(class, given as usize);
        }
        let total: f32 = answer.iter().sum();
        answer.iter_mut().for_each(|q| *q /= total);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows remembered as these answers.
    fn memory(answers: &[[f32; 2]]) -> Memory {
        let mut memory = Memory::new(answers.len(), 2);
        answers.iter().enumerate().for_each(|(row, answer)| memory.remember(row, answer, 0.0));
        memory
    }

    #[test]
    fn mistakes_are_counted_where_the_memory_is_sure() {
        // Class 0: two sure rows with label 0, two unsure rows with label 1. Class 1: both rows have label 0.
        let memory = memory(&[[0.9, 0.1], [0.6, 0.4], [0.95, 0.05], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8]]);
        let given = [0, 1, 0, 1, 0, 0];
        let sure = memory.mistakes(&given, 0.5).unwrap();
        // One right row and half a row per label to begin with: (1 + 0.5 + 2) / 4 and 0.5 / 4.
        assert_eq!([sure.at(0, 0), sure.at(0, 1)], [0.875, 0.125]);
        assert_eq!([sure.at(1, 0), sure.at(1, 1)], [0.5, 0.5]);
        let all = memory.mistakes(&given, 1.0).unwrap();
        assert!((all.at(0, 0) - 3.5 / 6.0).abs() < 1e-6 && (all.at(1, 0) - 2.5 / 4.0).abs() < 1e-6);
    }

    #[test]
    fn a_label_is_given_up_when_the_memory_outweighs_it() {
        let mistakes = Mistakes { classes: 2, matrix: vec![0.9, 0.1, 0.1, 0.9] };
        // The label gives way where (t_0 / t_1)² > 0.9 / 0.1, that is beyond t_0 = 0.75.
        for (answer, wrong) in [([0.74, 0.26], false), ([0.76, 0.24], true)] {
            let mut belief = answer;
            mistakes.believe(&mut belief, 1, 2.0);
            assert_eq!(belief[1] < 0.5, wrong, "{answer:?}: {belief:?}");
            let mut slower = answer;
            mistakes.believe(&mut slower, 1, 1.0);
            assert!(slower[1] > 0.5, "with γ = 1 it takes t_0 = 0.9");
        }
    }

    #[test]
    fn with_right_labels_the_belief_is_the_label() {
        let rows: Vec<[f32; 2]> = (0..1000).map(|row| if row % 2 == 0 { [0.97, 0.03] } else { [0.03, 0.97] }).collect();
        let given: Vec<Label> = (0..1000).map(|row| row % 2).collect();
        let mistakes = memory(&rows).mistakes(&given, 0.5).unwrap();
        let mut hard = [0.8, 0.2];
        mistakes.believe(&mut hard, 1, 2.0);
        assert!(hard[1] > 0.95, "{hard:?}");
    }

    #[test]
    fn beliefs_sum_to_one_whatever_was_answered() {
        let mistakes = memory(&[[1.0, 0.0], [0.0, 1.0]]).mistakes(&[0, 1], 0.5).unwrap();
        for answer in [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [1e-30, 1e-30]] {
            for sharpness in [1.0, 2.0, 50.0] {
                let mut belief = answer;
                mistakes.believe(&mut belief, 0, sharpness);
                assert!((belief[0] + belief[1] - 1.0).abs() < 1e-6 && belief[0] >= 0.0, "{answer:?}: {belief:?}");
            }
        }
    }

    #[test]
    fn a_class_that_nothing_is_remembered_as_keeps_its_labels() {
        let mistakes = memory(&[[0.9, 0.1]; 4]).mistakes(&[0, 0, 0, 1], 1.0).unwrap();
        assert_eq!(mistakes.at(1, 1), 0.75);
        assert_eq!(Memory::new(3, 2).mistakes(&[1, 1, 1], 1.0).unwrap().at(1, 1), 0.75);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let said = |result: Result<Memory>| result.unwrap_err().to_string();
        assert!(said(Memory::from_sums(vec![0.0; 5], 2, 2)).contains("remembered answers"));
        assert!(said(Memory::from_sums(vec![0.0, f32::NAN], 1, 2)).contains("must be in [0, 1], got NaN"));
        assert!(Memory::new(2, 2).mistakes(&[0], 0.5).is_err());
        assert!(Memory::new(2, 2).mistakes(&[0, 2], 0.5).is_err());
    }
}
