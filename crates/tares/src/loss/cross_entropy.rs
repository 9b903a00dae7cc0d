//! Cross-entropy, from labels or from soft targets.

use super::margin::at_target;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// `−log p_y` with `p = softmax(t)`, per sample.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
pub fn cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    -log_probability(logits, targets)
}

/// `−Σ_k q_k log p_k`, per sample, for targets that are distributions.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch, K]` with rows that sum to 1 → `[batch]`.
pub fn soft_cross_entropy(logits: Tensor<2>, targets: Tensor<2>) -> Tensor<1> {
    let [batch, _] = logits.dims();
    -(log_softmax(logits, 1) * targets).sum_dim(1).reshape([batch])
}

/// `log p_y`, per sample.
pub(crate) fn log_probability(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    at_target(log_softmax(logits, 1), targets)
}
