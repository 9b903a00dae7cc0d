//! How a classifier's probabilities p are understood: [`Calibration`].
//!
//! ```text
//! b_z(x) = w_p · p_z(x)^c / Σ_k p_k(x)^c  +  w_u / K  +  w_g · G[guess of x][z]
//! ```
//!
//! The sharpness c mends a classifier that is too sure, or not sure enough, everywhere. The second part is how often it may be wrong
//! about anything: one that gives the true class next to nothing wherever it errs must not outvote people who agree. The third
//! is what is true where it guesses a class, whatever it says beside that. Weights, c and G make the answers likeliest; they are an M-step of
//! EM, with the part that a belief comes from as one more unknown.

use super::expected_matrix;
use crate::estimate::row::largest;
use rayon::prelude::*;

/// Rows per task; sums over tasks are added in order, so they do not depend on the number of threads.
const TASK_ROWS: usize = 1024;
/// Probabilities below this count as this: no classifier is that sure.
const LEAST_PROBABILITY: f64 = 1e-3;
const SHARPNESSES: (f64, f64) = (0.05, 3.0);
const NEWTON_STEPS: usize = 2;
const HALVINGS: usize = 6;
/// A step of EM ends its search for the sharpness after a change of less than this part; the next step continues it.
const NEAR: f64 = 0.01;
/// Pseudo-count of rows of every part.
const PART_PRIOR: f64 = 1.0;
/// Pseudo-count of rows per guess.
const GUESS_PRIOR: f64 = 3.0;
/// The weights before anything is fitted: mostly the probabilities themselves.
const START: [f64; PARTS] = [0.9, 0.05, 0.05];
const PARTS: usize = 3;

/// How probabilities are understood.
#[derive(Clone, Debug)]
pub(super) struct Calibration {
    /// c.
    pub(super) sharpness: f64,
    weights: [f64; PARTS],
    /// G, `[guess][true]`.
    by_guess: Vec<f64>,
    classes: usize,
}

impl Calibration {
    fn new(classes: usize) -> Self {
        Self { sharpness: 1.0, weights: START, by_guess: expected_matrix(classes, 1.0), classes }
    }

    /// b of one row of probabilities.
    pub(super) fn of_probabilities(&self, row: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(row).for_each(|(log, part)| *log = part.max(LEAST_PROBABILITY).ln());
        self.of_logs(largest(row).0, out);
    }

    /// b of one row: `out` holds ln p and gets b.
    fn of_logs(&self, guess: usize, out: &mut [f64]) {
        sharpen(self.sharpness, out);
        let by_guess = &self.by_guess[guess * self.classes..][..self.classes];
        let anything = self.weights[1] / self.classes as f64;
        for (belief, by_guess) in out.iter_mut().zip(by_guess) {
            *belief = self.weights[0] * *belief + anything + self.weights[2] * by_guess;
        }
    }

    /// The log density of the prior, up to a constant.
    pub(super) fn log_prior(&self) -> f64 {
        let weights: f64 = self.weights.iter().map(|weight| PART_PRIOR * weight.ln()).sum();
        let prior = expected_matrix(self.classes, GUESS_PRIOR);
        weights + self.by_guess.iter().zip(prior).map(|(part, prior)| prior * part.ln()).sum::<f64>()
    }
}

/// The probabilities of some rows, ready for fitting.
pub(super) struct Classifier {
    pub(super) calibration: Calibration,
    /// ln p, `[row][class]`.
    logs: Vec<f64>,
    guesses: Vec<u32>,
}

impl Classifier {
    pub(super) fn new(probabilities: &[f64], classes: usize) -> Self {
        let logs = probabilities.par_iter().map(|part| part.max(LEAST_PROBABILITY).ln()).collect();
        let guesses = probabilities.par_chunks_exact(classes).map(|row| largest(row).0 as u32).collect();
        Self { calibration: Calibration::new(classes), logs, guesses }
    }

    /// b of every row.
    pub(super) fn beliefs(&self) -> Vec<f64> {
        let mut beliefs = self.logs.clone();
        let rows = beliefs.par_chunks_exact_mut(self.calibration.classes).zip(&self.guesses);
        rows.for_each(|(out, &guess)| self.calibration.of_logs(guess as usize, out));
        beliefs
    }

    /// M-step under the posterior `[row][class]`; `beliefs` are those of now.
    pub(super) fn fit(&mut self, posterior: &[f64], beliefs: &[f64]) {
        let classes = self.calibration.classes;
        let task = TASK_ROWS * classes;
        let now = &self.calibration;
        // How much of each row's posterior comes from p itself.
        let mut from_p = vec![0.0; posterior.len()];
        let parts: Vec<([f64; PARTS], Vec<f64>)> = from_p
            .par_chunks_mut(task)
            .zip(posterior.par_chunks(task))
            .zip(beliefs.par_chunks(task).zip(self.guesses.par_chunks(TASK_ROWS)))
            .map(|((from_p, posterior), (beliefs, guesses))| {
                let (mut weights, mut by_guess) = ([0.0; PARTS], vec![0.0; classes * classes]);
                for (row, &guess) in guesses.iter().enumerate() {
                    let own = &mut by_guess[guess as usize * classes..][..classes];
                    for (class, own) in own.iter_mut().enumerate() {
                        let at = row * classes + class;
                        let share = posterior[at] / beliefs[at];
                        let anything = share * now.weights[1] / classes as f64;
                        let guessed = share * now.weights[2] * now.by_guess[guess as usize * classes + class];
                        from_p[at] = (posterior[at] - anything - guessed).max(0.0);
                        *own += guessed;
                        weights[0] += from_p[at];
                        weights[1] += anything;
                        weights[2] += guessed;
                    }
                }
                (weights, by_guess)
            })
            .collect();
        let (mut weights, mut by_guess) = ([PART_PRIOR; PARTS], expected_matrix(classes, GUESS_PRIOR));
        for (part, guessed) in parts {
            weights.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
            by_guess.iter_mut().zip(guessed).for_each(|(sum, part)| *sum += part);
        }
        super::confusion::normalise_rows(&mut weights, PARTS);
        super::confusion::normalise_rows(&mut by_guess, classes);
        let sharpness = likeliest_sharpness(&self.logs, &from_p, classes, now.sharpness, NEAR);
        self.calibration = Calibration { sharpness, weights, by_guess, classes };
    }
}

/// From ln p to p^c, normalised.
fn sharpen(sharpness: f64, row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for part in row.iter_mut() {
        *part = (sharpness * (*part - most)).exp();
        sum += *part;
    }
    row.iter_mut().for_each(|part| *part /= sum);
}

/// Newton's method on Σ q_z ln b_z for b = p^c, which is concave in c; a step that goes too far is halved.
fn likeliest_sharpness(logs: &[f64], posterior: &[f64], classes: usize, start: f64, near: f64) -> f64 {
    let mut here = (start, Slope::at(start, logs, posterior, classes));
    for _ in 0..NEWTON_STEPS {
        let (sharpness, slope) = here;
        let mut step = slope.first / slope.curvature.max(1e-9);
        let better = (0..HALVINGS).find_map(|_| {
            let next = (sharpness + step).clamp(SHARPNESSES.0, SHARPNESSES.1);
            step /= 2.0;
            if (next - sharpness).abs() < near * NEAR * sharpness {
                return None;
            }
            let there = Slope::at(next, logs, posterior, classes);
            (there.value > slope.value).then_some((next, there))
        });
        match better {
            Some(there) => here = there,
            None => break,
        }
        if (here.0 - sharpness).abs() < near * sharpness {
            break;
        }
    }
    here.0
}

/// Σ q_z ln b_z over all rows, its derivative, and its curvature with the sign turned.
#[derive(Clone, Copy, Default)]
struct Slope {
    value: f64,
    first: f64,
    curvature: f64,
}

impl Slope {
    fn at(sharpness: f64, logs: &[f64], posterior: &[f64], classes: usize) -> Self {
        let task = TASK_ROWS * classes;
        let parts: Vec<Self> = logs
            .par_chunks(task)
            .zip(posterior.par_chunks(task))
            .map(|(logs, posterior)| {
                let mut sum = Self::default();
                for (logs, posterior) in logs.chunks_exact(classes).zip(posterior.chunks_exact(classes)) {
                    sum.add_row(sharpness, logs, posterior);
                }
                sum
            })
            .collect();
        parts.iter().fold(Self::default(), |sum, part| Self {
            value: sum.value + part.value,
            first: sum.first + part.first,
            curvature: sum.curvature + part.curvature,
        })
    }

    fn add_row(&mut self, sharpness: f64, logs: &[f64], posterior: &[f64]) {
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut mean, mut square, mut all, mut said) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (log, part) in logs.iter().zip(posterior) {
            let belief = (sharpness * (log - most)).exp();
            sum += belief;
            mean += belief * log;
            square += belief * log * log;
            all += part;
            said += part * log;
        }
        let (mean, square) = (mean / sum, square / sum);
        self.value += sharpness * (said - all * most) - all * sum.ln();
        self.first += said - all * mean;
        self.curvature += all * (square - mean * mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    /// (ln p, labels drawn from p^0.4 as certain posteriors).
    fn drawn(rows: usize, classes: usize) -> (Vec<f64>, Vec<f64>) {
        let mut draw = stream(3, "test");
        let (mut logs, mut posterior) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let row: Vec<f64> = (0..classes).map(|_| draw.normal()).collect();
            let total = row.iter().map(|log| log.exp()).sum::<f64>().ln();
            logs.extend(row.iter().map(|log| log - total));
            let weights: Vec<f64> = row.iter().map(|log| (0.4 * log).exp()).collect();
            let label = draw.weighted(&weights);
            posterior.extend((0..classes).map(|class| f64::from(u8::from(class == label))));
        }
        (logs, posterior)
    }

    #[test]
    fn the_sharpness_is_where_the_slope_is_zero() {
        let classes = 3;
        let (logs, posterior) = drawn(500, classes);
        let mut sharpness = 1.0;
        (0..6).for_each(|_| sharpness = likeliest_sharpness(&logs, &posterior, classes, sharpness, 1e-6));
        assert!((sharpness - 0.4).abs() < 0.15, "{sharpness}");
        assert!(Slope::at(sharpness, &logs, &posterior, classes).first.abs() < 1e-3);
        let (low, high) =
            (Slope::at(0.3, &logs, &posterior, classes), Slope::at(0.3 + 1e-5, &logs, &posterior, classes));
        assert!(((high.value - low.value) / 1e-5 - low.first).abs() < 1e-2 * low.first.abs().max(1.0));
        assert!(((low.first - high.first) / 1e-5 - low.curvature).abs() < 1e-2 * low.curvature);
    }

    #[test]
    fn a_classifier_that_is_sure_of_wrong_classes_is_not_taken_at_its_word() {
        // Three rows of ten are wrong, and the true class then has a probability of next to nothing.
        let (rows, classes) = (600, 4);
        let (mut probabilities, mut truth) = (Vec::new(), Vec::new());
        for row in 0..rows {
            let (class, guess) =
                (row % classes, if row % 10 < 3 { (row + 1 + row / 10 % 3) % classes } else { row % classes });
            probabilities.extend((0..classes).map(|k| if k == guess { 0.997 } else { 0.001 }));
            truth.extend((0..classes).map(|k| f64::from(u8::from(k == class))));
        }
        let mut classifier = Classifier::new(&probabilities, classes);
        for _ in 0..30 {
            let beliefs = classifier.beliefs();
            classifier.fit(&truth, &beliefs);
        }
        let mut belief = vec![0.0; classes];
        classifier.calibration.of_probabilities(&probabilities[..classes], &mut belief);
        let said = largest(&probabilities[..classes]).0;
        assert!((belief[said] - 0.7).abs() < 0.08, "{belief:?}");
        assert!((belief.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
