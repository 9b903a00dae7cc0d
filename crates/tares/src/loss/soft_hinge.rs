//! The paper's soft multi-class hinge, and its mixture with the hard one.

use super::cross_entropy::cross_entropy;
use super::hinge::hinge_of;
use super::margin::margin;
use burn::tensor::{Int, Tensor};

/// Soft hinge `S`, per sample: the hard hinge where the sample is classified right (`u ≥ 0`), and
/// `1 − t_y + logsumexp(t)` where it is not. The paper trains with it because its gradient reaches all classes.
///
/// `S ≥ H ≥ 1(u < 0)`; on misclassified samples `S` is 1 + cross-entropy.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// let device = Device::flex();
/// let logits = Tensor::<2>::from_floats([[0.0, 0.0, 0.25], [0.75, 0.0, 0.0]], &device);
/// let loss = tares::loss::soft_hinge(logits, Tensor::<1, Int>::from_ints([0, 0], &device));
/// let loss = loss.into_data().try_to_vec::<f32>().unwrap();
/// assert!((loss[0] - (1.0 + (2.0 + 0.25f32.exp()).ln())).abs() < 1e-6);
/// assert_eq!(loss[1], 0.25);
/// ```
pub fn soft_hinge(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let margin = margin(logits.clone(), targets.clone());
    soft_hinge_of(margin, logits, targets)
}

/// `F(β) = β S + (1 − β) H`, per sample, β in [0, 1].
pub fn weighted_hinge(logits: Tensor<2>, targets: Tensor<1, Int>, beta: f64) -> Tensor<1> {
    let margin = margin(logits.clone(), targets.clone());
    weighted_hinge_of(margin, logits, targets, beta)
}

/// `S` from the margin of the same logits.
pub(crate) fn soft_hinge_of(margin: Tensor<1>, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    soft_and_hard(margin, logits, targets).0
}

/// `F(β)` from the margin of the same logits.
pub(crate) fn weighted_hinge_of(margin: Tensor<1>, logits: Tensor<2>, targets: Tensor<1, Int>, beta: f64) -> Tensor<1> {
    let (soft, hard) = soft_and_hard(margin, logits, targets);
    soft * beta + hard * (1.0 - beta)
}

fn soft_and_hard(margin: Tensor<1>, logits: Tensor<2>, targets: Tensor<1, Int>) -> (Tensor<1>, Tensor<1>) {
    let wrong = margin.clone().lower_scalar(0.0);
    let hard = hinge_of(margin);
    let smooth = cross_entropy(logits, targets) + 1.0;
    (hard.clone().mask_where(wrong, smooth), hard)
}
