//! The hard hinge and two relatives: squared and truncated.

use super::margin::margin;
use burn::tensor::activation::relu;
use burn::tensor::{Int, Tensor};

/// Hard hinge `H = max(1 − u, 0)` with the margin `u = t_y − max_{i≠y} t_i`, per sample.
///
/// Exactly zero, with zero gradient, once `u ≥ 1`.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// let device = Device::flex();
/// let logits = Tensor::<2>::from_floats([[1.0, 0.5, 0.0], [0.0, 2.0, 0.0]], &device);
/// let loss = tares::loss::hinge(logits, Tensor::<1, Int>::from_ints([0, 0], &device));
/// assert_eq!(loss.into_data().try_to_vec::<f32>().unwrap(), [0.5, 3.0]);
/// ```
pub fn hinge(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    hinge_of(margin(logits, targets))
}

/// `H²`, per sample.
pub fn squared_hinge(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    squared_hinge_of(margin(logits, targets))
}

/// `min(H, cap)`, per sample; a `cap` of at least 1 keeps it above the 0–1 loss.
pub fn truncated_hinge(logits: Tensor<2>, targets: Tensor<1, Int>, cap: f64) -> Tensor<1> {
    truncated_hinge_of(margin(logits, targets), cap)
}

/// The hinge of margins.
pub(crate) fn hinge_of(margin: Tensor<1>) -> Tensor<1> {
    relu(-margin + 1.0)
}

pub(crate) fn squared_hinge_of(margin: Tensor<1>) -> Tensor<1> {
    let hinge = hinge_of(margin);
    hinge.clone() * hinge
}

pub(crate) fn truncated_hinge_of(margin: Tensor<1>, cap: f64) -> Tensor<1> {
    capped(hinge_of(margin), cap)
}

/// `min(loss, cap)` without gradient from `cap` on, the kink included.
pub(crate) fn capped(loss: Tensor<1>, cap: f64) -> Tensor<1> {
    let flat = loss.clone().greater_equal_scalar(cap);
    loss.mask_fill(flat, cap)
}
