//! One row of probabilities: its sum and range, its largest entry.

use super::math32::{larger, smaller};
use super::probabilities::Number;

/// Numbers that are added up side by side.
pub(crate) const LANES: usize = 16;

type Lanes = [f32; LANES];

/// Sum and range of a row, in 32 bits: enough to accept most rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RowSummary {
    pub(crate) sum: f32,
    /// The largest entry.
    pub(crate) max: f32,
    /// The smallest entry.
    pub(crate) min: f32,
}

impl RowSummary {
    #[inline(always)]
    pub(crate) fn of<R: Number>(row: &[R]) -> Self {
        let (mut sums, mut maxima, mut minima) = ([0.0; LANES], [f32::NEG_INFINITY; LANES], [f32::INFINITY; LANES]);
        let (chunks, rest) = row.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let value = chunk[lane].narrow();
                sums[lane] += value;
                maxima[lane] = larger(maxima[lane], value);
                minima[lane] = smaller(minima[lane], value);
            }
        }
        // What is left is filled up to sixteen: all lanes always do the same, so that compilers keep them in vectors.
        let (mut last, mut last_or_first) = ([0.0; LANES], [row.first().map_or(0.0, |value| value.narrow()); LANES]);
        for (lane, value) in rest.iter().enumerate() {
            (last[lane], last_or_first[lane]) = (value.narrow(), value.narrow());
        }
        for lane in 0..LANES {
            sums[lane] += last[lane];
            maxima[lane] = larger(maxima[lane], last_or_first[lane]);
            minima[lane] = smaller(minima[lane], last_or_first[lane]);
        }
        Self { sum: across(sums, |a, b| a + b), max: across(maxima, larger), min: across(minima, smaller) }
    }
}

/// Joins the upper half of the lanes to the lower half until one is left: always in the same order.
///
/// Never inlined: compilers that see the last two lanes joined keep lanes in pairs, back to the loop that filled them, and use a quarter of
/// each vector there.
#[inline(never)]
pub(crate) fn across(mut values: Lanes, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            values[lane] = join(values[lane], values[lane + width]);
        }
        width /= 2;
    }
    values[0]
}

/// The position and value of the largest entry; the first one when several are equal.
pub(crate) fn largest<R: Number>(row: &[R]) -> (usize, R) {
    let mut best = (0, row[0]);
    for (class, &value) in row.iter().enumerate().skip(1) {
        if value > best.1 {
            best = (class, value);
        }
    }
    best
}

/// Whether the largest entry is at `class`; the first one counts when several are equal.
#[inline(always)]
pub(crate) fn first_choice<R: Number>(row: &[R], class: usize) -> bool {
    let own = row[class];
    !any(&row[..class], |value| value >= own) && !any(&row[class + 1..], |value| value > own)
}

/// Whether `is` holds for any value; tested in blocks of sixteen, so that compilers use vector instructions.
#[inline(always)]
fn any<R: Number>(values: &[R], is: impl Fn(R) -> bool) -> bool {
    let (chunks, rest) = values.as_chunks::<16>();
    chunks.iter().any(|chunk| chunk.iter().fold(false, |found, &value| found | is(value)))
        || rest.iter().fold(false, |found, &value| found | is(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_length_are_summarised() {
        for classes in [2, 3, 15, 16, 17, 40, 1000] {
            let row: Vec<f64> = (0..classes).map(|k| f64::from((k * 7919) % classes) / 1024.0).collect();
            let summary = RowSummary::of(&row);
            let narrow: Vec<f32> = row.iter().map(|&v| v as f32).collect();
            assert_eq!(summary, RowSummary::of(&narrow), "{classes}");
            assert_eq!((summary.min, summary.max), (0.0, (classes - 1) as f32 / 1024.0));
            assert!((f64::from(summary.sum) - row.iter().sum::<f64>()).abs() < 1e-3);
        }
        assert!(RowSummary::of(&[0.5, f64::NAN, 0.5]).sum.is_nan());
        assert!(!RowSummary::of(&[0.5, f64::INFINITY, 0.5]).sum.is_finite());
    }
}
