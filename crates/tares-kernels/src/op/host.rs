//! Burn's CPU tensors as plain slices, and back.

use crate::cpu::pool::{Floats, SHORTEST};
use crate::op::lent::lent;
use burn::backend::tensor::FloatTensor;
use burn::backend::{DispatchDevice, Flex, TensorMetadata};
use burn::tensor::{DType, Shape, Tensor, TensorData};

/// A tensor of Burn's CPU device.
pub(crate) type Host = FloatTensor<Flex>;

/// Whether the kernels of this crate can take `tensor`: single precision, on the CPU device (with or without autodiff).
pub(crate) fn is_cpu<const D: usize>(tensor: &Tensor<D>) -> bool {
    fn flex(device: &DispatchDevice) -> bool {
        match device {
            DispatchDevice::Flex(_) => true,
            DispatchDevice::Autodiff(inner) => flex(inner),
            #[allow(unreachable_patterns)] // reached when Burn is built with other devices as well
            _ => false,
        }
    }
    tensor.dtype() == DType::F32 && flex(tensor.device().as_dispatch())
}

/// The tensor with its elements in order; gradients and inputs may be views.
pub(crate) fn contiguous(tensor: Host) -> Host {
    // `as_slice` also requires that the view starts at the beginning of its storage; `is_contiguous` does not.
    if tensor.as_slice::<f32>().is_some() { tensor } else { tensor.to_contiguous() }
}

/// The elements of a [`contiguous`] tensor.
pub(crate) fn floats(tensor: &Host) -> &[f32] {
    tensor.as_slice::<f32>().expect("a contiguous tensor of f32 is one slice")
}

/// A tensor that owns `values`. Those of the pool go back when the last tensor that holds them is dropped.
pub(crate) fn host(values: impl Into<Floats>, shape: impl Into<Shape>) -> Host {
    Host::from_data(data(values.into(), shape))
}

/// The same on its way to a tensor of any device.
pub(crate) fn data(values: Floats, shape: impl Into<Shape>) -> TensorData {
    match values.len() < SHORTEST {
        true => TensorData::new(values.into_vec(), shape),
        false => TensorData::from_bytes(lent(values), shape, DType::F32),
    }
}

/// The tensor's elements for writing, if nobody else holds them.
pub(crate) fn in_place(tensor: &mut Host) -> Option<&mut [f32]> {
    // A view of a part of its storage would lend more than its own elements.
    let length = tensor.as_slice::<f32>()?.len();
    tensor.try_storage_mut::<f32>().filter(|values| values.len() == length)
}

/// A tensor whose storage is its elements in order, and nothing else.
pub(crate) fn owned(tensor: Host) -> Host {
    let whole = tensor.as_slice::<f32>().is_some_and(|values| values.len() == tensor.storage::<f32>().len());
    if whole { tensor } else { host(Floats::of(floats(&contiguous(tensor.clone()))), tensor.shape()) }
}
