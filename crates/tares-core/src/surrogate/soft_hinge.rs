//! The paper's soft multi-class hinge (appendix "Multi-Class Extension"):
//!
//! ```text
//! S(t, y) = max(0, 1 − u)              if u ≥ 0
//!         = 1 − t_y + LogSumExp(t)     if u < 0
//! ```
//!
//! A misclassified sample gets the smooth gradient of cross-entropy; a correct one stops pulling at margin 1.
//! S ≥ H because LogSumExp exceeds the maximum.

use super::hinge;
use crate::dataset::Label;

/// S(t, y), given the margin of t.
pub fn value(logits: &[f64], label: Label, margin: f64) -> f64 {
    if margin >= 0.0 { hinge::value(margin) } else { 1.0 - logits[label as usize] + log_sum_exp(logits) }
}

/// S(t, y), and its gradient with respect to the logits in `out` (zeroed): that of the hinge, or `softmax(t) − onehot(y)`.
pub fn value_and_gradient(logits: &[f64], label: Label, best_other: usize, margin: f64, out: &mut [f64]) -> f64 {
    if margin >= 0.0 {
        let slope = hinge::derivative(margin);
        out[label as usize] = slope;
        out[best_other] = -slope;
        return hinge::value(margin);
    }
    // Every exponential is computed once: they are most of the work.
    let top = largest(logits);
    out.iter_mut().zip(logits).for_each(|(slope, logit)| *slope = (logit - top).exp());
    let total: f64 = out.iter().sum();
    out.iter_mut().for_each(|slope| *slope /= total);
    out[label as usize] -= 1.0;
    1.0 - logits[label as usize] + top + total.ln()
}

/// `log Σ e^{t_i}`, shifted by the maximum so that nothing overflows.
fn log_sum_exp(logits: &[f64]) -> f64 {
    let top = largest(logits);
    top + logits.iter().map(|logit| (logit - top).exp()).sum::<f64>().ln()
}

fn largest(logits: &[f64]) -> f64 {
    logits.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}
