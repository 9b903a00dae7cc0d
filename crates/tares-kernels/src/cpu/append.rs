//! Two tensors as one, image by image, and apart again. Memory is written once: zeros first, so that threads could share the work, would cost more.

/// Images of `sizes` floats: those of `first` and `second` alternately.
pub(crate) fn append(sizes: [usize; 2], first: &[f32], second: &[f32]) -> Vec<f32> {
    let [a, b] = sizes;
    if a == 0 || b == 0 {
        return if a == 0 { second.to_vec() } else { first.to_vec() };
    }
    let mut both = Vec::with_capacity(first.len() + second.len());
    for (first, second) in first.chunks_exact(a).zip(second.chunks_exact(b)) {
        both.extend_from_slice(first);
        both.extend_from_slice(second);
    }
    both
}

/// The inverse of [`append`].
pub(crate) fn split(sizes: [usize; 2], both: &[f32]) -> [Vec<f32>; 2] {
    let [a, b] = sizes;
    if a == 0 || b == 0 {
        return if a == 0 { [Vec::new(), both.to_vec()] } else { [both.to_vec(), Vec::new()] };
    }
    let images = both.len() / (a + b);
    let (mut first, mut second) = (Vec::with_capacity(images * a), Vec::with_capacity(images * b));
    for image in both.chunks_exact(a + b) {
        first.extend_from_slice(&image[..a]);
        second.extend_from_slice(&image[a..]);
    }
    [first, second]
}
