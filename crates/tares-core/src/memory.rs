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
//! T is counted on the rows where the memory is sure, because hard rows look like rows with wrong labels. But a network that has begun
//! to memorise agrees with wrong labels, and then T finds too few mistakes: with two classes and 40 % of wrong labels this ruins
//! everything. So the labels of some rows stay hidden from the network at first. What it answers there is not memorised:
//!
//! ```text
//! memorised   (v − h) / (v − chance)     v, h: the mean of t_i(y_i) over visible and hidden rows; chance = Σ_y share(y)²
//! known       (u − chance) / (s − chance), (u − chance) / (1 − chance)    s, u: how often answers agree with hidden labels, on the
//!             surer half of them and on the rest
//! rate        T[c][y] · D / d                c ≠ y;  D, d: how often sure answers differ from the label, on hidden rows then and on all now
//! ```
//! The first tells that believing all labels does harm, the third how often they are wrong. The second tells whether disagreement can be
//! trusted at all: wrong labels are as frequent where the network is sure as where it isn't, but a network that knows little about hard
//! data disagrees with right labels too, and most where it is least sure. Its answers must not replace any label.
//!
//! γ = 1 is the posterior of a calibrated memory, but a network that can memorise every label confirms the label in the end. With γ > 1, a belief that beats the
//! label grows from epoch to epoch, and so do the mistakes of a poor memory. So γ is 1 while the memory is young and rises later.

mod hidden;
mod mistakes;

pub use hidden::{Known, Memorised};
pub use mistakes::Mistakes;

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

    /// How often the label differs from what is remembered, on the surest `part` of those of the `rows` that are remembered as each class.
    ///
    /// It starts with half a mistake in one row, so that it is never 0.
    ///
    /// # Errors
    /// Another number of labels than rows, or a label outside 0..K.
    ///
    /// # Panics
    /// If a row is outside 0..N.
    pub fn disagreement(&self, given: &[Label], rows: impl IntoIterator<Item = usize>, part: f64) -> Result<f64> {
        let (mut wrong, mut counted) = (0.5, 1.0);
        for (class, sure) in self.surest(given, rows, part)?.iter().enumerate() {
            wrong += sure.iter().filter(|&&row| given[row] as usize != class).count() as f64;
            counted += sure.len() as f64;
        }
        Ok(wrong / counted)
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
        let mut matrix = vec![1.0 / k as f32; k * k];
        for (class, sure) in self.surest(given, 0..self.rows(), part)?.into_iter().enumerate() {
            let counts = &mut matrix[class * k..(class + 1) * k];
            counts[class] += 1.0;
            sure.into_iter().for_each(|row| counts[given[row] as usize] += 1.0);
            let total: f32 = counts.iter().sum();
            counts.iter_mut().for_each(|count| *count /= total);
        }
        Ok(Mistakes { classes: k, matrix })
    }

    /// The surest `part` of those of the `rows` that are remembered as each class.
    fn surest(&self, given: &[Label], rows: impl IntoIterator<Item = usize>, part: f64) -> Result<Vec<Vec<usize>>> {
        let k = self.classes;
        same_length("labels", self.rows(), given.len())?;
        check_labels("label", given, k)?;
        let mut remembered: Vec<Vec<(f32, usize)>> = vec![Vec::new(); k];
        let mut answer = vec![0.0; k];
        for row in rows {
            self.answer(row, &mut answer);
            let best = (1..k).fold(0, |best, class| if answer[class] > answer[best] { class } else { best });
            remembered[best].push((answer[best], row));
        }
        let sure = remembered.into_iter().map(|mut rows| {
            let counted = (part * rows.len() as f64).ceil() as usize;
            rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            rows.into_iter().take(counted).map(|(_, row)| row).collect()
        });
        Ok(sure.collect())
    }
}

#[cfg(test)]
mod tests;
