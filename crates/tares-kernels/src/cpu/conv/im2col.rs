//! Patches of the input ↔ columns of a matrix (`im2col`, `col2im`).

use crate::cpu::conv::Geometry;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, widest};
use std::ops::Range;

/// `lowered[(c, ky, kx)][image, oy, ox] = x[image, c, oy·stride + ky − padding, ox·stride + kx − padding]`, 0 outside.
pub(super) fn lower(g: &Geometry, x: &[f32], channels: Range<usize>, lowered: &mut [f32]) {
    scratch::floats(padded(g), |frame| widest(Lower { g, x, channels, frame, lowered }));
}

/// The transpose of [`lower`] for one image: every element of `lowered` is added to the pixel it was read from; all
/// others become 0.
pub(super) fn raise(g: &Geometry, lowered: &[f32], columns: usize, dx: &mut [f32]) {
    scratch::floats(padded(g), |frame| widest(Raise { g, lowered, columns, frame, dx }));
}

/// Floats of a plane with its padding; none is needed without.
fn padded(g: &Geometry) -> usize {
    if g.padding == [0, 0] { 0 } else { (g.h + 2 * g.padding[0]) * (g.w + 2 * g.padding[1]) }
}

struct Lower<'a> {
    g: &'a Geometry,
    x: &'a [f32],
    channels: Range<usize>,
    /// One plane with its padding.
    frame: &'a mut [f32],
    lowered: &'a mut [f32],
}

impl Kernel for Lower<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { g, x, channels, frame, lowered } = self;
        let (s, ow, plane, [sy, sx], [top, left]) = (g.out_plane(), g.ow(), g.plane(), g.stride, g.padding);
        let (width, columns) = (g.w + 2 * left, x.len() / (g.ci * plane) * s);
        frame.fill(0.0);
        for (i, image) in x.chunks_exact(g.ci * plane).enumerate() {
            let mut rows = lowered.chunks_exact_mut(columns);
            for from in image[channels.start * plane..channels.end * plane].chunks_exact(plane) {
                let from = if frame.is_empty() {
                    from
                } else {
                    for (y, row) in from.chunks_exact(g.w).enumerate() {
                        copy(&mut frame[(y + top) * width + left..][..g.w], row);
                    }
                    &*frame
                };
                for ky in 0..g.kh {
                    for kx in 0..g.kw {
                        let Some(row) = rows.next() else { return };
                        for (oy, into) in row[i * s..(i + 1) * s].chunks_exact_mut(ow).enumerate() {
                            let from = &from[(oy * sy + ky) * width + kx..];
                            if sx == 1 {
                                copy(into, &from[..ow]);
                            } else {
                                copy_every(sx, into, from);
                            }
                        }
                    }
                }
            }
        }
    }
}

struct Raise<'a> {
    g: &'a Geometry,
    lowered: &'a [f32],
    columns: usize,
    /// One plane with its padding.
    frame: &'a mut [f32],
    dx: &'a mut [f32],
}

impl Kernel for Raise<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let Self { g, lowered, columns, frame, dx } = self;
        let (s, ow, [sy, sx], [top, left]) = (g.out_plane(), g.ow(), g.stride, g.padding);
        let width = g.w + 2 * left;
        for (plane, into) in dx.chunks_exact_mut(g.plane()).enumerate() {
            let sum = if frame.is_empty() { &mut *into } else { &mut *frame };
            sum.fill(0.0);
            for tap in 0..g.taps() {
                let (ky, kx) = (tap / g.kw, tap % g.kw);
                let row = &lowered[(plane * g.taps() + tap) * columns..][..s];
                for (oy, from) in row.chunks_exact(ow).enumerate() {
                    let sum = &mut sum[(oy * sy + ky) * width + kx..];
                    if sx == 1 {
                        add(&mut sum[..ow], from);
                    } else {
                        add_to_every(sx, sum, from);
                    }
                }
            }
            if !frame.is_empty() {
                for (y, row) in into.chunks_exact_mut(g.w).enumerate() {
                    copy(row, &frame[(y + top) * width + left..][..g.w]);
                }
            }
        }
    }
}

/// `into = from`, both equally long. Rows of a picture are too short for a call of `memcpy`.
#[inline(always)]
fn copy(into: &mut [f32], from: &[f32]) {
    let n = into.len();
    let mut eight = |at: usize| {
        let from: &[f32; 8] = from[at..].first_chunk().expect("eight");
        *into[at..].first_chunk_mut().expect("eight") = *from;
    };
    if n >= 16 {
        // Two groups of eight at a time; the last ones overlap the ones before.
        let mut at = 0;
        while at + 16 < n {
            eight(at);
            eight(at + 8);
            at += 16;
        }
        eight(n - 16);
        eight(n - 8);
    } else if n >= 8 {
        eight(0);
        eight(n - 8);
    } else {
        for at in 0..8 {
            if at < n {
                into[at] = from[at];
            }
        }
    }
}

/// `into[i] = from[step · i]`.
#[inline(always)]
fn copy_every(step: usize, into: &mut [f32], from: &[f32]) {
    let n = into.len();
    if step != 2 || n < 8 {
        for i in 0..n {
            into[i] = from[step * i];
        }
        return;
    }
    // The common step, eight values at a time; the last eight overlap those before.
    let mut at = 0;
    loop {
        let from: &[f32; 15] = from[2 * at..].first_chunk().expect("eight and those between");
        let into: &mut [f32; 8] = into[at..].first_chunk_mut().expect("eight");
        for i in 0..8 {
            into[i] = from[2 * i];
        }
        if at + 8 == n {
            return;
        }
        at = (at + 8).min(n - 8);
    }
}

/// `into[step · i] += from[i]`.
#[inline(always)]
fn add_to_every(step: usize, into: &mut [f32], from: &[f32]) {
    let n = from.len();
    let eights = if step == 2 { n / 8 } else { 0 };
    for at in 0..eights {
        let into: &mut [f32; 15] = into[16 * at..].first_chunk_mut().expect("eight and those between");
        let from: &[f32; 8] = from[8 * at..].first_chunk().expect("eight");
        for i in 0..8 {
            into[2 * i] += from[i];
        }
    }
    for i in 8 * eights..n {
        into[step * i] += from[i];
    }
}

/// `into += from`, both equally long.
#[inline(always)]
fn add(into: &mut [f32], from: &[f32]) {
    let (many, few) = into.as_chunks_mut::<8>();
    let (more, fewer) = from.as_chunks::<8>();
    for (into, from) in many.iter_mut().zip(more) {
        for i in 0..8 {
            into[i] += from[i];
        }
    }
    let ((four, few), (more, fewer)) = (few.as_chunks_mut::<4>(), fewer.as_chunks::<4>());
    for (into, from) in four.iter_mut().zip(more) {
        for i in 0..4 {
            into[i] += from[i];
        }
    }
    for i in 0..few.len().min(3) {
        few[i] += fewer[i];
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn short_rows_are_copied_and_added_whole() {
        for n in 0..70 {
            let from: Vec<f32> = (0..n).map(|v| v as f32).collect();
            let mut into = vec![-1.0; n];
            super::copy(&mut into, &from);
            assert_eq!(into, from);
            super::add(&mut into, &from);
            assert!(into.iter().zip(&from).all(|(a, b)| *a == 2.0 * b), "{n}: {into:?}");
        }
    }

    #[test]
    fn every_second_or_third_value_is_copied_and_added() {
        for (step, n) in [1usize, 2, 3].into_iter().flat_map(|step| (0..40).map(move |n| (step, n))) {
            // As short as a row may be: nothing behind the last value.
            let long: Vec<f32> = (0..(n * step).saturating_sub(step - 1)).map(|v| v as f32).collect();
            let mut short = vec![-1.0; n];
            super::copy_every(step, &mut short, &long);
            assert!(short.iter().enumerate().all(|(i, v)| *v == (step * i) as f32), "{step} {n}: {short:?}");
            let mut sum = vec![1.0; long.len()];
            super::add_to_every(step, &mut sum, &short);
            let want = |i: usize| if i.is_multiple_of(step) { 1.0 + i as f32 } else { 1.0 };
            assert!(sum.iter().enumerate().all(|(i, v)| *v == want(i)), "{step} {n}: {sum:?}");
        }
    }
}
