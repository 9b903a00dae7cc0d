//! Temperature scaling (Guo et al. 2017): one number that makes the confidence of out-of-fold probabilities match their accuracy.

use crate::error::{Result, same_length, value};
use crate::softmax::{log_loss, normalise};
use tares_core::Label;

/// The range of temperatures; a judge that is always right, or never, gets one of its ends.
const RANGE: (f64, f64) = (0.05, 20.0);

/// The temperature T for which softmax(logits / T) has the least log-loss. `logits`: N × K, out-of-fold; log-probabilities are
/// logits too.
///
/// The log-loss is convex in 1/T: bisection finds where its slope is 0.
///
/// ```
/// use tares_judges::calibrate::temperature;
/// // Sure of everything by odds of e⁴, right three times out of four: too sure.
/// let logits = [4.0, 0.0, 4.0, 0.0, 4.0, 0.0, 4.0, 0.0];
/// let t = temperature(&logits, &[0, 0, 0, 1], 2)?;
/// assert!((t - 4.0 / 3f64.ln()).abs() < 1e-6);
/// # Ok::<(), tares_judges::Error>(())
/// ```
///
/// # Errors
/// Fewer than two classes; lengths that differ; labels outside 0..K; logits that are not finite.
pub fn temperature(logits: &[f64], labels: &[Label], classes: usize) -> Result<f64> {
    if classes < 2 {
        return Err(value("number of classes", "at least 2", classes));
    }
    same_length("logits", labels.len().saturating_mul(classes), logits.len())?;
    if let Some(row) = labels.iter().position(|&label| label as usize >= classes) {
        return Err(value("label", format!("in 0..{classes}"), labels[row]));
    }
    if let Some(logit) = logits.iter().find(|logit| !logit.is_finite()) {
        return Err(value("logit", "finite", logit));
    }
    let (mut low, mut high) = (1.0 / RANGE.1, 1.0 / RANGE.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if slope(logits, labels, classes, middle) < 0.0 { low = middle } else { high = middle }
    }
    Ok(2.0 / (low + high))
}

/// The derivative of the log-loss by the inverse temperature: Σ (E_p[t] − t_y).
fn slope(logits: &[f64], labels: &[Label], classes: usize, inverse: f64) -> f64 {
    let mut slope = 0.0;
    for (row, &label) in logits.chunks_exact(classes).zip(labels) {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut total, mut mean) = (0.0, 0.0);
        for &logit in row {
            let p = (inverse * (logit - top)).exp();
            total += p;
            mean += p * logit;
        }
        slope += mean / total - row[label as usize];
    }
    slope
}

/// Log-probabilities at another temperature, in place.
pub fn apply(log_probs: &mut [f64], classes: usize, temperature: f64) {
    for row in log_probs.chunks_exact_mut(classes) {
        row.iter_mut().for_each(|logit| *logit /= temperature);
        normalise(row);
    }
}

/// The log-loss that is left at the best temperature.
///
/// # Errors
/// As [`temperature`].
pub(crate) fn loss(logits: &[f64], labels: &[Label], classes: usize, weight: impl Fn(usize) -> f64) -> Result<f64> {
    let mut calibrated = logits.to_vec();
    apply(&mut calibrated, classes, temperature(logits, labels, classes)?);
    Ok(log_loss(&calibrated, labels, classes, weight))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    #[test]
    fn no_other_temperature_has_a_smaller_log_loss() {
        for seed in 0..10 {
            let mut draw = stream(seed, "test");
            let labels: Vec<Label> = (0..200).map(|_| draw.below(3) as Label).collect();
            let mut logits: Vec<f64> = (0..600).map(|_| 2.0 * draw.normal()).collect();
            labels.iter().enumerate().for_each(|(row, &label)| logits[3 * row + label as usize] += 1.0);
            let best = temperature(&logits, &labels, 3).unwrap();
            let loss = |t: f64| {
                let mut scaled = logits.clone();
                apply(&mut scaled, 3, t);
                log_loss(&scaled, &labels, 3, |_| 1.0)
            };
            assert!([0.9, 0.99, 1.01, 1.1].iter().all(|by| loss(by * best) > loss(best)), "seed {seed}: {best}");
        }
    }

    #[test]
    fn judges_that_are_always_right_or_useless_have_a_finite_temperature() {
        assert!((temperature(&[1.0, 0.0], &[0], 2).unwrap() - 0.05).abs() < 1e-6);
        assert!((temperature(&[0.0, 1.0], &[0], 2).unwrap() - 20.0).abs() < 1e-6);
        assert!(temperature(&[0.0, 0.0], &[1], 2).unwrap().is_finite());
    }
}
