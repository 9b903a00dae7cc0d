//! A DenseNet's layer around what it adds, as one operation.

use crate::{append_channels, batch_norm_act_pointwise};
use burn::tensor::Tensor;

/// `x` with new maps after its own: batch norm, leaky ReLU and a 1×1 convolution, then `rest`, then appended to `x`. Returns them all, and the
/// batch's mean and (biased) variance of `x`.
///
/// The same as [`batch_norm_act_pointwise`], `rest` and [`append_channels`] one after the other, with less work: the two gradients of `x` are
/// added where the first is made, and channels whose statistics are `known` (those that the layer before returned) are not read for them again.
///
/// `rest` must make its maps from its argument: the gradient of `x` is complete only when that of the argument arrives.
///
/// # Panics
/// When the operands of [`batch_norm_act_pointwise`] don't fit together, or `rest` changes more than the number of channels.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<4>::from_floats([[[[1.0, 3.0]]], [[[5.0, 7.0]]]], &device);
/// let (gamma, beta, weight) = (Tensor::ones([1], &device), Tensor::zeros([1], &device), Tensor::full([1, 1, 1, 1], 2.0, &device));
/// let (y, mean, _) = tares_kernels::grow(x, gamma, beta, 1e-5, 0.0, weight, None, |maps| maps * 10.0);
/// assert_eq!((y.dims(), mean.into_scalar::<f32>()), ([2, 2, 1, 2], 4.0));
/// ```
#[allow(clippy::too_many_arguments)] // the operands of one formula
pub fn grow(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
    slope: f64,
    weight: Tensor<4>,
    known: Option<[Tensor<1>; 2]>,
    rest: impl FnOnce(Tensor<4>) -> Tensor<4>,
) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
    #[cfg(feature = "kernels")]
    {
        use crate::op::{append, host::is_cpu, norm_pointwise, past::Past};
        let ([n, channels, h, w], [outputs, inputs, kh, kw]) = (x.dims(), weight.dims());
        let fits = [inputs, kh, kw] == [channels, 1, 1] && gamma.dims() == [channels] && beta.dims() == [channels];
        let fits = fits && known.iter().flatten().all(|of| of.dims()[0] <= channels);
        if fits && n > 0 && outputs > 0 && is_cpu(&x) && crate::cpu::norm_pointwise::suits(h * w) {
            let past = Past::default();
            let (y, mean, var) = norm_pointwise::cpu::batch_norm_act_pointwise(
                x.clone(),
                gamma,
                beta,
                eps,
                slope,
                weight,
                known,
                Some(past.clone()),
            );
            let new = rest(y);
            assert_eq!(
                [new.dims()[0], new.dims()[2], new.dims()[3]],
                [n, h, w],
                "grow: rest changed more than channels"
            );
            return (append::cpu::append_channels(x, new, Some(past)), mean, var);
        }
    }
    let _ = known;
    let (y, mean, var) = batch_norm_act_pointwise(x.clone(), gamma, beta, eps, slope, weight);
    (append_channels(x, rest(y)), mean, var)
}
