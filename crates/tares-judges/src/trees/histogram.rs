//! Gradients as integers, and their sums per bin.
//!
//! Every round the gradients are rounded to 30 bits of their largest one. Sums of integers are exact: they depend neither on
//! the order of rows nor on threads, and the histogram of one child is exactly its parent's minus its sibling's.

use crate::error::{Result, value};

/// The derivative of a row's loss with respect to one output, and the second derivative.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Slope {
    /// First derivative.
    pub gradient: f64,
    /// Second derivative, or an upper bound of it; ≥ 0.
    pub hessian: f64,
}

/// The gradients of N rows and M outputs as integers: per row M pairs (gradient, hessian), then the row's weight.
pub(crate) struct Quantised {
    pub(crate) values: Vec<i32>,
    pub(crate) outputs: usize,
    /// What one unit of a gradient, a hessian and a weight stands for.
    units: [f64; 3],
}

/// Numbers per row or bin: M pairs and a weight.
pub(crate) fn stride(outputs: usize) -> usize {
    2 * outputs + 1
}

impl Quantised {
    /// `slopes` holds M entries per row. Only those of `used` rows matter.
    ///
    /// # Errors
    /// A gradient that is not finite; a hessian that is negative or not finite.
    pub(crate) fn new(slopes: &[Slope], outputs: usize, used: &[u32], weight: impl Fn(usize) -> f64) -> Result<Self> {
        let (mut gradient, mut hessian, mut heaviest) = (0.0f64, 0.0f64, 0.0f64);
        for &row in used {
            for slope in &slopes[row as usize * outputs..][..outputs] {
                let fine = slope.gradient.is_finite() && slope.hessian.is_finite() && slope.hessian >= 0.0;
                if !fine {
                    return Err(value(&format!("slope of row {row}"), "finite, hessian >= 0", format!("{slope:?}")));
                }
                gradient = gradient.max(slope.gradient.abs());
                hessian = hessian.max(slope.hessian);
            }
            heaviest = heaviest.max(weight(row as usize));
        }
        let units = [unit(gradient), unit(hessian), unit(heaviest)];
        let mut values = Vec::with_capacity(slopes.len() / outputs * stride(outputs));
        // Rows that are not used may overflow: `as` cuts them off.
        for (row, slopes) in slopes.chunks_exact(outputs).enumerate() {
            for slope in slopes {
                values.push((slope.gradient / units[0]).round() as i32);
                values.push((slope.hessian / units[1]).round() as i32);
            }
            values.push((weight(row) / units[2]).round() as i32);
        }
        Ok(Self { values, outputs, units })
    }

    pub(crate) fn gradient(&self, sum: i64) -> f64 {
        sum as f64 * self.units[0]
    }

    pub(crate) fn hessian(&self, sum: i64) -> f64 {
        sum as f64 * self.units[1]
    }

    pub(crate) fn weight(&self, sum: i64) -> f64 {
        sum as f64 * self.units[2]
    }

    /// The rows' numbers one after the other, so that every column reads them in one go.
    pub(crate) fn gather(&self, rows: &[u32]) -> Vec<i32> {
        let stride = stride(self.outputs);
        let mut gathered = Vec::with_capacity(rows.len() * stride);
        rows.iter().for_each(|&row| gathered.extend_from_slice(&self.values[row as usize * stride..][..stride]));
        gathered
    }
}

/// A power of two of which at most 2³⁰ make `largest`: 2³² rows then fit into 64 bits.
fn unit(largest: f64) -> f64 {
    // Below this, products of units would lose bits; gradients that small move nothing.
    let largest = largest.max(1e-200);
    2f64.powi(largest.log2().ceil() as i32 - 30)
}

/// Adds up, per bin of one column, the numbers of `rows`. `gathered` is [`Quantised::gather`] of the same rows.
pub(crate) fn fill(histogram: &mut [i64], column: &[u8], rows: &[u32], gathered: &[i32], stride: usize) {
    histogram.fill(0);
    if stride == 3 {
        let (bins, _) = histogram.as_chunks_mut::<3>();
        for (&row, numbers) in rows.iter().zip(gathered.as_chunks::<3>().0) {
            let bin = &mut bins[column[row as usize] as usize];
            bin[0] += i64::from(numbers[0]);
            bin[1] += i64::from(numbers[1]);
            bin[2] += i64::from(numbers[2]);
        }
    } else {
        for (&row, numbers) in rows.iter().zip(gathered.chunks_exact(stride)) {
            let bin = &mut histogram[column[row as usize] as usize * stride..][..stride];
            bin.iter_mut().zip(numbers).for_each(|(sum, &number)| *sum += i64::from(number));
        }
    }
}

/// The parent's histogram becomes that of the other child.
pub(crate) fn subtract(parent: &mut [i64], child: &[i64]) {
    parent.iter_mut().zip(child).for_each(|(parent, child)| *parent -= child);
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    #[test]
    fn subtraction_equals_direct_histograms_to_the_last_bit() {
        for seed in 0..20 {
            let mut draw = stream(seed, "test");
            let (rows, outputs) = (1 + draw.below(500), 1 + draw.below(3));
            let slope = |draw: &mut tares_core::Stream| Slope { gradient: draw.normal(), hessian: draw.unit() };
            let slopes: Vec<Slope> = (0..rows * outputs).map(|_| slope(&mut draw)).collect();
            let every: Vec<u32> = (0..rows as u32).collect();
            let quantised = Quantised::new(&slopes, outputs, &every, |_| 1.0).unwrap();
            let column: Vec<u8> = (0..rows).map(|_| draw.below(256) as u8).collect();
            let (left, right): (Vec<u32>, Vec<u32>) = (0..rows as u32).partition(|_| draw.chance(0.3));
            let all: Vec<u32> = left.iter().chain(&right).copied().collect();
            let width = stride(outputs);
            let direct = |rows: &[u32]| {
                let mut histogram = vec![7; 256 * width];
                fill(&mut histogram, &column, rows, &quantised.gather(rows), width);
                histogram
            };
            let mut other = direct(&all);
            subtract(&mut other, &direct(&left));
            assert_eq!(other, direct(&right), "seed {seed}");
        }
    }

    #[test]
    fn integers_keep_nine_digits_of_the_largest_gradient() {
        for largest in [1e-12, 0.3, 1.0, 7e9] {
            let slopes: Vec<Slope> =
                (0..100).map(|i| Slope { gradient: largest * (f64::from(i) / 50.0 - 1.0), hessian: 1.0 }).collect();
            let every: Vec<u32> = (0..100).collect();
            let quantised = Quantised::new(&slopes, 1, &every, |_| 1.0).unwrap();
            for (slope, numbers) in slopes.iter().zip(quantised.values.chunks(3)) {
                assert!((quantised.gradient(i64::from(numbers[0])) - slope.gradient).abs() <= 1e-9 * largest);
            }
        }
    }

    #[test]
    fn bad_slopes_are_refused() {
        for (gradient, hessian) in [(f64::NAN, 1.0), (0.0, -1.0), (f64::INFINITY, 1.0)] {
            let bad = [Slope { gradient, hessian }];
            assert!(Quantised::new(&bad, 1, &[0], |_| 1.0).is_err());
            assert!(Quantised::new(&bad, 1, &[], |_| 1.0).is_ok()); // nobody uses it
        }
    }
}
