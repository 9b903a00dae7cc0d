//! What is believed of a row before any annotator is heard.
//!
//! Without a classifier: the share of each class. With one: its out-of-sample probabilities p, made sharper or blunter,
//!
//! ```text
//! b_z(x) = p_z(x)^c / Σ_k p_k(x)^c
//! ```
//!
//! with the sharpness c that makes the answers likeliest. A classifier that is too sure of itself gets c < 1 and does not outvote
//! people who agree.

use rayon::prelude::*;

/// Rows per task; sums over tasks are added in order, so they do not depend on the number of threads.
pub(super) const TASK_ROWS: usize = 1024;
/// Probabilities below this count as this: no classifier is that sure.
const LEAST_PROBABILITY: f64 = 1e-3;
const SHARPNESSES: (f64, f64) = (0.05, 3.0);
const NEWTON_STEPS: usize = 4;
const HALVINGS: usize = 6;
/// A step of EM ends its search for the sharpness after a change of less than this part; the next step continues it.
const NEAR: f64 = 0.01;

/// What is believed of a row before any annotator is heard.
pub(super) enum Belief {
    /// The logarithm of each class's share, and the pseudo-count of rows in each class.
    Shares { logs: Vec<f64>, prior: f64 },
    /// A classifier.
    Classifier {
        /// ln p, `[row][class]`.
        logs: Vec<f64>,
        /// c.
        sharpness: f64,
        /// ln b at this sharpness, `[row][class]`.
        beliefs: Vec<f64>,
    },
}

impl Belief {
    pub(super) fn shares(classes: usize, prior: f64) -> Self {
        Self::Shares { logs: vec![-(classes as f64).ln(); classes], prior }
    }

    /// From probabilities `[row][class]`, made as sharp as is said.
    pub(super) fn classifier(probabilities: &[f64], classes: usize, sharpness: f64) -> Self {
        let logs: Vec<f64> = probabilities.par_iter().map(|part| part.max(LEAST_PROBABILITY).ln()).collect();
        let beliefs = sharpened(&logs, classes, sharpness);
        Self::Classifier { logs, sharpness, beliefs }
    }

    /// c, if there is a classifier.
    pub(super) fn sharpness(&self) -> Option<f64> {
        match self {
            Self::Shares { .. } => None,
            Self::Classifier { sharpness, .. } => Some(*sharpness),
        }
    }

    /// Writes ln b of one row.
    pub(super) fn of_row(&self, row: usize, out: &mut [f64]) {
        match self {
            Self::Shares { logs, .. } => out.copy_from_slice(logs),
            Self::Classifier { beliefs, .. } => out.copy_from_slice(&beliefs[row * out.len()..][..out.len()]),
        }
    }

    /// M-step: the class shares; the sharpness too if `thorough`, which takes longer. Returns the log density of its prior, up to a
    /// constant.
    pub(super) fn fit(&mut self, posterior: &[f64], classes: usize, thorough: bool) -> f64 {
        match self {
            Self::Shares { logs, prior } => {
                let mut counts = vec![*prior; classes];
                for row in posterior.chunks_exact(classes) {
                    counts.iter_mut().zip(row).for_each(|(count, part)| *count += part);
                }
                let all: f64 = counts.iter().sum();
                logs.iter_mut().zip(&counts).for_each(|(log, count)| *log = (count / all).ln());
                logs.iter().map(|log| *prior * log).sum()
            }
            Self::Classifier { .. } if !thorough => 0.0,
            Self::Classifier { logs, sharpness, beliefs } => {
                *sharpness = likeliest_sharpness(logs, posterior, classes, *sharpness, NEAR);
                *beliefs = sharpened(logs, classes, *sharpness);
                0.0
            }
        }
    }
}

/// ln b of every row.
fn sharpened(logs: &[f64], classes: usize, sharpness: f64) -> Vec<f64> {
    let mut beliefs = vec![0.0; logs.len()];
    beliefs.par_chunks_exact_mut(classes).zip(logs.par_chunks_exact(classes)).for_each(|(out, logs)| {
        out.iter_mut().zip(logs).for_each(|(out, log)| *out = sharpness * log);
        let total = log_sum_exp(out);
        out.iter_mut().for_each(|out| *out -= total);
    });
    beliefs
}

/// Newton's method on Σ q_z ln b_z, which is concave in c; a step that goes too far is halved.
fn likeliest_sharpness(logs: &[f64], posterior: &[f64], classes: usize, start: f64, near: f64) -> f64 {
    let mut here = (start, Slope::at(start, logs, posterior, classes));
    for _ in 0..NEWTON_STEPS {
        let (sharpness, slope) = here;
        let mut step = slope.first / slope.curvature.max(1e-9);
        let better = (0..HALVINGS).find_map(|_| {
            let next = (sharpness + step).clamp(SHARPNESSES.0, SHARPNESSES.1);
            step /= 2.0;
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
#[derive(Clone, Copy)]
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
                let mut sum = Self { value: 0.0, first: 0.0, curvature: 0.0 };
                let mut scaled = vec![0.0; classes];
                for (logs, posterior) in logs.chunks_exact(classes).zip(posterior.chunks_exact(classes)) {
                    scaled.iter_mut().zip(logs).for_each(|(out, log)| *out = sharpness * log);
                    let total = log_sum_exp(&scaled);
                    let (mut mean, mut square) = (0.0, 0.0);
                    for ((scaled, log), part) in scaled.iter().zip(logs).zip(posterior) {
                        let belief = (scaled - total).exp();
                        mean += belief * log;
                        square += belief * log * log;
                        sum.value += part * (scaled - total);
                        sum.first += part * log;
                    }
                    sum.first -= mean;
                    sum.curvature += square - mean * mean;
                }
                sum
            })
            .collect();
        parts.iter().fold(Self { value: 0.0, first: 0.0, curvature: 0.0 }, |sum, part| Self {
            value: sum.value + part.value,
            first: sum.first + part.first,
            curvature: sum.curvature + part.curvature,
        })
    }
}

/// ln Σ exp, without overflow.
pub(super) fn log_sum_exp(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream;

    #[test]
    fn the_sharpness_is_where_the_slope_is_zero() {
        let mut draw = stream(3, "test");
        let (rows, classes) = (500, 3);
        let mut logs = Vec::new();
        let mut posterior = Vec::new();
        for _ in 0..rows {
            let row: Vec<f64> = (0..classes).map(|_| draw.normal()).collect();
            let total = log_sum_exp(&row);
            logs.extend(row.iter().map(|log| log - total));
            // Labels drawn from p^0.4.
            let weights: Vec<f64> = row.iter().map(|log| (0.4 * log).exp()).collect();
            let label = draw.weighted(&weights);
            posterior.extend((0..classes).map(|class| f64::from(u8::from(class == label))));
        }
        let sharpness = likeliest_sharpness(&logs, &posterior, classes, 1.0, 1e-6);
        assert!((sharpness - 0.4).abs() < 0.15, "{sharpness}");
        assert!(Slope::at(sharpness, &logs, &posterior, classes).first.abs() < 1e-3);
        let (low, high) =
            (Slope::at(0.3, &logs, &posterior, classes), Slope::at(0.3 + 1e-5, &logs, &posterior, classes));
        assert!(((high.value - low.value) / 1e-5 - low.first).abs() < 1e-2 * low.first.abs().max(1.0));
        assert!(((low.first - high.first) / 1e-5 - low.curvature).abs() < 1e-2 * low.curvature);
    }
}
