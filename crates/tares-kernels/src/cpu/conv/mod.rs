//! Which algorithm computes a convolution.

mod geometry;
mod im2col;
mod lowered;
pub(crate) mod pairs;
mod winograd;

pub(crate) use geometry::Geometry;

use crate::cpu::pool::Floats;

/// `y = conv2d(x, weight) + bias`.
pub(crate) fn forward(g: &Geometry, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Floats {
    if winograd::suits(g) { winograd::forward(g, x, weight, bias) } else { lowered::forward(g, x, weight, bias) }
}

/// Gradients with respect to `x` and `weight`, each where it is asked for.
pub(crate) fn gradients(g: &Geometry, x: &[f32], weight: &[f32], dy: &[f32], wanted: [bool; 2]) -> [Option<Floats>; 2] {
    if winograd::suits(g) {
        return winograd::gradients(g, x, weight, dy, wanted);
    }
    let dx = wanted[0].then(|| lowered::input_gradient(g, weight, dy));
    let of_weight = if pairs::suits(g) { pairs::weight_gradient } else { lowered::weight_gradient };
    [dx, wanted[1].then(|| of_weight(g, x, dy))]
}

/// Gradient with respect to `bias`.
pub(crate) fn bias_gradient(g: &Geometry, dy: &[f32]) -> Vec<f32> {
    lowered::bias_gradient(g, dy)
}
