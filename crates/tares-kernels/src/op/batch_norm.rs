//! Batch norm and leaky ReLU as one differentiable operation of Burn.

use burn::tensor::Tensor;

/// Training batch norm over `[n, channels, h, w]`, then leaky ReLU: the output, and the batch's mean and (biased) variance.
///
/// ```text
/// z = gamma · (x − mean) / √(var + eps) + beta        y = z where z > 0, slope · z elsewhere
/// ```
///
/// `slope` 1 leaves the activation out, 0 is ReLU. Gradients flow to `x`, `gamma` and `beta` through `y`; `mean` and `var`
/// are constants for the running statistics. Devices other than the CPU use Burn's own operations.
///
/// # Panics
/// When `gamma` or `beta` is not `[channels]`.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<4>::from_floats([[[[1.0, 3.0]]], [[[5.0, 7.0]]]], &device);
/// let (y, mean, var) = tares_kernels::batch_norm_act(x, Tensor::ones([1], &device), Tensor::zeros([1], &device), 1e-5, 0.01);
/// assert_eq!((mean.into_scalar::<f32>(), var.into_scalar::<f32>()), (4.0, 5.0));
/// assert!((y.max().into_scalar::<f32>() - 3.0 / 5f32.sqrt()).abs() < 1e-5);
/// ```
pub fn batch_norm_act(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
    slope: f64,
) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
    check(&x, &gamma, &beta);
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::batch_norm_act(x, gamma, beta, eps, slope);
    }
    let normalised = burn::tensor::module::batch_norm_train(x, gamma, beta, eps);
    (activate(normalised.output, slope), normalised.mean, normalised.variance)
}

/// [`batch_norm_act`] with `kept` added before the activation, as at the end of a residual block:
///
/// ```text
/// z = gamma · (x − mean) / √(var + eps) + beta + kept        y = z where z > 0, slope · z elsewhere
/// ```
///
/// # Panics
/// When `gamma` or `beta` is not `[channels]`, or `kept` has another shape than `x`.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<4>::from_floats([[[[1.0, 3.0]]], [[[5.0, 7.0]]]], &device);
/// let kept = Tensor::<4>::ones([2, 1, 1, 2], &device);
/// let (y, _, _) =
///     tares_kernels::batch_norm_add_act(x, Tensor::ones([1], &device), Tensor::zeros([1], &device), 1e-5, 0.0, kept);
/// assert!((y.max().into_scalar::<f32>() - (3.0 / 5f32.sqrt() + 1.0)).abs() < 1e-5);
/// ```
pub fn batch_norm_add_act(
    x: Tensor<4>,
    gamma: Tensor<1>,
    beta: Tensor<1>,
    eps: f64,
    slope: f64,
    kept: Tensor<4>,
) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
    check(&x, &gamma, &beta);
    assert!(x.dims() == kept.dims(), "batch_norm_add_act: {:?} cannot be added to {:?}", kept.dims(), x.dims());
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::batch_norm_add_act(x, gamma, beta, eps, slope, kept);
    }
    let normalised = burn::tensor::module::batch_norm_train(x, gamma, beta, eps);
    (activate(normalised.output + kept, slope), normalised.mean, normalised.variance)
}

fn check(x: &Tensor<4>, gamma: &Tensor<1>, beta: &Tensor<1>) {
    let channels = x.dims()[1];
    assert!(
        gamma.dims() == [channels] && beta.dims() == [channels],
        "batch_norm_act: input {:?} needs gamma and beta of [{channels}], got {:?} and {:?}",
        x.dims(),
        gamma.dims(),
        beta.dims()
    );
}

fn activate(z: Tensor<4>, slope: f64) -> Tensor<4> {
    match slope {
        1.0 => z,
        0.0 => burn::tensor::activation::relu(z),
        _ => burn::tensor::activation::leaky_relu(z, slope),
    }
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::norm::{self, Planes};
    use crate::op::host::{Host, contiguous, floats, host};
    use burn::backend::autodiff::NodeId;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn batch_norm_act(
        x: Tensor<4>,
        gamma: Tensor<1>,
        beta: Tensor<1>,
        eps: f64,
        slope: f64,
    ) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
        let (x, gamma, beta) = (x.into_dispatch(), gamma.into_dispatch(), beta.into_dispatch());
        let (y, mean, var) = <Dispatch as BatchNormAct>::batch_norm_act(x, gamma, beta, eps, slope);
        (Tensor::from_dispatch(y), Tensor::from_dispatch(mean), Tensor::from_dispatch(var))
    }

    pub(super) fn batch_norm_add_act(
        x: Tensor<4>,
        gamma: Tensor<1>,
        beta: Tensor<1>,
        eps: f64,
        slope: f64,
        kept: Tensor<4>,
    ) -> (Tensor<4>, Tensor<1>, Tensor<1>) {
        let (x, gamma, beta, kept) =
            (x.into_dispatch(), gamma.into_dispatch(), beta.into_dispatch(), kept.into_dispatch());
        let (y, mean, var) = <Dispatch as BatchNormAct>::batch_norm_add_act(x, gamma, beta, kept, eps, slope);
        (Tensor::from_dispatch(y), Tensor::from_dispatch(mean), Tensor::from_dispatch(var))
    }

    /// Two methods, because the attribute does not know optional tensors.
    #[backend_extension(Flex, Autodiff)]
    pub trait BatchNormAct: Backend {
        fn batch_norm_act(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            eps: f64,
            slope: f64,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

        fn batch_norm_add_act(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            kept: FloatTensor<Self>,
            eps: f64,
            slope: f64,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
    }

    impl BatchNormAct for Flex {
        fn batch_norm_act(x: Host, gamma: Host, beta: Host, eps: f64, slope: f64) -> (Host, Host, Host) {
            forward(x, gamma, beta, None, eps, slope)
        }

        fn batch_norm_add_act(
            x: Host,
            gamma: Host,
            beta: Host,
            kept: Host,
            eps: f64,
            slope: f64,
        ) -> (Host, Host, Host) {
            forward(x, gamma, beta, Some(contiguous(kept)), eps, slope)
        }
    }

    fn forward(x: Host, gamma: Host, beta: Host, kept: Option<Host>, eps: f64, slope: f64) -> (Host, Host, Host) {
        let (x, gamma, beta) = (contiguous(x), contiguous(gamma), contiguous(beta));
        let (p, kept) = (planes(&x), kept.as_ref().map(floats));
        let out = norm::forward(p, floats(&x), [floats(&gamma), floats(&beta)], eps as f32, slope as f32, kept);
        (host(out.y, x.shape()), host(out.mean, [p.channels]), host(out.var, [p.channels]))
    }

    impl<C: CheckpointStrategy> BatchNormAct for Autodiff<Flex, C> {
        fn batch_norm_act(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            eps: f64,
            slope: f64,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            match BatchNormActBackward.prepare::<C>([x.node(), gamma.node(), beta.node()]).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let nodes = [prep.checkpoint(&x), prep.checkpoint(&gamma), prep.checkpoint(&beta)];
                    let (x, gamma, beta) = (x.into_primitive(), gamma.into_primitive(), beta.into_primitive());
                    let (y, mean, var) = Flex::batch_norm_act(x, gamma, beta, eps, slope);
                    let saved = Saved { nodes, y: None, mean: mean.clone(), var: var.clone(), eps, slope };
                    (prep.finish(saved, y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
                OpsKind::UnTracked(prep) => {
                    let (x, gamma, beta) = (x.into_primitive(), gamma.into_primitive(), beta.into_primitive());
                    let (y, mean, var) = Flex::batch_norm_act(x, gamma, beta, eps, slope);
                    (prep.finish(y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
            }
        }

        fn batch_norm_add_act(
            x: FloatTensor<Self>,
            gamma: FloatTensor<Self>,
            beta: FloatTensor<Self>,
            kept: FloatTensor<Self>,
            eps: f64,
            slope: f64,
        ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
            let parents = [x.node(), gamma.node(), beta.node(), kept.node()];
            match BatchNormActBackward.prepare::<C>(parents).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let nodes = [prep.checkpoint(&x), prep.checkpoint(&gamma), prep.checkpoint(&beta)];
                    let (x, gamma, beta) = (x.into_primitive(), gamma.into_primitive(), beta.into_primitive());
                    let (y, mean, var) = Flex::batch_norm_add_act(x, gamma, beta, kept.into_primitive(), eps, slope);
                    let saved = Saved { nodes, y: Some(y.clone()), mean: mean.clone(), var: var.clone(), eps, slope };
                    (prep.finish(saved, y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
                OpsKind::UnTracked(prep) => {
                    let (x, gamma, beta) = (x.into_primitive(), gamma.into_primitive(), beta.into_primitive());
                    let (y, mean, var) = Flex::batch_norm_add_act(x, gamma, beta, kept.into_primitive(), eps, slope);
                    (prep.finish(y), <FloatTensor<Self>>::new(mean), <FloatTensor<Self>>::new(var))
                }
            }
        }
    }

    #[derive(Debug)]
    struct BatchNormActBackward;

    #[derive(Clone, Debug)]
    struct Saved {
        /// `x`, `gamma`, `beta`.
        nodes: [NodeId; 3],
        /// The output, where something was added; the next layer holds it as well.
        y: Option<Host>,
        mean: Host,
        var: Host,
        eps: f64,
        slope: f64,
    }

    /// Parents are `x`, `gamma`, `beta` and, for four, `kept`.
    impl<const PARENTS: usize> Backward<Flex, PARENTS> for BatchNormActBackward {
        type State = Saved;

        fn backward(self, ops: Ops<Saved, PARENTS>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let saved = ops.state;
            let [x, gamma, beta] = saved.nodes.map(|node| contiguous(checkpointer.retrieve_node_output::<Host>(node)));
            let p = planes(&x);
            let gradient = norm::backward(
                p,
                floats(&x),
                floats(&dy),
                [floats(&gamma), floats(&beta)],
                floats(&saved.mean),
                floats(&saved.var),
                saved.eps as f32,
                saved.slope as f32,
                saved.y.as_ref().map(floats),
            );
            let channels = || burn::tensor::Shape::from([p.channels]);
            let gradients = [
                (gradient.dx, x.shape()),
                (gradient.dgamma.into(), channels()),
                (gradient.dbeta.into(), channels()),
                (gradient.dkept, x.shape()),
            ];
            for (parent, (gradient, shape)) in ops.parents.into_iter().zip(gradients) {
                if let Some(node) = parent {
                    grads.register::<Flex>(node.id, host(gradient, shape));
                }
            }
        }
    }

    fn planes(x: &Host) -> Planes {
        let [n, channels, h, w] = x.shape().dims::<4>();
        Planes { n, channels, pixels: h * w }
    }
}
