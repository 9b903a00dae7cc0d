//! The algorithms: slices in, vectors of a pool out. No tensor is seen here.
//!
//! Every sum is split in a way that follows from the shapes alone, so results are the same bits on any number of threads.

pub(crate) mod adam;
pub(crate) mod append;
pub(crate) mod average_pool;
pub(crate) mod conv;
pub(crate) mod dense;
pub(crate) mod gemm;
pub(crate) mod lane;
pub(crate) mod max_pool;
pub(crate) mod norm;
pub(crate) mod norm_pointwise;
pub(crate) mod pool;
pub(crate) mod scratch;
pub(crate) mod simd;
pub(crate) mod sum;
pub(crate) mod threads;
