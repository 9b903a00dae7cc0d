//! A dense layer and its activation as one differentiable operation of Burn.

use burn::tensor::Tensor;

/// `y = z where z > 0, slope · z elsewhere`, with `z = x · weight + bias`: `x [n, inputs]`, `weight [inputs, outputs]`, `y [n, outputs]`.
///
/// `slope` 1 leaves the activation out, 0 is ReLU. The backward pass needs no `z`: the sign of `y` tells it. Devices other
/// than the CPU use Burn's own operations.
///
/// # Panics
/// When the shapes don't belong together, or `slope` is below 0.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let x = Tensor::<2>::from_floats([[1.0, 2.0]], &device);
/// let weight = Tensor::from_floats([[1.0, -1.0], [0.5, -1.0]], &device);
/// let y = tares_kernels::dense(x, weight, Tensor::from_floats([1.0, 0.0], &device), 0.1);
/// let y = y.into_data().try_to_vec::<f32>().unwrap();
/// assert!((y[0] - 3.0).abs() < 1e-6 && (y[1] + 0.3).abs() < 1e-6, "{y:?}");
/// ```
pub fn dense(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, slope: f64) -> Tensor<2> {
    let ([_, inputs], [rows, outputs]) = (x.dims(), weight.dims());
    assert!(
        rows == inputs && bias.dims() == [outputs],
        "dense: input {:?} needs a weight of [{inputs}, outputs] and a bias of [outputs], got {:?} and {:?}",
        x.dims(),
        weight.dims(),
        bias.dims()
    );
    assert!(slope >= 0.0, "dense: slope {slope} is below 0");
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::dense(x, weight, bias, slope);
    }
    let z = x.matmul(weight) + bias.reshape([1, outputs]);
    match slope {
        1.0 => z,
        0.0 => burn::tensor::activation::relu(z),
        _ => burn::tensor::activation::leaky_relu(z, slope),
    }
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::dense::{Layer, backward, forward};
    use crate::op::host::{Host, contiguous, floats, host};
    use burn::backend::autodiff::NodeId;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn dense(x: Tensor<2>, weight: Tensor<2>, bias: Tensor<1>, slope: f64) -> Tensor<2> {
        let (x, weight, bias) = (x.into_dispatch(), weight.into_dispatch(), bias.into_dispatch());
        Tensor::from_dispatch(<Dispatch as Dense>::dense_act(x, weight, bias, slope))
    }

    #[backend_extension(Flex, Autodiff)]
    pub trait Dense: Backend {
        fn dense_act(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            bias: FloatTensor<Self>,
            slope: f64,
        ) -> FloatTensor<Self>;
    }

    impl Dense for Flex {
        fn dense_act(x: Host, weight: Host, bias: Host, slope: f64) -> Host {
            let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
            let layer = shapes(&x, &weight, slope);
            host(forward(layer, floats(&x), floats(&weight), floats(&bias)), [layer.n, layer.outputs])
        }
    }

    impl<C: CheckpointStrategy> Dense for Autodiff<Flex, C> {
        fn dense_act(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            bias: FloatTensor<Self>,
            slope: f64,
        ) -> FloatTensor<Self> {
            match DenseBackward.prepare::<C>([x.node(), weight.node(), bias.node()]).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let nodes = [prep.checkpoint(&x), prep.checkpoint(&weight)];
                    let y = Flex::dense_act(x.into_primitive(), weight.into_primitive(), bias.into_primitive(), slope);
                    let saved = Saved { nodes, y: (slope != 1.0).then(|| y.clone()), slope };
                    prep.finish(saved, y)
                }
                OpsKind::UnTracked(prep) => prep.finish(Flex::dense_act(
                    x.into_primitive(),
                    weight.into_primitive(),
                    bias.into_primitive(),
                    slope,
                )),
            }
        }
    }

    #[derive(Debug)]
    struct DenseBackward;

    #[derive(Clone, Debug)]
    struct Saved {
        /// `x`, `weight`.
        nodes: [NodeId; 2],
        /// The output, where there is an activation; the next layer holds it as well.
        y: Option<Host>,
        slope: f64,
    }

    impl Backward<Flex, 3> for DenseBackward {
        type State = Saved;

        fn backward(self, ops: Ops<Saved, 3>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let saved = ops.state;
            let [x, weight] = saved.nodes.map(|node| contiguous(checkpointer.retrieve_node_output::<Host>(node)));
            let layer = shapes(&x, &weight, saved.slope);
            // a parent that needs no gradient is `None`: the first layer's input, frozen weights
            let [to_x, to_weight, to_bias] = ops.parents;
            let wanted = [to_x.is_some(), to_weight.is_some()];
            let y = saved.y.as_ref().map(floats);
            let gradient = backward(layer, floats(&x), floats(&weight), y, floats(&dy), wanted);
            if let (Some(node), Some(dx)) = (to_x, gradient.dx) {
                grads.register::<Flex>(node.id, host(dx, x.shape()));
            }
            if let (Some(node), Some(dw)) = (to_weight, gradient.dw) {
                grads.register::<Flex>(node.id, host(dw, weight.shape()));
            }
            if let Some(node) = to_bias {
                grads.register::<Flex>(node.id, host(gradient.db, [layer.outputs]));
            }
        }
    }

    fn shapes(x: &Host, weight: &Host, slope: f64) -> Layer {
        let ([n, inputs], [_, outputs]) = (x.shape().dims(), weight.shape().dims());
        Layer { n, inputs, outputs, slope: slope as f32 }
    }
}
