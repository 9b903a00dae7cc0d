//! The same algorithm for many weights and few tiles, as late in a network: 512 × 512 weights take 38 MB once transformed.
//!
//! ```text
//! forward    v of all tiles;  for each sixteen outputs: u ─ products ─▶ m;  y of all images
//! backward   d, v of all tiles;  for each sixteen inputs: uᵀ ─ products ─▶ m;  dx of all images
//!                                for each sixteen outputs: products ─▶ sum ─▶ dweight
//! ```
//! Transformed weights and sums of one block stay in a core's cache and never go through memory. Every value is computed by one task, so
//! the result does not depend on the number of threads.

use super::blocks;
use super::filters::{BlockBack, transform_block};
use super::product::{self, POINTS, block_of};
use super::tiles::{Plan, transform_gradient_planes, transform_input_planes, write_input, write_output};
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use rayon::prelude::*;

/// Tiles of all images, at most: so many fit into a cache with all their channels.
const FEW: usize = 256;

/// Products of channels from which on transformed weights don't fit into a core's cache.
const MANY: usize = 1 << 15;

/// Whether this order is the better one.
pub(super) fn suits(plan: &Plan) -> bool {
    plan.g.n * plan.per_image <= FEW && plan.g.ci * plan.g.co >= MANY
}

/// `y = conv2d(x, weight) + bias`.
pub(super) fn forward(plan: &Plan, x: &[f32], weight: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
    let (g, tiles) = (&plan.g, plan.g.n * plan.per_image);
    let points = block_of(tiles);
    scratch::lanes([blocks(g.ci) * points, blocks(g.co) * points], |[v, m]| {
        each_block(plan, v, |block, field, v| {
            widest(Planes { plan, tiles, block, source: Source::Input(x), field, v })
        });
        products(tiles, v, weight, [g.co, 9 * g.ci], [g.ci, 9], m);
        let m = &*m;
        y.par_chunks_mut(g.co * g.out_plane()).enumerate().for_each(|(i, image)| {
            scratch::lanes([plan.field_size()], |[field]| {
                widest(Image { plan, tiles, i, target: Target::Output(bias), m, field, image });
            });
        });
    });
}

/// Both gradients; an empty one is not asked for.
pub(super) fn gradients(plan: &Plan, x: &[f32], weight: &[f32], dy: &[f32], dx: &mut [f32], dw: &mut [f32]) {
    let (g, tiles) = (&plan.g, plan.g.n * plan.per_image);
    let points = block_of(tiles);
    scratch::lanes([blocks(g.ci) * points, blocks(g.co) * points], |[v, d]| {
        each_block(plan, d, |block, field, v| {
            widest(Planes { plan, tiles, block, source: Source::Gradient(dy), field, v });
        });
        if !dx.is_empty() {
            let m = &mut *v;
            products(tiles, d, weight, [g.ci, 9], [g.co, 9 * g.ci], m);
            let m = &*m;
            dx.par_chunks_mut(g.ci * g.plane()).enumerate().for_each(|(i, image)| {
                scratch::lanes([plan.field_size()], |[field]| {
                    widest(Image { plan, tiles, i, target: Target::Input, m, field, image });
                });
            });
        }
        if !dw.is_empty() {
            each_block(plan, v, |block, field, v| {
                widest(Planes { plan, tiles, block, source: Source::Input(x), field, v });
            });
            let v = &*v;
            dw.par_chunks_mut(LANES * g.ci * 9).zip(d.par_chunks(points)).for_each(|(dw, d)| {
                scratch::lanes([block_of(blocks(g.ci) * LANES)], |[sum]| {
                    widest(Sums { tiles, v, d, sum });
                    widest(BlockBack { inputs: g.ci, sum, dw });
                });
            });
        }
    });
}

/// Runs `work(block, field, its points)` for every block of sixteen channels.
fn each_block(plan: &Plan, points: &mut [Lane], work: impl Fn(usize, &mut [Lane], &mut [Lane]) + Sync) {
    let tiles = plan.g.n * plan.per_image;
    points.par_chunks_mut(block_of(tiles)).enumerate().for_each(|(block, points)| {
        scratch::lanes([plan.field_size()], |[field]| work(block, field, points));
    });
}

/// `out[block] = from · u[block]`, transforming the weights of each block just before.
fn products(tiles: usize, from: &[Lane], weight: &[f32], lane: [usize; 2], sum: [usize; 2], out: &mut [Lane]) {
    let k = sum[0].next_multiple_of(LANES);
    out.par_chunks_mut(block_of(tiles)).enumerate().for_each(|(block, out)| {
        scratch::lanes([block_of(k)], |[u]| {
            transform_block(weight, block, lane, sum, u);
            widest(Product { tiles, from, u, out });
        });
    });
}

/// What tiles are made of.
#[derive(Clone, Copy)]
enum Source<'a> {
    Input(&'a [f32]),
    Gradient(&'a [f32]),
}

/// What is made of tiles.
#[derive(Clone, Copy)]
enum Target<'a> {
    /// `y`, with its bias.
    Output(Option<&'a [f32]>),
    /// `dx`.
    Input,
}

/// The tiles of sixteen channels of all images.
struct Planes<'a> {
    plan: &'a Plan,
    tiles: usize,
    block: usize,
    source: Source<'a>,
    field: &'a mut [Lane],
    v: &'a mut [Lane],
}

impl Kernel for Planes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { plan, tiles, block, source, field, v } = self;
        let g = &plan.g;
        let (values, channels, plane) = match source {
            Source::Gradient(dy) => (dy, g.co, g.out_plane()),
            Source::Input(x) => (x, g.ci, g.plane()),
        };
        let of_block = block * LANES * plane..(block * LANES + LANES).min(channels) * plane;
        for (i, image) in values.chunks_exact(channels * plane).enumerate() {
            let planes = &image[of_block.clone()];
            match source {
                Source::Gradient(_) => transform_gradient_planes::<R>(plan, tiles, i, planes, field, v),
                Source::Input(_) => transform_input_planes::<R>(plan, tiles, i, planes, field, v),
            }
        }
    }
}

/// The planes of one image out of the points of all.
struct Image<'a> {
    plan: &'a Plan,
    tiles: usize,
    i: usize,
    target: Target<'a>,
    m: &'a [Lane],
    field: &'a mut [Lane],
    image: &'a mut [f32],
}

impl Kernel for Image<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { plan, tiles, i, target, m, field, image } = self;
        match target {
            Target::Output(bias) => write_output::<R>(plan, tiles, i, m, bias, field, image),
            Target::Input => write_input::<R>(plan, tiles, i, m, field, image),
        }
    }
}

struct Product<'a> {
    tiles: usize,
    from: &'a [Lane],
    u: &'a [Lane],
    out: &'a mut [Lane],
}

impl Kernel for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        product::forward::<R>(self.tiles, self.from, self.u, self.out);
    }
}

/// `sum[36][inputs]`, lanes of sixteen outputs: the gradient of the transformed weights.
struct Sums<'a> {
    tiles: usize,
    v: &'a [Lane],
    d: &'a [Lane],
    sum: &'a mut [Lane],
}

impl Kernel for Sums<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { tiles, v, d, sum } = self;
        let per_point = sum.len() / POINTS;
        for (point, sum) in sum.chunks_exact_mut(per_point).enumerate() {
            sum.fill(ZERO);
            product::weight_gradient::<R>(tiles, point, d, v, sum);
        }
    }
}
