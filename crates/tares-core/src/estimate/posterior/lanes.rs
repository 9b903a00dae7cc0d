//! Rows of few classes side by side: each class has a lane of numbers, one per row.
//!
//! Every lane does the same operations in the same order, so a row gives the same bits alone (L = 1) as among others. Loops over lanes are
//! long enough that compilers vectorise them as loops: they unroll shorter ones first, and then leave half of the operations scalar.

use super::likelihood::FLOOR;
use super::sample::NEGLIGIBLE;
use crate::dataset::Label;
use crate::estimate::math32::{larger, log2};
use crate::estimate::probabilities::Number;
use crate::estimate::row::{LANES, across};

/// Up to this many classes, rows are processed side by side.
pub(crate) const FEW: usize = 32;

/// Rows side by side.
pub(crate) const ROWS: usize = 64;

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

/// A value for each lane. Where new values depend on the old ones by a comparison, this is faster than a loop that changes them in place:
/// compilers make that a store behind a mask, which takes tens of cycles on some processors.
#[inline(always)]
pub(crate) fn each<T: Copy + Default, const L: usize>(of: impl Fn(usize) -> T) -> [T; L] {
    let mut lanes = [T::default(); L];
    lanes.iter_mut().enumerate().for_each(|(lane, value)| *value = of(lane));
    lanes
}

/// The sum of the lanes, always in the same order.
#[inline(always)]
pub(crate) fn sum_lanes(lanes: [f32; ROWS]) -> f32 {
    let mut sums = [0.0; LANES];
    for tile in lanes.as_chunks::<LANES>().0 {
        for lane in 0..LANES {
            sums[lane] += tile[lane];
        }
    }
    across(sums, |a, b| a + b)
}

/// Puts the numbers of rows side by side: `rows` are K numbers for each of L rows.
///
/// Never inlined: where it is compiled for wide vectors, compilers scatter one row at a time, which is slower than single stores.
#[inline(never)]
pub(crate) fn put_side_by_side<R: Number, const L: usize>(rows: &[R], classes: usize, lanes: &mut [[f32; L]; FEW]) {
    for (lane, row) in (0..L).zip(rows.chunks_exact(classes)) {
        for (lanes, number) in lanes.iter_mut().zip(row) {
            lanes[lane] = number.narrow();
        }
    }
}

/// The same for the first K entries of one of several columns: that of each row's label.
#[inline(never)]
pub(crate) fn put_columns_side_by_side<const L: usize>(
    columns: &[[f32; FEW]],
    labels: &[Label; L],
    classes: usize,
    lanes: &mut [[f32; L]; FEW],
) {
    for (lane, &label) in labels.iter().enumerate() {
        // A label that is none is reported elsewhere.
        let column = columns.get(label as usize).unwrap_or(&[0.0; FEW]);
        for (lanes, entry) in lanes[..classes].iter_mut().zip(column) {
            lanes[lane] = *entry;
        }
    }
}
