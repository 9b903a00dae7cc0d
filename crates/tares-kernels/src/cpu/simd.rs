//! Vector instructions chosen at run time. One of the three modules with `unsafe`, which is needed for two things:
//!
//! 1. [`widest`] calls a function compiled for vector instructions that not every processor has. Each call comes after the
//!    run-time check for exactly the features that its function enables.
//! 2. [`Wide512`] and [`Wide256`] wrap vector instructions, so that sums stay in registers whatever the optimiser makes of
//!    loops over arrays. Both types are private and named only in the two functions of point 1, so no value of them exists
//!    on a processor without the instructions. Memory is accessed through references to [`Lane`], which is 64 bytes long
//!    and aligned to 64, and through references to arrays of sixteen floats, for which the unaligned instructions are used.
#![allow(unsafe_code)]

use crate::cpu::lane::{LANES, Lane};

/// A computation that is written once and compiled for several instruction sets.
///
/// `run` and everything hot that it calls must be `#[inline(always)]`: only then is it compiled inside the function that
/// enables the instructions.
pub(crate) trait Kernel {
    /// What the computation returns.
    type Output;
    /// The computation with sums in `R`s; `FMA` says whether `mul_add` is one instruction.
    fn run<R: Register, const FMA: bool>(self) -> Self::Output;
}

/// Sixteen floats in registers.
pub(crate) trait Register: Copy {
    /// About how many of them the processor can hold.
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
    /// `self + a·b`.
    fn plus_product(self, a: Self, b: Self) -> Self;
    /// Writes the values to a lane.
    fn store(self, lane: &mut Lane);
    /// Sixteen values from anywhere.
    fn read(values: &[f32; LANES]) -> Self;
}

/// The sum of the sixteen values, in pairs of pairs.
#[inline(always)]
pub(crate) fn total<R: Register>(values: R) -> f32 {
    let mut lane = Lane::default();
    values.store(&mut lane);
    let mut sums = lane.0;
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            sums[l] += sums[l + half];
        }
    }
    sums[0]
}

/// An array that the compiler puts into registers as it sees fit.
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
    fn plus_product(mut self, a: Self, b: Self) -> Self {
        for l in 0..LANES {
            self.0[l] = mul_add::<FMA>(a.0[l], b.0[l], self.0[l]);
        }
        self
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        lane.0 = self.0;
    }
    #[inline(always)]
    fn read(values: &[f32; LANES]) -> Self {
        Self(*values)
    }
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm256_add_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_loadu_ps, _mm256_mul_ps, _mm256_set1_ps,
    _mm256_store_ps, _mm256_sub_ps, _mm512_add_ps, _mm512_fmadd_ps, _mm512_load_ps, _mm512_loadu_ps, _mm512_mul_ps,
    _mm512_set1_ps, _mm512_store_ps, _mm512_sub_ps,
};

#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
struct Wide512(__m512);

#[cfg(target_arch = "x86_64")]
impl Register for Wide512 {
    const HELD: usize = 32;
    #[inline(always)]
    fn load(lane: &Lane) -> Self {
        // SAFETY: 64 aligned bytes, on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_load_ps(lane.0.as_ptr()) })
    }
    #[inline(always)]
    fn plus(self, s: f32, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_fmadd_ps(a.0, _mm512_set1_ps(s), self.0) })
    }
    #[inline(always)]
    fn add(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_add_ps(self.0, a.0) })
    }
    #[inline(always)]
    fn sub(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_sub_ps(self.0, a.0) })
    }
    #[inline(always)]
    fn times(self, s: f32) -> Self {
        // SAFETY: on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_mul_ps(self.0, _mm512_set1_ps(s)) })
    }
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        // SAFETY: on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_fmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        // SAFETY: 64 aligned bytes, on a processor with AVX-512: point 2 above.
        unsafe { _mm512_store_ps(lane.0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn read(values: &[f32; LANES]) -> Self {
        // SAFETY: sixteen floats, alignment not needed, on a processor with AVX-512: point 2 above.
        Self(unsafe { _mm512_loadu_ps(values.as_ptr()) })
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
        // SAFETY: two times 32 aligned bytes of the lane's 64, on a processor with AVX2: point 2 above.
        Self(unsafe { [_mm256_load_ps(p), _mm256_load_ps(p.add(8))] })
    }
    #[inline(always)]
    fn plus(self, s: f32, a: Self) -> Self {
        // SAFETY: on a processor with AVX2 and FMA: point 2 above.
        unsafe {
            let s = _mm256_set1_ps(s);
            Self([_mm256_fmadd_ps(a.0[0], s, self.0[0]), _mm256_fmadd_ps(a.0[1], s, self.0[1])])
        }
    }
    #[inline(always)]
    fn add(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX2: point 2 above.
        Self(unsafe { [_mm256_add_ps(self.0[0], a.0[0]), _mm256_add_ps(self.0[1], a.0[1])] })
    }
    #[inline(always)]
    fn sub(self, a: Self) -> Self {
        // SAFETY: on a processor with AVX2: point 2 above.
        Self(unsafe { [_mm256_sub_ps(self.0[0], a.0[0]), _mm256_sub_ps(self.0[1], a.0[1])] })
    }
    #[inline(always)]
    fn times(self, s: f32) -> Self {
        // SAFETY: on a processor with AVX2: point 2 above.
        unsafe {
            let s = _mm256_set1_ps(s);
            Self([_mm256_mul_ps(self.0[0], s), _mm256_mul_ps(self.0[1], s)])
        }
    }
    #[inline(always)]
    fn plus_product(self, a: Self, b: Self) -> Self {
        // SAFETY: on a processor with AVX2 and FMA: point 2 above.
        unsafe { Self([_mm256_fmadd_ps(a.0[0], b.0[0], self.0[0]), _mm256_fmadd_ps(a.0[1], b.0[1], self.0[1])]) }
    }
    #[inline(always)]
    fn store(self, lane: &mut Lane) {
        let p = lane.0.as_mut_ptr();
        // SAFETY: two times 32 aligned bytes of the lane's 64, on a processor with AVX2: point 2 above.
        unsafe {
            _mm256_store_ps(p, self.0[0]);
            _mm256_store_ps(p.add(8), self.0[1]);
        }
    }
    #[inline(always)]
    fn read(values: &[f32; LANES]) -> Self {
        let p = values.as_ptr();
        // SAFETY: two times eight of the sixteen floats, alignment not needed, on a processor with AVX2: point 2 above.
        Self(unsafe { [_mm256_loadu_ps(p), _mm256_loadu_ps(p.add(8))] })
    }
}

/// Runs `kernel` with the widest vectors of this processor.
#[inline]
pub(crate) fn widest<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let avx512f = cfg!(feature = "avx512") && has!("avx512f");
        if avx512f && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") && has!("avx2") && has!("fma") {
            // SAFETY: the six features were found on this processor: point 1 above.
            return unsafe { avx512(kernel) };
        }
        if has!("avx2") && has!("fma") {
            // SAFETY: both features were found on this processor: point 1 above.
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
fn avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Wide512, true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Wide256, true>()
}

/// `a * b + c`, fused where the processor has the instruction. Elsewhere `f32::mul_add` would be a slow library call.
#[inline(always)]
pub(crate) fn mul_add<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}
