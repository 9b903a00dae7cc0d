//! The only `unsafe` of this crate: calling a function that is compiled for vector instructions not every processor has.
//!
//! The argument: each call stands behind the run-time check for exactly the features that its function enables. Nothing
//! else is unsafe about these functions: they are ordinary code, compiled once more. Which multiplications are fused with
//! additions is written in the code (`mul_add`), so that all compilations give the same bits; without the instruction a
//! fused one is a call, and slow.
#![allow(unsafe_code)]

/// A computation written once and compiled for several instruction sets.
///
/// `run` and everything hot that it calls must be `#[inline(always)]`: only then is it compiled inside the function that
/// enables the instructions.
pub(crate) trait Work {
    /// What comes of it.
    type Output;
    /// Does it.
    fn run(self) -> Self::Output;
}

/// Runs `work` with vectors of 256 bits and fused multiplications where this processor has them. (With 512 bits the same
/// loops were slower: compilers then scatter and gather.)
#[inline]
pub(crate) fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") && has!("fma") {
            // SAFETY: the features were found on this processor.
            return unsafe { avx2_fma(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2_fma<W: Work>(work: W) -> W::Output {
    work.run()
}
