//! One quick look at a row: enough for most rows, and it says when it is not.
//!
//! Numbers side by side, in 32 bits, in loops that compilers turn into vector instructions. Every lane does the same
//! operations in the same order on every machine, so the results are the same bits everywhere.

use super::probabilities::Number;

/// Numbers of a row side by side.
const LANES: usize = 16;

/// Sixteen classes of a row.
type Lanes = [f32; LANES];

/// What a look at a whole row says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Glance {
    /// The sum, to 32 bits' precision.
    pub(crate) sum: f32,
    /// The largest entry.
    pub(crate) top: f32,
    /// The smallest entry.
    pub(crate) low: f32,
}

impl Glance {
    #[inline(always)]
    pub(crate) fn of<R: Number>(row: &[R]) -> Self {
        let (mut sums, mut tops, mut lows) = ([0.0; LANES], [f32::NEG_INFINITY; LANES], [f32::INFINITY; LANES]);
        let (chunks, rest) = row.as_chunks::<LANES>();
        for chunk in chunks {
            for lane in 0..LANES {
                let value = chunk[lane].narrow();
                sums[lane] += value;
                tops[lane] = larger(tops[lane], value);
                lows[lane] = smaller(lows[lane], value);
            }
        }
        for (lane, value) in rest.iter().enumerate() {
            let value = value.narrow();
            sums[lane] += value;
            tops[lane] = larger(tops[lane], value);
            lows[lane] = smaller(lows[lane], value);
        }
        Self { sum: across(sums, |a, b| a + b), top: across(tops, larger), low: across(lows, smaller) }
    }
}

/// Lane by lane, then halves upon halves: always in the same order.
#[inline(always)]
fn across(mut values: Lanes, join: impl Fn(f32, f32) -> f32) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            values[lane] = join(values[lane], values[lane + width]);
        }
        width /= 2;
    }
    values[0]
}

/// As one instruction has it: the second if either is not a number.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
pub(crate) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// log₂ x of positive, normal numbers, to about 2⁻²³ of the larger of it and 1.
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    // x = 2^e · m with m in [√½, √2): then the series in m − 1 is short.
    const HALF_ROOT: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(HALF_ROOT);
    let exponent = (bits as i32) >> 23;
    let m = f32::from_bits((bits & 0x007f_ffff) + HALF_ROOT);
    let t = m - 1.0;
    // ln(1 + t) = t − t²/2 + t³ · P(t), P fitted on the interval (as in the Cephes library).
    let mut p = 7.037_683_6e-2f32;
    for c in [
        -1.151_461e-1,
        1.167_699_87e-1,
        -1.242_014_1e-1,
        1.424_932_3e-1,
        -1.666_805_8e-1,
        2.000_071_4e-1,
        -2.499_999_4e-1,
        3.333_333e-1,
    ] {
        p = p.mul_add(t, c);
    }
    let ln = (t * t).mul_add(p.mul_add(t, -0.5), t);
    ln.mul_add(std::f32::consts::LOG2_E, exponent as f32)
}

/// 2^y of numbers from −126 to 126, to about 2⁻²² of it; smaller ones are taken for −126.
#[inline(always)]
pub(crate) fn exp2(y: f32) -> f32 {
    let y = larger(y, -126.0);
    // Adding 1.5 · 2²³ leaves the whole part in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = y + ROUND;
    let whole = shifted.to_bits() << 23;
    let t = y - (shifted - ROUND);
    // 2^t on [−½, ½], fitted.
    let mut p = 1.535_336_2e-4f32;
    for c in [1.339_887_4e-3, 9.618_437e-3, 5.550_332_5e-2, 2.402_264_7e-1, 6.931_472e-1, 1.0] {
        p = p.mul_add(t, c);
    }
    f32::from_bits(p.to_bits().wrapping_add(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithm_and_power_are_those_of_the_library() {
        let mut x = 1e-5f32;
        while x < 1.5 {
            let (got, wanted) = (f64::from(log2(x)), f64::from(x).log2());
            assert!((got - wanted).abs() < 2e-7 * wanted.abs().max(1.0), "log2 {x}: {got} {wanted}");
            x *= 1.0003;
        }
        let mut y = -125.9f32;
        while y < 1.0 {
            let (got, wanted) = (f64::from(exp2(y)), f64::from(y).exp2());
            assert!((got / wanted - 1.0).abs() < 5e-7, "exp2 {y}: {got} {wanted}");
            y += 0.0037;
        }
        assert_eq!((log2(1.0), exp2(0.0)), (0.0, 1.0));
        assert!(exp2(-1e30) < 1.2e-38 && exp2(f32::NEG_INFINITY) < 1.2e-38);
    }

    #[test]
    fn a_glance_at_rows_of_any_length() {
        for classes in [2, 3, 15, 16, 17, 40, 1000] {
            let row: Vec<f64> = (0..classes).map(|k| f64::from((k * 7919) % classes) / 1024.0).collect();
            let glance = Glance::of(&row);
            let narrow: Vec<f32> = row.iter().map(|&v| v as f32).collect();
            assert_eq!(glance, Glance::of(&narrow), "{classes}");
            assert_eq!((glance.low, glance.top), (0.0, (classes - 1) as f32 / 1024.0));
            assert!((f64::from(glance.sum) - row.iter().sum::<f64>()).abs() < 1e-3);
        }
        assert!(Glance::of(&[0.5, f64::NAN, 0.5]).sum.is_nan());
        assert!(!Glance::of(&[0.5, f64::INFINITY, 0.5]).sum.is_finite());
    }
}
