//! Maximum over 2×2 windows as a differentiable operation of Burn.

use burn::tensor::Tensor;

/// Maximum over 2×2 windows with stride 2: `[n, c, h, w]` to `[n, c, h/2, w/2]`; an odd last row or column falls away.
///
/// The gradient goes to the largest value of each window, to the first of equals in reading order. Instead of the input, one
/// byte per window is kept for it. Devices other than the CPU use Burn's own operation.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let x = Tensor::<4>::from_floats([[[[1.0, 5.0, 2.0], [3.0, 4.0, 9.0]]]], &Device::flex());
/// let y = tares_kernels::max_pool(x);
/// assert_eq!(y.dims(), [1, 1, 1, 1]);
/// assert_eq!(y.into_scalar::<f32>(), 5.0);
/// ```
pub fn max_pool(x: Tensor<4>) -> Tensor<4> {
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::max_pool(x, false);
    }
    by_burn(x)
}

/// ReLU, then [`max_pool`]: the same numbers and gradients in one pass, because the larger of two values stays the larger.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let x = Tensor::<4>::from_floats([[[[1.0, 5.0, -2.0, -1.0], [3.0, 4.0, -9.0, -7.0]]]], &Device::flex());
/// let y = tares_kernels::relu_max_pool(x);
/// assert_eq!(y.into_data().try_to_vec::<f32>().unwrap(), [5.0, 0.0]);
/// ```
pub fn relu_max_pool(x: Tensor<4>) -> Tensor<4> {
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&x) {
        return cpu::max_pool(x, true);
    }
    burn::tensor::activation::relu(by_burn(x))
}

fn by_burn(x: Tensor<4>) -> Tensor<4> {
    let options = burn::tensor::ops::MaxPoolOptions::new([2, 2]).with_stride([2, 2]);
    burn::tensor::module::max_pool2d(x, options)
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::max_pool::{backward, forward};
    use crate::cpu::pool::Pooled;
    use crate::op::host::{Host, contiguous, floats, host};
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;
    use std::sync::Arc;

    pub(super) fn max_pool(x: Tensor<4>, relu: bool) -> Tensor<4> {
        Tensor::from_dispatch(<Dispatch as MaxPool>::max_pool_two(x.into_dispatch(), relu))
    }

    #[backend_extension(Flex, Autodiff)]
    pub trait MaxPool: Backend {
        fn max_pool_two(x: FloatTensor<Self>, relu: bool) -> FloatTensor<Self>;
    }

    impl MaxPool for Flex {
        fn max_pool_two(x: Host, relu: bool) -> Host {
            let x = contiguous(x);
            let shape = x.shape().dims();
            host(forward(shape, floats(&x), relu).0, halved(shape))
        }
    }

    impl<C: CheckpointStrategy> MaxPool for Autodiff<Flex, C> {
        fn max_pool_two(x: FloatTensor<Self>, relu: bool) -> FloatTensor<Self> {
            match MaxPoolBackward.prepare::<C>([x.node()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let x = contiguous(x.into_primitive());
                    let shape = x.shape().dims();
                    let (y, which) = forward(shape, floats(&x), relu);
                    prep.finish((shape, Arc::new(which)), host(y, halved(shape)))
                }
                OpsKind::UnTracked(prep) => prep.finish(Flex::max_pool_two(x.into_primitive(), relu)),
            }
        }
    }

    #[derive(Debug)]
    struct MaxPoolBackward;

    impl Backward<Flex, 1> for MaxPoolBackward {
        /// Shape of the input, and which of its four values each window kept.
        type State = ([usize; 4], Arc<Pooled<u8>>);

        fn backward(self, ops: Ops<Self::State, 1>, grads: &mut Gradients, _: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let (shape, which) = ops.state;
            if let [Some(node)] = ops.parents {
                grads.register::<Flex>(node.id, host(backward(shape, &which, floats(&dy)), shape));
            }
        }
    }

    fn halved([n, c, h, w]: [usize; 4]) -> [usize; 4] {
        [n, c, h / 2, w / 2]
    }
}
