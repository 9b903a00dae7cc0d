//! Gradients as integers, and their sums per bin.
//!
//! In every round the gradients are rounded to 30 bits relative to the largest. Sums of integers are exact: they depend neither on
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

/// The gradients of N rows and M outputs as integers: per row M pairs (gradient, hessian). If all rows have weight 1, the low bits
/// of the first hessian count the rows, so that a row or bin of one output takes two words; otherwise the weight is one more word.
pub(crate) struct Quantised {
    pub(crate) values: Vec<i64>,
    pub(crate) outputs: usize,
    /// The value of one integer unit of a gradient, a hessian and a weight.
    units: [f64; 3],
    /// Bits that the number of rows takes; 0 if rows have weights of their own.
    count_bits: u32,
}

/// Which of a row's slopes a tree is grown for.
#[derive(Clone, Copy)]
pub(crate) struct Outputs {
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// Slopes per row.
    pub(crate) of: usize,
}

/// Bits of the largest gradient.
const BITS: u32 = 30;
/// A hessian that shares its word with the row count has at least this many bits; with more than 2²³ rows the count has its own word.
const LEAST_BITS: u32 = 16;

impl Quantised {
    /// `slopes` holds entries of all outputs per row. Only those of `used` rows matter.
    ///
    /// # Errors
    /// A gradient that is not finite; a hessian that is negative or not finite.
    pub(crate) fn new(slopes: &[Slope], outputs: Outputs, used: &[u32], weights: Option<&[f64]>) -> Result<Self> {
        let of_row = |row: u32| &slopes[row as usize * outputs.of + outputs.first..][..outputs.count];
        let weight = |row: u32| weights.map_or(1.0, |weights| weights[row as usize]);
        let (mut gradient, mut hessian, mut heaviest) = (0.0f64, 0.0f64, 0.0f64);
        for &row in used {
            for slope in of_row(row) {
                let fine = slope.gradient.is_finite() && slope.hessian.is_finite() && slope.hessian >= 0.0;
                if !fine {
                    return Err(value(&format!("slope of row {row}"), "finite, hessian >= 0", format!("{slope:?}")));
                }
                gradient = gradient.max(slope.gradient.abs());
                hessian = hessian.max(slope.hessian);
            }
            heaviest = heaviest.max(weight(row));
        }
        let counting = used.len().checked_ilog2().unwrap_or(0) + 1;
        let count_bits = if weights.is_none() && 2 * counting + LEAST_BITS <= 63 { counting } else { 0 };
        let hessian_bits = if count_bits == 0 { BITS } else { BITS.min(63 - 2 * count_bits) };
        let units = match count_bits {
            0 => [unit(gradient, BITS), unit(hessian, hessian_bits), unit(heaviest, BITS)],
            _ => [unit(gradient, BITS), unit(hessian, hessian_bits), 1.0],
        };
        let mut quantised = Self { values: Vec::new(), outputs: outputs.count, units, count_bits };
        let stride = quantised.stride();
        let inverse = units.map(|unit| 1.0 / unit);
        quantised.values = vec![0; slopes.len() / outputs.of * stride];
        for &row in used {
            let numbers = &mut quantised.values[row as usize * stride..][..stride];
            for (slope, pair) in of_row(row).iter().zip(numbers.chunks_exact_mut(2)) {
                pair[0] = nearest(slope.gradient * inverse[0]);
                pair[1] = nearest(slope.hessian * inverse[1]);
            }
            match count_bits {
                0 => numbers[stride - 1] = nearest(weight(row) * inverse[2]),
                bits => numbers[1] = (numbers[1] << bits) + 1,
            }
        }
        Ok(quantised)
    }

    /// Numbers per row or bin.
    pub(crate) fn stride(&self) -> usize {
        2 * self.outputs + usize::from(self.count_bits == 0)
    }

    /// The gradient of one output in sums of rows.
    #[inline]
    pub(crate) fn gradient(&self, sums: &[i64], output: usize) -> f64 {
        sums[2 * output] as f64 * self.units[0]
    }

    /// The hessian of one output in sums of rows.
    #[inline]
    pub(crate) fn hessian(&self, sums: &[i64], output: usize) -> f64 {
        let sum = sums[2 * output + 1];
        (if output == 0 { sum >> self.count_bits } else { sum }) as f64 * self.units[1]
    }

    /// The weight in sums of rows; 0 without rows.
    #[inline]
    pub(crate) fn weight(&self, sums: &[i64]) -> f64 {
        let sum = match self.count_bits {
            0 => sums[2 * self.outputs],
            bits => sums[1] & ((1 << bits) - 1),
        };
        sum as f64 * self.units[2]
    }

    /// Copies the rows' numbers one after the other, so that every column reads them sequentially.
    pub(crate) fn gather(&self, rows: &[u32], gathered: &mut Vec<i64>) {
        let stride = self.stride();
        gathered.clear();
        match stride {
            2 => {
                let pairs = self.values.as_chunks::<2>().0;
                gathered.extend(rows.iter().flat_map(|&row| pairs[row as usize]));
            }
            _ => rows.iter().for_each(|&row| gathered.extend(&self.values[row as usize * stride..][..stride])),
        }
    }
}

/// The power of two that is the unit: `largest` is at most 2^bits units.
fn unit(largest: f64, bits: u32) -> f64 {
    // Below this, products of units would lose bits; gradients that small have no effect.
    let largest = largest.max(1e-200);
    2f64.powi(largest.log2().ceil() as i32 - bits as i32)
}

/// The nearest integer of a number below 2⁵¹. Adding 1.5 · 2⁵² leaves it in the low bits; `round` is a call on plain x86-64.
#[inline]
fn nearest(number: f64) -> i64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (number + SHIFT).to_bits() as i64 - SHIFT.to_bits() as i64
}

/// Adds up, per bin of one column, the numbers of `rows`. `gathered` is [`Quantised::gather`] of the same rows.
pub(crate) fn fill(histogram: &mut [i64], column: &[u8], rows: &[u32], gathered: &[i64], stride: usize) {
    histogram.fill(0);
    match stride {
        2 => fill_bins::<2>(histogram, column, rows, gathered),
        3 => fill_bins::<3>(histogram, column, rows, gathered),
        _ => {
            for (&row, numbers) in rows.iter().zip(gathered.chunks_exact(stride)) {
                let bin = &mut histogram[column[row as usize] as usize * stride..][..stride];
                bin.iter_mut().zip(numbers).for_each(|(sum, &number)| *sum += number);
            }
        }
    }
}

fn fill_bins<const STRIDE: usize>(histogram: &mut [i64], column: &[u8], rows: &[u32], gathered: &[i64]) {
    let bins = histogram.as_chunks_mut::<STRIDE>().0;
    for (&row, numbers) in rows.iter().zip(gathered.as_chunks::<STRIDE>().0) {
        let bin = &mut bins[column[row as usize] as usize];
        for place in 0..STRIDE {
            bin[place] += numbers[place];
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

    const ONE: Outputs = Outputs { first: 0, count: 1, of: 1 };

    #[test]
    fn subtraction_equals_direct_histograms_to_the_last_bit() {
        for seed in 0..20 {
            let mut draw = stream(seed, "test");
            let (rows, outputs) = (1 + draw.below(500), 1 + draw.below(3));
            let slope = |draw: &mut tares_core::Stream| Slope { gradient: draw.normal(), hessian: draw.unit() };
            let slopes: Vec<Slope> = (0..rows * outputs).map(|_| slope(&mut draw)).collect();
            let every: Vec<u32> = (0..rows as u32).collect();
            let weights: Vec<f64> = (0..rows).map(|_| 0.5 + draw.unit()).collect();
            let weights = Some(weights.as_slice()).filter(|_| draw.chance(0.5));
            let all = Outputs { first: 0, count: outputs, of: outputs };
            let quantised = Quantised::new(&slopes, all, &every, weights).unwrap();
            let column: Vec<u8> = (0..rows).map(|_| draw.below(256) as u8).collect();
            let (left, right): (Vec<u32>, Vec<u32>) = (0..rows as u32).partition(|_| draw.chance(0.3));
            let all: Vec<u32> = left.iter().chain(&right).copied().collect();
            let width = quantised.stride();
            let direct = |rows: &[u32]| {
                let (mut histogram, mut gathered) = (vec![7; 256 * width], vec![7]);
                quantised.gather(rows, &mut gathered);
                fill(&mut histogram, &column, rows, &gathered, width);
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
            let quantised = Quantised::new(&slopes, ONE, &every, None).unwrap();
            for (slope, numbers) in slopes.iter().zip(quantised.values.chunks(2)) {
                assert!((quantised.gradient(numbers, 0) - slope.gradient).abs() <= 1e-9 * largest);
                assert!((quantised.hessian(numbers, 0) - 1.0).abs() <= 1e-9);
                assert_eq!(quantised.weight(numbers), 1.0);
            }
        }
    }

    #[test]
    fn bad_slopes_are_refused() {
        for (gradient, hessian) in [(f64::NAN, 1.0), (0.0, -1.0), (f64::INFINITY, 1.0)] {
            let bad = [Slope { gradient, hessian }];
            assert!(Quantised::new(&bad, ONE, &[0], None).is_err());
            assert!(Quantised::new(&bad, ONE, &[], None).is_ok()); // nobody uses it
        }
    }

    #[test]
    fn sums_of_packed_rows_are_those_of_their_parts() {
        // The largest hessians, so that a word is as full as it can be.
        for rows in [1usize, 2, 3, 4095, 4096, 70_000] {
            let slopes: Vec<Slope> =
                (0..rows).map(|row| Slope { gradient: if row % 2 == 0 { -1.0 } else { 1.0 }, hessian: 1.0 }).collect();
            let every: Vec<u32> = (0..rows as u32).collect();
            let quantised = Quantised::new(&slopes, ONE, &every, None).unwrap();
            let mut sums = [0i64; 2];
            quantised.values.chunks(2).for_each(|pair| (0..2).for_each(|place| sums[place] += pair[place]));
            assert_eq!(quantised.weight(&sums), rows as f64);
            assert!((quantised.hessian(&sums, 0) - rows as f64).abs() < 1e-6 * rows as f64, "{rows}");
            assert_eq!(quantised.gradient(&sums, 0), if rows % 2 == 0 { 0.0 } else { -1.0 });
        }
    }

    #[test]
    fn the_nearest_integer_is_found_on_both_sides_of_zero() {
        for (number, integer) in
            [(0.4, 0), (0.6, 1), (-0.6, -1), (1e9 + 0.4, 1_000_000_000), (-1e9 - 0.6, -1_000_000_001)]
        {
            assert_eq!(nearest(number), integer);
        }
    }
}
