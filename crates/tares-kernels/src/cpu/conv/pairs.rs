//! The weight gradient of a 1×1 convolution: `dW[o, c] = Σ over images and pixels of dy[o] · x[c]`.
//!
//! Both factors lie pixel by pixel in memory, so pixels fill the registers and nothing is copied. A product of matrices would first
//! transpose one factor, which takes as long as the multiplications where a picture has many pixels and few channels.

use crate::cpu::conv::Geometry;
use crate::cpu::lane::{LANES, Lane, ZERO};
use crate::cpu::pool::Floats;
use crate::cpu::scratch;
use crate::cpu::simd::{Kernel, Register, total, widest};
use crate::cpu::threads::for_each;

/// Images of which one task adds up the products.
const TASKS: usize = 16;

/// Pairs of channels whose sums one task brings together.
const PAIRS: usize = 1 << 10;

/// Whether this is defined for `g` and faster than a product of matrices: few pixels are not worth loading the sums.
pub(crate) fn suits(g: &Geometry) -> bool {
    g.is_pointwise() && g.out_plane() >= 256 && g.out_plane().is_multiple_of(LANES)
}

/// `dW`: the sums of runs of images, added in order.
pub(crate) fn weight_gradient(g: &Geometry, x: &[f32], dy: &[f32]) -> Floats {
    let (s, size) = (g.out_plane(), g.co * g.ci);
    let mut dw = Floats::unwritten(size);
    let images = g.n.div_ceil(TASKS).max(1);
    let tasks = x.chunks(images * g.ci * s).zip(dy.chunks(images * g.co * s));
    scratch::lanes([g.n.div_ceil(images) * size], |[partial]| {
        for_each(partial.chunks_mut(size.max(1)).zip(tasks), |(sum, (x, dy))| {
            sum.fill(ZERO);
            widest(Products { s, channels: [g.co, g.ci], dy, x, sum });
        });
        totals(partial, &mut dw);
    });
    dw
}

/// `into[i] = Σ over runs of the sixteen sums in partial[run][i]`.
pub(crate) fn totals(partial: &[Lane], into: &mut [f32]) {
    let size = into.len();
    for_each(into.chunks_mut(PAIRS).enumerate(), |(task, into)| {
        widest(Totals { partial: &partial[task * PAIRS..], size, into });
    });
}

struct Totals<'a> {
    partial: &'a [Lane],
    size: usize,
    into: &'a mut [f32],
}

impl Kernel for Totals<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        for (i, into) in self.into.iter_mut().enumerate() {
            let mut sum = R::load(&ZERO);
            for run in self.partial[i..].iter().step_by(self.size) {
                sum = sum.add(R::load(run));
            }
            *into = total(sum);
        }
    }
}

/// `sum[o][c] += Σ over some images of dy[o] · x[c]`, sixteen pixels side by side: the lanes are not added yet.
pub(crate) struct Products<'a> {
    pub s: usize,
    /// Of `dy` and of `x`.
    pub channels: [usize; 2],
    pub dy: &'a [f32],
    pub x: &'a [f32],
    pub sum: &'a mut [Lane],
}

impl Kernel for Products<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(mut self) {
        let [_, inputs] = self.channels;
        let mut c = 0;
        // sums that stay in registers: 24 of 32, 6 of 8
        if R::HELD >= 32 {
            while c + 4 <= inputs {
                self.columns::<R, 6, 4>(c);
                c += 4;
            }
        } else {
            while c + 2 <= inputs {
                self.columns::<R, 3, 2>(c);
                c += 2;
            }
        }
        while c < inputs {
            self.columns::<R, 6, 1>(c);
            c += 1;
        }
    }
}

impl Products<'_> {
    /// `N` channels of `x` from `c` on with all of `dy`, `M` of these at a time.
    #[inline(always)]
    fn columns<R: Register, const M: usize, const N: usize>(&mut self, c: usize) {
        let [outputs, _] = self.channels;
        let mut o = 0;
        while o + M <= outputs {
            self.block::<R, M, N>(o, c);
            o += M;
        }
        while o < outputs {
            self.block::<R, 1, N>(o, c);
            o += 1;
        }
    }

    #[inline(always)]
    fn block<R: Register, const M: usize, const N: usize>(&mut self, o: usize, c: usize) {
        let (s, [outputs, inputs]) = (self.s, self.channels);
        let place = |m: usize, n: usize| (o + m) * inputs + c + n;
        let mut sums: [[R; N]; M] = std::array::from_fn(|m| std::array::from_fn(|n| R::load(&self.sum[place(m, n)])));
        for (dy, x) in self.dy.chunks_exact(outputs * s).zip(self.x.chunks_exact(inputs * s)) {
            let dy: [&[[f32; LANES]]; M] = std::array::from_fn(|m| dy[(o + m) * s..][..s].as_chunks().0);
            let x: [&[[f32; LANES]]; N] = std::array::from_fn(|n| x[(c + n) * s..][..s].as_chunks().0);
            for at in 0..s / LANES {
                let x: [R; N] = std::array::from_fn(|n| R::read(&x[n][at]));
                for m in 0..M {
                    let dy = R::read(&dy[m][at]);
                    for n in 0..N {
                        sums[m][n] = sums[m][n].plus_product(dy, x[n]);
                    }
                }
            }
        }
        for (m, sums) in sums.iter().enumerate() {
            for (n, sum) in sums.iter().enumerate() {
                sum.store(&mut self.sum[place(m, n)]);
            }
        }
    }
}
