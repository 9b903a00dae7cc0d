//! Sums that do not depend on the order of their terms.
//!
//! A selection must not change because the same losses were added in another order. So a sum is carried as two f64
//! (a "double-double", 106 bits): terms that f64 would round away are kept in the second one.

/// `high + low`: a sum in f64, and the sum of all rounding errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exact {
    high: f64,
    low: f64,
}

impl Exact {
    /// The sum rounded to f64.
    pub(crate) fn rounded(self) -> f64 {
        self.high + self.low
    }

    /// Plus one f64.
    #[inline]
    pub(crate) fn add(self, term: f64) -> Self {
        let (high, error) = two_sum(self.high, term);
        // Beyond the range of f64 the error is ∞ − ∞.
        Self { high, low: if high.is_finite() { self.low + error } else { 0.0 } }
    }

    /// Plus `integer · 2^exponent`.
    #[inline]
    pub(crate) fn add_scaled(self, integer: u128, exponent: i32) -> Self {
        if integer < 1 << 53 {
            return self.add(scale(integer as f64, exponent));
        }
        let top = integer as f64;
        // `top` may have been rounded up past the integer; what is left over is small enough to be exact.
        let rest = (integer as i128 - top as i128) as f64;
        self.add(scale(top, exponent)).add(scale(rest, exponent))
    }

    /// Plus `count` times `value`, the product not rounded.
    pub(crate) fn add_repeated(self, value: f64, count: usize) -> Self {
        let count = count as f64;
        let product = value * count;
        self.add(product).add(value.mul_add(count, -product))
    }

    /// Whether the sum is at most `bound + 1 − count`: Algorithm 1's test, without rounding.
    #[inline]
    pub(crate) fn fits(self, bound: f64, count: usize) -> bool {
        // f64 decides unless the two sides are nearly equal; then exact arithmetic does.
        let count = count as f64;
        let room = bound + 1.0 - count - self.high - self.low;
        let doubt = 1e-12 * (bound + 1.0 + count + self.high);
        if room.abs() > doubt { room > 0.0 } else { self.fits_exactly(bound, count) }
    }

    #[cold]
    fn fits_exactly(self, bound: f64, count: f64) -> bool {
        let excess = self.add(-bound).add(count).add(-1.0);
        let (high, low) = two_sum(excess.high, excess.low);
        high.is_finite() && (high < 0.0 || (high == 0.0 && low <= 0.0))
    }
}

/// Knuth's error-free sum: `a + b = sum + error` exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// `value · 2^exponent` in steps that don't leave the range of f64 on the way.
fn scale(mut value: f64, mut exponent: i32) -> f64 {
    while exponent < -1000 {
        value *= power_of_two(-1000);
        exponent += 1000;
    }
    value * power_of_two(exponent)
}

/// 2^exponent, made from its bits; for exponents of normal numbers.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_what_f64_would_round_away() {
        let sum = Exact::default().add(1e16).add(1.0).add(-1e16);
        assert_eq!(sum.rounded(), 1.0);
        assert_eq!(1e16 + 1.0 - 1e16, 0.0);
    }

    #[test]
    fn integers_are_added_to_the_last_bit() {
        let big = (1u128 << 80) + 1;
        let sum = Exact::default().add_scaled(big, 0).add(-(2f64.powi(80)));
        assert_eq!(sum.rounded(), 1.0);
        let tiny = Exact::default().add_scaled(3, -1074);
        assert_eq!(tiny.rounded(), f64::from_bits(3));
    }

    #[test]
    fn ten_tenths_are_not_one() {
        // 0.1 is stored a little above a tenth: ten of them exceed 1, whatever a rounded sum says.
        let sum = Exact::default().add_repeated(0.1, 10);
        assert!(!sum.fits(10.0, 10) && sum.rounded() == 1.0);
        assert!(Exact::default().add_repeated(0.125, 8).fits(8.0, 8));
    }

    #[test]
    fn infinity_never_fits() {
        let sum = Exact::default().add(f64::MAX).add(f64::MAX);
        assert!(!sum.fits(f64::MAX, 2));
        assert!(!sum.add(1.0).fits(5.0, 2));
    }
}
