//! f32 and f64 as integers: for numbers ≥ 0 the bit patterns have the order of the numbers.

use crate::error::{Error, Result};

/// The two kinds of numbers losses come in: `f32` and `f64`.
pub trait Real: Copy + PartialOrd + Into<f64> + sealed::Sealed {
    #[doc(hidden)]
    const ZERO: Self;
    #[doc(hidden)]
    const INFINITY: Self;
    /// Bits of the fraction; above them stands the exponent.
    #[doc(hidden)]
    const FRACTION: u32;
    /// The exponent field of 1.0.
    #[doc(hidden)]
    const BIAS: i32;
    #[doc(hidden)]
    const INFINITY_KEY: u64;

    /// The bit pattern without the sign: orders numbers ≥ 0, and makes −0 the same as 0.
    #[doc(hidden)]
    fn key(self) -> u64;

    /// The number with this key.
    #[doc(hidden)]
    fn value_of(key: u64) -> f64;
}

impl Real for f32 {
    const ZERO: Self = 0.0;
    const INFINITY: Self = f32::INFINITY;
    const FRACTION: u32 = 23;
    const BIAS: i32 = 127;
    const INFINITY_KEY: u64 = f32::INFINITY.to_bits() as u64;

    #[inline]
    fn key(self) -> u64 {
        u64::from(self.to_bits() & 0x7fff_ffff)
    }

    fn value_of(key: u64) -> f64 {
        f64::from(f32::from_bits(key as u32))
    }
}

impl Real for f64 {
    const ZERO: Self = 0.0;
    const INFINITY: Self = f64::INFINITY;
    const FRACTION: u32 = 52;
    const BIAS: i32 = 1023;
    const INFINITY_KEY: u64 = f64::INFINITY.to_bits();

    #[inline]
    fn key(self) -> u64 {
        self.to_bits() & 0x7fff_ffff_ffff_ffff
    }

    fn value_of(key: u64) -> f64 {
        f64::from_bits(key)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// What one pass over the losses finds.
#[derive(Debug, PartialEq)]
pub(super) struct Range {
    /// Key of the smallest loss above 0.
    pub(super) low: u64,
    /// Key of the largest finite loss.
    pub(super) high: u64,
    /// How many are 0.
    pub(super) zeros: usize,
    /// How many are above 0 and finite.
    pub(super) positive: usize,
}

impl Range {
    /// Checks the losses and finds their range.
    pub(super) fn of<R: Real>(losses: &[R]) -> Result<Self> {
        if u32::try_from(losses.len()).is_err() {
            return Err(Error::value("number of losses", "below 4294967296", losses.len()));
        }
        let mut lanes = Lanes::new();
        let mut chunks = losses.chunks_exact(LANES);
        for chunk in chunks.by_ref() {
            lanes.see(chunk);
        }
        lanes.see(chunks.remainder());
        let sum = |counts: [u32; LANES]| counts.iter().map(|&count| count as usize).sum::<usize>();
        if sum(lanes.fine) < losses.len() {
            let position = losses.iter().position(|loss| !is_fine(*loss)).unwrap_or(0);
            let got: f64 = losses[position].into();
            return Err(Error::value("base loss", "a number >= 0", got).at(format!("position {position}")));
        }
        let (zeros, infinite) = (sum(lanes.zeros), sum(lanes.infinite));
        Ok(Self {
            low: lanes.low.map(Real::key).into_iter().min().unwrap_or(0),
            high: lanes.high.map(Real::key).into_iter().max().unwrap_or(0),
            zeros,
            positive: losses.len() - zeros - infinite,
        })
    }
}

/// Neither negative nor NaN.
#[inline]
fn is_fine<R: Real>(loss: R) -> bool {
    loss >= R::ZERO
}

const LANES: usize = 8;

/// Eight of each, side by side: the compiler turns each line of `see` into a few vector instructions.
struct Lanes<R> {
    low: [R; LANES],
    high: [R; LANES],
    zeros: [u32; LANES],
    infinite: [u32; LANES],
    fine: [u32; LANES],
}

impl<R: Real> Lanes<R> {
    fn new() -> Self {
        let none = [0; LANES];
        Self { low: [R::INFINITY; LANES], high: [R::ZERO; LANES], zeros: none, infinite: none, fine: none }
    }

    #[inline(always)]
    fn see(&mut self, losses: &[R]) {
        for (lane, &loss) in losses.iter().enumerate().take(LANES) {
            let low = if loss > R::ZERO { loss } else { R::INFINITY };
            let high = if loss < R::INFINITY { loss } else { R::ZERO };
            self.low[lane] = if low < self.low[lane] { low } else { self.low[lane] };
            self.high[lane] = if high > self.high[lane] { high } else { self.high[lane] };
            self.zeros[lane] += u32::from(loss == R::ZERO);
            self.infinite[lane] += u32::from(loss == R::INFINITY);
            self.fine[lane] += u32::from(is_fine(loss));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_order_of_the_numbers() {
        let numbers = [0.0, f64::MIN_POSITIVE / 4.0, f64::MIN_POSITIVE, 1e-9, 0.5, 1.0, 1.5, 2.0, 1e300, f64::INFINITY];
        for pair in numbers.windows(2) {
            assert!(pair[0].key() < pair[1].key());
            assert_eq!(f64::value_of(pair[0].key()), pair[0]);
        }
        assert_eq!((-0.0f64).key(), 0);
        assert_eq!(f32::value_of(1.5f32.key()), 1.5);
    }

    #[test]
    fn the_range_counts_zeros_and_leaves_out_infinities() {
        let range = Range::of(&[0.0, 3.0, f32::INFINITY, 0.25, -0.0, 1.0, 1.0, 2.0, 0.0, 7.0]).unwrap();
        let wanted = Range { low: 0.25f32.key(), high: 7.0f32.key(), zeros: 3, positive: 6 };
        assert_eq!(range, wanted);
    }

    #[test]
    fn a_bad_loss_is_named_with_its_position() {
        let mut losses = vec![0.5; 20];
        losses[13] = -0.25;
        losses[17] = f64::NAN;
        let error = Range::of(&losses).unwrap_err().to_string();
        assert_eq!(error, "base loss must be a number >= 0, got -0.25 at position 13");
    }
}
