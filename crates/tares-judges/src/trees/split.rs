//! The best way to cut a leaf in two along one column.
//!
//! With G and H the sums of gradients and hessians, M outputs and the penalty λ, a leaf is worth `Σ_m G_m² / (H_m + λ)` and a
//! cut gains what its two sides are worth beyond the whole (Chen & Guestrin 2016, equation 7, without the factor ½).

use super::histogram::{Quantised, stride};
use super::tree::Rule;

/// What a cut must leave on both sides, and how values are smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Weight of the rows of a leaf.
    pub(crate) least_weight: f64,
    /// λ.
    pub(crate) l2: f64,
}

/// Gains below this are rounding.
const LEAST_GAIN: f64 = 1e-9;
/// A leaf's hessian: below, the step −G/H is a guess.
const LEAST_HESSIAN: f64 = 1e-3;
/// Categories with more levels than these are ordered by their gradients, and smoothed: ...
const FEW_LEVELS: usize = 4;
/// ... as if each had this many more rows of the leaf's mean.
const SMOOTHING_ROWS: f64 = 10.0;

/// A cut.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cut {
    pub(crate) gain: f64,
    pub(crate) column: u32,
    pub(crate) rule: Rule,
    pub(crate) missing_left: bool,
    /// The sums of the left side.
    pub(crate) left: Vec<i64>,
}

/// Whether a gain is more than another by more than the rounding of gradients. Equal gains are frequent in the first rounds, where
/// rows of a class have equal gradients; the first one found must win, whatever the last digits are.
pub(crate) fn clearly_more(gain: f64, other: f64) -> bool {
    gain > other * (1.0 + 1e-7)
}

/// The best cut of the leaf whose bins of `column` are `histogram` and whose sums are `total`.
pub(crate) fn best_cut(
    histogram: &[i64],
    total: &[i64],
    column: u32,
    category: bool,
    quantised: &Quantised,
    limits: Limits,
) -> Option<Cut> {
    let search = Search { histogram, total, column, quantised, limits, whole: 0.0 };
    if category { search.categories() } else { search.numbers() }
}

struct Search<'a> {
    histogram: &'a [i64],
    total: &'a [i64],
    column: u32,
    quantised: &'a Quantised,
    limits: Limits,
    whole: f64,
}

impl Search<'_> {
    fn width(&self) -> usize {
        stride(self.quantised.outputs)
    }

    fn bin(&self, bin: usize) -> &[i64] {
        &self.histogram[bin * self.width()..][..self.width()]
    }

    /// Bins 1.. from left to right; missing values on the right, and once more on the left if there are any.
    fn numbers(mut self) -> Option<Cut> {
        self.whole = self.worth(self.total, self.limits.l2);
        let missing = self.bin(0).iter().any(|&sum| sum != 0);
        let bins = self.histogram.len() / self.width();
        let mut best: Option<Cut> = None;
        for missing_left in [false, true] {
            if missing_left && !missing {
                break;
            }
            let mut left = if missing_left { self.bin(0).to_vec() } else { vec![0; self.width()] };
            // With all known values on one side, the cut is between known and missing.
            let last = if missing && !missing_left { bins } else { bins - 1 };
            for bin in 1..last {
                if self.bin(bin).iter().all(|&sum| sum == 0) {
                    continue;
                }
                left.iter_mut().zip(self.bin(bin)).for_each(|(left, sum)| *left += sum);
                self.offer(&mut best, &left, self.limits.l2, || (Rule::AtMost(bin as u8), missing_left));
            }
        }
        // Nobody was missing here: later ones go with the larger side.
        if let Some(cut) = best.as_mut().filter(|_| !missing) {
            cut.missing_left = 2 * cut.left[self.width() - 1] >= self.total[self.width() - 1];
        }
        best
    }

    /// Levels in the order of their mean gradient: for one output the best of all subsets is a beginning of that order
    /// (Fisher 1958). With more outputs the one that differs most between levels gives the order.
    fn categories(mut self) -> Option<Cut> {
        let width = self.width();
        let mut levels: Vec<usize> =
            (0..self.histogram.len() / width).filter(|&bin| self.bin(bin)[width - 1] != 0).collect();
        if levels.len() < 2 {
            return None;
        }
        let all_hessians: f64 =
            (0..self.quantised.outputs).map(|m| self.quantised.hessian(self.total[2 * m + 1])).sum();
        let per_row = all_hessians / self.quantised.outputs as f64 / self.quantised.weight(self.total[width - 1]);
        let smoothing = if levels.len() > FEW_LEVELS { SMOOTHING_ROWS * per_row } else { 0.0 };
        let l2 = self.limits.l2 + smoothing;
        self.whole = self.worth(self.total, l2);
        let mean = |bin: usize, m: usize| {
            let sums = self.bin(bin);
            self.quantised.gradient(sums[2 * m]) / (self.quantised.hessian(sums[2 * m + 1]) + l2 + f64::MIN_POSITIVE)
        };
        let spread = |m: usize| -> f64 {
            levels.iter().map(|&bin| mean(bin, m).abs() * self.quantised.gradient(self.bin(bin)[2 * m]).abs()).sum()
        };
        let telling = (0..self.quantised.outputs)
            .map(|m| (spread(m), m))
            .fold((f64::NEG_INFINITY, 0), |best, next| if next.0 > best.0 { next } else { best })
            .1;
        levels.sort_by(|&a, &b| mean(a, telling).total_cmp(&mean(b, telling)).then(a.cmp(&b)));
        let mut best: Option<Cut> = None;
        let mut left = vec![0; width];
        let mut chosen = [0u64; 4];
        for &bin in &levels[..levels.len() - 1] {
            left.iter_mut().zip(self.bin(bin)).for_each(|(left, sum)| *left += sum);
            chosen[bin / 64] |= 1 << (bin % 64);
            self.offer(&mut best, &left, l2, || (Rule::OneOf(chosen), chosen[0] & 1 == 1));
        }
        let missing = self.bin(0)[width - 1] != 0;
        if let Some(cut) = best.as_mut().filter(|_| !missing) {
            cut.missing_left = 2 * cut.left[width - 1] >= self.total[width - 1];
        }
        best
    }

    fn worth(&self, sums: &[i64], l2: f64) -> f64 {
        let mut worth = 0.0;
        for pair in sums[..sums.len() - 1].chunks_exact(2) {
            let gradient = self.quantised.gradient(pair[0]);
            worth += gradient * gradient / (self.quantised.hessian(pair[1]) + l2 + f64::MIN_POSITIVE);
        }
        worth
    }

    /// What the other side of the cut is worth, and whether both sides hold enough.
    fn offer(&self, best: &mut Option<Cut>, left: &[i64], l2: f64, cut: impl FnOnce() -> (Rule, bool)) {
        let last = left.len() - 1;
        let weight = self.quantised.weight(left[last]);
        let other_weight = self.quantised.weight(self.total[last] - left[last]);
        if weight < self.limits.least_weight || other_weight < self.limits.least_weight {
            return;
        }
        let (mut gain, mut hessian, mut other_hessian) = (-self.whole, 0.0, 0.0);
        for (pair, total) in left[..last].chunks_exact(2).zip(self.total.chunks_exact(2)) {
            let (g, h) = (self.quantised.gradient(pair[0]), self.quantised.hessian(pair[1]));
            let other_g = self.quantised.gradient(total[0] - pair[0]);
            let other_h = self.quantised.hessian(total[1] - pair[1]);
            gain += g * g / (h + l2 + f64::MIN_POSITIVE) + other_g * other_g / (other_h + l2 + f64::MIN_POSITIVE);
            hessian += h;
            other_hessian += other_h;
        }
        if hessian < LEAST_HESSIAN || other_hessian < LEAST_HESSIAN {
            return;
        }
        if best.as_ref().map_or(gain > LEAST_GAIN, |best| clearly_more(gain, best.gain)) {
            let (rule, missing_left) = cut();
            *best = Some(Cut { gain, column: self.column, rule, missing_left, left: left.to_vec() });
        }
    }
}
