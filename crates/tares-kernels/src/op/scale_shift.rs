//! Batch norm with fixed statistics, and the activation after it: one pass over memory.

use burn::tensor::{Tensor, activation};

/// `y = z where z > 0, slope · z elsewhere`, with `z = x · scale + shift` per channel of `[n, channels, h, w]`.
///
/// What batch norm and leaky ReLU are when the statistics are given: `scale = gamma / √(var + eps)`, `shift = beta − mean · scale`.
/// On the CPU it reuses the memory of `x` if nobody else holds it. With autodiff, and on other devices, it is made
/// of Burn's own operations.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<4>::from_floats([[[[1.0, -1.0]]]], &device);
/// let y = tares_kernels::scale_shift_act(x, Tensor::from_floats([2.0], &device), Tensor::from_floats([1.0], &device), 0.5);
/// assert_eq!(y.into_data().try_to_vec::<f32>().unwrap(), [3.0, -0.5]);
/// ```
pub fn scale_shift_act(x: Tensor<4>, scale: Tensor<1>, shift: Tensor<1>, slope: f64) -> Tensor<4> {
    let channels = x.dims()[1];
    assert!(
        scale.dims() == [channels] && shift.dims() == [channels],
        "scale_shift_act: input {:?} needs scale and shift of [{channels}], got {:?} and {:?}",
        x.dims(),
        scale.dims(),
        shift.dims()
    );
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) && ![&x.device(), &scale.device(), &shift.device()].iter().any(|d| d.is_autodiff()) {
        return cpu::scale_shift_act(x, scale, shift, slope);
    }
    let per_channel = |t: Tensor<1>| t.reshape([1, channels, 1, 1]);
    let z = x * per_channel(scale) + per_channel(shift);
    match slope {
        1.0 => z,
        0.0 => activation::relu(z),
        _ => activation::leaky_relu(z, slope),
    }
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::norm::{self, Affine, Planes};
    use crate::op::host::{Host, contiguous, floats, host, in_place};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn scale_shift_act(x: Tensor<4>, scale: Tensor<1>, shift: Tensor<1>, slope: f64) -> Tensor<4> {
        let (x, scale, shift) = (x.into_dispatch(), scale.into_dispatch(), shift.into_dispatch());
        Tensor::from_dispatch(<Dispatch as ScaleShiftAct>::scale_shift_act(x, scale, shift, slope))
    }

    #[backend_extension(Flex)]
    pub trait ScaleShiftAct: Backend {
        fn scale_shift_act(
            x: FloatTensor<Self>,
            scale: FloatTensor<Self>,
            shift: FloatTensor<Self>,
            slope: f64,
        ) -> FloatTensor<Self>;
    }

    impl ScaleShiftAct for Flex {
        fn scale_shift_act(x: Host, scale: Host, shift: Host, slope: f64) -> Host {
            let (mut x, scale, shift) = (contiguous(x), contiguous(scale), contiguous(shift));
            let [n, channels, h, w] = x.shape().dims::<4>();
            let p = Planes { n, channels, pixels: h * w };
            let affine = Affine { scale: floats(&scale).to_vec(), shift: floats(&shift).to_vec() };
            if let Some(values) = in_place(&mut x) {
                norm::apply_in_place(p, values, &affine, slope as f32);
                return x;
            }
            host(norm::apply(p, floats(&x), &affine, slope as f32), x.shape())
        }
    }
}
