//! Convolution as a differentiable operation of Burn.

use burn::tensor::Tensor;

/// Two-dimensional convolution (cross-correlation, as everywhere in deep learning) with its gradients.
///
/// ```text
/// y[n, o, i, j] = bias[o] + Σ_c Σ_u Σ_v weight[o, c, u, v] · x[n, c, i·stride₀ + u − padding₀, j·stride₁ + v − padding₁]
/// ```
///
/// # Shapes
/// - `x`: `[n, ci, h, w]`, `weight`: `[co, ci, kh, kw]`, `bias`: `[co]`
/// - output: `[n, co, (h + 2·padding₀ − kh) / stride₀ + 1, (w + 2·padding₁ − kw) / stride₁ + 1]`
///
/// The same bits come out for any number of threads. Devices other than the CPU use Burn's own convolution.
///
/// # Panics
/// When the shapes don't belong together.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex().autodiff();
/// let x = Tensor::<4>::ones([2, 3, 8, 8], &device);
/// let weight = Tensor::<4>::ones([4, 3, 3, 3], &device).require_grad();
/// let y = tares_kernels::conv2d(x, weight.clone(), None, [1, 1], [1, 1]);
/// assert_eq!(y.dims(), [2, 4, 8, 8]);
/// let gradient = weight.grad(&y.sum().backward()).unwrap();
/// // the centre tap sees all 64 pixels of both images
/// assert_eq!(gradient.slice([0..1, 0..1, 1..2, 1..2]).into_scalar::<f32>(), 128.0);
/// ```
pub fn conv2d(
    x: Tensor<4>,
    weight: Tensor<4>,
    bias: Option<Tensor<1>>,
    stride: [usize; 2],
    padding: [usize; 2],
) -> Tensor<4> {
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::conv2d(x, weight, bias, stride, padding);
    }
    let options = burn::tensor::ops::ConvOptions::new(stride, padding, [1, 1], 1);
    burn::tensor::module::conv2d(x, weight, bias, options)
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::conv::{self, Geometry};
    use crate::op::host::{Host, contiguous, floats, host};
    use burn::backend::autodiff::NodeId;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn conv2d(
        x: Tensor<4>,
        weight: Tensor<4>,
        bias: Option<Tensor<1>>,
        stride: [usize; 2],
        padding: [usize; 2],
    ) -> Tensor<4> {
        let g = Geometry::new(x.dims(), weight.dims(), stride, padding);
        let (x, weight) = (x.into_dispatch(), weight.into_dispatch());
        Tensor::from_dispatch(match bias {
            Some(bias) => {
                assert!(bias.dims() == [g.co], "conv2d: bias {:?} for {} output channels", bias.dims(), g.co);
                <Dispatch as Convolution>::convolve_with_bias(x, weight, bias.into_dispatch(), stride, padding)
            }
            None => <Dispatch as Convolution>::convolve(x, weight, stride, padding),
        })
    }

    /// Two methods, because the attribute does not know optional tensors.
    #[backend_extension(Flex, Autodiff)]
    pub trait Convolution: Backend {
        fn convolve(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            stride: [usize; 2],
            padding: [usize; 2],
        ) -> FloatTensor<Self>;

        fn convolve_with_bias(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            bias: FloatTensor<Self>,
            stride: [usize; 2],
            padding: [usize; 2],
        ) -> FloatTensor<Self>;
    }

    impl Convolution for Flex {
        fn convolve(x: Host, weight: Host, stride: [usize; 2], padding: [usize; 2]) -> Host {
            let (x, weight) = (contiguous(x), contiguous(weight));
            let g = Geometry::new(x.shape().dims(), weight.shape().dims(), stride, padding);
            host(conv::forward(&g, floats(&x), floats(&weight), None), g.out_shape())
        }

        fn convolve_with_bias(x: Host, weight: Host, bias: Host, stride: [usize; 2], padding: [usize; 2]) -> Host {
            let (x, weight, bias) = (contiguous(x), contiguous(weight), contiguous(bias));
            let g = Geometry::new(x.shape().dims(), weight.shape().dims(), stride, padding);
            host(conv::forward(&g, floats(&x), floats(&weight), Some(floats(&bias))), g.out_shape())
        }
    }

    impl<C: CheckpointStrategy> Convolution for Autodiff<Flex, C> {
        fn convolve(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            stride: [usize; 2],
            padding: [usize; 2],
        ) -> FloatTensor<Self> {
            match ConvolutionBackward.prepare::<C>([x.node(), weight.node()]).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let saved = Saved { x: prep.checkpoint(&x), weight: prep.checkpoint(&weight), stride, padding };
                    let y = Flex::convolve(x.into_primitive(), weight.into_primitive(), stride, padding);
                    prep.finish(saved, y)
                }
                OpsKind::UnTracked(prep) => {
                    prep.finish(Flex::convolve(x.into_primitive(), weight.into_primitive(), stride, padding))
                }
            }
        }

        fn convolve_with_bias(
            x: FloatTensor<Self>,
            weight: FloatTensor<Self>,
            bias: FloatTensor<Self>,
            stride: [usize; 2],
            padding: [usize; 2],
        ) -> FloatTensor<Self> {
            let forward = |x: FloatTensor<Self>, weight: FloatTensor<Self>, bias: FloatTensor<Self>| {
                let (x, weight, bias) = (x.into_primitive(), weight.into_primitive(), bias.into_primitive());
                Flex::convolve_with_bias(x, weight, bias, stride, padding)
            };
            match ConvolutionBackward.prepare::<C>([x.node(), weight.node(), bias.node()]).compute_bound().stateful() {
                OpsKind::Tracked(mut prep) => {
                    let saved = Saved { x: prep.checkpoint(&x), weight: prep.checkpoint(&weight), stride, padding };
                    prep.finish(saved, forward(x, weight, bias))
                }
                OpsKind::UnTracked(prep) => prep.finish(forward(x, weight, bias)),
            }
        }
    }

    #[derive(Debug)]
    struct ConvolutionBackward;

    #[derive(Clone, Debug)]
    struct Saved {
        x: NodeId,
        weight: NodeId,
        stride: [usize; 2],
        padding: [usize; 2],
    }

    /// Parents are `x`, `weight` and, for three, `bias`.
    impl<const PARENTS: usize> Backward<Flex, PARENTS> for ConvolutionBackward {
        type State = Saved;

        fn backward(self, ops: Ops<Saved, PARENTS>, grads: &mut Gradients, checkpointer: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let saved = ops.state;
            let x = contiguous(checkpointer.retrieve_node_output::<Host>(saved.x));
            let weight = contiguous(checkpointer.retrieve_node_output::<Host>(saved.weight));
            let g = Geometry::new(x.shape().dims(), weight.shape().dims(), saved.stride, saved.padding);
            // a parent that needs no gradient is `None`: the first layer's input, frozen weights
            let wanted = [ops.parents[0].is_some(), ops.parents[1].is_some()];
            let [dx, dw] = conv::gradients(&g, floats(&x), floats(&weight), floats(&dy), wanted);
            let mut parents = ops.parents.into_iter();
            if let (Some(Some(node)), Some(dx)) = (parents.next(), dx) {
                grads.register::<Flex>(node.id, host(dx, x.shape()));
            }
            if let (Some(Some(node)), Some(dw)) = (parents.next(), dw) {
                grads.register::<Flex>(node.id, host(dw, weight.shape()));
            }
            if let Some(Some(node)) = parents.next() {
                grads.register::<Flex>(node.id, host(conv::bias_gradient(&g, floats(&dy)), [g.co]));
            }
        }
    }
}
