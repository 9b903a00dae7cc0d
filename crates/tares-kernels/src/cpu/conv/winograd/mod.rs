//! 3×3 convolution with stride 1 by Winograd's algorithm F(4×4, 3×3): a quarter of the multiplications.
//!
//! ```text
//! forward    x ─ Bᵀ·B ─▶ v ─┐                                  v, d, m: [channel block][36 points][tiles][16 channels]
//!       weight ─ G·Gᵀ ─▶ u ─┴ 36 products ─▶ m ─ Aᵀ·A ─▶ y
//! backward  dy ─ A·Aᵀ ─▶ d ─┬ 36 products with uᵀ ─▶ m ─ B·Bᵀ, overlapping tiles added ─▶ dx
//!            x ─ Bᵀ·B ─▶ v ─┴ 36 products over tiles ─▶ sum ─ Gᵀ·G ─▶ dweight
//! ```
//!
//! A *chunk* is a run of whole images with enough tiles for an efficient product and operands that stay in cache. One
//! thread takes a chunk through all stages. The weight's gradient is a sum over all chunks: each of the 36 points adds them in
//! order, so that the result does not depend on the number of threads. Transformed inputs are not kept between forward and backward:
//! that would more than triple the memory of a training step.

mod field;
mod product;
mod transform;

use crate::cpu::conv::Geometry;
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::scratch;
use crate::cpu::simd::{Lanes, Register, widest};
use field::Field;
use product::POINTS;
use rayon::prelude::*;
use transform::both_sides;

/// Tiles of a chunk that make the products efficient.
const CHUNK_TILES: usize = 64;

/// Chunks between two additions to the weight's gradient: tasks enough for several cores.
const CHUNKS_AT_ONCE: usize = 4;

/// Whether this algorithm is defined for `g` and faster than the product with lowered columns.
pub(crate) fn suits(g: &Geometry) -> bool {
    let defined = (g.kh, g.kw) == (3, 3) && g.stride == [1, 1] && g.padding[0] <= 2 && g.padding[1] <= 2;
    if !defined || g.n == 0 || g.ci < 12 || g.co < 12 {
        return false;
    }
    // multiplications, transforms counted as 16 per value moved
    let (ci, co) = (g.ci.next_multiple_of(LANES), g.co.next_multiple_of(LANES));
    let ours = Plan::new(g).per_image * POINTS * (ci * co + 16 * (ci + co));
    ours < g.out_plane() * 9 * g.ci * g.co
}

/// `y = conv2d(x, weight) + bias`.
pub(crate) fn forward(g: &Geometry, x: &[f32], weight: &[f32], bias: Option<&[f32]>) -> Vec<f32> {
    let plan = Plan::new(g);
    let u = transform_weight(weight, [g.co, 9 * g.ci], [g.ci, 9]);
    let mut y = vec![0.0; g.n * g.co * g.out_plane()];
    y.par_chunks_mut(plan.images * g.co * g.out_plane()).zip(x.par_chunks(plan.images * g.ci * g.plane())).for_each(
        |(y, x)| {
            let tiles = x.len() / (g.ci * g.plane()) * plan.per_image;
            let sizes = [plan.field_size(), blocks(g.ci) * POINTS * tiles, blocks(g.co) * POINTS * tiles];
            scratch::lanes(sizes, |[field, v, m]| {
                widest(Forward { plan: &plan, tiles, x, u: &u, bias, field, v, m, y });
            });
        },
    );
    y
}

/// Gradients with respect to `x` and `weight`, each where it is asked for.
pub(crate) fn gradients(
    g: &Geometry,
    x: &[f32],
    weight: &[f32],
    dy: &[f32],
    [of_x, of_weight]: [bool; 2],
) -> [Option<Vec<f32>>; 2] {
    let plan = Plan::new(g);
    let u = if of_x { transform_weight(weight, [g.ci, 9], [g.co, 9 * g.ci]) } else { Vec::new() };
    let mut dx = vec![0.0; if of_x { g.n * g.ci * g.plane() } else { 0 }];
    let (ci, co) = (blocks(g.ci), blocks(g.co));
    let per_point = ci * co * LANES;
    let mut sum = vec![ZERO; if of_weight { POINTS * per_point } else { 0 }];

    let (x_chunk, dy_chunk) = (plan.images * g.ci * g.plane(), plan.images * g.co * g.out_plane());
    let chunk_points = POINTS * plan.images * plan.per_image;
    let v_chunk = if of_weight { ci * chunk_points } else { 0 };
    scratch::lanes([CHUNKS_AT_ONCE * v_chunk, CHUNKS_AT_ONCE * co * chunk_points], |[v, d]| {
        let mut dx = dx.chunks_mut(x_chunk);
        for (x, dy) in x.chunks(CHUNKS_AT_ONCE * x_chunk).zip(dy.chunks(CHUNKS_AT_ONCE * dy_chunk)) {
            let mut v_free = &mut *v;
            let mut chunks: Vec<Backward> = x
                .chunks(x_chunk)
                .zip(dy.chunks(dy_chunk))
                .zip(d.chunks_mut(co * chunk_points))
                .map(|((x, dy), d)| {
                    let tiles = x.len() / (g.ci * g.plane()) * plan.per_image;
                    let (v, rest) = std::mem::take(&mut v_free).split_at_mut(v_chunk);
                    v_free = rest;
                    let v = &mut v[..if of_weight { ci * POINTS * tiles } else { 0 }];
                    let dx = dx.next();
                    Backward { plan: &plan, tiles, x, dy, u: &u, v, d: &mut d[..co * POINTS * tiles], dx }
                })
                .collect();
            chunks.par_iter_mut().for_each(|chunk| {
                let m = if of_x { ci * POINTS * chunk.tiles } else { 0 };
                scratch::lanes([plan.field_size(), m], |[field, m]| widest(BackwardIn { chunk, field, m }));
            });
            sum.par_chunks_mut(per_point.max(1)).enumerate().for_each(|(point, sum)| {
                for chunk in &chunks {
                    widest(Accumulate { tiles: chunk.tiles, point, v: chunk.v, d: chunk.d, sum });
                }
            });
        }
    });
    let dw = of_weight.then(|| {
        let mut dw = vec![0.0; g.co * g.ci * 9];
        dw.par_chunks_mut(g.ci * 9).enumerate().for_each(|(o, dw)| {
            widest(WeightBack { o, per_point, outputs: co * LANES, sum: &sum, dw });
        });
        dw
    });
    [of_x.then_some(dx), dw]
}

fn blocks(channels: usize) -> usize {
    channels.div_ceil(LANES)
}

/// How images are cut into tiles and chunks.
struct Plan {
    g: Geometry,
    tiles: [usize; 2],
    /// Tiles of one image.
    per_image: usize,
    /// Images of one chunk.
    images: usize,
}

impl Plan {
    fn new(g: &Geometry) -> Self {
        let tiles = [g.oh().div_ceil(4), g.ow().div_ceil(4)];
        let per_image = tiles[0] * tiles[1];
        // no fewer than four chunks where there are four images
        let images = (CHUNK_TILES / per_image).clamp(1, g.n.div_ceil(4).max(1));
        Self { g: *g, tiles, per_image, images }
    }

    /// The input with its padding, cut or extended to whole tiles.
    fn input(&self) -> Field {
        let [rows, columns] = self.tiles.map(|t| 4 * t + 2);
        let [top, left] = self.g.padding;
        Field { rows, columns, top, left, h: self.g.h, w: self.g.w }
    }

    /// The output, extended to whole tiles.
    fn output(&self) -> Field {
        let [rows, columns] = self.tiles.map(|t| 4 * t);
        Field { rows, columns, top: 0, left: 0, h: self.g.oh(), w: self.g.ow() }
    }

    fn field_size(&self) -> usize {
        let field = self.input();
        field.rows * field.columns
    }

    /// The upper left corner of each tile of an image, in rows and columns of the output.
    #[inline(always)]
    fn corners(&self) -> impl Iterator<Item = (usize, usize)> {
        let [rows, columns] = self.tiles;
        (0..rows).flat_map(move |y| (0..columns).map(move |x| (4 * y, 4 * x)))
    }
}

/// `v[block][point][tile] = Bᵀ x B` for all planes of a chunk.
#[inline(always)]
fn transform_input<R: Register>(plan: &Plan, tiles: usize, x: &[f32], field: &mut [Lane], v: &mut [Lane]) {
    let (g, f) = (&plan.g, plan.input());
    for (i, image) in x.chunks_exact(g.ci * g.plane()).enumerate() {
        for (planes, v) in image.chunks(LANES * g.plane()).zip(v.chunks_exact_mut(POINTS * tiles)) {
            f.read(planes, field);
            for (t, (y, x)) in plan.corners().enumerate() {
                let mut tile = [[R::load(&ZERO); 6]; 6];
                for r in 0..6 {
                    let row: &[Lane; 6] = field[(y + r) * f.columns + x..].first_chunk().expect("a row of the tile");
                    for c in 0..6 {
                        tile[r][c] = R::load(&row[c]);
                    }
                }
                store(both_sides!(transform::input::<R>, tile, 6 => 6), tiles, i * plan.per_image + t, v);
            }
        }
    }
}

/// `d[block][point][tile] = A dy Aᵀ` for all planes of a chunk.
#[inline(always)]
fn transform_gradient<R: Register>(plan: &Plan, tiles: usize, dy: &[f32], field: &mut [Lane], d: &mut [Lane]) {
    let (g, f) = (&plan.g, plan.output());
    for (i, image) in dy.chunks_exact(g.co * g.out_plane()).enumerate() {
        for (planes, d) in image.chunks(LANES * g.out_plane()).zip(d.chunks_exact_mut(POINTS * tiles)) {
            f.read(planes, field);
            for (t, (y, x)) in plan.corners().enumerate() {
                let mut tile = [[R::load(&ZERO); 4]; 4];
                for r in 0..4 {
                    let row: &[Lane; 4] = field[(y + r) * f.columns + x..].first_chunk().expect("a row of the tile");
                    for c in 0..4 {
                        tile[r][c] = R::load(&row[c]);
                    }
                }
                store(both_sides!(transform::output_transposed::<R>, tile, 4 => 6), tiles, i * plan.per_image + t, d);
            }
        }
    }
}

/// The 36 points of one tile to their places.
#[inline(always)]
fn store<R: Register>(values: [[R; 6]; 6], tiles: usize, t: usize, into: &mut [Lane]) {
    let into = &mut into[t..];
    for r in 0..6 {
        for c in 0..6 {
            values[r][c].store(&mut into[(6 * r + c) * tiles]);
        }
    }
}

/// The 36 points of one tile from their places.
#[inline(always)]
fn load<R: Register>(from: &[Lane], tiles: usize, t: usize) -> [[R; 6]; 6] {
    let from = &from[t..];
    let mut values = [[R::load(&ZERO); 6]; 6];
    for r in 0..6 {
        for c in 0..6 {
            values[r][c] = R::load(&from[(6 * r + c) * tiles]);
        }
    }
    values
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

impl Lanes for Forward<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { plan, tiles, field, .. } = self;
        transform_input::<R>(plan, tiles, self.x, field, self.v);
        product::forward::<R>(tiles, self.v, self.u, self.m);
        let (g, f) = (&plan.g, plan.output());
        for (i, image) in self.y.chunks_exact_mut(g.co * g.out_plane()).enumerate() {
            let m = self.m.chunks_exact(POINTS * tiles);
            for (block, (planes, m)) in image.chunks_mut(LANES * g.out_plane()).zip(m).enumerate() {
                for (t, (y, x)) in plan.corners().enumerate() {
                    let tile = load::<R>(m, tiles, i * plan.per_image + t);
                    let tile = both_sides!(transform::output::<R>, tile, 6 => 4);
                    for r in 0..4 {
                        let row: &mut [Lane; 4] = field[(y + r) * f.columns + x..].first_chunk_mut().expect("a row");
                        for c in 0..4 {
                            tile[r][c].store(&mut row[c]);
                        }
                    }
                }
                let mut offset = ZERO;
                if let Some(bias) = self.bias {
                    offset.0.iter_mut().zip(&bias[block * LANES..]).for_each(|(o, b)| *o = *b);
                }
                f.write(field, &offset, planes);
            }
        }
    }
}

/// One chunk of the backward pass: what it reads, and what it leaves for the gradient of the weights.
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

impl Lanes for BackwardIn<'_, '_> {
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
        let (g, f) = (&plan.g, plan.input());
        for (i, image) in dx.chunks_exact_mut(g.ci * g.plane()).enumerate() {
            for (planes, m) in image.chunks_mut(LANES * g.plane()).zip(m.chunks_exact(POINTS * tiles)) {
                field.fill(ZERO);
                for (t, (y, x)) in plan.corners().enumerate() {
                    let tile = load::<R>(m, tiles, i * plan.per_image + t);
                    let tile = both_sides!(transform::input_transposed::<R>, tile, 6 => 6);
                    for r in 0..6 {
                        let row: &mut [Lane; 6] = field[(y + r) * f.columns + x..].first_chunk_mut().expect("a row");
                        for c in 0..6 {
                            R::load(&row[c]).add(tile[r][c]).store(&mut row[c]);
                        }
                    }
                }
                f.write(field, &ZERO, planes);
            }
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

impl Lanes for Accumulate<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        product::weight_gradient::<R>(self.tiles, self.point, self.v, self.d, self.sum);
    }
}

/// `dweight[o] = Gᵀ sum G` for all input channels.
struct WeightBack<'a> {
    o: usize,
    per_point: usize,
    outputs: usize,
    sum: &'a [Lane],
    dw: &'a mut [f32],
}

impl Lanes for WeightBack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (block, dw) in self.dw.chunks_mut(LANES * 9).enumerate() {
            let tile = load::<R>(&self.sum[block * self.outputs + self.o..], self.per_point, 0);
            let taps = both_sides!(transform::weight_transposed::<R>, tile, 6 => 3).map(|row| row.map(lane));
            for (l, dw) in dw.chunks_exact_mut(9).enumerate() {
                for (dw, tap) in dw.iter_mut().zip(taps.as_flattened()) {
                    *dw = tap[l];
                }
            }
        }
    }
}

#[inline(always)]
fn lane<R: Register>(values: R) -> Lane {
    let mut lane = ZERO;
    values.store(&mut lane);
    lane
}

/// `u[lane block][point][k] = G g Gᵀ`, where `g` of lane `l` and summation index `k` starts at `l·lane.1 + k·sum.1`.
fn transform_weight(weight: &[f32], lane: [usize; 2], sum: [usize; 2]) -> Vec<Lane> {
    let k = sum[0].next_multiple_of(LANES);
    let mut u = vec![ZERO; blocks(lane[0]) * POINTS * k];
    u.par_chunks_mut(POINTS * k).enumerate().for_each(|(block, u)| {
        let first = block * LANES;
        let count = LANES.min(lane[0] - first);
        widest(WeightIn { weight: &weight[first * lane[1]..], count, step: lane[1], sum, u });
    });
    u
}

struct WeightIn<'a> {
    weight: &'a [f32],
    count: usize,
    step: usize,
    sum: [usize; 2],
    u: &'a mut [Lane],
}

impl Lanes for WeightIn<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let padded = self.u.len() / POINTS;
        for k in 0..self.sum[0] {
            let mut taps = [[ZERO; 3]; 3];
            #[allow(clippy::needless_range_loop)] // a lane is an index into each tap
            for l in 0..self.count {
                let g: &[f32; 9] = self.weight[l * self.step + k * self.sum[1]..].first_chunk().expect("nine taps");
                for r in 0..3 {
                    for c in 0..3 {
                        taps[r][c][l] = g[3 * r + c];
                    }
                }
            }
            let taps: [[R; 3]; 3] = std::array::from_fn(|r| std::array::from_fn(|c| R::load(&taps[r][c])));
            store(both_sides!(transform::weight::<R>, taps, 3 => 6), padded, k, self.u);
        }
    }
}
