//! Batch norm, leaky ReLU and a 1×1 convolution as one differentiable operation of Burn.

use crate::{batch_norm_act, conv2d};
use burn::tensor::Tensor;

/// Training batch norm over `[n, channels, h, w]`, leaky ReLU, then a 1×1 convolution without bias: the output, and the batch's mean and
/// (biased) variance.
///
/// The same as [`batch_norm_act`] and [`conv2d`] one after the other, but the normalised maps are never written to memory: in a DenseNet,
/// where every layer normalises all earlier maps again, they would be most of what a training step moves.
///
/// # Panics
/// When `gamma` or `beta` is not `[channels]`, or `weight` not `[outputs, channels, 1, 1]`.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<4>::from_floats([[[[1.0, 3.0]]], [[[5.0, 7.0]]]], &device);
/// let (gamma, beta, weight) = (Tensor::ones([1], &device), Tensor::zeros([1], &device), Tensor::full([1, 1, 1, 1], 2.0, &device));
/// let (y, mean, _) = tares_kernels::batch_norm_act_pointwise(x, gamma, beta, 1e-5, 0.0, weight);
/// assert_eq!(mean.into_scalar::<f32>(), 4.0);
/// assert!((y.max().into_scalar::<f32>() - 6.0 / 5f32.sqrt()).abs() < 1e-5);
/// ```
pub fn batch_norm_act_pointwise(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
    slope: f64,
    weight: Tensor<4>,
) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
    let ([_, channels, h, w], [outputs, inputs, kh, kw]) = (x.dims(), weight.dims());
    assert!(
        [inputs, kh, kw] == [channels, 1, 1] && gamma.dims() == [channels] && beta.dims() == [channels],
        "batch_norm_act_pointwise: input {:?} needs weight [{outputs}, {channels}, 1, 1], gamma and beta of [{channels}], got {:?}, {:?} and {:?}",
        x.dims(),
        weight.dims(),
        gamma.dims(),
        beta.dims()
    );
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) && crate::cpu::norm_pointwise::suits(h * w) && outputs > 0 {
        return cpu::batch_norm_act_pointwise(x, gamma, beta, eps, slope, weight, None, None);
    }
    let _ = (h, w);
    let (z, mean, var) = batch_norm_act(x, gamma, beta, eps, slope);
    (conv2d(z, weight, None, [1, 1], [0, 0]), mean, var)
}

#[cfg(feature = "kernels")]
pub(crate) mod cpu {
    use crate::cpu::norm::Planes;
    use crate::cpu::norm_pointwise::{self as slices, Operands, backward, forward};
    use crate::op::host::{Host, contiguous, floats, host};
    use crate::op::past::Past;
    use burn::backend::autodiff::NodeId;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::{Shape, Tensor};

    /// `known`: mean and variance of the first channels. `past`: where more of the gradient of `x` waits.
    #[allow(clippy::too_many_arguments)] // the operands of one formula
    pub(crate) fn batch_norm_act_pointwise(
        x: Tensor<4>,
        gamma: Tensor<1>,
        beta: Tensor<1>,
        eps: f64,
        slope: f64,
        weight: Tensor<4>,
        known: Option<[Tensor<1>; 2]>,
        past: Option<Past>,
    ) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
        let (x, gamma, beta) = (x.into_dispatch(), gamma.into_dispatch(), beta.into_dispatch());
        let known = known.map(|known| known.map(|of| of.into_data().try_to_vec().expect("single precision")));
        let more = More { known: known.unwrap_or_default(), past };
        let (y, mean, var) =
            <Dispatch as NormPointwise>::norm_pointwise(x, gamma, beta, weight.into_dispatch(), eps, slope, more);
        (Tensor::from_dispatch(y), Tensor::from_dispatch(mean), Tensor::from_dispatch(var))
    }

    /// What is known of the input beyond its values.
    #[derive(Clone, Debug)]
    pub struct More {
        known: [Vec<f32>; 2],
        past: Option<Past>,
    }

    #[backend_extension(Flex, Autodiff)]
    #[allow(clippy::too_many_arguments)] // the operands of one formula
    pub trait NormPointwise: Backend {
        fn norm_pointwise(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            eps: f64,
            slope: f64,
            more: More,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
    }

    impl NormPointwise for Flex {
        fn norm_pointwise(
            x: Host,
            gamma: Host,
            beta: Host,
            weight: Host,
            eps: f64,
            slope: f64,
            more: More,
        ) -> (Host, Host, Host) {
            let [x, gamma, beta, weight] = [x, gamma, beta, weight].map(contiguous);
            let ([n, channels, h, w], [outputs, ..]) = (x.shape().dims::<4>(), weight.shape().dims::<4>());
            let (y, mean, var) =
                forward(operands(&x, &gamma, &beta, &weight, eps, slope), more.known.each_ref().map(Vec::as_slice));
            (host(y, [n, outputs, h, w]), host(mean, [channels]), host(var, [channels]))
        }
    }

    fn operands<'a>(
        x: &'a Host,
        gamma: &'a Host,
        beta: &'a Host,
        weight: &'a Host,
        eps: f64,
        slope: f64,
    ) -> Operands<'a> {
        let [n, channels, h, w] = x.shape().dims::<4>();
        let p = Planes { n, channels, pixels: h * w };
        let [x, gamma, beta, weight] = [x, gamma, beta, weight].map(floats);
        Operands { p, x, gamma, beta, weight, eps: eps as f32, slope: slope as f32 }
    }

    impl<C: CheckpointStrategy> NormPointwise for Autodiff<Flex, C> {
        fn norm_pointwise(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            eps: f64,
            slope: f64,
            more: More,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let parents = [x.node(), gamma.node(), beta.node(), weight.node()];
            match NormPointwiseBackward.prepare::<C>(parents).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let nodes = [&x, &gamma, &beta, &weight].map(|parent| prep.checkpoint(parent));
                    let [x, gamma, beta, weight] = [x, gamma, beta, weight].map(|t| t.into_primitive());
                    let past = more.past.clone();
                    let (y, mean, var) = Flex::norm_pointwise(x, gamma, beta, weight, eps, slope, more);
                    let saved = Saved { nodes, mean: mean.clone(), var: var.clone(), eps, slope, past };
                    (prep.finish(saved, y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
                OpsKind::UnTracked(prep) => {
                    let [x, gamma, beta, weight] = [x, gamma, beta, weight].map(|t| t.into_primitive());
                    let (y, mean, var) = Flex::norm_pointwise(x, gamma, beta, weight, eps, slope, more);
                    (prep.finish(y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
            }
        }
    }

    #[derive(Debug)]
    struct NormPointwiseBackward;

    #[derive(Clone, Debug)]
    struct Saved {
        /// `x`, `gamma`, `beta`, `weight`.
        nodes: [NodeId; 4],
        mean: Host,
        var: Host,
        eps: f64,
        slope: f64,
        past: Option<Past>,
    }

    impl Backward<Flex, 4> for NormPointwiseBackward {
        type State = Saved;

        fn backward(self, ops: Ops<Saved, 4>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let saved = ops.state;
            let [x, gamma, beta, weight] =
                saved.nodes.map(|node| contiguous(checkpointer.retrieve_node_output::<Host>(node)));
            let of = operands(&x, &gamma, &beta, &weight, saved.eps, saved.slope);
            let past = saved.past.and_then(|past| past.take());
            let past = past
                .as_ref()
                .map(|all| slices::Past { images: floats(all), image: all.shape().num_elements() / of.p.n });
            let gradient = backward(of, floats(&saved.mean), floats(&saved.var), floats(&dy), past);
            let channels = || Shape::from([of.p.channels]);
            let gradients = [
                (gradient.dx, x.shape()),
                (gradient.dgamma.into(), channels()),
                (gradient.dbeta.into(), channels()),
                (gradient.dw, weight.shape()),
            ];
            for (parent, (gradient, shape)) in ops.parents.into_iter().zip(gradients) {
                if let Some(node) = parent {
                    grads.register::<Flex>(node.id, host(gradient, shape));
                }
            }
        }
    }
}
