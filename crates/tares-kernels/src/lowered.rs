//! Convolution as a matrix product: patches of the input become columns (`im2col`), the weights are the other factor.
//!
//! Works for every kernel, stride and padding. All sums are split in a way that follows from the shapes alone, so that the
//! result does not depend on the number of threads.

use crate::geometry::Geometry;
use crate::raw::{Matrix, multiply};
use crate::scratch;
use rayon::prelude::*;

/// Floats of a column buffer: small enough to stay in a core's second-level cache between being written and read.
const COLUMN_FLOATS: usize = 1 << 17;

/// Columns of one product: images with small planes are put side by side until they reach it.
const WIDE: usize = 512;

/// Tasks of one pass that are enough for every core of the machines this is meant for.
const TASKS: usize = 16;

/// `y = conv2d(x, weight) + bias`.
pub(crate) fn forward(g: &Geometry, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let (s, patch) = (g.out_plane(), g.ci * g.taps());
    let mut y = vec![0.0; g.n * g.co * s];
    if y.is_empty() {
        return y;
    }
    let side = side_by_side(g);
    // few images: cut the output channels as well
    let cuts = (4 / g.n.div_ceil(side)).clamp(1, g.co.div_ceil(8));
    let slab = g.co.div_ceil(cuts);
    y.par_chunks_mut(side * g.co * s).zip(x.par_chunks(side * g.ci * g.plane())).for_each(|(y, x)| {
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
            y.par_chunks_mut(slab * s).enumerate().for_each(|(cut, y)| {
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
            for (plane, b) in y.chunks_exact_mut(s).zip(bias.iter().cycle()) {
                plane.iter_mut().for_each(|v| *v += b);
            }
        }
    });
    y
}

/// `dx`: the gradient of the columns, folded back onto the pixels they came from.
pub(crate) fn input_gradient(g: &Geometry, weight: &[f32], dy: &[f32]) -> Vec<f32> {
    let (s, patch, plane) = (g.out_plane(), g.ci * g.taps(), g.plane());
    let mut dx = vec![0.0; g.n * g.ci * plane];
    if dx.is_empty() {
        return dx;
    }
    let side = side_by_side(g);
    dx.par_chunks_mut(side * g.ci * plane).zip(dy.par_chunks(side * g.co * s)).for_each(|(dx, dy)| {
        let images = dx.len() / (g.ci * plane);
        let columns = images * s;
        with_side_by_side(g, dy, |dy| {
            let left = |first: usize| Matrix { data: &weight[first * g.taps()..], row: 1, column: patch };
            let right = Matrix { data: dy, row: columns, column: 1 };
            if images == 1 {
                let channels = channel_block(g, s).min(g.ci.div_ceil((4 / g.n).max(1)));
                dx.par_chunks_mut(channels * plane).enumerate().for_each(|(block, dx)| {
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
pub(crate) fn weight_gradient(g: &Geometry, x: &[f32], dy: &[f32]) -> Vec<f32> {
    let (s, patch, plane) = (g.out_plane(), g.ci * g.taps(), g.plane());
    let mut dw = vec![0.0; g.co * patch];
    if dw.is_empty() || g.n == 0 || s == 0 {
        return dw;
    }
    let side = side_by_side(g);
    let channels = channel_block(g, side * s);
    let blocks = g.ci.div_ceil(channels);
    let runs = (TASKS / blocks).clamp(1, g.n.div_ceil(side));
    let images_per_run = g.n.div_ceil(side).div_ceil(runs) * side;
    let runs = g.n.div_ceil(images_per_run);
    let partial: Vec<Vec<f32>> = (0..blocks * runs)
        .into_par_iter()
        .map(|task| {
            let (first, run) = (task / runs * channels, task % runs);
            let some = first..(first + channels).min(g.ci);
            let rows = some.len() * g.taps();
            let mut sum = vec![0.0; g.co * rows];
            let images = run * images_per_run..((run + 1) * images_per_run).min(g.n);
            let (x, dy) = (
                &x[images.start * g.ci * plane..images.end * g.ci * plane],
                &dy[images.start * g.co * s..images.end * g.co * s],
            );
            scratch::floats(channels * g.taps() * side * s, |lowered| {
                for (x, dy) in x.chunks(side * g.ci * plane).zip(dy.chunks(side * g.co * s)) {
                    let columns = x.len() / (g.ci * plane) * s;
                    lower(g, x, some.clone(), lowered);
                    with_side_by_side(g, dy, |dy| {
                        let left = Matrix { data: dy, row: columns, column: 1 };
                        let right = Matrix { data: lowered, row: 1, column: columns };
                        multiply([g.co, rows, columns], &mut sum, rows, true, left, right);
                    });
                }
            });
            sum
        })
        .collect();
    for (task, sum) in partial.iter().enumerate() {
        let rows = sum.len() / g.co;
        let first = task / runs * channels * g.taps();
        for (into, from) in dw.chunks_exact_mut(patch).zip(sum.chunks_exact(rows)) {
            into[first..first + rows].iter_mut().zip(from).for_each(|(d, v)| *d += v);
        }
    }
    dw
}

/// `db`: the sum of `dy` over images and pixels, plane by plane.
pub(crate) fn bias_gradient(g: &Geometry, dy: &[f32]) -> Vec<f32> {
    let s = g.out_plane();
    let planes: Vec<f32> = dy.par_chunks(s.max(1)).with_min_len(64).map(crate::sum::sum).collect();
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

/// `lowered[(c, ky, kx)][image, oy, ox] = x[image, c, oy·stride + ky − padding, ox·stride + kx − padding]`, 0 outside.
fn lower(g: &Geometry, x: &[f32], channels: std::ops::Range<usize>, lowered: &mut [f32]) {
    let (s, ow, plane) = (g.out_plane(), g.ow(), g.plane());
    let columns = x.len() / (g.ci * plane) * s;
    for (i, image) in x.chunks_exact(g.ci * plane).enumerate() {
        let mut rows = lowered.chunks_exact_mut(columns);
        for from in image[channels.start * plane..channels.end * plane].chunks_exact(plane) {
            for ky in 0..g.kh {
                for kx in 0..g.kw {
                    let Some(row) = rows.next() else { return };
                    let inside = inside(g.ow(), g.w, kx, g.stride[1], g.padding[1]);
                    for (oy, into) in row[i * s..(i + 1) * s].chunks_exact_mut(ow).enumerate() {
                        let y = (oy * g.stride[0] + ky).wrapping_sub(g.padding[0]);
                        if y >= g.h || inside.is_empty() {
                            into.fill(0.0);
                            continue;
                        }
                        into[..inside.start].fill(0.0);
                        into[inside.end..].fill(0.0);
                        let from = &from[y * g.w + inside.start * g.stride[1] + kx - g.padding[1]..(y + 1) * g.w];
                        let into = &mut into[inside.clone()];
                        if g.stride[1] == 1 {
                            into.copy_from_slice(&from[..into.len()]);
                        } else {
                            into.iter_mut().zip(from.iter().step_by(g.stride[1])).for_each(|(d, v)| *d = *v);
                        }
                    }
                }
            }
        }
    }
}

/// The transpose of [`lower`] for one image: adds every element of `lowered` to the pixel it was read from.
fn raise(g: &Geometry, lowered: &[f32], columns: usize, dx: &mut [f32]) {
    let (s, ow, plane) = (g.out_plane(), g.ow(), g.plane());
    let mut row = 0;
    for into in dx.chunks_exact_mut(plane) {
        for ky in 0..g.kh {
            for kx in 0..g.kw {
                let inside = inside(g.ow(), g.w, kx, g.stride[1], g.padding[1]);
                for (oy, from) in lowered[row * columns..][..s].chunks_exact(ow).enumerate() {
                    let y = (oy * g.stride[0] + ky).wrapping_sub(g.padding[0]);
                    if y >= g.h || inside.is_empty() {
                        continue;
                    }
                    let into = &mut into[y * g.w + inside.start * g.stride[1] + kx - g.padding[1]..(y + 1) * g.w];
                    let from = &from[inside.clone()];
                    if g.stride[1] == 1 {
                        into.iter_mut().zip(from).for_each(|(d, v)| *d += v);
                    } else {
                        into.iter_mut().step_by(g.stride[1]).zip(from).for_each(|(d, v)| *d += v);
                    }
                }
                row += 1;
            }
        }
    }
}

/// The output columns whose tap `kx` lies inside a row of `w` pixels.
fn inside(ow: usize, w: usize, kx: usize, stride: usize, padding: usize) -> std::ops::Range<usize> {
    let start = padding.saturating_sub(kx).div_ceil(stride);
    // ox * stride + kx - padding <= w - 1
    let end = if w + padding > kx { ((w + padding - kx - 1) / stride + 1).min(ow) } else { 0 };
    start..end.max(start)
}
