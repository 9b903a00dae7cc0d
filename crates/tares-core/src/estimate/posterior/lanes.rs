//! Rows of few classes, side by side: every class is a lane of numbers, one per row.
//!
//! All lanes do the same in the same order, so a row says the same alone (L = 1) as among eight.

use super::likelihood::FLOOR;
use super::sample::NEGLIGIBLE;
use crate::dataset::Label;
use crate::estimate::glance::{larger, log2};

/// With up to this many classes rows lie side by side.
pub(crate) const FEW: usize = 32;

/// Rows side by side: as many as one vector of 256 bits holds.
pub(crate) const ROWS: usize = 8;

/// Reads rows whose largest entries are `tops`; everything is `[class][row]`.
///
/// `tells` becomes 1 for the classes that tell something (not negligible beside the largest, or the given one) and 0 for
/// the others, `heights` log₂(p + ε) as seen from the mean of those others, and 0 for them.
#[inline(always)]
pub(crate) fn tell<const L: usize>(
    values: &[[f32; L]],
    tops: &[f32; L],
    labels: &[Label; L],
    heights: &mut [[f32; L]],
    tells: &mut [[f32; L]],
) {
    let (classes, floor) = (values.len(), FLOOR as f32);
    let (mut told, mut telling) = ([0.0; L], [0.0; L]);
    for (class, (values, tells)) in values.iter().zip(tells.iter_mut()).enumerate() {
        for lane in 0..L {
            let large = if values[lane] >= tops[lane] * NEGLIGIBLE as f32 { 1.0 } else { 0.0 };
            tells[lane] = if labels[lane] == class as u32 { 1.0 } else { large };
            told[lane] += tells[lane] * values[lane];
            telling[lane] += tells[lane];
        }
    }
    let mut ground = [0.0; L];
    for lane in 0..L {
        let missing = classes as f32 - telling[lane];
        let mean = larger(1.0 - told[lane], 0.0) / larger(missing, 1.0);
        ground[lane] = log2(if missing > 0.0 { mean + floor } else { floor });
    }
    for ((values, tells), heights) in values.iter().zip(tells.iter()).zip(heights) {
        for lane in 0..L {
            heights[lane] = (log2(larger(values[lane] + floor, 1e-30)) - ground[lane]) * tells[lane];
        }
    }
}
