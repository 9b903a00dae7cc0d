//! The only `unsafe` of this crate: three kinds of calls whose conditions the compiler cannot check.
//!
//! 1. [`multiply`] hands pointers to the `gemm` crate. The argument: every element that `gemm` touches has the
//!    offset `i * row_stride + j * column_stride` with `i < rows`, `j < columns`; the largest of them is compared with the slice's length before the
//!    call, strides are unsigned, so all smaller ones are inside as well; the output is a `&mut` slice, so it overlaps no
//!    input. An output whose strides would address one element twice is refused as well.
//! 2. [`widest`] calls a function compiled for vector instructions that not every processor has. The argument: each
//!    call stands behind the run-time check for exactly the features that its function enables.
//! 3. [`Wide512`] and [`Wide256`] wrap vector instructions, so that sums stay in registers whatever the optimiser thinks of
//!    loops over arrays. The argument: both types are private and named in two functions only, those of point 2, so no
//!    value of them exists on a processor without the instructions; memory is touched through references to [`Lane`],
//!    which is 64 bytes long and aligned to 64.
#![allow(unsafe_code)]

use crate::cpu::lane::{LANES, Lane};

/// A matrix inside a slice: element `(i, j)` is `data[i * row + j * column]`.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<'a> {
    pub data: &'a [f32],
    pub row: usize,
    pub column: usize,
}

/// `c = a · b`, or `c += a · b` when `add`; `c [m, n]` has rows `ldc` apart and adjacent columns.
///
/// Runs on the calling thread alone, so that the result depends on nothing but its operands.
pub(crate) fn multiply(size: [usize; 3], c: &mut [f32], ldc: usize, add: bool, a: Matrix, b: Matrix) {
    let [m, n, k] = size;
    if m == 0 || n == 0 {
        return;
    }
    let last = |rows: usize, columns: usize, row: usize, column: usize| (rows - 1) * row + (columns - 1) * column;
    assert!(
        (ldc >= n || m == 1) && last(m, n, ldc, 1) < c.len(),
        "product {size:?}: output of {} is too short",
        c.len()
    );
    if k == 0 {
        if !add {
            c.chunks_mut(ldc).take(m).for_each(|row| row[..n].fill(0.0));
        }
        return;
    }
    assert!(
        last(m, k, a.row, a.column) < a.data.len(),
        "product {size:?}: left factor of {} is too short",
        a.data.len()
    );
    assert!(
        last(k, n, b.row, b.column) < b.data.len(),
        "product {size:?}: right factor of {} is too short",
        b.data.len()
    );
    // SAFETY: all offsets are inside their slices (asserted above), and `c` is borrowed mutably: point 1 above.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            ldc as isize,
            add,
            a.data.as_ptr(),
            a.column as isize,
            a.row as isize,
            b.data.as_ptr(),
            b.column as isize,
            b.row as isize,
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// A computation written once and compiled for several instruction sets.
///
/// `run` and everything hot that it calls must be `#[inline(always)]`: only then is it compiled inside the function that
/// enables the instructions.
pub(crate) trait Lanes {
    /// What the computation returns.
    type Output;
    /// The computation with sums in `R`s; `FMA` says whether `mul_add` is one instruction.
    fn run<R: Register, const FMA: bool>(self) -> Self::Output;
}

/// Sixteen floats in registers.
pub(crate) trait Register: Copy {
    /// How many of them the processor can hold, about.
    const HELD: usize;
    /// The values of a lane.
    fn load(lane: &Lane) -> Self;
    /// `self + s·a`, for each of the sixteen.
    fn plus(self, s: f32, a: Self) -> Self;
    /// `self + a`.
    fn add(self, a: Self) -> Self;
    /// `self − a`.
    fn sub(self, a: Self) -> Self;
    /// `s·self`.
    fn times(self, s: f32) -> Self;
    /// Writes the values to a lane.
    fn store(self, lane: &mut Lane);
}

/// Registers that are left to the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Portable<const FMA: bool>([f32; LANES]);

impl<const FMA: bool> Register for Portable<FMA> {
    const HELD: usize = 4;
    #[inline(always)]
    fn load(lane: &Lane) -> Self {
        Self(lane.0)
    }
    #[inline(always)]
    fn plus(mut self, s: f32, a: Self) -> Self {
        for l in 0..LANES {
            self.0[l] = mul_add::<FMA>(a.0[l], s, self.0[l]);
        }
        self
    }
    #[inline(always)]
    fn add(mut self, a: Self) -> Self {
        for l in 0..LANES {
            self.0[l] += a.0[l];
        }
        self
    }
    #[inline(always)]
    fn sub(mut self, a: Self) -> Self {
        for l in 0..LANES {
            self.0[l] -= a.0[l];
        }
        self
    }
    #[inline(always)]
    fn times(mut self, s: f32) -> Self {
        for l in 0..LANES {
            self.0[l] *= s;
        }
        self
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        lane.0 = self.0;
    }
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm256_add_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_store_ps,
    _mm256_sub_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_store_ps,
    _mm512_sub_ps,
};

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide512(__m512);

#[cfg(target_arch = "x86_64")]
impl Register for Wide512 {
    const HELD: usize = 32;
    #[inline(always)]
    fn load(lane: &Lane) -> Self {
        // SAFETY: 64 aligned bytes, on a processor with AVX-512: point 3 above.
        Self(unsafe { _mm512_load_ps(lane.0.as_ptr()) })
    }
    #[inline(always)]
    fn plus(self, s: f32, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 3 above.
        Self(unsafe { _mm512_fmadd_ps(a.0, _mm512_set1_ps(s), self.0) })
    }
    #[inline(always)]
    fn add(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 3 above.
        Self(unsafe { _mm512_add_ps(self.0, a.0) })
    }
    #[inline(always)]
    fn sub(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 3 above.
        Self(unsafe { _mm512_sub_ps(self.0, a.0) })
    }
    #[inline(always)]
    fn times(self, s: f32) -> Self {
        // SAFETY: on a processor with AVX-512: point 3 above.
        Self(unsafe { _mm512_mul_ps(self.0, _mm512_set1_ps(s)) })
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        // SAFETY: 64 aligned bytes, on a processor with AVX-512: point 3 above.
        unsafe { _mm512_store_ps(lane.0.as_mut_ptr(), self.0) }
    }
}

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide256([__m256; 2]);

#[cfg(target_arch = "x86_64")]
impl Register for Wide256 {
    const HELD: usize = 8;
    #[inline(always)]
    fn load(lane: &Lane) -> Self {
        let p = lane.0.as_ptr();
        // SAFETY: two times 32 aligned bytes of the lane's 64, on a processor with AVX2: point 3 above.
        Self(unsafe { [_mm256_load_ps(p), _mm256_load_ps(p.add(8))] })
    }
    #[inline(always)]
    fn plus(self, s: f32, a: Self) -> Self {
        // SAFETY: on a processor with AVX2 and FMA: point 3 above.
        unsafe {
            let s = _mm256_set1_ps(s);
            Self([_mm256_fmadd_ps(a.0[0], s, self.0[0]), _mm256_fmadd_ps(a.0[1], s, self.0[1])])
        }
    }
    #[inline(always)]
    fn add(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX2: point 3 above.
        Self(unsafe { [_mm256_add_ps(self.0[0], a.0[0]), _mm256_add_ps(self.0[1], a.0[1])] })
    }
    #[inline(always)]
    fn sub(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX2: point 3 above.
        Self(unsafe { [_mm256_sub_ps(self.0[0], a.0[0]), _mm256_sub_ps(self.0[1], a.0[1])] })
    }
    #[inline(always)]
    fn times(self, s: f32) -> Self {
        // SAFETY: on a processor with AVX2: point 3 above.
        unsafe {
            let s = _mm256_set1_ps(s);
            Self([_mm256_mul_ps(self.0[0], s), _mm256_mul_ps(self.0[1], s)])
        }
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        let p = lane.0.as_mut_ptr();
        // SAFETY: two times 32 aligned bytes of the lane's 64, on a processor with AVX2: point 3 above.
        unsafe {
            _mm256_store_ps(p, self.0[0]);
            _mm256_store_ps(p.add(8), self.0[1]);
        }
    }
}

/// Runs `kernel` with the widest vectors of this processor.
#[inline]
pub(crate) fn widest<K: Lanes>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") && has!("avx2") && has!("fma") {
            // SAFETY: the six features were found on this processor: point 2 above.
            return unsafe { avx512(kernel) };
        }
        if has!("avx2") && has!("fma") {
            // SAFETY: both features were found on this processor: point 2 above.
            return unsafe { avx2(kernel) };
        }
        kernel.run::<Portable<false>, false>()
    }
    #[cfg(target_arch = "aarch64")]
    {
        // NEON belongs to every 64-bit ARM, fused multiply-add included.
        kernel.run::<Portable<true>, true>()
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        kernel.run::<Portable<false>, false>()
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma")]
fn avx512<K: Lanes>(kernel: K) -> K::Output {
    kernel.run::<Wide512, true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Lanes>(kernel: K) -> K::Output {
    kernel.run::<Wide256, true>()
}

/// `a * b + c` in one instruction where the processor has it, in two where it has not (a call to the C library otherwise).
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strided_product_equals_the_definition() {
        let a: Vec<f32> = (0..24).map(|v| v as f32 * 0.5 - 3.0).collect();
        let b: Vec<f32> = (0..24).map(|v| 2.0 - v as f32 * 0.25).collect();
        let (m, n, k) = (3, 2, 4);
        let mut c = vec![1.0; 12];
        // `a` transposed, `b` with a gap between rows, `c` with rows 5 apart
        multiply(
            [m, n, k],
            &mut c,
            5,
            true,
            Matrix { data: &a, row: 1, column: 6 },
            Matrix { data: &b, row: 5, column: 2 },
        );
        for i in 0..m {
            for j in 0..n {
                let want: f32 = 1.0 + (0..k).map(|p| a[i + 6 * p] * b[5 * p + 2 * j]).sum::<f32>();
                assert!((c[i * 5 + j] - want).abs() < 1e-4, "({i}, {j}): {} instead of {want}", c[i * 5 + j]);
            }
        }
        assert_eq!(c[2], 1.0, "the gap between rows was written");
    }

    #[test]
    #[should_panic(expected = "right factor")]
    fn factor_that_is_too_short_is_refused() {
        let short = Matrix { data: &[1.0; 5], row: 3, column: 1 };
        multiply([2, 3, 2], &mut [0.0; 6], 3, false, Matrix { data: &[1.0; 4], row: 2, column: 1 }, short);
    }

    #[test]
    #[should_panic(expected = "output")]
    fn output_that_is_too_short_is_refused() {
        let ones = Matrix { data: &[1.0; 4], row: 2, column: 1 };
        multiply([2, 2, 2], &mut [0.0; 3], 2, false, ones, ones);
    }
}
