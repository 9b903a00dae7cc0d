//! The paper's weighted loss: `F(t, y; β) = β S(t, y) + (1 − β) H(t, y)`, β in [0, 1]. β = 0 is the hinge, 1 the soft hinge.

use super::{hinge, soft_hinge};
use crate::dataset::Label;

/// `β S + (1 − β) H`.
pub fn value(logits: &[f64], label: Label, margin: f64, beta: f64) -> f64 {
    beta * soft_hinge::value(logits, label, margin) + (1.0 - beta) * hinge::value(margin)
}

/// `β S + (1 − β) H`, and its gradient with respect to the logits in `out` (zeroed).
pub fn value_and_gradient(
    logits: &[f64],
    label: Label,
    best_other: usize,
    margin: f64,
    beta: f64,
    out: &mut [f64],
) -> f64 {
    let soft = soft_hinge::value_and_gradient(logits, label, best_other, margin, out);
    out.iter_mut().for_each(|slope| *slope *= beta);
    let hard = (1.0 - beta) * hinge::derivative(margin);
    out[label as usize] += hard;
    out[best_other] -= hard;
    beta * soft + (1.0 - beta) * hinge::value(margin)
}
