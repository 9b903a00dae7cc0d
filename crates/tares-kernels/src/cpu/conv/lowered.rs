//! Convolution as a matrix product: patches of the input become columns (`im2col`), the weights are the other factor.
//!
//! Works for every kernel, stride and padding. All sums are split in a way that follows from the shapes alone, so that the
//! result does not depend on the number of threads.

use crate::cpu::conv::Geometry;
use crate::cpu::conv::im2col::{lower, raise};
use crate::cpu::conv::pairs::{Products, totals};
use crate::cpu::gemm::{Matrix, multiply};
use crate::cpu::lane::{LANES, ZERO};
use crate::cpu::pool::Floats;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use crate::cpu::sum::sum;
use crate::cpu::threads::for_each;

/// Floats of a column buffer: few enough to stay in a core's second-level cache until they are read.
const COLUMN_FLOATS: usize = 1 << 17;

/// Columns of one product: images with small planes are put side by side until there are this many.
const WIDE: usize = 512;

/// Tasks of one pass: enough for the cores of a workstation.
const TASKS: usize = 16;

/// About how many floats one task adds up.
const SUM_FLOATS: usize = 1 << 15;

/// With at most so many weights, as in a first layer, their gradient is summed in registers: a product of matrices would transpose a factor,
/// which takes longer than so few multiplications.
const FEW_WEIGHTS: usize = 1 << 11;

/// `y = conv2d(x, weight) + bias`.
pub(crate) fn forward(g: &Geometry, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Floats {
    let (s, patch) = (g.out_plane(), g.ci * g.taps());
    let mut y = Floats::unwritten(g.n * g.co * s);
    if y.is_empty() {
        return y;
    }
    let side = side_by_side(g);
    // few images: cut the output channels as well
    let cuts = (4 / g.n.div_ceil(side)).clamp(1, g.co.div_ceil(8));
    let slab = g.co.div_ceil(cuts);
    for_each(y.chunks_mut(side * g.co * s).zip(x.chunks(side * g.ci * g.plane())), |(y, x)| {
        let images = y.len() / (g.co * s);
        let columns = images * s;
        if images > 1 {
            let channels = channel_block(g, columns);
            scratch::floats(g.co * columns, |wide| {
                scratch::floats(channels * g.taps() * columns, |lowered| {
                    for first in (0..g.ci).step_by(channels) {
                        let some = first..(first + channels).min(g.ci);
                        let rows = some.len() * g.taps();
                        lower(g, x, some, lowered);
                        let left = Matrix { data: &weight[first * g.taps()..], row: patch, column: 1 };
                        let right = Matrix { data: lowered, row: columns, column: 1 };
                        multiply([g.co, columns, rows], wide, columns, first > 0, left, right);
                    }
                });
                for (i, image) in y.chunks_exact_mut(g.co * s).enumerate() {
                    for (o, plane) in image.chunks_exact_mut(s).enumerate() {
                        plane.copy_from_slice(&wide[o * columns + i * s..][..s]);
                    }
                }
            });
        } else {
            for_each(y.chunks_mut(slab * s).enumerate(), |(cut, y)| {
                let outputs = y.len() / s;
                let weight = &weight[cut * slab * patch..];
                if g.is_pointwise() {
                    let left = Matrix { data: weight, row: patch, column: 1 };
                    multiply([outputs, s, patch], y, s, false, left, Matrix { data: x, row: s, column: 1 });
                    return;
                }
                let channels = channel_block(g, s);
                scratch::floats(channels * g.taps() * s, |lowered| {
                    for first in (0..g.ci).step_by(channels) {
                        let some = first..(first + channels).min(g.ci);
                        let rows = some.len() * g.taps();
                        lower(g, x, some, lowered);
                        let left = Matrix { data: &weight[first * g.taps()..], row: patch, column: 1 };
                        let right = Matrix { data: lowered, row: s, column: 1 };
                        multiply([outputs, s, rows], y, s, first > 0, left, right);
                    }
                });
            });
        }
        if let Some(bias) = bias {
            widest(AddBias { pixels: s, bias, planes: y });
        }
    });
    y
}

/// `dx`: the gradient of the columns, folded back onto the pixels they came from.
pub(crate) fn input_gradient(g: &Geometry, weight: &[f32], dy: &[f32]) -> Floats {
    let (s, patch, plane) = (g.out_plane(), g.ci * g.taps(), g.plane());
    let mut dx = Floats::unwritten(g.n * g.ci * plane);
    if dx.is_empty() {
        return dx;
    }
    let side = side_by_side(g);
    for_each(dx.chunks_mut(side * g.ci * plane).zip(dy.chunks(side * g.co * s)), |(dx, dy)| {
        let images = dx.len() / (g.ci * plane);
        let columns = images * s;
        with_side_by_side(g, dy, |dy| {
            let left = |first: usize| Matrix { data: &weight[first * g.taps()..], row: 1, column: patch };
            let right = Matrix { data: dy, row: columns, column: 1 };
            if images == 1 {
                let channels = channel_block(g, s).min(g.ci.div_ceil((4 / g.n).max(1)));
                for_each(dx.chunks_mut(channels * plane).enumerate(), |(block, dx)| {
                    let (first, rows) = (block * channels, dx.len() / plane * g.taps());
                    if g.is_pointwise() {
                        multiply([rows, s, g.co], dx, s, false, left(first), right);
                        return;
                    }
                    scratch::floats(rows * s, |lowered| {
                        multiply([rows, s, g.co], lowered, s, false, left(first), right);
                        raise(g, lowered, s, dx);
                    });
                });
                return;
            }
            let channels = channel_block(g, columns);
            scratch::floats(channels * g.taps() * columns, |lowered| {
                for first in (0..g.ci).step_by(channels) {
                    let count = channels.min(g.ci - first);
                    multiply([count * g.taps(), columns, g.co], lowered, columns, false, left(first), right);
                    for (i, dx) in dx.chunks_exact_mut(g.ci * plane).enumerate() {
                        raise(g, &lowered[i * s..], columns, &mut dx[first * plane..(first + count) * plane]);
                    }
                }
            });
        });
    });
    dx
}

/// `dW = Σ over images of dy · columnsᵀ`, cut into blocks of input channels and runs of images.
pub(crate) fn weight_gradient(g: &Geometry, x: &[f32], dy: &[f32]) -> Floats {
    let (s, patch, plane) = (g.out_plane(), g.ci * g.taps(), g.plane());
    if g.n == 0 || s == 0 {
        return Floats::zeros(g.co * patch);
    }
    let mut dw = Floats::unwritten(g.co * patch);
    if dw.is_empty() {
        return dw;
    }
    let side = (WIDE / s).clamp(1, g.n);
    // enough tasks, also when all images fit into one product
    let channels = channel_block(g, side * s).min(if g.n.div_ceil(side) < 4 { g.ci.div_ceil(4) } else { g.ci });
    let blocks = g.ci.div_ceil(channels);
    let runs = (TASKS / blocks).clamp(1, g.n.div_ceil(side));
    let images_per_run = g.n.div_ceil(side).div_ceil(runs) * side;
    let runs = g.n.div_ceil(images_per_run);
    // the blocks of all tasks one after the other
    scratch::floats(runs * dw.len(), |partial| {
        let mut rest = &mut *partial;
        let sums: Vec<&mut [f32]> = (0..blocks * runs)
            .map(|task| {
                let first = task / runs * channels;
                let floats = g.co * (g.ci - first).min(channels) * g.taps();
                let (sum, behind) = std::mem::take(&mut rest).split_at_mut(floats);
                rest = behind;
                sum
            })
            .collect();
        for_each(sums.into_iter().enumerate(), |(task, sum)| {
            let (first, run) = (task / runs * channels, task % runs);
            let some = first..(first + channels).min(g.ci);
            let rows = some.len() * g.taps();
            let images = run * images_per_run..((run + 1) * images_per_run).min(g.n);
            let (x, dy) = (
                &x[images.start * g.ci * plane..images.end * g.ci * plane],
                &dy[images.start * g.co * s..images.end * g.co * s],
            );
            let in_registers = s.is_multiple_of(LANES) && g.co * rows <= FEW_WEIGHTS;
            let lanes = if in_registers { g.co * rows } else { 0 };
            scratch::lanes([lanes], |[pairs]| {
                pairs.fill(ZERO);
                scratch::floats(channels * g.taps() * side * s, |lowered| {
                    for (turn, (x, dy)) in x.chunks(side * g.ci * plane).zip(dy.chunks(side * g.co * s)).enumerate() {
                        let columns = x.len() / (g.ci * plane) * s;
                        lower(g, x, some.clone(), lowered);
                        with_side_by_side(g, dy, |dy| {
                            if in_registers {
                                let x = &lowered[..rows * columns];
                                widest(Products { s: columns, channels: [g.co, rows], dy, x, sum: &mut *pairs });
                                return;
                            }
                            let left = Matrix { data: dy, row: columns, column: 1 };
                            let right = Matrix { data: lowered, row: 1, column: columns };
                            multiply([g.co, rows, columns], sum, rows, turn > 0, left, right);
                        });
                    }
                });
                if in_registers {
                    totals(pairs, sum);
                }
            });
        });
        // `[block][run][output][channels of the block]` to `[output][channel]`
        let blocks: Vec<&[f32]> = partial.chunks(runs * g.co * channels * g.taps()).collect();
        let outputs = SUM_FLOATS.div_ceil(runs * patch);
        for_each(dw.chunks_mut(outputs * patch).enumerate(), |(task, dw)| {
            for (o, dw) in dw.chunks_exact_mut(patch).enumerate() {
                for (block, into) in blocks.iter().zip(dw.chunks_mut(channels * g.taps())) {
                    let rows = into.len();
                    let from = |run: usize| &block[(run * g.co + task * outputs + o) * rows..][..rows];
                    into.copy_from_slice(from(0));
                    (1..runs).for_each(|run| into.iter_mut().zip(from(run)).for_each(|(d, v)| *d += v));
                }
            }
        });
    });
    dw
}

/// `db`: the sum of `dy` over images and pixels, plane by plane.
pub(crate) fn bias_gradient(g: &Geometry, dy: &[f32]) -> Vec<f32> {
    let s = g.out_plane();
    let mut planes = vec![0.0; g.n * g.co];
    let per_task = SUM_FLOATS.div_ceil(s.max(1));
    for_each(planes.chunks_mut(per_task).zip(dy.chunks((per_task * s).max(1))), |(sums, dy)| {
        sums.iter_mut().zip(dy.chunks_exact(s)).for_each(|(into, plane)| *into = sum(plane));
    });
    (0..g.co).map(|o| planes.iter().skip(o).step_by(g.co).map(|&v| f64::from(v)).sum::<f64>() as f32).collect()
}

/// How many images share one product.
fn side_by_side(g: &Geometry) -> usize {
    // at least four tasks where there are four images
    (WIDE / g.out_plane().max(1)).clamp(1, (g.n / 4).max(1))
}

/// How many input channels are lowered at a time.
fn channel_block(g: &Geometry, columns: usize) -> usize {
    // an even number of rows of the product keeps it efficient, hence no fewer than 8 channels
    (COLUMN_FLOATS / (g.taps() * columns).max(1)).max(8).min(g.ci.max(1))
}

/// Lends `planes` of several images as one matrix `[co, images × pixels]`.
fn with_side_by_side<R>(g: &Geometry, planes: &[f32], work: impl FnOnce(&[f32]) -> R) -> R {
    let s = g.out_plane();
    let images = planes.len() / (g.co * s);
    if images == 1 {
        return work(planes);
    }
    scratch::floats(planes.len(), |wide| {
        for (i, image) in planes.chunks_exact(g.co * s).enumerate() {
            for (o, plane) in image.chunks_exact(s).enumerate() {
                wide[o * images * s + i * s..][..s].copy_from_slice(plane);
            }
        }
        work(wide)
    })
}

/// `planes[i] += bias[i]`, for planes of several images one after the other.
struct AddBias<'a> {
    pixels: usize,
    bias: &'a [f32],
    planes: &'a mut [f32],
}

impl Kernel for AddBias<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (plane, b) in self.planes.chunks_exact_mut(self.pixels).zip(self.bias.iter().cycle()) {
            plane.iter_mut().for_each(|v| *v += b);
        }
    }
}
