//! A dense layer and its leaky ReLU, on slices.
//!
//! Forward `y = leaky(x·W + b)`; backward, with `g = dy` where `y > 0` and `slope·dy` elsewhere,
//!
//! ```text
//! db = Σ over rows of g      dW = xᵀ·g      dx = g·Wᵀ
//! ```
//!
//! The rows of each result are cut into blocks by the shapes alone, and one thread computes a block. The activation is applied
//! while the block is still in the cache.

use crate::cpu::gemm::{Matrix, multiply};
use crate::cpu::pool::Floats;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use crate::cpu::threads::for_each;

/// Rows of the batch per task. With fewer, packing the weights costs more than a second thread saves.
const ROWS: usize = 64;
/// About how many floats of the weight's gradient one task computes.
const WEIGHTS: usize = 1 << 15;

/// Shapes of one layer: `x [n, inputs]`, `W [inputs, outputs]`, `y [n, outputs]`, and what negative values are multiplied by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layer {
    pub n: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub slope: f32,
}

/// Gradients of [`forward`], each where it was asked for.
pub(crate) struct Gradient {
    pub dx: Option<Floats>,
    pub dw: Option<Floats>,
    pub db: Vec<f32>,
}

/// `y = leaky(x·W + b)`.
pub(crate) fn forward(layer: Layer, x: &[f32], weight: &[f32], bias: &[f32]) -> Floats {
    let Layer { n, inputs, outputs, slope } = layer;
    let mut y = Floats::unwritten(n * outputs);
    for_each(y.chunks_mut((ROWS * outputs).max(1)).enumerate(), |(i, y)| {
        let left = Matrix { data: &x[i * ROWS * inputs..], row: inputs, column: 1 };
        let right = Matrix { data: weight, row: outputs, column: 1 };
        multiply([y.len() / outputs, outputs, inputs], y, outputs, false, left, right);
        widest(Activate { bias, slope, y });
    });
    y
}

/// Gradients; `y` is the output of [`forward`] where the layer has an activation.
pub(crate) fn backward(
    layer: Layer,
    x: &[f32],
    weight: &[f32],
    y: Option<&[f32]>,
    dy: &[f32],
    [of_x, of_weight]: [bool; 2],
) -> Gradient {
    let Layer { n, inputs, outputs, slope } = layer;
    let mut db = vec![0.0; outputs];
    if outputs == 0 {
        return Gradient { dx: of_x.then(|| Floats::zeros(n * inputs)), dw: of_weight.then(Floats::default), db };
    }
    let mut dx = Floats::unwritten(if of_x { n * inputs } else { 0 });
    let mut dw = Floats::unwritten(if of_weight { inputs * outputs } else { 0 });
    scratch::floats(if y.is_some() { dy.len() } else { 0 }, |masked| {
        let g = match y {
            Some(y) => {
                widest(Mask { slope, y, dy, g: &mut *masked, db: &mut db });
                &*masked
            }
            None => {
                widest(Total { g: dy, db: &mut db });
                dy
            }
        };
        let per_task = WEIGHTS.div_ceil(outputs);
        let to_weight = dw.chunks_mut(per_task * outputs).enumerate().map(|(i, dw)| Block::Weight(i, dw));
        let to_x = dx.chunks_mut((ROWS * inputs).max(1)).enumerate().map(|(i, dx)| Block::X(i, dx));
        for_each(to_weight.chain(to_x), |block| match block {
            Block::Weight(i, dw) => {
                let left = Matrix { data: &x[i * per_task..], row: 1, column: inputs };
                let right = Matrix { data: g, row: outputs, column: 1 };
                multiply([dw.len() / outputs, outputs, n], dw, outputs, false, left, right);
            }
            Block::X(i, dx) => {
                let left = Matrix { data: &g[i * ROWS * outputs..], row: outputs, column: 1 };
                let right = Matrix { data: weight, row: 1, column: outputs };
                multiply([dx.len() / inputs, inputs, outputs], dx, inputs, false, left, right);
            }
        });
    });
    Gradient { dx: of_x.then_some(dx), dw: of_weight.then_some(dw), db }
}

/// Some rows of a gradient, and which block of it they are.
enum Block<'a> {
    Weight(usize, &'a mut [f32]),
    X(usize, &'a mut [f32]),
}

/// `y = leaky(y + bias)`, row by row.
struct Activate<'a> {
    bias: &'a [f32],
    slope: f32,
    y: &'a mut [f32],
}

impl Kernel for Activate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let slope = self.slope;
        for y in self.y.chunks_exact_mut(self.bias.len()) {
            for (y, b) in y.iter_mut().zip(self.bias) {
                let z = *y + b;
                *y = if z > 0.0 { z } else { scaled(slope, z) };
            }
        }
    }
}

/// `g = dy` where `y > 0`, `slope·dy` elsewhere; `db` its sums over rows.
struct Mask<'a> {
    slope: f32,
    y: &'a [f32],
    dy: &'a [f32],
    g: &'a mut [f32],
    db: &'a mut [f32],
}

impl Kernel for Mask<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let (slope, outputs) = (self.slope, self.db.len());
        let rows = self.y.chunks_exact(outputs).zip(self.dy.chunks_exact(outputs));
        for ((y, dy), g) in rows.zip(self.g.chunks_exact_mut(outputs)) {
            for (((y, dy), g), db) in y.iter().zip(dy).zip(g).zip(&mut *self.db) {
                *g = if *y > 0.0 { *dy } else { scaled(slope, *dy) };
                *db += *g;
            }
        }
    }
}

/// `db`: the sums of `g` over rows.
struct Total<'a> {
    g: &'a [f32],
    db: &'a mut [f32],
}

impl Kernel for Total<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for g in self.g.chunks_exact(self.db.len()) {
            self.db.iter_mut().zip(g).for_each(|(db, g)| *db += g);
        }
    }
}

/// `slope·z`; a slope of 0 gives 0 even if `z` is infinite, but keeps NaN.
#[inline(always)]
fn scaled(slope: f32, z: f32) -> f32 {
    if slope == 0.0 && !z.is_nan() { 0.0 } else { slope * z }
}
