//! Weights and their gradient ↔ the 36 points.

use super::blocks;
use super::product::POINTS;
use super::tiles::{load, store};
use super::transform::{self, both_sides};
use crate::cpu::lane::{LANES, Lane, ZERO};
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
pub(super) fn transform_weight(weight: &[f32], lane: [usize; 2], sum: [usize; 2]) -> Vec<Lane> {
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

impl Kernel for WeightIn<'_> {
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
