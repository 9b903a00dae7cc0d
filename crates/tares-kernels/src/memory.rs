//! Memory that is kept for the next step, given back.

/// Frees the memory that tensors of earlier steps left for later ones. For the end of a training; a step after it takes it anew.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let x = Tensor::<4>::ones([1, 1, 100, 100], &Device::flex());
/// drop(tares_kernels::average_pool(x)); // its 10 kB wait for the next one
/// tares_kernels::free_memory();
/// ```
pub fn free_memory() {
    #[cfg(feature = "kernels")]
    crate::cpu::pool::free();
}
