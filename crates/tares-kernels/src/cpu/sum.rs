//! Sums of slices in a fixed order, wide enough for vector instructions.

use crate::cpu::simd::{Kernel, Register, widest};

/// The sum of `values`: 32 running sums over blocks of 32, added in order, the remainder last.
///
/// The order follows from the length alone, on every processor and for every number of threads.
pub(crate) fn sum(values: &[f32]) -> f32 {
    struct Sum<'a>(&'a [f32]);
    impl Kernel for Sum<'_> {
        type Output = f32;
        #[inline(always)]
        fn run<R: Register, const FMA: bool>(self) -> f32 {
            sum_in_lanes(self.0)
        }
    }
    widest(Sum(values))
}

/// [`sum`], to be inlined into a computation that already runs on wide vectors.
#[inline(always)]
pub(crate) fn sum_in_lanes(values: &[f32]) -> f32 {
    let (blocks, rest) = values.as_chunks::<32>();
    let mut running = [0.0f32; 32];
    for block in blocks {
        for lane in 0..32 {
            running[lane] += block[lane];
        }
    }
    running.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[cfg(test)]
mod tests {
    #[test]
    fn sum_of_any_length() {
        for len in [0usize, 1, 31, 32, 33, 1000] {
            let values: Vec<f32> = (0..len).map(|v| v as f32).collect();
            assert_eq!(super::sum(&values), (len * len.saturating_sub(1) / 2) as f32, "length {len}");
        }
    }
}
