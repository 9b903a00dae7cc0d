//! Channels of two tensors one after the other, as a differentiable operation of Burn.

use burn::tensor::Tensor;

/// `[n, a, h, w]` and `[n, b, h, w]` to `[n, a + b, h, w]`.
///
/// Devices other than the CPU use Burn's own operation.
///
/// # Panics
/// When anything but the number of channels differs.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// let device = Device::flex();
/// let (a, b) = (Tensor::<4>::zeros([2, 3, 4, 4], &device), Tensor::<4>::ones([2, 1, 4, 4], &device));
/// let y = tares_kernels::append_channels(a, b);
/// assert_eq!(y.dims(), [2, 4, 4, 4]);
/// assert_eq!(y.sum().into_scalar::<f32>(), 32.0);
/// ```
pub fn append_channels(first: Tensor<4>, second: Tensor<4>) -> Tensor<4> {
    let ([n, _, h, w], [m, _, i, j]) = (first.dims(), second.dims());
    assert!(
        [n, h, w] == [m, i, j],
        "append_channels: {:?} and {:?} differ in more than channels",
        first.dims(),
        second.dims()
    );
    #[cfg(feature = "kernels")]
    if crate::op::host::is_cpu(&first) {
        return cpu::append_channels(first, second, None);
    }
    Tensor::cat(vec![first, second], 1)
}

#[cfg(feature = "kernels")]
pub(crate) mod cpu {
    use crate::cpu::append::{append, part};
    use crate::op::host::{Host, contiguous, floats, host};
    use crate::op::past::Past;
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;

    /// With `past`, the gradient of `first` goes there instead of to Burn.
    pub(crate) fn append_channels(first: Tensor<4>, second: Tensor<4>, past: Option<Past>) -> Tensor<4> {
        Tensor::from_dispatch(<Dispatch as Append>::append_maps(first.into_dispatch(), second.into_dispatch(), past))
    }

    #[backend_extension(Flex, Autodiff)]
    pub trait Append: Backend {
        fn append_maps(first: FloatTensor<Self>, second: FloatTensor<Self>, past: Option<Past>) -> FloatTensor<Self>;
    }

    impl Append for Flex {
        fn append_maps(first: Host, second: Host, _: Option<Past>) -> Host {
            let (first, second) = (contiguous(first), contiguous(second));
            let ([n, a, h, w], [_, b, _, _]) = (first.shape().dims(), second.shape().dims());
            host(append([a * h * w, b * h * w], floats(&first), floats(&second)), [n, a + b, h, w])
        }
    }

    impl<C: CheckpointStrategy> Append for Autodiff<Flex, C> {
        fn append_maps(first: FloatTensor<Self>, second: FloatTensor<Self>, past: Option<Past>) -> FloatTensor<Self> {
            match AppendBackward.prepare::<C>([first.node(), second.node()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let (first, second) = (first.into_primitive(), second.into_primitive());
                    let shapes = [first.shape().dims(), second.shape().dims()];
                    prep.finish(Saved { shapes, past }, Flex::append_maps(first, second, None))
                }
                OpsKind::UnTracked(prep) => {
                    prep.finish(Flex::append_maps(first.into_primitive(), second.into_primitive(), None))
                }
            }
        }
    }

    #[derive(Debug)]
    struct AppendBackward;

    #[derive(Clone, Debug)]
    struct Saved {
        shapes: [[usize; 4]; 2],
        past: Option<Past>,
    }

    impl Backward<Flex, 2> for AppendBackward {
        type State = Saved;

        fn backward(self, ops: Ops<Saved, 2>, grads: &mut Gradients, _: &mut Checkpointer) {
            let dy = contiguous(grads.consume::<Flex>(&ops.node));
            let Saved { shapes, past } = ops.state;
            let [a, b] = shapes.map(|[_, channels, h, w]| channels * h * w);
            let [first, second] = ops.parents;
            if let Some(node) = second {
                grads.register::<Flex>(node.id, host(part([a, b, 0], floats(&dy)), shapes[1]));
            }
            match (first, past) {
                (Some(_), Some(past)) => past.leave(dy),
                (Some(node), None) => {
                    grads.register::<Flex>(node.id, host(part([0, a, b], floats(&dy)), shapes[0]));
                }
                (None, _) => {}
            }
        }
    }
}
