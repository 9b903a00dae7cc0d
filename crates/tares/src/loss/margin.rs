//! The multi-class margin, on which all base losses but cross-entropy's family stand.

use burn::tensor::{Int, Tensor};

/// `u = t_y − max_{i≠y} t_i`, per sample. Negative: misclassified.
///
/// # Shapes
/// logits `[batch, K]`, targets `[batch]` in 0..K → `[batch]`.
pub fn margin(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let own = at_target(logits.clone(), targets.clone());
    own - best_rival(logits, targets)
}

/// `t_y`, per sample.
pub(crate) fn at_target(values: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let [batch, _] = values.dims();
    values.gather(1, targets.reshape([batch, 1])).reshape([batch])
}

/// `max_{i≠y} t_i`, per sample.
fn best_rival(logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
    let [batch, classes] = logits.dims();
    let numbers = Tensor::<1, Int>::arange(0..classes as i64, &targets.device()).reshape([1, classes]);
    let own = numbers.expand([batch, classes]).equal(targets.reshape([batch, 1]).expand([batch, classes]));
    logits.mask_fill(own, f32::NEG_INFINITY).max_dim(1).reshape([batch])
}
