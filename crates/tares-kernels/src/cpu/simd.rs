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
    /// Writes the values anywhere.
    fn write(self, values: &mut [f32; LANES]);
    /// Rows as columns: value `i` of register `j` becomes value `j` of register `i`.
    fn transpose(rows: [Self; LANES]) -> [Self; LANES];
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
    #[inline(always)]
    fn write(self, values: &mut [f32; LANES]) {
        *values = self.0;
    }
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut columns = rows;
        for (j, row) in rows.iter().enumerate() {
            for (column, value) in columns.iter_mut().zip(row.0) {
                column.0[j] = value;
            }
        }
        columns
    }
}

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{
    __m256, __m512, _mm256_add_ps, _mm256_fmadd_ps, _mm256_load_ps, _mm256_loadu_ps, _mm256_mul_ps,
    _mm256_permute2f128_ps, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_store_ps, _mm256_storeu_ps, _mm256_sub_ps,
    _mm256_unpackhi_ps, _mm256_unpacklo_ps, _mm512_add_ps, _mm512_castpd_ps, _mm512_castps_pd, _mm512_fmadd_ps,
    _mm512_load_ps, _mm512_loadu_ps, _mm512_mul_ps, _mm512_set1_ps, _mm512_shuffle_f32x4, _mm512_store_ps,
    _mm512_storeu_ps, _mm512_sub_ps, _mm512_unpackhi_pd, _mm512_unpackhi_ps, _mm512_unpacklo_pd, _mm512_unpacklo_ps,
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
    #[inline(always)]
    fn write(self, values: &mut [f32; LANES]) {
        // SAFETY: sixteen floats, alignment not needed, on a processor with AVX-512: point 2 above.
        unsafe { _mm512_storeu_ps(values.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut out = rows;
        // SAFETY: on a processor with AVX-512: point 2 above.
        unsafe {
            // Quarters of four rows, as 4×4 blocks turned in place: out[4i + j] holds column 4q + j of rows 4i.. in quarter q.
            for i in [0, 4, 8, 12] {
                let [a, b, c, d] = [rows[i].0, rows[i + 1].0, rows[i + 2].0, rows[i + 3].0];
                let [low, high] = [_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b)].map(|v| _mm512_castps_pd(v));
                let [low2, high2] = [_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d)].map(|v| _mm512_castps_pd(v));
                out[i] = Self(_mm512_castpd_ps(_mm512_unpacklo_pd(low, low2)));
                out[i + 1] = Self(_mm512_castpd_ps(_mm512_unpackhi_pd(low, low2)));
                out[i + 2] = Self(_mm512_castpd_ps(_mm512_unpacklo_pd(high, high2)));
                out[i + 3] = Self(_mm512_castpd_ps(_mm512_unpackhi_pd(high, high2)));
            }
            // Then the quarters change places.
            for j in 0..4 {
                let [a, b, c, d] = [out[j].0, out[j + 4].0, out[j + 8].0, out[j + 12].0];
                let [even, odd] = [_mm512_shuffle_f32x4::<0x88>(a, b), _mm512_shuffle_f32x4::<0xdd>(a, b)];
                let [even2, odd2] = [_mm512_shuffle_f32x4::<0x88>(c, d), _mm512_shuffle_f32x4::<0xdd>(c, d)];
                out[j] = Self(_mm512_shuffle_f32x4::<0x88>(even, even2));
                out[j + 4] = Self(_mm512_shuffle_f32x4::<0x88>(odd, odd2));
                out[j + 8] = Self(_mm512_shuffle_f32x4::<0xdd>(even, even2));
                out[j + 12] = Self(_mm512_shuffle_f32x4::<0xdd>(odd, odd2));
            }
        }
        out
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
    #[inline(always)]
    fn write(self, values: &mut [f32; LANES]) {
        let p = values.as_mut_ptr();
        // SAFETY: two times eight of the sixteen floats, alignment not needed, on a processor with AVX2: point 2 above.
        unsafe {
            _mm256_storeu_ps(p, self.0[0]);
            _mm256_storeu_ps(p.add(8), self.0[1]);
        }
    }
    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        let mut out = rows;
        // Four blocks of 8×8, each turned and put where its mirror image was.
        for (first, half) in [(0, 0), (0, 1), (8, 0), (8, 1)] {
            let mut block = [rows[0].0[0]; 8];
            for i in 0..8 {
                block[i] = rows[first + i].0[half];
            }
            // SAFETY: on a processor with AVX2: point 2 above.
            let turned = unsafe { turned(block) };
            for i in 0..8 {
                out[8 * half + i].0[first / 8] = turned[i];
            }
        }
        out
    }
}

/// Eight rows as columns.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn turned(r: [__m256; 8]) -> [__m256; 8] {
    let mut out = r;
    // SAFETY: by the caller.
    unsafe {
        for i in [0, 4] {
            let [low, high] = [_mm256_unpacklo_ps(r[i], r[i + 1]), _mm256_unpackhi_ps(r[i], r[i + 1])];
            let [low2, high2] = [_mm256_unpacklo_ps(r[i + 2], r[i + 3]), _mm256_unpackhi_ps(r[i + 2], r[i + 3])];
            out[i] = _mm256_shuffle_ps::<0x44>(low, low2);
            out[i + 1] = _mm256_shuffle_ps::<0xee>(low, low2);
            out[i + 2] = _mm256_shuffle_ps::<0x44>(high, high2);
            out[i + 3] = _mm256_shuffle_ps::<0xee>(high, high2);
        }
        for j in 0..4 {
            let [a, b] = [out[j], out[j + 4]];
            out[j] = _mm256_permute2f128_ps::<0x20>(a, b);
            out[j + 4] = _mm256_permute2f128_ps::<0x31>(a, b);
        }
    }
    out
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

#[cfg(test)]
mod tests;
