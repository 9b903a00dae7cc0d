//! The matrix products between Winograd's transforms: 36 of them, on operands that the transforms wrote in the order in
//! which they are read.
//!
//! All operands are blocks of sixteen channels: `[block][36][rows][16]`, with points [`apart`].

use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::simd::Register;

/// Multiplications of one tile.
pub(crate) const POINTS: usize = 36;

/// From one point of so many rows to the next: an odd number of cache lines. A transform writes all 36 points of a row, and at a distance
/// that is a power of two they would all compete for the same few places of the cache.
pub(crate) fn apart(rows: usize) -> usize {
    rows | 1
}

/// All points of so many rows, for sixteen channels.
pub(crate) fn block_of(rows: usize) -> usize {
    POINTS * apart(rows)
}

/// Blocks of sixteen channels that are added up one after the other; such runs are then added to each other. The rounding error of a sum of n
/// terms in one go grows as √n, and the transforms enlarge it.
const RUN: usize = 2;

/// The same for tiles.
const TILE_RUN: usize = 64;

/// `out[t, o] = Σ_k v[t, k] · u[k, o]` for each of the 36 points.
///
/// `v`: `[k blocks][36][tiles]`, `u`: `[o blocks][36][k blocks × 16]`, `out`: `[o blocks][36][tiles]`, all of lanes.
#[inline(always)]
pub(crate) fn forward<R: Register>(tiles: usize, v: &[Lane], u: &[Lane], out: &mut [Lane]) {
    let k_blocks = v.len() / block_of(tiles);
    let o_blocks = out.len() / block_of(tiles);
    for point in 0..POINTS {
        let panel = |o: usize| &u[(o * POINTS + point) * apart(k_blocks * LANES)..][..k_blocks * LANES];
        let of_point = point * apart(tiles);
        let mut o = 0;
        // sums that stay in registers: 12 × 2 of 32, 6 × 1 of 8
        if R::HELD >= 32 {
            while o + 2 <= o_blocks {
                let (first, second) = out[o * block_of(tiles)..].split_at_mut(block_of(tiles));
                let mut into = [&mut first[of_point..][..tiles], &mut second[of_point..][..tiles]];
                rows::<R, 12, 2>(tiles, point, v, [panel(o), panel(o + 1)], &mut into);
                o += 2;
            }
        }
        while o < o_blocks {
            let into = &mut out[o * block_of(tiles) + of_point..][..tiles];
            if R::HELD >= 32 {
                rows::<R, 12, 1>(tiles, point, v, [panel(o)], &mut [into]);
            } else {
                rows::<R, 6, 1>(tiles, point, v, [panel(o)], &mut [into]);
            }
            o += 1;
        }
    }
}

/// All tiles of one point and `N` output blocks, `M` tiles at a time.
#[inline(always)]
fn rows<R: Register, const M: usize, const N: usize>(
    tiles: usize,
    point: usize,
    v: &[Lane],
    u: [&[Lane]; N],
    out: &mut [&mut [Lane]; N],
) {
    let mut t = 0;
    while t + M <= tiles {
        accumulate::<R, M, N>(tiles, point, t, v, u, out);
        t += M;
    }
    while t + 4 <= tiles {
        accumulate::<R, 4, N>(tiles, point, t, v, u, out);
        t += 4;
    }
    while t < tiles {
        accumulate::<R, 1, N>(tiles, point, t, v, u, out);
        t += 1;
    }
}

#[inline(always)]
fn accumulate<R: Register, const M: usize, const N: usize>(
    tiles: usize,
    point: usize,
    t: usize,
    v: &[Lane],
    u: [&[Lane]; N],
    out: &mut [&mut [Lane]; N],
) {
    let k_blocks = u[0].len() / LANES;
    for first in (0..k_blocks).step_by(RUN) {
        let mut sums = [[R::load(&ZERO); N]; M];
        for k in first..(first + RUN).min(k_blocks) {
            let left = v[(k * POINTS + point) * apart(tiles) + t..].first_chunk::<M>().expect("M tiles");
            let right = u.map(|u| u[k * LANES..].first_chunk::<LANES>().expect("a block"));
            #[allow(clippy::needless_range_loop)] // `l` runs over lanes of the left factor as well
            for l in 0..LANES {
                let columns: [R; N] = std::array::from_fn(|n| R::load(&right[n][l]));
                for m in 0..M {
                    let s = left[m].0[l];
                    for n in 0..N {
                        sums[m][n] = sums[m][n].plus(s, columns[n]);
                    }
                }
            }
        }
        for m in 0..M {
            for n in 0..N {
                let out = &mut out[n][t + m];
                let sum = if first == 0 { sums[m][n] } else { R::load(out).add(sums[m][n]) };
                sum.store(out);
            }
        }
    }
}

/// `sum[i, o] += Σ_t v[t, i] · d[t, o]` for one point: the contribution of some tiles to the gradient of the weights.
///
/// `v`: `[i blocks][36][tiles]`, `d`: `[o blocks][36][tiles]`, `sum`: `[i blocks][o blocks × 16]`, all of lanes.
#[inline(always)]
pub(crate) fn weight_gradient<R: Register>(tiles: usize, point: usize, v: &[Lane], d: &[Lane], sum: &mut [Lane]) {
    let i_blocks = v.len() / block_of(tiles);
    let outputs = d.len() / block_of(tiles) * LANES;
    let block = |i: usize| &v[(i * POINTS + point) * apart(tiles)..][..tiles];
    let mut i = 0;
    if R::HELD >= 32 {
        while i + 2 <= i_blocks {
            let (first, second) = sum[i * outputs..].split_at_mut(outputs);
            columns::<R, 8, 2>(tiles, point, [block(i), block(i + 1)], d, &mut [first, &mut second[..outputs]]);
            i += 2;
        }
    }
    while i < i_blocks {
        let sum = &mut sum[i * outputs..][..outputs];
        if R::HELD >= 32 {
            columns::<R, 8, 1>(tiles, point, [block(i)], d, &mut [sum]);
        } else {
            columns::<R, 4, 1>(tiles, point, [block(i)], d, &mut [sum]);
        }
        i += 1;
    }
}

/// All outputs of one point and `N` input blocks, `M` outputs at a time (`M` divides 16).
#[inline(always)]
fn columns<R: Register, const M: usize, const N: usize>(
    tiles: usize,
    point: usize,
    v: [&[Lane]; N],
    d: &[Lane],
    sum: &mut [&mut [Lane]; N],
) {
    for o in (0..sum[0].len()).step_by(M) {
        let d = &d[(o / LANES * POINTS + point) * apart(tiles)..][..tiles];
        for (run, d) in d.chunks(TILE_RUN).enumerate() {
            let mut sums = [[R::load(&ZERO); N]; M];
            for (t, d) in d.iter().enumerate() {
                let d = d.0[o % LANES..].first_chunk::<M>().expect("M divides 16");
                let rows: [R; N] = std::array::from_fn(|n| R::load(&v[n][run * TILE_RUN + t]));
                for m in 0..M {
                    for n in 0..N {
                        sums[m][n] = sums[m][n].plus(d[m], rows[n]);
                    }
                }
            }
            for n in 0..N {
                for m in 0..M {
                    let into = &mut sum[n][o + m];
                    R::load(into).add(sums[m][n]).store(into);
                }
            }
        }
    }
}
