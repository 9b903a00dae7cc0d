//! 3×3 convolution with stride 1 by Winograd's algorithm F(4×4, 3×3): a quarter of the multiplications.
//!
//! ```text
//! forward    x ─ Bᵀ·B ─▶ v ─┐                                  v, d, m: [channel block][36 points][tiles][16 channels]
//!       weight ─ G·Gᵀ ─▶ u ─┴ 36 products ─▶ m ─ Aᵀ·A ─▶ y
//! backward  dy ─ A·Aᵀ ─▶ d ─┬ 36 products with uᵀ ─▶ m ─ B·Bᵀ, overlapping tiles added ─▶ dx
//!            x ─ Bᵀ·B ─▶ v ─┴ 36 products over tiles ─▶ sum ─ Gᵀ·G ─▶ dweight
//! ```
//!
//! A *chunk* is a run of whole images: enough tiles for an efficient product, few enough that its operands stay in cache.
//! One thread takes a chunk through all stages. The gradient of the weights is a sum over chunks, and each of the 36 points
//! adds them in order, so the result does not depend on the number of threads. Transformed inputs are computed again in the
//! backward pass: keeping them would more than triple the memory of a training step. Late in a network there are few tiles and many
//! weights; `few_tiles.rs` goes through these in another order.

mod few_tiles;
mod field;
mod filters;
mod product;
mod tiles;
mod transform;

use crate::cpu::conv::Geometry;
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::pool::Floats;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use filters::{WeightBack, with_transformed};
use product::{POINTS, apart, block_of};
use rayon::prelude::*;
use tiles::{Plan, transform_gradient, transform_input, write_input, write_output};

/// Chunks between two additions to the weight's gradient: enough tasks for several cores.
const CHUNKS_AT_ONCE: usize = 4;

/// Whether this algorithm is defined for `g` and faster than im2col.
pub(crate) fn suits(g: &Geometry) -> bool {
    let defined = (g.kh, g.kw) == (3, 3) && g.stride == [1, 1] && g.padding[0] <= 2 && g.padding[1] <= 2;
    if !defined || g.n == 0 || g.ci < 12 || g.co < 12 {
        return false;
    }
    // Counts multiplications; a transform costs about 16 per value, of weights too where few tiles share them.
    let (ci, co) = (g.ci.next_multiple_of(LANES), g.co.next_multiple_of(LANES));
    let ours = Plan::new(g).per_image * POINTS * (ci * co + 16 * (ci + co));
    let weights = POINTS * ci * co * 16 / g.n;
    ours + weights < g.out_plane() * 9 * g.ci * g.co
}

/// `y = conv2d(x, weight) + bias`.
pub(crate) fn forward(g: &Geometry, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Floats {
    let plan = Plan::new(g);
    let mut y = Floats::unwritten(g.n * g.co * g.out_plane());
    if few_tiles::suits(&plan) {
        few_tiles::forward(&plan, x, weight, bias, &mut y);
        return y;
    }
    with_transformed(weight, [g.co, 9 * g.ci], [g.ci, 9], |u| {
        let images = y.par_chunks_mut(plan.images * g.co * g.out_plane());
        images.zip(x.par_chunks(plan.images * g.ci * g.plane())).for_each(|(y, x)| {
            let tiles = x.len() / (g.ci * g.plane()) * plan.per_image;
            let sizes = [plan.field_size(), blocks(g.ci) * block_of(tiles), blocks(g.co) * block_of(tiles)];
            scratch::lanes(sizes, |[field, v, m]| {
                widest(Forward { plan: &plan, tiles, x, u, bias, field, v, m, y });
            });
        });
    });
    y
}

/// Gradients with respect to `x` and `weight`, each where it is asked for.
pub(crate) fn gradients(
    g: &Geometry,
    x: &[f32],
    weight: &[f32],
    dy: &[f32],
    [of_x, of_weight]: [bool; 2],
) -> [Option<Floats>; 2] {
    let mut dx = Floats::unwritten(if of_x { g.n * g.ci * g.plane() } else { 0 });
    let mut dw = Floats::unwritten(if of_weight { g.co * g.ci * 9 } else { 0 });
    if few_tiles::suits(&Plan::new(g)) {
        few_tiles::gradients(&Plan::new(g), x, weight, dy, &mut dx, &mut dw);
    } else if of_x {
        with_transformed(weight, [g.ci, 9], [g.co, 9 * g.ci], |u| chunk_by_chunk(g, x, dy, u, &mut dx, &mut dw));
    } else {
        chunk_by_chunk(g, x, dy, &[], &mut dx, &mut dw);
    }
    [of_x.then_some(dx), of_weight.then_some(dw)]
}

/// Both gradients; an empty one is not asked for.
fn chunk_by_chunk(g: &Geometry, x: &[f32], dy: &[f32], u: &[Lane], dx: &mut [f32], dw: &mut [f32]) {
    let plan = Plan::new(g);
    let (of_x, of_weight) = (!dx.is_empty(), !dw.is_empty());
    let (ci, co) = (blocks(g.ci), blocks(g.co));
    let per_point = apart(ci * co * LANES);
    let (x_chunk, dy_chunk) = (plan.images * g.ci * g.plane(), plan.images * g.co * g.out_plane());
    let chunk_points = block_of(plan.images * plan.per_image);
    let v_chunk = if of_weight { ci * chunk_points } else { 0 };
    let sums = if of_weight { POINTS * per_point } else { 0 };
    scratch::lanes([CHUNKS_AT_ONCE * v_chunk, CHUNKS_AT_ONCE * co * chunk_points, sums], |[v, d, sum]| {
        let mut dx = dx.chunks_mut(x_chunk);
        let turns = x.chunks(CHUNKS_AT_ONCE * x_chunk).zip(dy.chunks(CHUNKS_AT_ONCE * dy_chunk));
        for (turn, (x, dy)) in turns.enumerate() {
            let mut v_free = &mut *v;
            let mut chunks: Vec<Backward> = x
                .chunks(x_chunk)
                .zip(dy.chunks(dy_chunk))
                .zip(d.chunks_mut(co * chunk_points))
                .map(|((x, dy), d)| {
                    let tiles = x.len() / (g.ci * g.plane()) * plan.per_image;
                    let (v, rest) = std::mem::take(&mut v_free).split_at_mut(v_chunk);
                    v_free = rest;
                    let v = &mut v[..if of_weight { ci * block_of(tiles) } else { 0 }];
                    let dx = dx.next();
                    Backward { plan: &plan, tiles, x, dy, u, v, d: &mut d[..co * block_of(tiles)], dx }
                })
                .collect();
            chunks.par_iter_mut().for_each(|chunk| {
                let m = if of_x { ci * block_of(chunk.tiles) } else { 0 };
                scratch::lanes([plan.field_size(), m], |[field, m]| widest(BackwardIn { chunk, field, m }));
            });
            sum.par_chunks_mut(per_point.max(1)).enumerate().for_each(|(point, sum)| {
                if turn == 0 {
                    sum.fill(ZERO);
                }
                for chunk in &chunks {
                    widest(Accumulate { tiles: chunk.tiles, point, v: chunk.v, d: chunk.d, sum });
                }
            });
        }
        dw.par_chunks_mut(g.ci * 9).enumerate().for_each(|(o, dw)| {
            widest(WeightBack { o, per_point, outputs: co * LANES, sum, dw });
        });
    });
}

/// Blocks of sixteen channels.
fn blocks(channels: usize) -> usize {
    channels.div_ceil(LANES)
}

/// One chunk from input to output.
struct Forward<'a> {
    plan: &'a Plan,
    tiles: usize,
    x: &'a [f32],
    u: &'a [Lane],
    bias: Option<&'a [f32]>,
    field: &'a mut [Lane],
    v: &'a mut [Lane],
    m: &'a mut [Lane],
    y: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { plan, tiles, field, .. } = self;
        transform_input::<R>(plan, tiles, self.x, field, self.v);
        product::forward::<R>(tiles, self.v, self.u, self.m);
        let g = &plan.g;
        for (i, image) in self.y.chunks_exact_mut(g.co * g.out_plane()).enumerate() {
            write_output::<R>(plan, tiles, i, self.m, self.bias, field, image);
        }
    }
}

/// One chunk of the backward pass: what it reads, and what the gradient of the weights needs of it.
struct Backward<'a> {
    plan: &'a Plan,
    tiles: usize,
    x: &'a [f32],
    dy: &'a [f32],
    u: &'a [Lane],
    v: &'a mut [Lane],
    d: &'a mut [Lane],
    dx: Option<&'a mut [f32]>,
}

struct BackwardIn<'a, 'b> {
    chunk: &'a mut Backward<'b>,
    field: &'a mut [Lane],
    m: &'a mut [Lane],
}

impl Kernel for BackwardIn<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { chunk, field, m } = self;
        let Backward { plan, tiles, .. } = *chunk;
        transform_gradient::<R>(plan, tiles, chunk.dy, field, chunk.d);
        if !chunk.v.is_empty() {
            transform_input::<R>(plan, tiles, chunk.x, field, chunk.v);
        }
        let Some(dx) = &mut chunk.dx else { return };
        product::forward::<R>(tiles, chunk.d, chunk.u, m);
        let g = &plan.g;
        for (i, image) in dx.chunks_exact_mut(g.ci * g.plane()).enumerate() {
            write_input::<R>(plan, tiles, i, m, field, image);
        }
    }
}

/// A chunk's contribution to one point of the weight's gradient.
struct Accumulate<'a> {
    tiles: usize,
    point: usize,
    v: &'a [Lane],
    d: &'a [Lane],
    sum: &'a mut [Lane],
}

impl Kernel for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        product::weight_gradient::<R>(self.tiles, self.point, self.v, self.d, self.sum);
    }
}
