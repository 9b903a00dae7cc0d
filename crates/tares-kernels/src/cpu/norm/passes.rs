//! What [`super`] does to each plane: one loop over memory per struct.

use super::Affine;
use crate::cpu::simd::{Kernel, Register, mul_add};
use crate::cpu::sum::sum_in_lanes;

/// Per plane: mean, and the sum of squared distances from it.
pub(super) struct Moments<'a> {
    pub pixels: usize,
    pub x: &'a [f32],
    pub into: &'a mut [[f32; 2]],
}

impl Kernel for Moments<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (x, into) in self.x.chunks_exact(self.pixels).zip(self.into) {
            let mean = sum_in_lanes(x) / self.pixels as f32;
            let (blocks, rest) = x.as_chunks::<32>();
            let mut squares = [0.0f32; 32];
            for block in blocks {
                for lane in 0..32 {
                    let d = block[lane] - mean;
                    squares[lane] = mul_add::<FMA>(d, d, squares[lane]);
                }
            }
            let rest: f32 = rest.iter().map(|v| (v - mean) * (v - mean)).sum();
            *into = [mean, squares.iter().sum::<f32>() + rest];
        }
    }
}

/// `y = leaky(scale·x + shift)`.
pub(super) struct Apply<'a> {
    pub pixels: usize,
    pub first: usize,
    pub affine: &'a Affine,
    pub slope: f32,
    pub x: &'a [f32],
    pub y: &'a mut [f32],
}

impl Kernel for Apply<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let channels = self.affine.scale.len();
        let planes = self.x.chunks_exact(self.pixels).zip(self.y.chunks_exact_mut(self.pixels));
        for (i, (x, y)) in planes.enumerate() {
            let c = (self.first + i) % channels;
            let (scale, shift) = (self.affine.scale[c], self.affine.shift[c]);
            for (y, x) in y.iter_mut().zip(x) {
                let z = mul_add::<FMA>(*x, scale, shift);
                *y = if z > 0.0 { z } else { self.slope * z };
            }
        }
    }
}

/// `y = leaky(scale·x + shift + kept)`.
pub(super) struct ApplyAndAdd<'a> {
    pub pixels: usize,
    pub first: usize,
    pub affine: &'a Affine,
    pub slope: f32,
    pub x: &'a [f32],
    pub kept: &'a [f32],
    pub y: &'a mut [f32],
}

impl Kernel for ApplyAndAdd<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let planes = self.x.chunks_exact(self.pixels).zip(self.kept.chunks_exact(self.pixels));
        for (i, ((x, kept), y)) in planes.zip(self.y.chunks_exact_mut(self.pixels)).enumerate() {
            let c = (self.first + i) % self.affine.scale.len();
            let (scale, shift) = (self.affine.scale[c], self.affine.shift[c]);
            for ((y, x), kept) in y.iter_mut().zip(x).zip(kept) {
                let z = mul_add::<FMA>(*x, scale, shift) + kept;
                *y = if z > 0.0 { z } else { self.slope * z };
            }
        }
    }
}

/// `passed = dy` where `y > 0`, `slope·dy` elsewhere.
pub(super) struct Pass<'a> {
    pub slope: f32,
    pub y: &'a [f32],
    pub dy: &'a [f32],
    pub passed: &'a mut [f32],
}

impl Kernel for Pass<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for ((passed, y), dy) in self.passed.iter_mut().zip(self.y).zip(self.dy) {
            *passed = if *y > 0.0 { *dy } else { self.slope * dy };
        }
    }
}

/// `x = leaky(scale·x + shift)`.
pub(super) struct ApplyInPlace<'a> {
    pub pixels: usize,
    pub first: usize,
    pub affine: &'a Affine,
    pub slope: f32,
    pub x: &'a mut [f32],
}

impl Kernel for ApplyInPlace<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (i, x) in self.x.chunks_exact_mut(self.pixels).enumerate() {
            let c = (self.first + i) % self.affine.scale.len();
            let (scale, shift) = (self.affine.scale[c], self.affine.shift[c]);
            for x in x {
                let z = mul_add::<FMA>(*x, scale, shift);
                *x = if z > 0.0 { z } else { self.slope * z };
            }
        }
    }
}

/// Per plane: `Σ g` and `Σ g·(x − mean)`.
pub(super) struct Products<'a> {
    pub pixels: usize,
    pub first: usize,
    pub affine: &'a Affine,
    pub mean: &'a [f32],
    pub slope: f32,
    pub x: &'a [f32],
    pub dy: &'a [f32],
    pub into: &'a mut [[f32; 2]],
}

impl Kernel for Products<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let planes = self.x.chunks_exact(self.pixels).zip(self.dy.chunks_exact(self.pixels));
        for (i, ((x, dy), into)) in planes.zip(self.into).enumerate() {
            let c = (self.first + i) % self.mean.len();
            let (scale, shift, mean) = (self.affine.scale[c], self.affine.shift[c], self.mean[c]);
            let passed = |x: f32, dy: f32| if mul_add::<FMA>(x, scale, shift) > 0.0 { dy } else { self.slope * dy };
            let ((x, x_rest), (dy, dy_rest)) = (x.as_chunks::<32>(), dy.as_chunks::<32>());
            let (mut sums, mut products) = ([0.0f32; 32], [0.0f32; 32]);
            for (x, dy) in x.iter().zip(dy) {
                for lane in 0..32 {
                    let g = passed(x[lane], dy[lane]);
                    sums[lane] += g;
                    products[lane] = mul_add::<FMA>(g, x[lane] - mean, products[lane]);
                }
            }
            let (mut sum, mut product) = (sums.iter().sum::<f32>(), products.iter().sum::<f32>());
            for (&x, &dy) in x_rest.iter().zip(dy_rest) {
                let g = passed(x, dy);
                sum += g;
                product = mul_add::<FMA>(g, x - mean, product);
            }
            *into = [sum, product];
        }
    }
}

/// `dx = scale·(g − correction₀ − (x − mean)·correction₁)`.
pub(super) struct InputGradient<'a> {
    pub pixels: usize,
    pub first: usize,
    pub affine: &'a Affine,
    pub mean: &'a [f32],
    pub corrections: &'a [[f32; 2]],
    pub slope: f32,
    pub x: &'a [f32],
    pub dy: &'a [f32],
    pub dx: &'a mut [f32],
}

impl Kernel for InputGradient<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let planes = self.x.chunks_exact(self.pixels).zip(self.dy.chunks_exact(self.pixels));
        for (i, ((x, dy), dx)) in planes.zip(self.dx.chunks_exact_mut(self.pixels)).enumerate() {
            let c = (self.first + i) % self.mean.len();
            let (scale, shift) = (self.affine.scale[c], self.affine.shift[c]);
            let (mean, correction) = (self.mean[c], self.corrections[c]);
            for ((x, dy), dx) in x.iter().zip(dy).zip(dx) {
                let g = if mul_add::<FMA>(*x, scale, shift) > 0.0 { *dy } else { self.slope * dy };
                *dx = scale * mul_add::<FMA>(mean - x, correction[1], g - correction[0]);
            }
        }
    }
}
