//! Normalisation and means: operators that look at several elements together.

use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::{Tensor, axis_of, strides};

/// Batch norm with its running statistics.
pub(super) fn batch_norm(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let channels = *input.shape.get(1).ok_or("needs channels")?;
    let list = |at: usize| -> Result<&[f32], String> {
        let values = inputs.tensor(at)?.as_floats()?;
        if values.len() == channels {
            Ok(values)
        } else {
            Err(format!("needs {channels} numbers, got {}", values.len()))
        }
    };
    let (scale, bias, mean, variance) = (list(1)?, list(2)?, list(3)?, list(4)?);
    let epsilon = node.float("epsilon").unwrap_or(1e-5);
    let plane: usize = input.shape[2..].iter().product();
    let mut values = input.as_floats()?.to_vec();
    for (index, plane) in values.chunks_exact_mut(plane.max(1)).enumerate() {
        let channel = index % channels;
        let factor = scale[channel] / (variance[channel] + epsilon).sqrt();
        let shift = bias[channel] - mean[channel] * factor;
        plane.iter_mut().for_each(|value| *value = value.mul_add(factor, shift));
    }
    one(Tensor::floats(input.shape.clone(), values))
}

/// Layer norm over the last axes.
pub(super) fn layer_norm(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let axis = axis_of(node.integer("axis").unwrap_or(-1), input.shape.len())?;
    let run: usize = input.shape[axis..].iter().product();
    let scale = inputs.tensor(1)?.as_floats()?;
    let bias = inputs.optional(2).map(Tensor::as_floats).transpose()?;
    if run == 0 || scale.len() != run || bias.is_some_and(|bias| bias.len() != run) {
        return Err(format!("needs {run} scales, got {}", scale.len()));
    }
    let epsilon = f64::from(node.float("epsilon").unwrap_or(1e-5));
    let mut values = input.as_floats()?.to_vec();
    for row in values.chunks_exact_mut(run) {
        let mean = row.iter().map(|&value| f64::from(value)).sum::<f64>() / run as f64;
        let variance = row.iter().map(|&value| (f64::from(value) - mean).powi(2)).sum::<f64>() / run as f64;
        let (mean, factor) = (mean as f32, (1.0 / (variance + epsilon).sqrt()) as f32);
        for (place, value) in row.iter_mut().enumerate() {
            *value = (*value - mean) * factor * scale[place] + bias.map_or(0.0, |bias| bias[place]);
        }
    }
    one(Tensor::floats(input.shape.clone(), values))
}

/// Softmax along an axis; in old files along this axis and all after it.
pub(super) fn softmax(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let old = node.opset < 13;
    let axis = axis_of(node.integer("axis").unwrap_or(if old { 1 } else { -1 }), input.shape.len())?;
    let (size, step) = match old {
        true => (input.shape[axis..].iter().product(), 1),
        false => (input.shape[axis], strides(&input.shape)[axis]),
    };
    let mut values = input.as_floats()?.to_vec();
    for block in values.chunks_exact_mut((size * step).max(1)) {
        for start in 0..step {
            let places = || (0..size).map(|place| start + place * step);
            let largest = places().map(|at| block[at]).fold(f32::NEG_INFINITY, f32::max);
            let mut sum = 0.0;
            for at in places() {
                block[at] = (block[at] - largest).exp();
                sum += block[at];
            }
            places().for_each(|at| block[at] /= sum);
        }
    }
    one(Tensor::floats(input.shape.clone(), values))
}

/// `ReduceMean`, `ReduceSum`, `ReduceMax` along axes, given as an input or (old files) as an attribute.
pub(super) fn reduce(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let input = inputs.tensor(0)?;
    let rank = input.shape.len();
    let named = match inputs.optional(1) {
        Some(axes) => axes.as_integers()?,
        None => node.integers("axes").unwrap_or_default().to_vec(),
    };
    if named.is_empty() && node.integer("noop_with_empty_axes") == Some(1) {
        return one(input.clone());
    }
    let mut gone = vec![named.is_empty(); rank];
    for axis in named {
        gone[axis_of(axis, rank)?] = true;
    }
    let mut kept_shape = input.shape.clone();
    kept_shape.iter_mut().zip(&gone).filter(|(_, gone)| **gone).for_each(|(size, _)| *size = 1);
    let count: usize = input.shape.iter().zip(&gone).filter(|(_, gone)| **gone).map(|(size, _)| *size).product();
    let values = input.as_floats()?;
    let max = node.op == "ReduceMax";
    let mut totals = vec![if max { f64::NEG_INFINITY } else { 0.0 }; kept_shape.iter().product()];
    for (value, at) in values.iter().zip(super::elementwise::repeated(&kept_shape, &input.shape)) {
        let value = f64::from(*value);
        totals[at] = if max { totals[at].max(value) } else { totals[at] + value };
    }
    let divisor = if node.op == "ReduceMean" { count.max(1) as f64 } else { 1.0 };
    let totals = totals.into_iter().map(|total| (total / divisor) as f32).collect();
    let shape = match node.integer("keepdims").unwrap_or(1) {
        0 => kept_shape.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(size, _)| *size).collect(),
        _ => kept_shape,
    };
    one(Tensor::floats(shape, totals))
}
