//! The log-loss on scores: slopes for every output.
//!
//! M scores per row: one per class, or with two classes a single score s whose logits are (0, s).

use super::histogram::Slope;
use crate::softmax::normalise;
use rayon::prelude::*;
use tares_core::Label;

/// M for K classes.
pub(crate) fn outputs(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// The K logits of a row's M scores.
pub(crate) fn to_logits(scores: &[f64], logits: &mut [f64]) {
    match scores {
        [score] => logits.copy_from_slice(&[0.0, *score]),
        _ => logits.copy_from_slice(scores),
    }
}

/// N × K log-probabilities of N × M scores.
pub(crate) fn log_probs(scores: &[f64], classes: usize) -> Vec<f64> {
    let outputs = outputs(classes);
    let mut all = vec![0.0; scores.len() / outputs * classes];
    all.par_chunks_mut(classes).with_min_len(1024).zip(scores.par_chunks(outputs)).for_each(|(row, scores)| {
        to_logits(scores, row);
        normalise(row);
    });
    all
}

/// w (p − 1(k = y)) and w p (1 − p).
pub(crate) fn slopes(
    scores: &[f64],
    labels: &[Label],
    classes: usize,
    weight: impl Fn(usize) -> f64 + Sync,
) -> Vec<Slope> {
    let outputs = outputs(classes);
    let mut slopes = vec![Slope::default(); scores.len()];
    slopes.par_chunks_mut(outputs).with_min_len(1024).zip(scores.par_chunks(outputs)).enumerate().for_each(
        |(row, (slopes, scores))| {
            let (label, weight) = (labels[row] as usize, weight(row));
            if let ([slope], [score]) = (&mut *slopes, scores) {
                let p = 1.0 / (1.0 + (-score).exp());
                *slope = Slope { gradient: weight * (p - label as f64), hessian: weight * p * (1.0 - p) };
                return;
            }
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = scores.iter().map(|score| (score - top).exp()).sum();
            for (class, (slope, score)) in slopes.iter_mut().zip(scores).enumerate() {
                let p = (score - top).exp() / total;
                let own = f64::from(u8::from(class == label));
                *slope = Slope { gradient: weight * (p - own), hessian: weight * p * (1.0 - p) };
            }
        },
    );
    slopes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::softmax::log_loss;
    use tares_core::stream;

    #[test]
    fn slopes_equal_finite_differences() {
        for (seed, classes) in [(1, 2), (2, 3), (3, 7)] {
            let mut draw = stream(seed, "test");
            let m = outputs(classes);
            let labels: Vec<Label> = (0..20).map(|_| draw.below(classes) as Label).collect();
            let scores: Vec<f64> = (0..20 * m).map(|_| 3.0 * draw.normal()).collect();
            let weights: Vec<f64> = (0..20).map(|_| 0.5 + draw.unit()).collect();
            let total: f64 = weights.iter().sum();
            let found = slopes(&scores, &labels, classes, |row| weights[row]);
            let value =
                |scores: &[f64]| total * log_loss(&log_probs(scores, classes), &labels, classes, |row| weights[row]);
            for place in 0..scores.len() {
                let at = |step: f64| {
                    let mut moved = scores.clone();
                    moved[place] += step;
                    value(&moved)
                };
                let first = (at(1e-4) - at(-1e-4)) / 2e-4;
                let second = (at(1e-3) - 2.0 * at(0.0) + at(-1e-3)) / 1e-6;
                assert!((first - found[place].gradient).abs() < 1e-6, "seed {seed}, {place}");
                assert!((second - found[place].hessian).abs() < 1e-4, "seed {seed}, {place}");
            }
        }
    }

    #[test]
    fn enormous_scores_have_finite_slopes() {
        for classes in [2, 4] {
            let m = outputs(classes);
            let scores: Vec<f64> = (0..2 * m).map(|place| if place % 2 == 0 { 1e4 } else { -1e4 }).collect();
            let all = slopes(&scores, &[0, 1], classes, |_| 1.0);
            assert!(all.iter().all(|slope| slope.gradient.is_finite() && slope.hessian.is_finite()));
            assert!(log_probs(&scores, classes).iter().all(|p| p.is_finite()));
        }
    }
}
