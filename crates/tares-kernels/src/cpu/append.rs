//! Two tensors as one, image by image, and apart again.

use crate::cpu::threads::for_each;

/// About how many floats one task copies.
const FLOATS: usize = 1 << 16;

/// Images of `sizes` floats: those of `first` and `second` alternately.
pub(crate) fn append(sizes: [usize; 2], first: &[f32], second: &[f32]) -> Vec<f32> {
    let [a, b] = sizes;
    let mut both = vec![0.0; first.len() + second.len()];
    if a == 0 || b == 0 {
        both.copy_from_slice(if a == 0 { second } else { first });
        return both;
    }
    let images = FLOATS.div_ceil(a + b);
    let tasks = both.chunks_mut(images * (a + b)).zip(first.chunks(images * a).zip(second.chunks(images * b)));
    for_each(tasks, |(both, (first, second))| {
        for (both, (first, second)) in
            both.chunks_exact_mut(a + b).zip(first.chunks_exact(a).zip(second.chunks_exact(b)))
        {
            both[..a].copy_from_slice(first);
            both[a..].copy_from_slice(second);
        }
    });
    both
}

/// The inverse of [`append`].
pub(crate) fn split(sizes: [usize; 2], both: &[f32]) -> [Vec<f32>; 2] {
    let [a, b] = sizes;
    if a == 0 || b == 0 {
        return if a == 0 { [Vec::new(), both.to_vec()] } else { [both.to_vec(), Vec::new()] };
    }
    let n = both.len() / (a + b);
    let (mut first, mut second) = (vec![0.0; n * a], vec![0.0; n * b]);
    let images = FLOATS.div_ceil(a + b);
    let parts = first.chunks_mut(images * a).zip(second.chunks_mut(images * b));
    for_each(both.chunks(images * (a + b)).zip(parts), |(both, (first, second))| {
        for (both, (first, second)) in
            both.chunks_exact(a + b).zip(first.chunks_exact_mut(a).zip(second.chunks_exact_mut(b)))
        {
            first.copy_from_slice(&both[..a]);
            second.copy_from_slice(&both[a..]);
        }
    });
    [first, second]
}
