//! Logarithm, power and maximum in 32 bits, written so that compilers turn loops over them into vector instructions.
//!
//! The operations and their order are fixed, so results are the same bits on every machine.

/// The larger number; `b` if either is NaN, which is what the vector instruction does.
#[inline(always)]
pub(crate) fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// The smaller number; `b` if either is NaN.
#[inline(always)]
pub(crate) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// log₂ x for positive, normal x; the error is about 2⁻²³ · max(1, |log₂ x|).
#[inline(always)]
pub(crate) fn log2(x: f32) -> f32 {
    // x = 2^e · m with m in [√½, √2), where the series in m − 1 converges fast.
    const HALF_ROOT: u32 = 0x3f35_04f3;
    let bits = x.to_bits().wrapping_sub(HALF_ROOT);
    let exponent = (bits as i32) >> 23;
    let m = f32::from_bits((bits & 0x007f_ffff) + HALF_ROOT);
    let t = m - 1.0;
    // ln(1 + t) = t − t²/2 + t³ · P(t), P fitted on that interval (coefficients of the Cephes library).
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

/// 2^y for y up to 126, with a relative error of about 2⁻²²; y below −126 counts as −126.
#[inline(always)]
pub(crate) fn exp2(y: f32) -> f32 {
    let y = larger(y, -126.0);
    // Adding 1.5 · 2²³ leaves the integer part of y in the low bits.
    const ROUND: f32 = 12_582_912.0;
    let shifted = y + ROUND;
    let whole = shifted.to_bits() << 23;
    let t = y - (shifted - ROUND);
    // A polynomial fitted to 2^t on [−½, ½].
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
}
