//! The best way to cut a leaf in two along one column.
//!
//! With G and H the sums of gradients and hessians, M outputs and the penalty λ, a leaf's score is `Σ_m G_m² / (H_m + λ)`, and the
//! gain of a cut is the score of its two sides minus that of the whole (Chen & Guestrin 2016, equation 7, without the factor ½).

use super::histogram::Quantised;
use super::tree::Rule;

/// The least that a cut must leave on both sides, and how values are smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limits {
    /// Weight of the rows of a leaf.
    pub(crate) least_weight: f64,
    /// λ.
    pub(crate) l2: f64,
}

/// Gains below this are rounding errors.
const LEAST_GAIN: f64 = 1e-9;
/// The least hessian of a leaf: below it, the step −G/H is unreliable.
const LEAST_HESSIAN: f64 = 1e-3;
/// Categories with more levels than this are ordered by their mean gradients, which are smoothed
const FEW_LEVELS: usize = 4;
/// as if each level had this many more rows with the leaf's mean.
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

/// Whether a gain exceeds another by more than the rounding of gradients. Equal gains are frequent in the first rounds, where
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
    let search = Search { histogram, total, column, quantised, limits, width: quantised.stride() };
    match (category, search.width) {
        (true, _) => search.categories(),
        // A constant width lets the compiler unroll the loop.
        (false, 2) => search.numbers([0; 2]),
        (false, 3) => search.numbers([0; 3]),
        (false, width) => search.numbers(vec![0; width]),
    }
}

struct Search<'a> {
    histogram: &'a [i64],
    total: &'a [i64],
    column: u32,
    quantised: &'a Quantised,
    limits: Limits,
    width: usize,
}

impl Search<'_> {
    #[inline]
    fn bin(&self, bin: usize) -> &[i64] {
        &self.histogram[bin * self.width..][..self.width]
    }

    #[inline]
    fn is_empty(&self, bin: usize) -> bool {
        self.quantised.weight(self.bin(bin)) == 0.0
    }

    /// Bins 1.. from left to right; missing values on the right, and once more on the left if there are any. `nothing` is sums of no
    /// row.
    fn numbers<S: AsRef<[i64]> + AsMut<[i64]> + Clone>(self, nothing: S) -> Option<Cut> {
        let l2 = self.limits.l2;
        let whole = self.worth(self.total, l2);
        let missing = !self.is_empty(0);
        let bins = self.histogram.len() / self.width;
        let mut best: Option<(f64, usize, bool)> = None;
        for missing_left in [false, true] {
            if missing_left && !missing {
                break;
            }
            let mut left = nothing.clone();
            if missing_left {
                add(left.as_mut(), self.bin(0));
            }
            // With all known values on one side, the cut is between known and missing.
            let last = if missing && !missing_left { bins } else { bins - 1 };
            for bin in 1..last {
                if self.is_empty(bin) {
                    continue;
                }
                add(left.as_mut(), self.bin(bin));
                let gain = self.gain(left.as_ref(), whole, l2);
                if better(gain, best.map(|best| best.0)) {
                    best = Some((gain, bin, missing_left));
                }
            }
        }
        let (gain, last, missing_left) = best?;
        let mut left = nothing;
        (usize::from(!missing_left)..=last).for_each(|bin| add(left.as_mut(), self.bin(bin)));
        // No value is missing here; missing values of new rows go to the larger side.
        let missing_left = if missing { missing_left } else { self.most_go(left.as_ref()) };
        Some(Cut {
            gain,
            column: self.column,
            rule: Rule::AtMost(last as u8),
            missing_left,
            left: left.as_ref().to_vec(),
        })
    }

    /// Levels in the order of their mean gradient: for one output the best of all subsets is a beginning of that order
    /// (Fisher 1958). With more outputs the one that differs most between levels gives the order.
    fn categories(self) -> Option<Cut> {
        let (width, quantised) = (self.width, self.quantised);
        let mut levels: Vec<usize> = (0..self.histogram.len() / width).filter(|&bin| !self.is_empty(bin)).collect();
        if levels.len() < 2 {
            return None;
        }
        let all_hessians: f64 = (0..quantised.outputs).map(|m| quantised.hessian(self.total, m)).sum();
        let per_row = all_hessians / quantised.outputs as f64 / quantised.weight(self.total);
        let smoothing = if levels.len() > FEW_LEVELS { SMOOTHING_ROWS * per_row } else { 0.0 };
        let l2 = self.limits.l2 + smoothing;
        let whole = self.worth(self.total, l2);
        let mean = |bin: usize, m: usize| {
            let sums = self.bin(bin);
            quantised.gradient(sums, m) / (quantised.hessian(sums, m) + l2 + f64::MIN_POSITIVE)
        };
        let spread = |m: usize| -> f64 {
            levels.iter().map(|&bin| mean(bin, m).abs() * quantised.gradient(self.bin(bin), m).abs()).sum()
        };
        let telling = (0..quantised.outputs)
            .map(|m| (spread(m), m))
            .fold((f64::NEG_INFINITY, 0), |best, next| if next.0 > best.0 { next } else { best })
            .1;
        levels.sort_by(|&a, &b| mean(a, telling).total_cmp(&mean(b, telling)).then(a.cmp(&b)));
        let mut best: Option<(f64, usize)> = None;
        let mut left = vec![0; width];
        for (place, &bin) in levels[..levels.len() - 1].iter().enumerate() {
            add(&mut left, self.bin(bin));
            let gain = self.gain(&left, whole, l2);
            if better(gain, best.map(|best| best.0)) {
                best = Some((gain, place));
            }
        }
        let (gain, last) = best?;
        let mut chosen = [0u64; 4];
        left.fill(0);
        for &bin in &levels[..=last] {
            add(&mut left, self.bin(bin));
            chosen[bin / 64] |= 1 << (bin % 64);
        }
        let missing_left = if self.is_empty(0) { self.most_go(&left) } else { chosen[0] & 1 == 1 };
        Some(Cut { gain, column: self.column, rule: Rule::OneOf(chosen), missing_left, left })
    }

    /// Whether at least half of the rows go left.
    fn most_go(&self, left: &[i64]) -> bool {
        2.0 * self.quantised.weight(left) >= self.quantised.weight(self.total)
    }

    fn worth(&self, sums: &[i64], l2: f64) -> f64 {
        let one = |m: usize| {
            let gradient = self.quantised.gradient(sums, m);
            gradient * gradient / (self.quantised.hessian(sums, m) + l2 + f64::MIN_POSITIVE)
        };
        (0..self.quantised.outputs).map(one).sum()
    }

    /// The gain of a cut; 0 if one side holds too little.
    #[inline]
    fn gain(&self, left: &[i64], whole: f64, l2: f64) -> f64 {
        let weight = self.quantised.weight(left);
        let other_weight = self.quantised.weight(self.total) - weight;
        if weight < self.limits.least_weight || other_weight < self.limits.least_weight {
            return 0.0;
        }
        let (mut gain, mut hessian, mut other_hessian) = (-whole, 0.0, 0.0);
        for m in 0..left.len() / 2 {
            let (g, h) = (self.quantised.gradient(left, m), self.quantised.hessian(left, m));
            let other_g = self.quantised.gradient(self.total, m) - g;
            let other_h = self.quantised.hessian(self.total, m) - h;
            gain += g * g / (h + l2 + f64::MIN_POSITIVE) + other_g * other_g / (other_h + l2 + f64::MIN_POSITIVE);
            hessian += h;
            other_hessian += other_h;
        }
        if hessian < LEAST_HESSIAN || other_hessian < LEAST_HESSIAN { 0.0 } else { gain }
    }
}

/// Whether a cut is worth making, and clearly better than the best so far.
#[inline]
fn better(gain: f64, best: Option<f64>) -> bool {
    best.map_or(gain > LEAST_GAIN, |best| clearly_more(gain, best))
}

#[inline]
fn add(sums: &mut [i64], more: &[i64]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
