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
    if crate::cpu::is_cpu(&x) {
        return cpu::max_pool(x);
    }
    let options = burn::tensor::ops::MaxPoolOptions::new([2, 2]).with_stride([2, 2]);
    burn::tensor::module::max_pool2d(x, options)
}

#[cfg(feature = "kernels")]
mod cpu {
    use crate::cpu::{Host, contiguous, floats, host};
    use crate::raw::{Lanes, Register, widest};
    use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
    use burn::backend::autodiff::grads::Gradients;
    use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
    use burn::backend::tensor::FloatTensor;
    use burn::backend::{Autodiff, Backend, Dispatch, Flex, TensorMetadata, backend_extension};
    use burn::tensor::Tensor;
    use rayon::prelude::*;
    use std::sync::Arc;

    pub(super) fn max_pool(x: Tensor<4>) -> Tensor<4> {
        Tensor::from_dispatch(<Dispatch as MaxPool>::max_pool_two(x.into_dispatch()))
    }

    #[backend_extension(Flex, Autodiff)]
    pub trait MaxPool: Backend {
        fn max_pool_two(x: FloatTensor<Self>) -> FloatTensor<Self>;
    }

    impl MaxPool for Flex {
        fn max_pool_two(x: Host) -> Host {
            let x = contiguous(x);
            let shape = x.shape().dims();
            host(forward(shape, floats(&x)).0, halved(shape))
        }
    }

    impl<C: CheckpointStrategy> MaxPool for Autodiff<Flex, C> {
        fn max_pool_two(x: FloatTensor<Self>) -> FloatTensor<Self> {
            match MaxPoolBackward.prepare::<C>([x.node()]).compute_bound().stateful() {
                OpsKind::Tracked(prep) => {
                    let x = contiguous(x.into_primitive());
                    let shape = x.shape().dims();
                    let (y, which) = forward(shape, floats(&x));
                    prep.finish((shape, Arc::new(which)), host(y, halved(shape)))
                }
                OpsKind::UnTracked(prep) => prep.finish(Flex::max_pool_two(x.into_primitive())),
            }
        }
    }

    #[derive(Debug)]
    struct MaxPoolBackward;

    impl Backward<Flex, 1> for MaxPoolBackward {
        /// Shape of the input, and per window which of its four values is the largest.
        type State = ([usize; 4], Arc<Vec<u8>>);

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

    fn forward([n, c, h, w]: [usize; 4], x: &[f32]) -> (Vec<f32>, Vec<u8>) {
        let size = (h / 2) * (w / 2);
        let (mut y, mut which) = (vec![0.0; n * c * size], vec![0; n * c * size]);
        if size > 0 {
            let planes = y.par_chunks_mut(size).zip(which.par_chunks_mut(size)).zip(x.par_chunks(h * w));
            planes.with_min_len(16).for_each(|((y, which), x)| widest(Largest { w, x, y, which }));
        }
        (y, which)
    }

    fn backward([n, c, h, w]: [usize; 4], which: &[u8], dy: &[f32]) -> Vec<f32> {
        let size = (h / 2) * (w / 2);
        let mut dx = vec![0.0; n * c * h * w];
        if size > 0 {
            let planes = dx.par_chunks_mut(h * w).zip(which.par_chunks(size)).zip(dy.par_chunks(size));
            planes.with_min_len(16).for_each(|((dx, which), dy)| widest(Spread { w, which, dy, dx }));
        }
        dx
    }

    /// One plane: the largest of each window, and which it is.
    struct Largest<'a> {
        w: usize,
        x: &'a [f32],
        y: &'a mut [f32],
        which: &'a mut [u8],
    }

    impl Lanes for Largest<'_> {
        type Output = ();
        #[inline(always)]
        fn run<R: Register, const FMA: bool>(self) {
            let half = self.w / 2;
            let rows = self.y.chunks_exact_mut(half).zip(self.which.chunks_exact_mut(half));
            for ((y, which), x) in rows.zip(self.x.chunks_exact(2 * self.w)) {
                let (upper, lower) = x.split_at(self.w);
                let windows = upper.as_chunks::<2>().0.iter().zip(lower.as_chunks::<2>().0);
                for ((y, which), (u, l)) in y.iter_mut().zip(which).zip(windows) {
                    // `max` would lose a NaN that `>` keeps once it is first; compare so that NaN wins, as in PyTorch
                    let larger = |a: (f32, u8), b: (f32, u8)| if b.0 > a.0 || b.0.is_nan() { b } else { a };
                    let best = larger(larger((u[0], 0), (u[1], 1)), larger((l[0], 2), (l[1], 3)));
                    (*y, *which) = best;
                }
            }
        }
    }

    /// One plane: each gradient to the place its value came from.
    struct Spread<'a> {
        w: usize,
        which: &'a [u8],
        dy: &'a [f32],
        dx: &'a mut [f32],
    }

    impl Lanes for Spread<'_> {
        type Output = ();
        #[inline(always)]
        fn run<R: Register, const FMA: bool>(self) {
            let half = self.w / 2;
            let rows = self.dy.chunks_exact(half).zip(self.which.chunks_exact(half));
            for ((dy, which), dx) in rows.zip(self.dx.chunks_exact_mut(2 * self.w)) {
                let (upper, lower) = dx.split_at_mut(self.w);
                let windows = upper.as_chunks_mut::<2>().0.iter_mut().zip(lower.as_chunks_mut::<2>().0);
                for ((dy, which), (u, l)) in dy.iter().zip(which).zip(windows) {
                    let at = |place: u8| if *which == place { *dy } else { 0.0 };
                    *u = [at(0), at(1)];
                    *l = [at(2), at(3)];
                }
            }
        }
    }
}
