//! How likely a row's probabilities are for each true class.
//!
//! A classifier trained on noisy labels reproduces their noise: where 40 % of the cats are labelled dog, it answers
//! (0.6 cat, 0.4 dog) for a cat. So a row is compared with the mean answer for rows of each class, the **prototype**
//! M_z = mean of p over the rows of class z, and not with the one-hot vector alone:
//!
//! ```text
//! b_z(x) ∝ π_z^λ exp(−c · KL(M'_z ‖ p(x)))   M' = λ M + (1 − λ) I        (λ = 0: b_z ∝ p_z^c)
//! ```
//!
//! The exponential is the likelihood that c labels drawn from p(x) have the frequencies M'_z, up to a factor that does not depend on z.
//! π is the share of each true class. The classifier's own answers contain it, similarity to a prototype does not: without it, a rare
//! class most of whose labels are wrong takes over the frequent class that is mistaken for it.
//!
//! c is the **sharpness**: the larger it is, the surer the model is of a row's class. Probabilities below a thousandth of
//! the largest count only through their mean. Logarithms are to base 2, numbers have 32 bits.

use super::lanes::each;
use super::sample::NEGLIGIBLE;
use crate::estimate::math32::{exp2, larger, log2};
use crate::estimate::row::LANES;

/// ε: keeps classes that the classifier excludes possible.
pub(crate) const FLOOR: f64 = 1e-4;
/// With more classes than this λ is 0: K² prototypes cost too much memory, and each would be learnt from too few rows.
pub(crate) const MOST_CLASSES: usize = 256;

/// b_z(x) for every class z.
#[derive(Clone, Debug)]
pub(crate) struct ClassLikelihood {
    classes: usize,
    /// c.
    sharpness: f64,
    /// c · M', `[true][predicted]`; empty if λ = 0.
    weights: Vec<f32>,
    /// c · entropy of M'_z + λ log₂ π_z.
    offsets: Vec<f32>,
    /// (p + ε) / (top + ε) where b is 2⁻³⁰ if λ = 0.
    least_ratio: f32,
}

/// log₂ of the smallest b that counts where b is a power of the probability.
const LEAST_LOG: f64 = -30.0;

impl ClassLikelihood {
    /// `prototypes` is M, `[true][predicted]`, `class_shares` is π; both may be empty if λ, `share`, is 0.
    pub(crate) fn new(prototypes: &[f64], class_shares: &[f64], share: f64, sharpness: f64, classes: usize) -> Self {
        let least_ratio = (LEAST_LOG / sharpness).exp2() as f32;
        if share == 0.0 {
            return Self { classes, sharpness, weights: Vec::new(), offsets: vec![0.0; classes], least_ratio };
        }
        let one_hot = |place: usize| if place / classes == place % classes { 1.0 - share } else { 0.0 };
        let mixed: Vec<f64> = prototypes.iter().enumerate().map(|(place, m)| share * m + one_hot(place)).collect();
        let entropy = |row: &[f64]| row.iter().map(|&m| if m > 0.0 { -m * m.log2() } else { 0.0 }).sum::<f64>();
        let rows = mixed.chunks_exact(classes).zip(class_shares);
        let offsets = rows.map(|(row, pi)| (sharpness * entropy(row) + share * pi.log2()) as f32).collect();
        let weights = mixed.into_iter().map(|m| (sharpness * m) as f32).collect();
        Self { classes, sharpness, weights, offsets, least_ratio }
    }

    /// b of rows side by side, from `lanes::log_ratios`, scaled so that the largest of each row is 1. Classes that are not
    /// informative get 0.
    #[inline(always)]
    pub(crate) fn of_lanes<const L: usize>(
        &self,
        log_ratios: &[[f32; L]],
        informative: &[[f32; L]],
        likelihoods: &mut [[f32; L]],
    ) {
        let classes = self.classes;
        if self.weights.is_empty() {
            for (class, logs) in likelihoods.iter_mut().enumerate() {
                let (offset, weight) = (self.offsets[class], &[self.sharpness as f32]);
                weighted([offset], [weight], &log_ratios[class..=class], std::array::from_mut(logs));
            }
        } else {
            let row = |class: usize| &self.weights[class * classes..][..classes];
            // Four classes at a time: their sums do not wait for each other.
            let (fours, rest) = likelihoods.as_chunks_mut::<4>();
            for (class, logs) in (0..).step_by(4).zip(fours.iter_mut()) {
                let (classes, offsets) = ([class, class + 1, class + 2, class + 3], &self.offsets);
                weighted(classes.map(|class| offsets[class]), classes.map(row), log_ratios, logs);
            }
            for (class, logs) in (classes - rest.len()..).zip(rest) {
                weighted([self.offsets[class]], [row(class)], log_ratios, std::array::from_mut(logs));
            }
        }
        let mut most = [f32::MIN; L];
        for (likelihoods, informative) in likelihoods.iter_mut().zip(informative) {
            for lane in 0..L {
                // The logarithm, or `f32::MIN` for a class that is not informative: without a choice, which compilers turn into branches.
                likelihoods[lane] = likelihoods[lane] * informative[lane] + (informative[lane] - 1.0) * f32::MAX;
            }
            most = each(|lane| larger(most[lane], likelihoods[lane]));
        }
        for (likelihoods, informative) in likelihoods.iter_mut().zip(informative) {
            for lane in 0..L {
                likelihoods[lane] = exp2(likelihoods[lane] - most[lane]) * informative[lane];
            }
        }
    }

    /// b of one row of many classes, for its informative classes `names`, scaled so that the largest is 1. Returns the sum of
    /// b over all other classes.
    #[inline(always)]
    pub(crate) fn of_entries(&self, names: &[u32], log_ratios: &[f32], likelihoods: &mut Vec<f32>) -> f32 {
        likelihoods.clear();
        if self.weights.is_empty() {
            likelihoods.extend(log_ratios.iter().map(|ratio| self.sharpness as f32 * ratio));
        } else {
            likelihoods.extend(names.iter().map(|&class| {
                let weights = &self.weights[class as usize * self.classes..][..self.classes];
                names.iter().zip(log_ratios).fold(self.offsets[class as usize], |sum, (&predicted, &ratio)| {
                    weights[predicted as usize].mul_add(ratio, sum)
                })
            }));
        }
        let most = likelihoods.iter().copied().fold(f32::MIN, larger);
        for likelihood in likelihoods.iter_mut() {
            *likelihood = exp2(*likelihood - most);
        }
        // All other classes have the log ratio 0. With prototypes (so few classes) their share is too small to be worth a sum each.
        match self.weights.is_empty() {
            true => (self.classes - names.len()) as f32 * exp2(-most),
            false => 0.0,
        }
    }

    /// Whether λ = 0: b is a power of the probability.
    #[inline(always)]
    pub(crate) fn is_power(&self) -> bool {
        self.weights.is_empty()
    }

    /// The least probability that counts in a row whose largest probability is `top`, where λ = 0: no negligible one, and none whose b is
    /// below 2⁻³⁰. A thousand of those add up to a millionth of the likeliest class's b (T weighs both), and a large sharpness makes most
    /// classes of a row one of them.
    #[inline(always)]
    pub(crate) fn least(&self, top: f32) -> f32 {
        let floor = FLOOR as f32;
        larger((top + floor).mul_add(self.least_ratio, -floor), top * NEGLIGIBLE as f32)
    }

    /// b of sixteen classes of a row whose largest probability is `top`, where λ = 0: 0 for those whose probability is below `least`.
    /// The mean of the negligible classes, which [`entry_log_ratios`] divides by, cancels out.
    #[inline(always)]
    pub(crate) fn of_sixteen(&self, probabilities: &[f32; LANES], least: f32, top: f32) -> [f32; LANES] {
        let (floor, sharpness, base) = (FLOOR as f32, self.sharpness as f32, log2(larger(top + FLOOR as f32, 1e-30)));
        let mut likelihoods = [0.0; LANES];
        for (likelihood, &p) in likelihoods.iter_mut().zip(probabilities) {
            let b = exp2(sharpness * (log2(larger(p + floor, 1e-30)) - base));
            *likelihood = if p >= least { b } else { 0.0 };
        }
        likelihoods
    }
}

/// offset + Σ weight · log ratio, for some classes at once.
#[inline(always)]
fn weighted<const L: usize, const C: usize>(
    offsets: [f32; C],
    weights: [&[f32]; C],
    log_ratios: &[[f32; L]],
    out: &mut [[f32; L]; C],
) {
    for tile in 0..L / LANES {
        let mut sums = offsets.map(|offset| [offset; LANES]);
        for (at, ratios) in log_ratios.iter().enumerate() {
            let ratios = &ratios.as_chunks::<LANES>().0[tile];
            for (sum, weights) in sums.iter_mut().zip(weights) {
                let weight = weights[at];
                for lane in 0..LANES {
                    sum[lane] = weight.mul_add(ratios[lane], sum[lane]);
                }
            }
        }
        out.iter_mut().zip(sums).for_each(|(out, sums)| out.as_chunks_mut::<LANES>().0[tile] = sums);
    }
    // One row alone.
    for lane in L / LANES * LANES..L {
        for ((out, weights), offset) in out.iter_mut().zip(weights).zip(offsets) {
            let sum = |sum: f32, (ratios, weight): (&[f32; L], &f32)| weight.mul_add(ratios[lane], sum);
            out[lane] = log_ratios.iter().zip(weights).fold(offset, sum);
        }
    }
}

/// Turns the probabilities of a row's informative classes into log ratios, as `lanes::log_ratios` does; `classes` is K.
#[inline(always)]
pub(crate) fn entry_log_ratios(entries: &mut [f32], classes: usize) {
    let floor = FLOOR as f32;
    let others = classes.saturating_sub(entries.len()) as f32;
    let mean = larger(1.0 - entries.iter().fold(0.0, |sum, p| sum + p), 0.0) / larger(others, 1.0);
    let base = log2(if others > 0.0 { mean + floor } else { floor });
    for p in entries {
        *p = log2(larger(*p + floor, 1e-30)) - base;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::posterior::lanes::log_ratios;

    /// b, normalised. Both forms must agree.
    fn of(likelihood: &ClassLikelihood, p: &[f64]) -> Vec<f64> {
        let names: Vec<u32> = (0..p.len() as u32).collect();
        let mut entries: Vec<f32> = p.iter().map(|&p| p as f32).collect();
        let values: Vec<[f32; 1]> = entries.iter().map(|&p| [p]).collect();
        let top = entries.iter().copied().fold(0.0, larger);
        let (mut ratios, mut informative, mut lanes) = (values.clone(), values.clone(), values.clone());
        log_ratios(&values, &[top], &[0], &mut ratios, &mut informative);
        likelihood.of_lanes(&ratios, &informative, &mut lanes);
        entry_log_ratios(&mut entries, p.len());
        let mut alone = Vec::new();
        likelihood.of_entries(&names, &entries, &mut alone);
        assert_eq!(lanes.iter().map(|lane| lane[0]).collect::<Vec<_>>(), alone);
        assert_eq!(alone.iter().copied().fold(0.0, larger), 1.0);
        let sum: f32 = alone.iter().sum();
        alone.iter().map(|&b| f64::from(b / sum)).collect()
    }

    #[test]
    fn without_prototypes_it_is_a_power_of_the_probabilities() {
        let p = [0.7, 0.2, 0.1];
        let got = of(&ClassLikelihood::new(&[], &[], 0.0, 2.0, 3), &p);
        let total: f64 = p.iter().map(|p| (p + FLOOR).powi(2)).sum();
        got.iter().zip(p).for_each(|(b, p)| assert!((b - (p + FLOOR).powi(2) / total).abs() < 1e-6));
    }

    #[test]
    fn it_falls_with_the_divergence_from_the_prototypes() {
        let prototypes = [0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8];
        let (share, sharpness, row) = (0.5, 3.0, [0.25, 0.6, 0.15]);
        let likely = |class: usize| {
            let mixed = |s: usize| share * prototypes[class * 3 + s] + if s == class { 1.0 - share } else { 0.0 };
            let divergence: f64 = (0..3).map(|s| mixed(s) * (mixed(s) / (row[s] + FLOOR)).ln()).sum();
            (-sharpness * divergence).exp()
        };
        let total: f64 = (0..3).map(likely).sum();
        let got = of(&ClassLikelihood::new(&prototypes, &[1.0; 3], share, sharpness, 3), &row);
        (0..3).for_each(|class| assert!((got[class] - likely(class) / total).abs() < 1e-5, "{got:?}"));
    }

    /// Pair noise of 40 %: rows of class 1 look like (0, 0.6, 0.4). A row that looks like (0.42, 0.56, 0.02) is of class 0,
    /// although 1 is its largest probability: a row of class 1 would have much more at 2.
    #[test]
    fn a_row_belongs_to_the_prototype_it_resembles() {
        let prototypes = [0.6, 0.4, 0.0, 0.0, 0.6, 0.4, 0.4, 0.0, 0.6];
        let row = [0.42, 0.56, 0.02];
        assert!(of(&ClassLikelihood::new(&prototypes, &[1.0; 3], 1.0, 3.0, 3), &row)[0] > 0.9);
        assert!(of(&ClassLikelihood::new(&prototypes, &[1.0; 3], 0.0, 3.0, 3), &row)[0] < 0.4);
    }

    #[test]
    fn a_row_equal_to_a_prototype_is_likeliest_of_that_class() {
        let prototypes = [0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.05, 0.15, 0.8];
        for share in [0.5, 1.0] {
            for (class, row) in prototypes.chunks_exact(3).enumerate() {
                let b = of(&ClassLikelihood::new(&prototypes, &[1.0; 3], share, 6.0, 3), row);
                assert!(b.iter().all(|&other| other <= b[class]), "{share} {class} {b:?}");
            }
        }
    }

    #[test]
    fn entries_left_out_count_through_their_mean() {
        let prototypes: Vec<f64> = (0..16).map(|place| if place / 4 == place % 4 { 0.7 } else { 0.1 }).collect();
        let likelihood = ClassLikelihood::new(&prototypes, &[1.0; 4], 1.0, 2.0, 4);
        let whole = of(&likelihood, &[0.8, 0.19, 0.005, 0.005]);
        let mut entries = [0.8, 0.19];
        entry_log_ratios(&mut entries, 4);
        let mut part = Vec::new();
        likelihood.of_entries(&[0, 1], &entries, &mut part);
        assert!((whole[0] / whole[1] - f64::from(part[0] / part[1])).abs() < 1e-4 * whole[0] / whole[1]);
    }
}
