//! Images ↔ overlapping tiles: 6×6 inputs for 4×4 outputs, and the transforms that read and write them.

use super::field::Field;
use super::product::{apart, block_of};
use super::transform::{self, both_sides};
use crate::cpu::conv::Geometry;
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::simd::Register;

/// Tiles of a chunk that make the products efficient.
const CHUNK_TILES: usize = 64;

/// How images are cut into tiles and chunks.
pub(super) struct Plan {
    pub(super) g: Geometry,
    pub(super) tiles: [usize; 2],
    /// Tiles of one image.
    pub(super) per_image: usize,
    /// Images of one chunk.
    pub(super) images: usize,
}

impl Plan {
    pub(super) fn new(g: &Geometry) -> Self {
        let tiles = [g.oh().div_ceil(4), g.ow().div_ceil(4)];
        let per_image = tiles[0] * tiles[1];
        // no fewer than four chunks where there are four images
        let images = (CHUNK_TILES / per_image).clamp(1, g.n.div_ceil(4).max(1));
        Self { g: *g, tiles, per_image, images }
    }

    /// The input with its padding, cut or extended to whole tiles.
    pub(super) fn input(&self) -> Field {
        let [rows, columns] = self.tiles.map(|t| 4 * t + 2);
        let [top, left] = self.g.padding;
        Field { rows, columns, top, left, h: self.g.h, w: self.g.w }
    }

    /// The output, extended to whole tiles.
    pub(super) fn output(&self) -> Field {
        let [rows, columns] = self.tiles.map(|t| 4 * t);
        Field { rows, columns, top: 0, left: 0, h: self.g.oh(), w: self.g.ow() }
    }

    pub(super) fn field_size(&self) -> usize {
        let field = self.input();
        field.rows * field.columns
    }

    /// The upper left corner of each tile of an image, in rows and columns of the output.
    #[inline(always)]
    pub(super) fn corners(&self) -> impl Iterator<Item = (usize, usize)> {
        let [rows, columns] = self.tiles;
        (0..rows).flat_map(move |y| (0..columns).map(move |x| (4 * y, 4 * x)))
    }
}

/// `v[block][point][tile] = Bᵀ x B` for all planes of a chunk.
#[inline(always)]
pub(super) fn transform_input<R: Register>(plan: &Plan, tiles: usize, x: &[f32], field: &mut [Lane], v: &mut [Lane]) {
    let g = &plan.g;
    for (i, image) in x.chunks_exact(g.ci * g.plane()).enumerate() {
        for (planes, v) in image.chunks(LANES * g.plane()).zip(v.chunks_exact_mut(block_of(tiles))) {
            transform_input_planes::<R>(plan, tiles, i, planes, field, v);
        }
    }
}

/// `v[point][tile] = Bᵀ x B` for up to sixteen planes of image `i`.
#[inline(always)]
pub(super) fn transform_input_planes<R: Register>(
    plan: &Plan,
    tiles: usize,
    i: usize,
    planes: &[f32],
    field: &mut [Lane],
    v: &mut [Lane],
) {
    let f = plan.input();
    f.read::<R>(planes, field);
    for (t, (y, x)) in plan.corners().enumerate() {
        let mut tile = [[R::load(&ZERO); 6]; 6];
        for r in 0..6 {
            let row: &[Lane; 6] = field[(y + r) * f.columns + x..].first_chunk().expect("a row of the tile");
            for c in 0..6 {
                tile[r][c] = R::load(&row[c]);
            }
        }
        store(both_sides!(transform::input::<R>, tile, 6 => 6), apart(tiles), i * plan.per_image + t, v);
    }
}

/// `d[block][point][tile] = A dy Aᵀ` for all planes of a chunk.
#[inline(always)]
pub(super) fn transform_gradient<R: Register>(
    plan: &Plan,
    tiles: usize,
    dy: &[f32],
    field: &mut [Lane],
    d: &mut [Lane],
) {
    let g = &plan.g;
    for (i, image) in dy.chunks_exact(g.co * g.out_plane()).enumerate() {
        for (planes, d) in image.chunks(LANES * g.out_plane()).zip(d.chunks_exact_mut(block_of(tiles))) {
            transform_gradient_planes::<R>(plan, tiles, i, planes, field, d);
        }
    }
}

/// `d[point][tile] = A dy Aᵀ` for up to sixteen planes of image `i`.
#[inline(always)]
pub(super) fn transform_gradient_planes<R: Register>(
    plan: &Plan,
    tiles: usize,
    i: usize,
    planes: &[f32],
    field: &mut [Lane],
    d: &mut [Lane],
) {
    let f = plan.output();
    f.read::<R>(planes, field);
    for (t, (y, x)) in plan.corners().enumerate() {
        let mut tile = [[R::load(&ZERO); 4]; 4];
        for r in 0..4 {
            let row: &[Lane; 4] = field[(y + r) * f.columns + x..].first_chunk().expect("a row of the tile");
            for c in 0..4 {
                tile[r][c] = R::load(&row[c]);
            }
        }
        store(both_sides!(transform::output_transposed::<R>, tile, 4 => 6), apart(tiles), i * plan.per_image + t, d);
    }
}

/// `y = Aᵀ m A` plus the bias, for the planes of image `i`.
#[inline(always)]
pub(super) fn write_output<R: Register>(
    plan: &Plan,
    tiles: usize,
    i: usize,
    m: &[Lane],
    bias: Option<&[f32]>,
    field: &mut [Lane],
    image: &mut [f32],
) {
    let (g, f) = (&plan.g, plan.output());
    for (block, (planes, m)) in image.chunks_mut(LANES * g.out_plane()).zip(m.chunks_exact(block_of(tiles))).enumerate()
    {
        for (t, (y, x)) in plan.corners().enumerate() {
            let tile = load::<R>(m, apart(tiles), i * plan.per_image + t);
            let tile = both_sides!(transform::output::<R>, tile, 6 => 4);
            for r in 0..4 {
                let row: &mut [Lane; 4] = field[(y + r) * f.columns + x..].first_chunk_mut().expect("a row");
                for c in 0..4 {
                    tile[r][c].store(&mut row[c]);
                }
            }
        }
        let mut offset = ZERO;
        if let Some(bias) = bias {
            offset.0.iter_mut().zip(&bias[block * LANES..]).for_each(|(o, b)| *o = *b);
        }
        f.write::<R>(field, &offset, planes);
    }
}

/// `dx = B m Bᵀ` for the planes of image `i`: tiles overlap and are added.
#[inline(always)]
pub(super) fn write_input<R: Register>(
    plan: &Plan,
    tiles: usize,
    i: usize,
    m: &[Lane],
    field: &mut [Lane],
    image: &mut [f32],
) {
    let (g, f) = (&plan.g, plan.input());
    for (planes, m) in image.chunks_mut(LANES * g.plane()).zip(m.chunks_exact(block_of(tiles))) {
        field.fill(ZERO);
        for (t, (y, x)) in plan.corners().enumerate() {
            let tile = load::<R>(m, apart(tiles), i * plan.per_image + t);
            let tile = both_sides!(transform::input_transposed::<R>, tile, 6 => 6);
            for r in 0..6 {
                let row: &mut [Lane; 6] = field[(y + r) * f.columns + x..].first_chunk_mut().expect("a row");
                for c in 0..6 {
                    R::load(&row[c]).add(tile[r][c]).store(&mut row[c]);
                }
            }
        }
        f.write::<R>(field, &ZERO, planes);
    }
}

/// The 36 points of one tile to their places, so far apart.
#[inline(always)]
pub(super) fn store<R: Register>(values: [[R; 6]; 6], apart: usize, t: usize, into: &mut [Lane]) {
    let into = &mut into[t..];
    for r in 0..6 {
        for c in 0..6 {
            values[r][c].store(&mut into[(6 * r + c) * apart]);
        }
    }
}

/// The 36 points of one tile from their places, so far apart.
#[inline(always)]
pub(super) fn load<R: Register>(from: &[Lane], apart: usize, t: usize) -> [[R; 6]; 6] {
    let from = &from[t..];
    let mut values = [[R::load(&ZERO); 6]; 6];
    for r in 0..6 {
        for c in 0..6 {
            values[r][c] = R::load(&from[(6 * r + c) * apart]);
        }
    }
    values
}
