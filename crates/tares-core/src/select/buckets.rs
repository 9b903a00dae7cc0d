//! Count and exact sum of the losses in each part of their range.

use super::Accepted;
use super::real::Real;

/// The keys of one part of the range, added up. Keys are integers, so their sum is exact; two words, because 2³² keys
/// of 63 bits don't fit into one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bucket {
    count: u32,
    carry: u32,
    sum: u64,
}

/// Neighbouring buckets over the keys from `low` to `high`; each is `2^shift` keys wide and none reaches across a power
/// of two, so all its losses share one exponent and their sum follows from the sum of the keys.
pub(super) struct Buckets<'a> {
    /// Two per range, used alternately: adding to an address that was just written would stall the processor.
    pairs: &'a mut [[Bucket; 2]],
    first: u64,
    shift: u32,
    /// Zeros counted in the first bucket because it begins at 0; they were accepted before.
    zeros: usize,
}

/// The bucket in which the kept losses end.
#[derive(Clone, Copy)]
pub(super) struct Crossing {
    top: u64,
    shift: u32,
}

impl Crossing {
    #[inline]
    pub(super) fn holds(self, key: u64) -> bool {
        key >> self.shift == self.top && key > 0
    }
}

impl<'a> Buckets<'a> {
    /// Empty buckets, about half as many as there are keys.
    pub(super) fn over<R: Real>(low: u64, high: u64, number: usize, space: &'a mut Vec<[Bucket; 2]>) -> Self {
        let wanted = (number / 2).clamp(16, MOST).ilog2();
        let spread = u64::BITS - (high - low).leading_zeros();
        let shift = spread.saturating_sub(wanted).min(R::FRACTION);
        let first = low >> shift;
        let number = (high >> shift) - first + 1;
        space.clear();
        space.resize(number as usize + 1, [Bucket::default(); 2]); // the last one collects keys outside the range
        Self { pairs: space, first, shift, zeros: 0 }
    }

    /// Adds keys, `zeros` of which are 0; keys outside the range (0 and ∞) go to the last bucket, which is ignored.
    #[inline]
    pub(super) fn add_all<R: Real>(&mut self, keys: impl Iterator<Item = u64>, zeros: usize) {
        let aside = self.pairs.len() - 1;
        let mut side = 0;
        for key in keys {
            let place = ((key >> self.shift).wrapping_sub(self.first) as usize).min(aside);
            let bucket = &mut self.pairs[place][side];
            bucket.count += 1;
            if R::FRACTION > 23 {
                let (sum, over) = bucket.sum.overflowing_add(key);
                bucket.sum = sum;
                bucket.carry += u32::from(over);
            } else {
                bucket.sum += key; // 2³² keys of 31 bits
            }
            side ^= 1;
        }
        self.zeros = if self.first == 0 { zeros } else { 0 };
    }

    /// Accepts bucket after bucket while Algorithm 1's test holds at its end; the first that fails, if any.
    pub(super) fn walk<R: Real>(&self, accepted: &mut Accepted, threshold: f64) -> Option<Crossing> {
        for (pair, top) in self.pairs[..self.pairs.len() - 1].iter().zip(self.first..) {
            let count = pair[0].count as usize + pair[1].count as usize;
            let count = if top == 0 { count - self.zeros } else { count };
            if count == 0 {
                continue;
            }
            // key = exponent · 2^FRACTION + fraction, and the loss is (2^FRACTION + fraction) · 2^(exponent − …); numbers
            // below the smallest normal one have exponent 0 and lack the leading bit.
            let exponent = top >> (R::FRACTION - self.shift);
            let leading = u128::from(exponent.max(1) - 1) << R::FRACTION;
            let keys: u128 = pair.iter().map(|b| (u128::from(b.carry) << 64) + u128::from(b.sum)).sum();
            let sum = accepted
                .sum
                .add_scaled(keys - leading * count as u128, exponent.max(1) as i32 - R::BIAS - R::FRACTION as i32);
            if !sum.fits(threshold, accepted.count + count) {
                return Some(Crossing { top, shift: self.shift });
            }
            *accepted = Accepted { count: accepted.count + count, sum };
        }
        None
    }
}

/// More buckets than this would not stay in the fastest cache.
const MOST: usize = 512;

/// The smallest and the largest key.
pub(super) fn ends(keys: &[u64]) -> (u64, u64) {
    keys.iter().fold((u64::MAX, 0), |(low, high), &key| (low.min(key), high.max(key)))
}
