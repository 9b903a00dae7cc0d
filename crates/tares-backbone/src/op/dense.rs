//! `MatMul` and `Gemm`.

use super::elementwise::{common_shape, repeated};
use super::product::product;
use super::{Inputs, OpResult, one};
use crate::onnx::Node;
use crate::tensor::{Tensor, elements};

/// Multiplies matrices of the last two axes; the axes before them are broadcast.
pub(super) fn matmul(inputs: &Inputs<'_>) -> OpResult {
    let (a, b) = (inputs.tensor(0)?, inputs.tensor(1)?);
    // A vector is a row on the left and a column on the right.
    let (mut left, mut right) = (a.shape.clone(), b.shape.clone());
    if left.len() == 1 {
        left.insert(0, 1);
    }
    if right.len() == 1 {
        right.push(1);
    }
    let (Some((&[m, k], outer_a)), Some((&[k_b, n], outer_b))) = (split(&left), split(&right)) else {
        return Err("needs matrices, got a single number".into());
    };
    if k != k_b {
        return Err(format!("cannot multiply {:?} by {:?}", a.shape, b.shape));
    }
    let outer = common_shape(outer_a, outer_b)?;
    let mut shape = outer.clone();
    shape.extend([m, n]);
    let mut out = vec![0f32; elements(&shape)?];
    let (values_a, values_b) = (a.as_floats()?, b.as_floats()?);
    let pairs = repeated(outer_a, &outer).zip(repeated(outer_b, &outer));
    for ((i, j), out) in pairs.zip(out.chunks_exact_mut((m * n).max(1))) {
        multiply((m, n, k), &values_a[i * m * k..][..m * k], &values_b[j * k * n..][..k * n], out);
    }
    if b.shape.len() == 1 {
        shape.pop();
    }
    if a.shape.len() == 1 {
        shape.remove(shape.len() - 1 - usize::from(b.shape.len() > 1));
    }
    one(Tensor::floats(shape, out))
}

fn split(shape: &[usize]) -> Option<(&[usize; 2], &[usize])> {
    let (outer, last) = shape.split_last_chunk::<2>()?;
    Some((last, outer))
}

fn multiply((m, n, k): (usize, usize, usize), a: &[f32], b: &[f32], out: &mut [f32]) {
    if k == 0 {
        return;
    }
    let columns =
        |row: usize, first: usize, into: &mut [f32]| into.copy_from_slice(&b[row * n + first..][..into.len()]);
    product((m, n, k), |row| &a[row * k..][..k], columns, out);
}

/// α·A·B + β·C, either matrix possibly transposed.
pub(super) fn gemm(node: &Node, inputs: &Inputs<'_>) -> OpResult {
    let matrix = |at: usize, transpose: &str| -> Result<(usize, usize, Vec<f32>), String> {
        let tensor = inputs.tensor(at)?;
        let &[rows, columns] = &tensor.shape[..] else { return Err(format!("needs a matrix, got {:?}", tensor.shape)) };
        let values = tensor.as_floats()?;
        if node.integer(transpose).unwrap_or(0) == 0 {
            return Ok((rows, columns, values.to_vec()));
        }
        let turned = (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect();
        Ok((columns, rows, turned))
    };
    let ((m, k, a), (k_b, n, b)) = (matrix(0, "transA")?, matrix(1, "transB")?);
    if k != k_b {
        return Err(format!("cannot multiply {m} x {k} by {k_b} x {n}"));
    }
    let mut out = vec![0f32; elements(&[m, n])?];
    multiply((m, n, k), &a, &b, &mut out);
    let (alpha, beta) = (node.float("alpha").unwrap_or(1.0), node.float("beta").unwrap_or(1.0));
    if alpha != 1.0 {
        out.iter_mut().for_each(|value| *value *= alpha);
    }
    if let Some(bias) = inputs.optional(2) {
        let values = bias.as_floats()?;
        if common_shape(&bias.shape, &[m, n])? != [m, n] {
            return Err(format!("cannot add {:?} to {m} x {n}", bias.shape));
        }
        out.iter_mut().zip(repeated(&bias.shape, &[m, n])).for_each(|(sum, at)| *sum += beta * values[at]);
    }
    one(Tensor::floats(vec![m, n], out))
}
