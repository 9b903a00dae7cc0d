//! Generalised cross-entropy (Zhang & Sabuncu 2018) and its truncated form.

use super::cross_entropy::log_probability;
use super::hinge::capped;
use burn::tensor::{Int, Tensor};

/// `(1 − p_y^q) / q`, per sample, q in (0, 1]. `q → 0` is cross-entropy, `q = 1` is `1 − p_y` (half of the mean
/// absolute error).
///
/// Computed as `(1 − exp(q·log p_y)) / q`: differentiating `p_y^q` directly gives NaN once `p_y` underflows.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` → `[batch]`.
pub fn gce(logits: Tensor<2>, targets: Tensor<1, Int>, q: f64) -> Tensor<1> {
    let power = (log_probability(logits, targets) * q).exp();
    (-power + 1.0) / q
}

/// [`gce`] that stays at its value for `p_y = k` wherever `p_y ≤ k`: such samples have no gradient.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// let device = Device::flex();
/// let logits = Tensor::<2>::from_floats([[-9.0, 0.0]], &device);
/// let loss = tares::loss::truncated_gce(logits, Tensor::<1, Int>::from_ints([0], &device), 0.7, 0.5);
/// assert!((loss.into_scalar::<f32>() - (1.0 - 0.5f32.powf(0.7)) / 0.7).abs() < 1e-6);
/// ```
pub fn truncated_gce(logits: Tensor<2>, targets: Tensor<1, Int>, q: f64, k: f64) -> Tensor<1> {
    capped(gce(logits, targets, q), gce_ceiling(q, k))
}

/// `(1 − k^q) / q`: where truncated GCE stops rising.
pub fn gce_ceiling(q: f64, k: f64) -> f64 {
    (1.0 - k.powf(q)) / q
}
