//! Numbers less their mean, divided by their standard deviation, as 32-bit numbers.

/// Numbers that are scaled together: if one of them needs the division, all are divided.
const TOGETHER: usize = 64;

/// How far a product with 1 / std is taken to be from the quotient at most, as a part of it. It is a quarter of this: 1 / std and
/// the product are each rounded to 53 bits.
const DOUBT: f64 = 1.0 / (1u64 << 50) as f64;

/// Standard deviations whose reciprocals have all 53 bits.
const USUAL: std::ops::Range<f64> = 1e-300..1e300;

/// `(number - mean) / std` of every number, rounded to 64 bits and then to 32; a far outlier becomes the largest 32-bit number.
/// True if none of the numbers is NaN.
///
/// A division takes as long as several products. So the quotient's bounds are computed with products, and where both become the
/// same 32-bit number, so does the quotient between them, whatever it is exactly.
pub(super) fn scale(numbers: &[f64], mean: f64, std: f64, scaled: &mut [f32]) -> bool {
    assert_eq!(numbers.len(), scaled.len(), "numbers and their places");
    let (less, more) = ((1.0 - DOUBT) / std, (1.0 + DOUBT) / std);
    let mut complete = true;
    for (numbers, scaled) in numbers.chunks(TOGETHER).zip(scaled.chunks_mut(TOGETHER)) {
        let mut alike = USUAL.contains(&std);
        for (number, scaled) in numbers.iter().zip(&mut *scaled) {
            let distance = number - mean;
            *scaled = (distance * less) as f32;
            // Neither NaN nor infinite numbers have the difference 0.
            alike &= (distance * more) as f32 - *scaled == 0.0;
        }
        if !alike {
            complete &= !numbers.iter().fold(false, |missing, number| missing | number.is_nan());
            numbers.iter().zip(scaled).for_each(|(number, scaled)| *scaled = divided(*number, mean, std));
        }
    }
    complete
}

fn divided(number: f64, mean: f64, std: f64) -> f32 {
    // A far outlier must stay finite as a 32-bit number.
    ((number - mean) / std).clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers whose quotients lie on, or next to, the middle of two 32-bit numbers, and numbers of any size.
    fn numbers(stream: &mut tares_core::Stream, mean: f64, std: f64) -> Vec<f64> {
        let number = |at: usize| {
            let near = f64::from((stream.unit() * 8.0 - 4.0) as f32);
            let middle = near + near * 0.5 / f64::from(1 << 23);
            match at % 5 {
                0 => mean + std * near,
                1 => mean + std * middle,
                2 => (mean + std * middle).next_up(),
                3 => mean + (stream.unit() - 0.5) * 10f64.powi(stream.below(80) as i32 - 50),
                _ => mean + stream.unit() * std,
            }
        };
        (0..4000).map(number).collect()
    }

    #[test]
    fn the_same_bits_as_a_division() {
        let mut stream = tares_core::stream(5, "scale");
        for std in [1.0, 3.7e-5, 1.0 / 3.0, 0.1, 4e12, 2f64.powi(-30), 1e-310, 1e305, f64::MIN_POSITIVE, -0.3] {
            for mean in [0.0, 0.3, -1e3] {
                let mut numbers = numbers(&mut stream, mean, std);
                numbers[130..140].copy_from_slice(&[
                    0.0,
                    -0.0,
                    mean,
                    1e300,
                    -1e300,
                    f64::MAX,
                    1e-320,
                    1e-45,
                    3.5e38,
                    -1e39,
                ]);
                let mut scaled = vec![0.0; numbers.len()];
                assert!(scale(&numbers, mean, std, &mut scaled));
                for (number, scaled) in numbers.iter().zip(&scaled) {
                    let expected = divided(*number, mean, std);
                    assert!(expected.is_finite());
                    assert_eq!(scaled.to_bits(), expected.to_bits(), "({number:e} - {mean:e}) / {std:e}");
                }
            }
        }
    }

    #[test]
    fn a_missing_number_is_told_and_changes_no_other() {
        let mut numbers: Vec<f64> = (0..200).map(|at| f64::from(at) / 7.0).collect();
        let (mut whole, mut scaled) = (vec![0.0; 200], vec![0.0; 200]);
        assert!(scale(&numbers, 0.1, 0.7, &mut whole));
        numbers[199] = f64::NAN;
        assert!(!scale(&numbers, 0.1, 0.7, &mut scaled));
        assert_eq!(scaled[..199], whole[..199]);
    }
}
