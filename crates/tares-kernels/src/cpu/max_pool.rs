//! 2×2 max pooling with stride 2, and ReLU before it, on slices.

use crate::cpu::pool::{Floats, Pooled};
use crate::cpu::simd::{Kernel, Register, widest};
use crate::cpu::threads::for_each;

/// Marks a window whose maximum ReLU set to 0: no gradient goes back.
const NOWHERE: u8 = 4;

/// About how many windows one task takes: some microseconds of work.
const WINDOWS: usize = 1 << 13;

/// The maximum of each 2×2 window of `x [n, c, h, w]`, after ReLU if `relu`, and which of the four values it is, or [`NOWHERE`].
pub(crate) fn forward([n, c, h, w]: [usize; 4], x: &[f32], relu: bool) -> (Floats, Pooled<u8>) {
    let size = (h / 2) * (w / 2);
    let (mut y, mut which) = (Floats::unwritten(n * c * size), Pooled::unwritten(n * c * size));
    if size > 0 {
        let planes = WINDOWS.div_ceil(size);
        let tasks = y.chunks_mut(planes * size).zip(which.chunks_mut(planes * size)).zip(x.chunks(planes * h * w));
        for_each(tasks, |((y, which), x)| widest(Largest { h, w, relu, x, y, which }));
    }
    (y, which)
}

/// Floats for planes whose whole windows will be written; a row or column beside them is 0.
pub(crate) fn for_windows([n, c, h, w]: [usize; 4]) -> Floats {
    let whole = h.is_multiple_of(2) && w.is_multiple_of(2);
    if whole { Floats::unwritten(n * c * h * w) } else { Floats::zeros(n * c * h * w) }
}

/// The gradient of [`forward`]: each element of `dy` goes to the place its value came from.
pub(crate) fn backward([n, c, h, w]: [usize; 4], which: &[u8], dy: &[f32]) -> Floats {
    let size = (h / 2) * (w / 2);
    let mut dx = for_windows([n, c, h, w]);
    if size > 0 {
        let planes = WINDOWS.div_ceil(size);
        let tasks = dx.chunks_mut(planes * h * w).zip(which.chunks(planes * size)).zip(dy.chunks(planes * size));
        for_each(tasks, |((dx, which), dy)| widest(Spread { h, w, which, dy, dx }));
    }
    dx
}

/// Some planes: the largest of each window, and which it is.
struct Largest<'a> {
    h: usize,
    w: usize,
    relu: bool,
    x: &'a [f32],
    y: &'a mut [f32],
    which: &'a mut [u8],
}

impl Kernel for Largest<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let (half, size) = (self.w / 2, (self.h / 2) * (self.w / 2));
        let planes = self.y.chunks_exact_mut(size).zip(self.which.chunks_exact_mut(size));
        for ((y, which), x) in planes.zip(self.x.chunks_exact(self.h * self.w)) {
            let rows = y.chunks_exact_mut(half).zip(which.chunks_exact_mut(half));
            for ((y, which), x) in rows.zip(x.chunks_exact(2 * self.w)) {
                let (upper, lower) = x.split_at(self.w);
                // No closure: it would be compiled without wide vectors. The last group overlaps the one before.
                if half >= 8 {
                    for at in starts::<8>(half) {
                        largest::<8, 16>(upper, lower, self.relu, at, y, which);
                    }
                } else if half >= 4 {
                    for at in starts::<4>(half) {
                        largest::<4, 8>(upper, lower, self.relu, at, y, which);
                    }
                } else {
                    for at in 0..half {
                        largest::<1, 2>(upper, lower, self.relu, at, y, which);
                    }
                }
            }
        }
    }
}

/// Where groups of `N` of `count` things start; the last group ends with the last thing. `count` is at least `N`.
#[inline(always)]
fn starts<const N: usize>(count: usize) -> impl Iterator<Item = usize> {
    (0..count.div_ceil(N)).map(move |group| (group * N).min(count - N))
}

/// `N` windows from `at` on, without a branch; `M` is twice `N`.
#[inline(always)]
fn largest<const N: usize, const M: usize>(
    upper: &[f32],
    lower: &[f32],
    relu: bool,
    at: usize,
    y: &mut [f32],
    which: &mut [u8],
) {
    let [u, l] = [upper, lower].map(|row| row[2 * at..].first_chunk::<M>().expect("two values per window"));
    let mut best: [f32; N] = std::array::from_fn(|i| u[2 * i]);
    let mut place = [0u32; N];
    let others: [[f32; N]; 3] = [
        std::array::from_fn(|i| u[2 * i + 1]),
        std::array::from_fn(|i| l[2 * i]),
        std::array::from_fn(|i| l[2 * i + 1]),
    ];
    for (k, other) in others.iter().enumerate() {
        for i in 0..N {
            // NaN wins, as in PyTorch; `f32::max` would drop it
            let larger = (other[i] > best[i]) | other[i].is_nan();
            best[i] = if larger { other[i] } else { best[i] };
            place[i] = if larger { k as u32 + 1 } else { place[i] };
        }
    }
    let y = y[at..].first_chunk_mut::<N>().expect("one value per window");
    for i in 0..N {
        let none = relu & (best[i] <= 0.0);
        y[i] = if none { 0.0 } else { best[i] };
        place[i] = if none { u32::from(NOWHERE) } else { place[i] };
    }
    *which[at..].first_chunk_mut::<N>().expect("one place per window") = place.map(|place| place as u8);
}

/// Some planes: each gradient to the place its value came from.
struct Spread<'a> {
    h: usize,
    w: usize,
    which: &'a [u8],
    dy: &'a [f32],
    dx: &'a mut [f32],
}

impl Kernel for Spread<'_> {
    type Output = ();
    #[inline(always)]
    fn run<R: Register, const FMA: bool>(self) {
        let (half, size) = (self.w / 2, (self.h / 2) * (self.w / 2));
        let planes = self.dy.chunks_exact(size).zip(self.which.chunks_exact(size));
        for ((dy, which), dx) in planes.zip(self.dx.chunks_exact_mut(self.h * self.w)) {
            let rows = dy.chunks_exact(half).zip(which.chunks_exact(half));
            for ((dy, which), dx) in rows.zip(dx.chunks_exact_mut(2 * self.w)) {
                let (upper, lower) = dx.split_at_mut(self.w);
                if half >= 8 {
                    for at in starts::<8>(half) {
                        spread::<8, 16>(dy, which, at, upper, lower);
                    }
                } else if half >= 4 {
                    for at in starts::<4>(half) {
                        spread::<4, 8>(dy, which, at, upper, lower);
                    }
                } else {
                    for at in 0..half {
                        spread::<1, 2>(dy, which, at, upper, lower);
                    }
                }
            }
        }
    }
}

/// `N` windows from `at` on, without a branch; `M` is twice `N`.
#[inline(always)]
fn spread<const N: usize, const M: usize>(dy: &[f32], which: &[u8], at: usize, upper: &mut [f32], lower: &mut [f32]) {
    let dy = dy[at..].first_chunk::<N>().expect("one value per window");
    let which = which[at..].first_chunk::<N>().expect("one place per window");
    // Masks instead of branches, so that vector instructions do it.
    let mut windows = [[0u32; N]; 2];
    for i in 0..N {
        windows[0][i] = u32::from(which[i]);
        windows[1][i] = dy[i].to_bits();
    }
    let [which, bits] = windows;
    for (row, first) in [(upper, 0), (lower, 2)] {
        let row = row[2 * at..].first_chunk_mut::<M>().expect("two values per window");
        let mut pairs = [[0u32; 2]; N];
        for i in 0..N {
            pairs[i][0] = bits[i] & 0u32.wrapping_sub(u32::from(which[i] == first));
            pairs[i][1] = bits[i] & 0u32.wrapping_sub(u32::from(which[i] == first + 1));
        }
        let pairs = pairs.as_flattened();
        for j in 0..M {
            row[j] = f32::from_bits(pairs[j]);
        }
    }
}
