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

/// The gradient with respect to the logits, into `out` (zeroed): that of the hinge, or `softmax(t) − onehot(y)`.
pub fn gradient(logits: &[f64], label: Label, best_other: usize, margin: f64, out: &mut [f64]) {
    if margin >= 0.0 {
        let slope = hinge::derivative(margin);
        out[label as usize] = slope;
        out[best_other] = -slope;
    } else {
        let total = log_sum_exp(logits);
        out.iter_mut().zip(logits).for_each(|(slope, logit)| *slope = (logit - total).exp());
        out[label as usize] -= 1.0;
    }
}

/// `log Σ e^{t_i}`, shifted by the maximum so that nothing overflows.
fn log_sum_exp(logits: &[f64]) -> f64 {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    top + logits.iter().map(|logit| (logit - top).exp()).sum::<f64>().ln()
}
