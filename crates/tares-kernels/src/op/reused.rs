//! Numbers on their way to a tensor, in memory that is used again.

use burn::tensor::{Device, Shape, Tensor, TensorData};
use std::ops::{Deref, DerefMut};

#[cfg(feature = "kernels")]
type Values = crate::cpu::pool::Floats;
#[cfg(not(feature = "kernels"))]
type Values = Vec<f32>;

/// Floats for a tensor. On the CPU their memory serves the next ones as soon as the tensor is dropped, so batch after batch takes no new
/// memory.
#[derive(Debug)]
pub struct Reused(Values);

impl Reused {
    /// `len` floats to be written before they are read: they are what the last owner left.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::Device;
    /// let mut values = tares_kernels::Reused::unwritten(4);
    /// values.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(values.into_tensor::<2>([2, 2], &Device::flex()).sum().into_scalar::<f32>(), 10.0);
    /// ```
    pub fn unwritten(len: usize) -> Self {
        #[cfg(feature = "kernels")]
        return Self(Values::unwritten(len));
        #[cfg(not(feature = "kernels"))]
        Self(vec![0.0; len])
    }

    /// The tensor of these values.
    ///
    /// # Panics
    /// When the shape has another number of elements.
    pub fn into_tensor<const D: usize>(self, shape: [usize; D], device: &Device) -> Tensor<D> {
        let elements = shape.iter().product::<usize>();
        assert!(elements == self.0.len(), "{} values for a tensor {shape:?}", self.0.len());
        Tensor::from_data(data(self.0, shape), device)
    }
}

impl Deref for Reused {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        &self.0
    }
}

impl DerefMut for Reused {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

#[cfg(feature = "kernels")]
fn data(values: Values, shape: impl Into<Shape>) -> TensorData {
    crate::op::host::data(values, shape)
}

#[cfg(not(feature = "kernels"))]
fn data(values: Values, shape: impl Into<Shape>) -> TensorData {
    TensorData::new(values, shape)
}
