//! The only `unsafe` of this crate: calling a function that is compiled for vector instructions not every processor has.
//!
//! Why it is sound: the call comes after the run-time check for exactly the features that its function enables. Nothing
//! else is unsafe about that function: it is ordinary code, compiled a second time. The code says which multiplications
//! are fused with additions (`mul_add`), so both compilations give the same bits; on a processor without the instruction a
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

/// Runs `work` with 256-bit vectors and fused multiply-add where this processor has them. (With 512 bits the same loops were
/// slower: the compiler then uses scatter and gather.)
#[inline]
pub fn widest<W: Work>(work: W) -> W::Output {
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
