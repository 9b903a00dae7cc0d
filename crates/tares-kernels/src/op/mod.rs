//! The operations: ordinary tensors in and out, on any device. Those of the CPU device are computed by `cpu/`, all others by
//! Burn itself.

pub(crate) mod adam;
pub(crate) mod append;
pub(crate) mod average_pool;
pub(crate) mod batch_norm;
pub(crate) mod conv2d;
pub(crate) mod dense;
pub(crate) mod grow;
#[cfg(feature = "kernels")]
mod host;
#[cfg(feature = "kernels")]
mod lent;
pub(crate) mod max_pool;
pub(crate) mod norm_pointwise;
#[cfg(feature = "kernels")]
mod past;
pub(crate) mod reused;
pub(crate) mod scale_shift;
