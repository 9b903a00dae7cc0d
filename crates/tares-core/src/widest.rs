//! The only `unsafe` of this crate: calling a function that is compiled for vector instructions not every processor has.
//!
//! Why it is sound: the call comes after the run-time check for exactly the features that its function enables. Nothing
//! else is unsafe about that function: it is ordinary code, compiled once more. The code says which multiplications
//! are fused with additions (`mul_add`), so all compilations give the same bits; on a processor without the instruction a
//! fused multiplication is a slow library call.
#![allow(unsafe_code)]

/// A computation written once and compiled for several instruction sets.
///
/// `run` and everything hot that it calls must be `#[inline(always)]`: only then is it compiled inside the function that
/// enables the instructions.
pub trait Work {
    /// The result.
    type Output;
    /// Computes it.
    fn run(self) -> Self::Output;
}

/// Runs `work` with vectors of 512 or 256 bits and fused multiply-add where this processor has them. (Compilers scatter and gather with 512
/// bits where they find a reason to, which is slow: transpositions stay outside, in functions that are never inlined.)
#[inline]
pub fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") && has!("fma") {
            // SAFETY: the features were found on this processor.
            return unsafe { avx512_fma(work) };
        }
        if has!("avx2") && has!("fma") {
            // SAFETY: the features were found on this processor.
            return unsafe { avx2_fma(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,fma")]
fn avx512_fma<W: Work>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_fma<W: Work>(work: W) -> W::Output {
    work.run()
}
