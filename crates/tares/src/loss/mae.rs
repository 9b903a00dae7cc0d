//! Mean absolute error between probabilities and the one-hot label.

use super::cross_entropy::log_probability;
use burn::tensor::{Int, Tensor};

/// `Σ_k |p_k − 1(k = y)| = 2 (1 − p_y)`, per sample.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
pub fn mae(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    (-log_probability(logits, targets).exp() + 1.0) * 2.0
}
