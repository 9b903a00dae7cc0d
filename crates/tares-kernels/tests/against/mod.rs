//! What the tests compare with: random tensors from named streams, and the distance between two results.
#![allow(dead_code)] // no test uses all of it

use burn::tensor::{Device, Tensor, TensorData};
use tares_core::{Stream, stream};

/// A seeded source of shapes and values.
pub struct Source(Stream);

impl Source {
    pub fn new(seed: u64) -> Self {
        Self(stream(seed, "kernels"))
    }

    /// A whole number in `low..=high`.
    pub fn size(&mut self, low: usize, high: usize) -> usize {
        low + self.0.below(high - low + 1)
    }

    /// Values uniform in [-1, 1).
    pub fn values(&mut self, len: usize) -> Vec<f32> {
        (0..len).map(|_| 2.0 * self.0.unit() as f32 - 1.0).collect()
    }
}

/// A tensor of these values.
pub fn tensor<const D: usize>(values: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values.to_vec(), shape), device)
}

/// The values of a tensor.
pub fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec::<f32>().expect("single precision")
}

/// Largest difference, relative to the largest value expected.
pub fn distance(got: &[f32], want: &[f32]) -> f32 {
    assert_eq!(got.len(), want.len());
    let scale = want.iter().fold(1e-6f32, |m, v| m.max(v.abs()));
    got.iter().zip(want).fold(0.0f32, |m, (g, w)| {
        assert!(g.is_finite(), "a value is {g}");
        m.max((g - w).abs() / scale)
    })
}
