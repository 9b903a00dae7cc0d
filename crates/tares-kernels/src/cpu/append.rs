//! Two tensors as one, image by image, and apart again. Every float is written once.

use crate::cpu::pool::Floats;
use crate::cpu::threads::for_each;

/// Images of `sizes` floats: those of `first` and `second` alternately.
pub(crate) fn append([a, b]: [usize; 2], first: &[f32], second: &[f32]) -> Floats {
    if a == 0 || b == 0 {
        return Floats::of(if a == 0 { second } else { first });
    }
    let mut both = Floats::unwritten(first.len() + second.len());
    let images = first.chunks_exact(a).zip(second.chunks_exact(b));
    for_each(both.chunks_exact_mut(a + b).zip(images), |(both, (first, second))| {
        both[..a].copy_from_slice(first);
        both[a..].copy_from_slice(second);
    });
    both
}

/// The `second` of [`append`], or with `[0, a, b]` the first: of images of `before + size + after` floats those in the middle.
pub(crate) fn part([before, size, after]: [usize; 3], both: &[f32]) -> Floats {
    let image = (before + size + after).max(1); // an image without floats: then there are none in `both` either
    let mut part = Floats::unwritten(both.len() / image * size);
    for_each(part.chunks_exact_mut(size.max(1)).zip(both.chunks_exact(image)), |(part, image)| {
        part.copy_from_slice(&image[before..before + size]);
    });
    part
}
