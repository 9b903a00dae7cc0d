//! The small-loss trick: samples with small losses are likely right.

/// The meaning of `ramp`, the same for all methods that have it.
pub(super) const RAMP_MEANING: &str = "over how many epochs the part that is left out grows from 0 to the rate";

/// The positions of the `k` smallest losses, ascending; of equal losses the first positions.
pub(crate) fn smallest(losses: &[f32], k: usize) -> Vec<u32> {
    let mut positions: Vec<u32> = (0..losses.len() as u32).collect();
    if k < positions.len() {
        if k > 0 {
            positions.select_nth_unstable_by(k - 1, |&a, &b| {
                losses[a as usize].total_cmp(&losses[b as usize]).then(a.cmp(&b))
            });
        }
        positions.truncate(k);
        positions.sort_unstable();
    }
    positions
}

/// The same among the positions `among`.
pub(crate) fn smallest_among(losses: &[f32], among: &[u32], k: usize) -> Vec<u32> {
    let chosen: Vec<f32> = among.iter().map(|&position| losses[position as usize]).collect();
    smallest(&chosen, k).into_iter().map(|place| among[place as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_smallest_and_of_equals_the_first() {
        assert_eq!(smallest(&[3.0, 1.0, 2.0, 1.0, 1.0], 2), [1, 3]);
        assert_eq!(smallest(&[3.0, 1.0], 5), [0, 1]);
        assert_eq!(smallest(&[3.0, 1.0], 0), [0u32; 0]);
        assert_eq!(smallest(&[f32::NAN, 1.0, f32::INFINITY], 2), [1, 2]);
        assert_eq!(smallest_among(&[5.0, 0.0, 4.0, 3.0], &[0, 2, 3], 2), [2, 3]);
    }
}
