//! Mean over 2×2 windows as a differentiable operation of Burn.

use burn::tensor::Tensor;

/// Mean over 2×2 windows with stride 2: `[n, c, h, w]` to `[n, c, h/2, w/2]`; an odd last row or column falls away.
///
/// Devices other than the CPU use Burn's own operation.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let x = Tensor::<4>::from_floats([[[[1.0, 5.0, 2.0], [3.0, 4.0, 9.0]]]], &Device::flex());
/// let y = tares_kernels::average_pool(x);
/// assert_eq!(y.dims(), [1, 1, 1, 1]);
/// assert_eq!(y.into_scalar::<f32>(), 3.25);
/// ```
pub fn average_pool(x: Tensor<4>) -> Tensor<4> {
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::average_pool(x);
    }
    let options = burn::tensor::ops::AvgPoolOptions::new([2, 2]).with_stride([2, 2]);
    burn::tensor::module::avg_pool2d(x, options)
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::average_pool::{backward, forward};
    use crate::op::host::{Host, contiguous, floats, host};
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    pub(super) fn average_pool(x: Tensor<4>) -> Tensor<4> {
        Tensor::from_dispatch(<Dispatch as AveragePool>::average_pool_two(x.into_dispatch()))
    }

    #[backend_extension(Flex, Autodiff)]
    pub trait AveragePool: Backend {
        fn average_pool_two(x: FloatTensor<Self>) -> FloatTensor<Self>;
    }

    impl AveragePool for Flex {
        fn average_pool_two(x: Host) -> Host {
            let x = contiguous(x);
            let [n, c, h, w] = x.shape().dims();
            host(forward([n, c, h, w], floats(&x)), [n, c, h / 2, w / 2])
        }
    }

    impl<C: CheckpointStrategy> AveragePool for Autodiff<Flex, C> {
        fn average_pool_two(x: FloatTensor<Self>) -> FloatTensor<Self> {
            match AveragePoolBackward.prepare::<C>([x.node()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let x = x.into_primitive();
                    let shape = x.shape().dims();
                    prep.finish(shape, Flex::average_pool_two(x))
                }
                OpsKind::UnTracked(prep) => prep.finish(Flex::average_pool_two(x.into_primitive())),
            }
        }
    }

    #[derive(Debug)]
    struct AveragePoolBackward;

    impl Backward<Flex, 1> for AveragePoolBackward {
        /// Shape of the input.
        type State = [usize; 4];

        fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            if let [Some(node)] = ops.parents {
                grads.register::<Flex>(node.id, host(backward(ops.state, floats(&dy)), ops.state));
            }
        }
    }
}
