//! Batch norm, leaky ReLU and a 1×1 convolution in one, on slices: the normalised maps exist only in a core's cache.
//!
//! ```text
//! forward    z = leaky(scale·x + shift)        y = W·z
//! backward   g = Wᵀ·dy, masked by z            dW = Σ dy·zᵀ        Σ g and Σ g·(x − mean) per plane
//!            dx = scale·(g − correction₀ − (x − mean)·correction₁)
//! ```
//! In a DenseNet every layer normalises all maps of its block again. Written to memory and read back forward and backward, they would be most of
//! what a training step moves. So z is computed twice instead, group of images by group of images. Partial sums follow from the shapes alone.

use crate::cpu::conv::pairs::{Products, totals};
use crate::cpu::gemm::{Matrix, multiply};
use crate::cpu::lane::{LANES, ZERO};
use crate::cpu::norm::{Affine, PerChannel, Planes, per_channel, statistics_from};
use crate::cpu::pool::Floats;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, mul_add, widest};
use crate::cpu::threads::for_each;

/// Columns of one product: images with small planes are put side by side until there are this many.
const WIDE: usize = 512;

/// Runs of images whose weight gradients are added up.
const TASKS: usize = 16;

/// What the operation is made of.
#[derive(Clone, Copy)]
pub(crate) struct Operands<'a> {
    pub p: Planes,
    pub x: &'a [f32],
    pub gamma: &'a [f32],
    pub beta: &'a [f32],
    /// `[outputs, channels]`.
    pub weight: &'a [f32],
    pub eps: f32,
    pub slope: f32,
}

/// A gradient that reaches `x` past the operation, as the first channels of larger images.
#[derive(Clone, Copy)]
pub(crate) struct Past<'a> {
    pub images: &'a [f32],
    /// Floats of one image.
    pub image: usize,
}

/// Gradients of [`forward`].
pub(crate) struct Gradient {
    pub dx: Floats,
    pub dgamma: Vec<f32>,
    pub dbeta: Vec<f32>,
    pub dw: Floats,
}

/// Whether a plane fills whole registers.
pub(crate) fn suits(pixels: usize) -> bool {
    pixels > 0 && pixels.is_multiple_of(LANES)
}

/// `y`, and mean and variance of every channel. Those of the first channels may be `known`.
pub(crate) fn forward(of: Operands, known: [&[f32]; 2]) -> (Floats, Vec<f32>, Vec<f32>) {
    let Operands { p, x, weight, slope, .. } = of;
    let [mut mean, mut var] = known.map(<[f32]>::to_vec);
    let (new_mean, new_var) = statistics_from(mean.len(), p, x);
    mean.extend(new_mean);
    var.extend(new_var);
    let affine = Affine::new(of.gamma, of.beta, &mean, &var, of.eps);
    let (s, inputs) = (p.pixels, p.channels);
    let outputs = weight.len() / inputs;
    let mut y = Floats::unwritten(p.n * outputs * s);
    let side = side_by_side(p);
    for_each(y.chunks_mut(side * outputs * s).zip(x.chunks(side * inputs * s)), |(y, x)| {
        let columns = x.len() / inputs;
        scratch::floats(inputs * columns, |z| {
            widest(Normalise { s, affine: &affine, slope, x, z });
            let left = Matrix { data: weight, row: inputs, column: 1 };
            let right = Matrix { data: z, row: columns, column: 1 };
            if columns == s {
                multiply([outputs, columns, inputs], y, columns, false, left, right);
                return;
            }
            scratch::floats(outputs * columns, |wide| {
                multiply([outputs, columns, inputs], wide, columns, false, left, right);
                for (i, image) in y.chunks_exact_mut(outputs * s).enumerate() {
                    for (plane, row) in image.chunks_exact_mut(s).zip(wide.chunks_exact(columns)) {
                        plane.copy_from_slice(&row[i * s..][..s]);
                    }
                }
            });
        });
    });
    (y, mean, var)
}

/// All gradients, with the `mean` and `var` that [`forward`] returned; `past` is added to that of `x`.
pub(crate) fn backward(of: Operands, mean: &[f32], var: &[f32], dy: &[f32], past: Option<Past>) -> Gradient {
    let Operands { p, x, weight, slope, .. } = of;
    let affine = Affine::new(of.gamma, of.beta, mean, var, of.eps);
    let (s, inputs) = (p.pixels, p.channels);
    let outputs = weight.len() / inputs;
    let mut dx = Floats::unwritten(x.len());
    let mut dw = Floats::unwritten(weight.len());
    let mut planes = vec![[0.0; 2]; p.n * inputs];
    let side = side_by_side(p);
    let run = p.n.div_ceil(side).div_ceil(TASKS) * side;
    scratch::lanes([p.n.div_ceil(run) * weight.len()], |[partial]| {
        let given = x.chunks(run * inputs * s).zip(dy.chunks(run * outputs * s));
        let wanted = dx.chunks_mut(run * inputs * s).zip(planes.chunks_mut(run * inputs));
        for_each(partial.chunks_mut(weight.len()).zip(given).zip(wanted), |((sum, (x, dy)), (dx, planes))| {
            sum.fill(ZERO);
            let given = x.chunks(side * inputs * s).zip(dy.chunks(side * outputs * s));
            let wanted = dx.chunks_mut(side * inputs * s).zip(planes.chunks_mut(side * inputs));
            for ((x, dy), (dx, planes)) in given.zip(wanted) {
                let columns = x.len() / inputs;
                let floats = inputs * columns;
                scratch::floats(2 * floats, |scratch| {
                    let (z, dz) = scratch.split_at_mut(floats);
                    widest(Normalise { s, affine: &affine, slope, x, z });
                    with_rows(s, columns, dy, |dy| {
                        widest(Products { s: columns, channels: [outputs, inputs], dy, x: z, sum: &mut *sum });
                        let left = Matrix { data: weight, row: 1, column: inputs };
                        let right = Matrix { data: dy, row: columns, column: 1 };
                        multiply([inputs, columns, outputs], dz, columns, false, left, right);
                    });
                    widest(Pass { s, mean, slope, x, z, dz, dx, planes });
                });
            }
        });
        totals(partial, &mut dw);
    });
    let PerChannel { dgamma, dbeta, corrections } = per_channel(p, &planes, var, of.eps);
    let images = run.min(side);
    let per_task = images * inputs * s;
    for_each(dx.chunks_mut(per_task).zip(x.chunks(per_task)).enumerate(), |(task, (dx, x))| {
        let past = past.map(|past| Past { images: &past.images[task * images * past.image..], ..past });
        widest(Finish { s, affine: &affine, mean, corrections: &corrections, x, dx, past });
    });
    Gradient { dx, dgamma, dbeta, dw }
}

/// How many images share one product.
fn side_by_side(p: Planes) -> usize {
    // at least four tasks where there are four images
    (WIDE / p.pixels.max(1)).clamp(1, (p.n / 4).max(1))
}

/// Lends `planes [images, channels, s]` as one matrix `[channels, images × s]`.
fn with_rows<R>(s: usize, columns: usize, planes: &[f32], work: impl FnOnce(&[f32]) -> R) -> R {
    if columns == s {
        return work(planes);
    }
    let channels = planes.len() / columns;
    scratch::floats(planes.len(), |wide| {
        for (i, image) in planes.chunks_exact(channels * s).enumerate() {
            for (row, plane) in wide.chunks_exact_mut(columns).zip(image.chunks_exact(s)) {
                row[i * s..][..s].copy_from_slice(plane);
            }
        }
        work(wide)
    })
}

/// `z[channel][image, pixel] = leaky(scale·x + shift)`.
struct Normalise<'a> {
    s: usize,
    affine: &'a Affine,
    slope: f32,
    x: &'a [f32],
    z: &'a mut [f32],
}

impl Kernel for Normalise<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let channels = self.affine.scale.len();
        let columns = self.x.len() / channels;
        for (at, x) in self.x.chunks_exact(self.s).enumerate() {
            let (i, c) = (at / channels, at % channels);
            let (scale, shift) = (self.affine.scale[c], self.affine.shift[c]);
            for (z, x) in self.z[c * columns + i * self.s..][..self.s].iter_mut().zip(x) {
                let v = mul_add::<FMA>(*x, scale, shift);
                *z = if v > 0.0 { v } else { self.slope * v };
            }
        }
    }
}

/// `g = dz where z > 0, slope·dz elsewhere` into `dx`; per plane `Σ g` and `Σ g·(x − mean)`.
struct Pass<'a> {
    s: usize,
    mean: &'a [f32],
    slope: f32,
    x: &'a [f32],
    z: &'a [f32],
    dz: &'a [f32],
    dx: &'a mut [f32],
    planes: &'a mut [[f32; 2]],
}

impl Kernel for Pass<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let channels = self.mean.len();
        let columns = self.x.len() / channels;
        let planes = self.x.chunks_exact(self.s).zip(self.dx.chunks_exact_mut(self.s)).zip(self.planes);
        for (at, ((x, dx), into)) in planes.enumerate() {
            let (i, c) = (at / channels, at % channels);
            let from = c * columns + i * self.s..c * columns + (i + 1) * self.s;
            let (z, dz) = (self.z[from.clone()].as_chunks::<LANES>().0, self.dz[from].as_chunks::<LANES>().0);
            let rows = x.as_chunks::<LANES>().0.iter().zip(dx.as_chunks_mut::<LANES>().0);
            let mean = self.mean[c];
            let (mut sums, mut products) = ([0.0f32; LANES], [0.0f32; LANES]);
            for ((x, dx), (z, dz)) in rows.zip(z.iter().zip(dz)) {
                for l in 0..LANES {
                    let g = if z[l] > 0.0 { dz[l] } else { self.slope * dz[l] };
                    dx[l] = g;
                    sums[l] += g;
                    products[l] = mul_add::<FMA>(g, x[l] - mean, products[l]);
                }
            }
            *into = [sums.iter().sum(), products.iter().sum()];
        }
    }
}

/// `dx = scale·(dx − correction₀ − (x − mean)·correction₁) + past`.
struct Finish<'a> {
    s: usize,
    affine: &'a Affine,
    mean: &'a [f32],
    corrections: &'a [[f32; 2]],
    x: &'a [f32],
    dx: &'a mut [f32],
    past: Option<Past<'a>>,
}

impl Kernel for Finish<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (at, (dx, x)) in self.dx.chunks_exact_mut(self.s).zip(self.x.chunks_exact(self.s)).enumerate() {
            let (i, c) = (at / self.mean.len(), at % self.mean.len());
            let (scale, mean, correction) = (self.affine.scale[c], self.mean[c], self.corrections[c]);
            let through = |dx: f32, x: f32| scale * mul_add::<FMA>(mean - x, correction[1], dx - correction[0]);
            match self.past {
                None => dx.iter_mut().zip(x).for_each(|(dx, x)| *dx = through(*dx, *x)),
                Some(Past { images, image }) => {
                    let past = &images[i * image + c * self.s..][..self.s];
                    dx.iter_mut().zip(x).zip(past).for_each(|((dx, x), past)| *dx = through(*dx, *x) + past);
                }
            }
        }
    }
}
