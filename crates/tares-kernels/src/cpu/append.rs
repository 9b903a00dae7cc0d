//! Two tensors as one, image by image, and apart again. Every float is written once.

use crate::cpu::fresh::blocks;
use crate::cpu::lane::LANES;

/// Images of `sizes` floats: those of `first` and `second` alternately.
pub(crate) fn append(sizes: [usize; 2], first: &[f32], second: &[f32]) -> Vec<f32> {
    let [a, b] = sizes;
    if a == 0 || b == 0 {
        return if a == 0 { second.to_vec() } else { first.to_vec() };
    }
    if a.is_multiple_of(LANES) && b.is_multiple_of(LANES) {
        let ((first, _), (second, _)) = (first.as_chunks::<LANES>(), second.as_chunks::<LANES>());
        let (a, b) = (a / LANES, b / LANES);
        return blocks(first.len() + second.len(), |i| {
            let (image, at) = (i / (a + b), i % (a + b));
            if at < a { first[image * a + at] } else { second[image * b + at - a] }
        });
    }
    let mut both = Vec::with_capacity(first.len() + second.len());
    for (first, second) in first.chunks_exact(a).zip(second.chunks_exact(b)) {
        both.extend_from_slice(first);
        both.extend_from_slice(second);
    }
    both
}

/// The `second` of [`append`], or with `[0, a, b]` the first: of images of `before + size + after` floats those in the middle.
pub(crate) fn part([before, size, after]: [usize; 3], both: &[f32]) -> Vec<f32> {
    let image = (before + size + after).max(1); // an image without floats: then there are none in `both` either
    let mut part = Vec::with_capacity(both.len() / image * size);
    for image in both.chunks_exact(image) {
        part.extend_from_slice(&image[before..before + size]);
    }
    part
}
