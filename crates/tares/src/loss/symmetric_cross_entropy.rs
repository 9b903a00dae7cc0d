//! Symmetric cross-entropy (Wang et al. 2019): cross-entropy plus its reverse.

use super::cross_entropy::log_probability;
use burn::tensor::{Int, Tensor};

/// `log 0` of the one-hot label in the reverse term, as in the authors' experiments.
const LOG_ZERO: f64 = -4.0;

/// `α·CE + β·RCE`, per sample, with the reverse cross-entropy `RCE = −Σ_k p_k log 1(k = y) = 4 (1 − p_y)`, in which
/// `log 0` counts as −4. The authors use α = 0.1, β = 1 on CIFAR-10 and α = 6, β = 0.1 on CIFAR-100.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
pub fn symmetric_cross_entropy(logits: Tensor<2>, targets: Tensor<1, Int>, alpha: f64, beta: f64) -> Tensor<1> {
    let log_p = log_probability(logits, targets);
    let reverse = (-log_p.clone().exp() + 1.0) * -LOG_ZERO;
    reverse * beta - log_p * alpha
}
