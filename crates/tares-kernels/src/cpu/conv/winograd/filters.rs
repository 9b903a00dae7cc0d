//! Weights and their gradient ↔ the 36 points.

use super::blocks;
use super::product::{POINTS, block_of};
use super::tiles::{load, store};
use super::transform::{self, both_sides};
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use rayon::prelude::*;

/// `dweight[o] = Gᵀ sum G` for all input channels.
pub(super) struct WeightBack<'a> {
    pub(super) o: usize,
    pub(super) per_point: usize,
    pub(super) outputs: usize,
    pub(super) sum: &'a [Lane],
    pub(super) dw: &'a mut [f32],
}

impl Kernel for WeightBack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (block, dw) in self.dw.chunks_mut(LANES * 9).enumerate() {
            let tile = load::<R>(&self.sum[block * self.outputs + self.o..], self.per_point, 0);
            let taps = both_sides!(transform::weight_transposed::<R>, tile, 6 => 3);
            let filters = R::transpose(sixteen(taps));
            for (dw, filter) in dw.chunks_exact_mut(9).zip(filters) {
                dw.copy_from_slice(&lane(filter).0[..9]);
            }
        }
    }
}

/// `dweight[l][k] = Gᵀ sum G` for one block of sixteen outputs: `sum[36][k]`, whose lanes are outputs.
pub(super) struct BlockBack<'a> {
    /// Input channels.
    pub(super) inputs: usize,
    pub(super) sum: &'a [Lane],
    pub(super) dw: &'a mut [f32],
}

impl Kernel for BlockBack<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { inputs, sum, dw } = self;
        let per_point = sum.len() / POINTS;
        for k in 0..inputs {
            let tile = load::<R>(sum, per_point, k);
            let taps = both_sides!(transform::weight_transposed::<R>, tile, 6 => 3);
            let filters = R::transpose(sixteen(taps));
            for (dw, filter) in dw.chunks_exact_mut(inputs * 9).zip(filters) {
                dw[9 * k..][..9].copy_from_slice(&lane(filter).0[..9]);
            }
        }
    }
}

/// The nine taps of a filter, and seven values of no meaning.
#[inline(always)]
fn filter<R: Register>(weight: &[f32]) -> R {
    match weight.first_chunk() {
        Some(values) => R::read(values),
        None => {
            let mut last = ZERO;
            last.0[..9].copy_from_slice(&weight[..9]);
            R::load(&last)
        }
    }
}

/// The nine taps, and seven values of no meaning.
#[inline(always)]
fn sixteen<R: Register>(taps: [[R; 3]; 3]) -> [R; LANES] {
    let mut all = [taps[0][0]; LANES];
    for r in 0..3 {
        for c in 0..3 {
            all[3 * r + c] = taps[r][c];
        }
    }
    all
}

#[inline(always)]
fn lane<R: Register>(values: R) -> Lane {
    let mut lane = ZERO;
    values.store(&mut lane);
    lane
}

/// Lends `u[lane block][point][k] = G g Gᵀ`, where `g` of lane `l` and summation index `k` starts at `l·lane.1 + k·sum.1`.
pub(super) fn with_transformed<R>(
    weight: &[f32],
    lane: [usize; 2],
    sum: [usize; 2],
    work: impl FnOnce(&[Lane]) -> R,
) -> R {
    let k = sum[0].next_multiple_of(LANES);
    scratch::lanes([blocks(lane[0]) * block_of(k)], |[u]| {
        u.par_chunks_mut(block_of(k)).enumerate().for_each(|(block, u)| {
            transform_block(weight, block, lane, sum, u);
        });
        work(u)
    })
}

/// `u[point][k]` of one lane block of [`with_transformed`].
pub(super) fn transform_block(weight: &[f32], block: usize, lane: [usize; 2], sum: [usize; 2], u: &mut [Lane]) {
    let first = block * LANES;
    let count = LANES.min(lane[0] - first);
    widest(WeightIn { weight: &weight[first * lane[1]..], count, step: lane[1], sum, u });
}

struct WeightIn<'a> {
    weight: &'a [f32],
    count: usize,
    step: usize,
    sum: [usize; 2],
    u: &'a mut [Lane],
}

impl Kernel for WeightIn<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let padded = self.u.len() / POINTS;
        for point in self.u.chunks_exact_mut(padded) {
            point[self.sum[0]..].fill(ZERO); // what the last borrower left there
        }
        for k in 0..self.sum[0] {
            let mut filters = [R::load(&ZERO); LANES];
            #[allow(clippy::needless_range_loop)] // a constant number of turns keeps the filters in registers
            for l in 0..LANES {
                if l < self.count {
                    filters[l] = filter(&self.weight[l * self.step + k * self.sum[1]..]);
                }
            }
            let taps = R::transpose(filters);
            let taps = [[taps[0], taps[1], taps[2]], [taps[3], taps[4], taps[5]], [taps[6], taps[7], taps[8]]];
            store(both_sides!(transform::weight::<R>, taps, 3 => 6), padded, k, self.u);
        }
    }
}
