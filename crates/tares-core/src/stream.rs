//! Named random streams: one seed, many independent generators.
//!
//! A stage asks for its own stream by name, so a draw added in one stage changes no number in another. The generator is
//! ChaCha8 keyed by the seed, with the name's hash as its stream number. Only this file turns bits into numbers, so the
//! same seed gives the same numbers on every machine and after every update of a dependency.
//!
//! ```
//! use tares_core::stream;
//! let mut noise = stream(7, "noise");
//! let mut order = stream(7, "order");
//! assert_ne!(noise.bits(), order.bits());
//! assert_eq!(stream(7, "noise").bits(), stream(7, "noise").bits());
//! ```

use crate::fingerprint::fnv1a;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// The stream called `name` of `seed`.
pub fn stream(seed: u64, name: &str) -> Stream {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut generator = ChaCha8Rng::from_seed(key);
    generator.set_stream(fnv1a(name.as_bytes()));
    Stream { generator }
}

/// A position in a named stream of random numbers; made by [`stream`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// Sixty-four random bits.
    pub fn bits(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `rate`.
    pub fn chance(&mut self, rate: f64) -> bool {
        self.unit() < rate
    }

    /// Uniform in 0..`bound`, without the bias of a plain remainder.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "no number lies below 0");
        let bound = bound as u64;
        // Lemire's method: multiply and keep the high half; rejecting a sliver of the low half removes the bias.
        let sliver = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.bits()) * u128::from(bound);
            if product as u64 >= sliver {
                return (product >> 64) as usize;
            }
        }
    }

    /// Standard normal (Box–Muller; the second value is not kept, so that every call takes two draws).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// The position of a draw from `weights` (each ≥ 0, not all 0), with probability proportional to its weight.
    ///
    /// # Panics
    /// If no weight is positive.
    pub fn weighted(&mut self, weights: &[f64]) -> usize {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0, "no weight is positive");
        let mut left = self.unit() * total;
        let mut last = 0;
        for (position, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
            last = position;
            if left < weight {
                break;
            }
            left -= weight;
        }
        last // rounding can leave a remainder after the last weight
    }

    /// Puts `items` into a uniformly random order (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// 0..`n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        self.shuffle(&mut order);
        order
    }

    /// How far the stream has been read, for a checkpoint; [`Stream::seek`] goes back there.
    pub fn position(&self) -> u128 {
        self.generator.get_word_pos()
    }

    /// Continues from a [`position`](Stream::position) of the same stream.
    pub fn seek(&mut self, position: u128) {
        self.generator.set_word_pos(position);
    }
}

/// Uniform in [0, 1), a function of `index` alone (the finaliser of SplitMix64): for a choice that any thread can make for
/// any index without a stream, and that is the same for every seed.
pub(crate) fn hashed_unit(index: u64) -> f64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_stream_never_change() {
        // A change here silently changes every experiment anybody ever ran with a seed.
        let mut s = stream(1, "noise");
        assert_eq!([s.bits(), s.bits()], GOLDEN);
        let mut s = stream(1, "noise");
        s.bits();
        assert_eq!(s.bits(), GOLDEN[1]);
    }
    const GOLDEN: [u64; 2] = [7_081_474_830_565_257_142, 5_654_549_111_938_002_200];

    #[test]
    fn names_and_seeds_give_different_streams() {
        let first = |seed, name| stream(seed, name).bits();
        assert_ne!(first(1, "noise"), first(2, "noise"));
        assert_ne!(first(1, "noise"), first(1, "order"));
        assert_ne!(first(1, ""), first(1, "a"));
    }

    #[test]
    fn a_stream_continues_from_its_position() {
        let mut s = stream(5, "order");
        s.permutation(37);
        let position = s.position();
        let next = s.bits();
        let mut again = stream(5, "order");
        again.seek(position);
        assert_eq!(again.bits(), next);
    }

    #[test]
    fn below_is_uniform() {
        let mut s = stream(3, "test");
        let mut counts = [0u32; 7];
        for _ in 0..70_000 {
            counts[s.below(7)] += 1;
        }
        // Six standard deviations of a binomial(70000, 1/7) are 556.
        assert!(counts.iter().all(|&c| c.abs_diff(10_000) < 556), "{counts:?}");
    }

    #[test]
    fn normal_has_mean_0_and_variance_1() {
        let mut s = stream(4, "test");
        let draws: Vec<f64> = (0..100_000).map(|_| s.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "mean {mean}, variance {variance}");
    }

    #[test]
    fn weighted_never_draws_what_has_no_weight() {
        let mut s = stream(6, "test");
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            counts[s.weighted(&[0.0, 1.0, 3.0, 0.0])] += 1;
        }
        assert_eq!((counts[0], counts[3]), (0, 0));
        assert!(counts[1].abs_diff(10_000) < 520, "{counts:?}");
    }

    #[test]
    fn permutation_holds_every_number_once() {
        let mut order = stream(8, "test").permutation(1000);
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }
}
