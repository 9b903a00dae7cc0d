//! The mean over 2×2 windows with stride 2, on slices.

use crate::cpu::max_pool::for_windows;
use crate::cpu::pool::Floats;
use crate::cpu::simd::{Kernel, Register, widest};
use crate::cpu::threads::for_each;

/// About how many windows one task takes: some microseconds of work.
const WINDOWS: usize = 1 << 13;

/// The mean of each 2×2 window of `x [n, c, h, w]`.
pub(crate) fn forward([n, c, h, w]: [usize; 4], x: &[f32]) -> Floats {
    let size = (h / 2) * (w / 2);
    let mut y = Floats::unwritten(n * c * size);
    if size > 0 {
        let planes = WINDOWS.div_ceil(size);
        let tasks = y.chunks_mut(planes * size).zip(x.chunks(planes * h * w));
        for_each(tasks, |(y, x)| widest(Mean { h, w, x, y }));
    }
    y
}

/// The gradient of [`forward`]: a quarter of each element of `dy` to each place of its window.
pub(crate) fn backward([n, c, h, w]: [usize; 4], dy: &[f32]) -> Floats {
    let size = (h / 2) * (w / 2);
    let mut dx = for_windows([n, c, h, w]);
    if size > 0 {
        let planes = WINDOWS.div_ceil(size);
        let tasks = dx.chunks_mut(planes * h * w).zip(dy.chunks(planes * size));
        for_each(tasks, |(dx, dy)| widest(Spread { h, w, dy, dx }));
    }
    dx
}

/// Some planes: the mean of each window.
struct Mean<'a> {
    h: usize,
    w: usize,
    x: &'a [f32],
    y: &'a mut [f32],
}

impl Kernel for Mean<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let (half, size) = (self.w / 2, (self.h / 2) * (self.w / 2));
        for (y, x) in self.y.chunks_exact_mut(size).zip(self.x.chunks_exact(self.h * self.w)) {
            for (y, x) in y.chunks_exact_mut(half).zip(x.chunks_exact(2 * self.w)) {
                let (upper, lower) = x.split_at(self.w);
                for ((y, u), l) in y.iter_mut().zip(upper.as_chunks::<2>().0).zip(lower.as_chunks::<2>().0) {
                    *y = 0.25 * (u[0] + u[1] + l[0] + l[1]);
                }
            }
        }
    }
}

/// Some planes: a quarter of each gradient to each place of its window; an odd last row or column gets none.
struct Spread<'a> {
    h: usize,
    w: usize,
    dy: &'a [f32],
    dx: &'a mut [f32],
}

impl Kernel for Spread<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let (half, size) = (self.w / 2, (self.h / 2) * (self.w / 2));
        for (dy, dx) in self.dy.chunks_exact(size).zip(self.dx.chunks_exact_mut(self.h * self.w)) {
            for (dy, dx) in dy.chunks_exact(half).zip(dx.chunks_exact_mut(2 * self.w)) {
                let (upper, lower) = dx.split_at_mut(self.w);
                for row in [upper, lower] {
                    for (pair, dy) in row.as_chunks_mut::<2>().0.iter_mut().zip(dy) {
                        *pair = [0.25 * dy; 2];
                    }
                }
            }
        }
    }
}
