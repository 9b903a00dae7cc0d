//! The only `unsafe` of this crate: calling a function that is compiled for vector instructions not every processor has.
//!
//! The argument: each call stands behind the run-time check for exactly the features that its function enables. Nothing
//! else is unsafe about these functions: they are ordinary code, compiled once more. Multiplications and additions are not
//! fused, so that all compilations give the same bits.
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

/// Runs `work` with vectors of 256 bits where this processor has them. (With 512 bits the same loops were slower:
/// compilers then scatter and gather.)
#[inline]
pub(crate) fn widest<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx2") {
            // SAFETY: the feature was found on this processor.
            return unsafe { avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<W: Work>(work: W) -> W::Output {
    work.run()
}
