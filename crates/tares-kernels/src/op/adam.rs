//! Adam's update in one pass over memory.

use burn::tensor::Tensor;

/// The scalars of one Adam step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Decay of the mean of the gradient.
    pub beta1: f64,
    /// Decay of the mean of its square.
    pub beta2: f64,
    /// Added to the root of the second moment; already multiplied by `√(1 − beta2ᵗ)`.
    pub eps: f64,
    /// Learning rate; already multiplied by `√(1 − beta2ᵗ) / (1 − beta1ᵗ)`.
    pub rate: f64,
    /// The factor of the weight that is added to the gradient.
    pub weight_decay: f64,
}

/// One Adam step: the new weight and both new moments.
///
/// ```text
/// g = gradient + weight_decay · weight
/// first  ← beta1 · first  + (1 − beta1) · g
/// second ← beta2 · second + (1 − beta2) · g²
/// weight ← weight − rate · first / (√second + eps)
/// ```
///
/// All four have one length. No gradient flows through it. On the CPU the memory of `weight`, `first` and `second` is
/// reused if nobody else holds it; other devices use Burn's own operations.
///
/// # Panics
/// When the lengths differ.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use tares_kernels::{AdamStep, adam};
/// let device = Device::flex();
/// let of = |v: f32| Tensor::<1>::from_floats([v], &device);
/// let step = AdamStep { beta1: 0.9, beta2: 0.99, eps: 0.0, rate: 0.5, weight_decay: 0.0 };
/// let [weight, first, second] = adam([of(1.0), of(0.0), of(0.0)], of(2.0), step);
/// assert!((first.into_scalar::<f32>() - 0.2).abs() < 1e-6);
/// assert!((second.into_scalar::<f32>() - 0.04).abs() < 1e-6);
/// assert!((weight.into_scalar::<f32>() - 0.5).abs() < 1e-6);
/// ```
pub fn adam([weight, first, second]: [Tensor<1>; 3], gradient: Tensor<1>, step: AdamStep) -> [Tensor<1>; 3] {
    let length = weight.dims();
    assert!(
        [first.dims(), second.dims(), gradient.dims()] == [length; 3],
        "adam: weight {length:?}, moments {:?} and {:?}, gradient {:?}",
        first.dims(),
        second.dims(),
        gradient.dims()
    );
    #[cfg(feature = "kernels")]
    if [&weight, &first, &second, &gradient].iter().all(|t| crate::op::host::is_cpu(t) && !t.device().is_autodiff()) {
        return cpu::adam([weight, first, second], gradient, step);
    }
    let gradient = if step.weight_decay > 0.0 { gradient + weight.clone() * step.weight_decay } else { gradient };
    let first = first * step.beta1 + gradient.clone() * (1.0 - step.beta1);
    let second = second * step.beta2 + gradient.square() * (1.0 - step.beta2);
    let weight = weight - first.clone() / (second.clone().sqrt() + step.eps) * step.rate;
    [weight, first, second]
}

#[cfg(feature = "kernels")]
mod cpu {
    use super::AdamStep;
    use crate::cpu::adam::update;
    use crate::op::host::{Host, contiguous, floats, owned};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Backend, Dispatch, Flex, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn adam([weight, first, second]: [Tensor<1>; 3], gradient: Tensor<1>, step: AdamStep) -> [Tensor<1>; 3] {
        let (weight, first, second) = <Dispatch as AdamUpdate>::adam_update(
            weight.into_dispatch(),
            first.into_dispatch(),
            second.into_dispatch(),
            gradient.into_dispatch(),
            step,
        );
        [weight, first, second].map(Tensor::from_dispatch)
    }

    #[backend_extension(Flex)]
    pub trait AdamUpdate: Backend {
        fn adam_update(
            weight: FloatTensor<Self>,
            first: FloatTensor<Self>,
            second: FloatTensor<Self>,
            gradient: FloatTensor<Self>,
            step: AdamStep,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
    }

    impl AdamUpdate for Flex {
        fn adam_update(weight: Host, first: Host, second: Host, gradient: Host, step: AdamStep) -> (Host, Host, Host) {
            let [mut weight, mut first, mut second] = [weight, first, second].map(owned);
            let gradient = contiguous(gradient);
            update([weight.storage_mut(), first.storage_mut(), second.storage_mut()], floats(&gradient), step);
            (weight, first, second)
        }
    }
}
