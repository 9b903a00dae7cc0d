//! Logits → log-probabilities, and the log-loss. Rows of K numbers, row after row.

use tares_core::Label;

/// ln Σ exp(t), without overflow.
pub(crate) fn log_sum_exp(logits: &[f64]) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|logit| (logit - top).exp()).sum::<f64>().ln()
}

/// Subtracts the logarithm of the sum: logits become log-probabilities.
pub(crate) fn normalise(row: &mut [f64]) {
    let total = log_sum_exp(row);
    row.iter_mut().for_each(|logit| *logit -= total);
}

/// Mean over rows of −ln p(given), each row by its weight.
pub(crate) fn log_loss(log_probs: &[f64], labels: &[Label], classes: usize, weight: impl Fn(usize) -> f64) -> f64 {
    let (mut loss, mut total) = (0.0, 0.0);
    for (row, (log_probs, &label)) in log_probs.chunks_exact(classes).zip(labels).enumerate() {
        loss -= weight(row) * log_probs[label as usize];
        total += weight(row);
    }
    loss / total
}

/// The class with the largest value (the first of equals).
pub(crate) fn first_choice(row: &[f64]) -> usize {
    (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best })
}
