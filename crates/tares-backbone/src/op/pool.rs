//! Pooling over windows, and over whole planes.

use super::window::{Window, plane_size};
use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::Tensor;

pub(super) fn max_pool(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    windows(node, inputs, |values, _| values.iter().copied().fold(f32::NEG_INFINITY, f32::max))
}

pub(super) fn average_pool(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let padding_counts = node.integer("count_include_pad").unwrap_or(0) == 1;
    windows(node, inputs, |values, window| {
        let count = if padding_counts { window } else { values.len() };
        values.iter().sum::<f32>() / count.max(1) as f32
    })
}

/// `of(values inside the plane, size of the window)`.
fn windows(node: &Node, inputs: &Inputs<'_>, of: impl Fn(&[f32], usize) -> f32) -> OpResult {
    let input = inputs.tensor(0)?;
    let &[1, channels, height, width] = &input.shape[..] else {
        return Err(format!("needs one picture [1, C, H, W], got {:?}", input.shape));
    };
    let Some(&[fh, fw]) = node.integers("kernel_shape") else {
        return Err("needs a window of height and width".into());
    };
    let filter = (usize::try_from(fh).unwrap_or(0), usize::try_from(fw).unwrap_or(0));
    let window = Window::of(node, (height, width), filter)?;
    let (rows, columns) = window.out;
    plane_size(rows, columns)?;
    let mut out = Vec::with_capacity(channels * rows * columns);
    let mut values = Vec::with_capacity(filter.0 * filter.1);
    for plane in input.as_floats()?.chunks_exact((height * width).max(1)) {
        for row in 0..rows {
            for column in 0..columns {
                values.clear();
                for ky in 0..filter.0 {
                    let line = window.line(plane, row * window.strides.0 + ky * window.dilations.0);
                    let Some(line) = line else { continue };
                    let places = (0..filter.1).map(|kx| column * window.strides.1 + kx * window.dilations.1);
                    values.extend(places.filter_map(|padded| line.get(padded.checked_sub(window.pads.1)?)));
                }
                out.push(of(&values, filter.0 * filter.1));
            }
        }
    }
    one(Tensor::floats(vec![1, channels, rows, columns], out))
}

/// The mean of every plane.
pub(super) fn global_average(inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    if input.shape.len() < 3 {
        return Err(format!("needs planes, got {:?}", input.shape));
    }
    let plane: usize = input.shape[2..].iter().product();
    let means = input.as_floats()?.chunks_exact(plane.max(1)).map(mean).collect();
    let mut shape = input.shape.clone();
    shape[2..].fill(1);
    one(Tensor::floats(shape, means))
}

fn mean(values: &[f32]) -> f32 {
    (values.iter().map(|&value| f64::from(value)).sum::<f64>() / values.len() as f64) as f32
}
