//! Convolution, batch norm and other operations at the speed of the CPU, as a plug-in for Burn.
//!
//! ```text
//! conv2d.rs, dense.rs,            the operations: ordinary tensors in and out, any device; those of the first two rows
//! batch_norm.rs, max_pool.rs;     differentiable
//! scale_shift.rs, adam.rs
//! workers.rs                      the calling thread as one of the workers
//!   cpu.rs                        Burn's CPU tensors as slices
//!   convolve.rs                   which algorithm computes a convolution
//!     lowered.rs                  any kernel, stride, padding: columns and a matrix product
//!     winograd.rs, winograd/      3×3 with stride 1: a quarter of the multiplications
//!   layer.rs                      dense layer + leaky ReLU
//!   normalise.rs                  batch norm + leaky ReLU
//!   parallel.rs                   tasks on all threads, with little waiting
//!   lane.rs, scratch.rs, sum.rs   sixteen floats; working memory that is reused; sums in a fixed order
//!   raw.rs                        the only `unsafe`: the call of `gemm`, vector instructions chosen at run time
//! ```
//!
//! Invariants: slices in, vectors out, below the operations no tensor is seen; every sum is split in a way that follows
//! from the shapes alone, so that results are the same bits on any number of threads; without the feature `kernels`
//! (on by default) and on devices other than the CPU, every operation is Burn's own.

mod adam;
mod batch_norm;
mod conv2d;
mod dense;
mod max_pool;
mod scale_shift;
mod workers;

#[cfg(feature = "kernels")]
mod convolve;
#[cfg(feature = "kernels")]
mod cpu;
#[cfg(feature = "kernels")]
mod geometry;
#[cfg(feature = "kernels")]
mod lane;
#[cfg(feature = "kernels")]
mod layer;
#[cfg(feature = "kernels")]
mod lowered;
#[cfg(feature = "kernels")]
mod normalise;
#[cfg(feature = "kernels")]
mod parallel;
#[cfg(feature = "kernels")]
mod raw;
#[cfg(feature = "kernels")]
mod scratch;
#[cfg(feature = "kernels")]
mod sum;
#[cfg(feature = "kernels")]
mod winograd;

pub use adam::{AdamStep, adam};
pub use batch_norm::batch_norm_act;
pub use conv2d::conv2d;
pub use dense::dense;
pub use max_pool::{max_pool, relu_max_pool};
pub use scale_shift::scale_shift_act;
pub use workers::join_workers;
