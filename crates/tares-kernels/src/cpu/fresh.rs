//! New vectors, written by all threads: some megabytes take a single thread as long as a small convolution.

use crate::cpu::lane::LANES;
use crate::cpu::threads::stay_awake;
use rayon::prelude::*;

/// Blocks of sixteen floats per task, and the size below which one thread is faster: 128 kB.
const TASK: usize = 1 << 11;

/// `len` zeros.
pub(crate) fn zeros(len: usize) -> Vec<f32> {
    if len < 2 * TASK * LANES {
        return vec![0.0; len];
    }
    let mut values = blocks(len / LANES, |_| [0.0; LANES]);
    values.resize(len, 0.0);
    values
}

/// `count` blocks of sixteen floats: `block(0)`, `block(1)`, … Every float is written once.
pub(crate) fn blocks(count: usize, block: impl Fn(usize) -> [f32; LANES] + Sync + Send) -> Vec<f32> {
    stay_awake();
    let mut values = Vec::with_capacity(count + 1); // room for a last block that is not whole
    (0..count).into_par_iter().with_min_len(TASK).map(block).collect_into_vec(&mut values);
    values.into_flattened()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_of_any_length() {
        for len in [0, 1, 100, 2 * TASK * LANES, 2 * TASK * LANES + 5] {
            let values = zeros(len);
            assert!(values.len() == len && values.iter().all(|v| v.to_bits() == 0), "{len}");
        }
    }

    #[test]
    fn blocks_stand_in_their_order() {
        let count = 3 * TASK + 1;
        let values = blocks(count, |i| std::array::from_fn(|l| (i * LANES + l) as f32));
        assert_eq!(values.len(), count * LANES);
        assert!(values.iter().enumerate().all(|(i, v)| *v == i as f32));
    }
}
