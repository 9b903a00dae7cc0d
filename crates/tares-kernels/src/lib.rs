//! Convolution, batch norm and other operations at the speed of the CPU, as a plug-in for Burn.
//!
//! ```text
//! op/               one operation per file: ordinary tensors in and out, any device
//!   host.rs         Burn's CPU tensors as slices
//!   lent.rs         vectors of the pool as tensors; one of the three modules with `unsafe`
//! cpu/              the algorithms behind them: slices in, vectors out
//!   conv/           convolution: `lowered.rs` (any kernel, stride, padding: im2col and a matrix product), `pairs.rs` (1×1, many pixels),
//!                   `winograd/` (3×3 with stride 1: a quarter of the multiplications)
//!   dense.rs norm.rs norm_pointwise.rs max_pool.rs average_pool.rs append.rs adam.rs
//!   pool.rs         vectors that are used again, so a step takes no new memory
//!   gemm.rs         matrix products; another one
//!   simd.rs         vector instructions chosen at run time; the third
//!   lane.rs         sixteen floats on a cache line
//!   threads.rs      tasks on all threads, with little waiting
//!   scratch.rs      working memory that threads keep between steps
//!   sum.rs          sums in a fixed order
//! memory.rs         memory given back after a training
//! workers.rs        the calling thread as one of the workers
//! ```
//!
//! Invariants: `cpu/` sees no tensor; every sum is split in a way that follows from the shapes alone, so that results are
//! the same bits on any number of threads; without the feature `kernels` (on by default) and on devices other than the
//! CPU, every operation is Burn's own.

#[cfg(feature = "kernels")]
mod cpu;
mod memory;
mod op;
mod workers;

pub use memory::free_memory;
pub use op::adam::{AdamStep, adam};
pub use op::append::append_channels;
pub use op::average_pool::average_pool;
pub use op::batch_norm::{batch_norm_act, batch_norm_add_act};
pub use op::conv2d::conv2d;
pub use op::dense::dense;
pub use op::grow::grow;
pub use op::max_pool::{max_pool, relu_max_pool};
pub use op::norm_pointwise::batch_norm_act_pointwise;
pub use op::reused::Reused;
pub use op::scale_shift::scale_shift_act;
pub use workers::join_workers;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
