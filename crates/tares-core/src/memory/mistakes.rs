//! How labels are mistaken, and what a remembered answer and a label say together.

use super::LEAST;
use crate::dataset::Label;

/// `T[true][given]`: how labels are mistaken, as far as a memory can tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Mistakes {
    pub(super) classes: usize,
    /// `[true][given]`, rows sum to 1.
    pub(super) matrix: Vec<f32>,
}

impl Mistakes {
    /// `T[true][given]`.
    pub fn at(&self, truth: usize, given: usize) -> f32 {
        self.matrix[truth * self.classes + given]
    }

    /// The same mistakes, each `factor` times as often, but never so often that a label says less than a guess: a label stays right in at
    /// least 1/K of the cases, or in as many as before.
    pub fn times(mut self, factor: f64) -> Self {
        let k = self.classes;
        for (class, row) in self.matrix.chunks_exact_mut(k).enumerate() {
            let wrong = f64::from(1.0 - row[class]);
            if wrong > 0.0 {
                let times = (wrong * factor).min(wrong.max(1.0 - 1.0 / k as f64));
                row.iter_mut().for_each(|share| *share *= (times / wrong) as f32);
                row[class] = (1.0 - times) as f32;
            }
        }
        self
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
