//! Rows of few classes side by side: each class has a lane of numbers, one per row.
//!
//! Every lane does the same operations in the same order, so a row gives the same bits alone (L = 1) as among eight.

use super::likelihood::FLOOR;
use super::sample::NEGLIGIBLE;
use crate::dataset::Label;
use crate::estimate::math32::{larger, log2};

/// Up to this many classes, rows are processed side by side.
pub(crate) const FEW: usize = 32;

/// Rows side by side: as many as a 256-bit vector holds.
pub(crate) const ROWS: usize = 8;

/// Log ratios of rows whose largest entries are `tops`; all slices are `[class][row]`.
///
/// `informative` becomes 1 for classes that are not negligible beside the largest, and for the given label; 0 for all others.
/// `ratios` becomes log₂((p + ε) / (mean p of the others + ε)) for informative classes, 0 for the others.
#[inline(always)]
pub(crate) fn log_ratios<const L: usize>(
    values: &[[f32; L]],
    tops: &[f32; L],
    labels: &[Label; L],
    ratios: &mut [[f32; L]],
    informative: &mut [[f32; L]],
) {
    let (classes, floor) = (values.len(), FLOOR as f32);
    let (mut sums, mut counts) = ([0.0; L], [0.0; L]);
    for (class, (values, informative)) in values.iter().zip(informative.iter_mut()).enumerate() {
        for lane in 0..L {
            let large = if values[lane] >= tops[lane] * NEGLIGIBLE as f32 { 1.0 } else { 0.0 };
            informative[lane] = if labels[lane] == class as u32 { 1.0 } else { large };
            sums[lane] += informative[lane] * values[lane];
            counts[lane] += informative[lane];
        }
    }
    let mut base = [0.0; L];
    for lane in 0..L {
        let others = classes as f32 - counts[lane];
        let mean = larger(1.0 - sums[lane], 0.0) / larger(others, 1.0);
        base[lane] = log2(if others > 0.0 { mean + floor } else { floor });
    }
    for ((values, informative), ratios) in values.iter().zip(informative.iter()).zip(ratios) {
        for lane in 0..L {
            ratios[lane] = (log2(larger(values[lane] + floor, 1e-30)) - base[lane]) * informative[lane];
        }
    }
}

/// The sum of the lanes, always in the same order.
#[inline(always)]
pub(crate) fn sum_lanes(lanes: [f32; ROWS]) -> f32 {
    let halves = [lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]];
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
