//! Memory is used again without being cleaned: what an earlier step left there must change no result.

mod against;

use against::{Source, floats, tensor};
use burn::tensor::{Device, Tensor};
use tares_kernels::{
    Reused, append_channels, average_pool, batch_norm_act, batch_norm_act_pointwise, batch_norm_add_act, conv2d, dense,
    free_memory, grow, max_pool, relu_max_pool, scale_shift_act,
};

/// Tensors for one operation.
struct Operands {
    source: Source,
    device: Device,
    made: Vec<Tensor<1>>,
}

impl Operands {
    fn next<const D: usize>(&mut self, shape: [usize; D]) -> Tensor<D> {
        let len = shape.iter().product();
        let flat = tensor(&self.source.values(len), [len], &self.device).require_grad();
        self.made.push(flat.clone());
        flat.reshape(shape)
    }
}

type Operation = Box<dyn Fn(&mut Operands) -> Tensor<4>>;

/// The output and all gradients, as bits.
fn run(operation: &Operation) -> Vec<Vec<u32>> {
    let mut operands = Operands { source: Source::new(1), device: Device::flex().autodiff(), made: Vec::new() };
    let y = operation(&mut operands);
    let r = operands.next(y.dims());
    let grads = (y.clone() * r).sum().backward();
    let of = operands.made.iter().filter_map(|operand| operand.grad(&grads)).map(floats);
    let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect();
    std::iter::once(floats(y.inner())).chain(of).map(bits).collect()
}

/// Fills the vectors that wait for results of these lengths with NaN.
fn spoil(lengths: impl Iterator<Item = usize>) {
    let taken: Vec<Reused> = lengths.flat_map(|len| [len; 4]).map(Reused::unwritten).collect();
    taken.into_iter().for_each(|mut values| values.fill(f32::NAN));
}

fn convolution(
    x: [usize; 4],
    outputs: usize,
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
) -> Operation {
    Box::new(move |of| {
        let (x, weight) = (of.next(x), of.next([outputs, x[1], kernel[0], kernel[1]]));
        conv2d(x, weight, Some(of.next([outputs])), stride, padding)
    })
}

/// Every operation and every algorithm behind it, with vectors that are long enough for the pool.
fn operations() -> Vec<(&'static str, Operation)> {
    let maps = [8, 16, 12, 12];
    vec![
        ("3×3", convolution(maps, 24, [3, 3], [1, 1], [1, 1])),
        ("3×3 of odd pictures", convolution([5, 16, 11, 13], 17, [3, 3], [1, 1], [0, 2])),
        ("3×3 of few tiles", convolution([8, 192, 4, 4], 192, [3, 3], [1, 1], [1, 1])),
        ("3×3 of two pixels", convolution([32, 64, 2, 2], 64, [3, 3], [1, 1], [1, 1])),
        ("3×3 of few channels", convolution([8, 3, 12, 12], 16, [3, 3], [1, 1], [1, 1])),
        ("3×3 with stride", convolution(maps, 32, [3, 3], [2, 2], [1, 1])),
        ("3×3 with stride, pixels left over", convolution([8, 16, 12, 11], 16, [3, 3], [2, 3], [0, 0])),
        ("5×5", convolution([8, 6, 14, 14], 16, [5, 5], [1, 1], [0, 0])),
        ("5×5 of large pictures", convolution([3, 1, 40, 40], 6, [5, 5], [1, 1], [0, 0])),
        ("1×1", convolution(maps, 24, [1, 1], [1, 1], [0, 0])),
        ("1×1 of many pixels", convolution([4, 24, 32, 32], 12, [1, 1], [1, 1], [0, 0])),
        ("1×1 with stride", convolution(maps, 32, [1, 1], [2, 2], [0, 0])),
        ("1×1 with stride, pixels left over", convolution([8, 16, 13, 9], 32, [1, 1], [2, 2], [0, 0])),
        ("largest", Box::new(|of| max_pool(of.next([4, 16, 12, 12])))),
        ("largest, a row left over", Box::new(|of| relu_max_pool(of.next([4, 16, 13, 12])))),
        ("largest, a column left over", Box::new(|of| max_pool(of.next([4, 16, 12, 13])))),
        ("mean", Box::new(|of| average_pool(of.next([4, 16, 12, 12])))),
        ("mean, a row and a column left over", Box::new(|of| average_pool(of.next([4, 16, 13, 13])))),
        ("norm", Box::new(move |of| batch_norm_act(of.next(maps), of.next([16]), of.next([16]), 1e-5, 0.01).0)),
        (
            "norm and sum",
            Box::new(move |of| {
                batch_norm_add_act(of.next(maps), of.next([16]), of.next([16]), 1e-5, 0.0, of.next(maps)).0
            }),
        ),
        (
            "norm and 1×1",
            Box::new(move |of| {
                let [gamma, beta] = [0, 1].map(|_| of.next([16]));
                batch_norm_act_pointwise(of.next(maps), gamma, beta, 1e-5, 0.0, of.next([24, 16, 1, 1])).0
            }),
        ),
        ("append", Box::new(move |of| append_channels(of.next(maps), of.next([8, 5, 12, 12])))),
        (
            "grow",
            Box::new(move |of| {
                let ([gamma, beta], weight) = ([0, 1].map(|_| of.next([16])), of.next([16, 16, 1, 1]));
                let second = of.next([12, 16, 3, 3]);
                let rest = |maps| conv2d(maps, second, None, [1, 1], [1, 1]);
                grow(of.next(maps), gamma, beta, 1e-5, 0.0, weight, None, rest).0
            }),
        ),
        ("scale and shift", Box::new(move |of| scale_shift_act(of.next(maps), of.next([16]), of.next([16]), 0.01))),
        (
            "dense",
            Box::new(|of| {
                let y = dense(of.next([64, 80]), of.next([80, 96]), of.next([96]), 0.0);
                dense(y, of.next([96, 32]), of.next([32]), 1.0).reshape([64, 32, 1, 1])
            }),
        ),
    ]
}

#[test]
fn what_an_earlier_step_left_behind_changes_nothing() {
    for (name, operation) in operations() {
        free_memory();
        let first = run(&operation);
        assert!(first.iter().flatten().all(|&bits| f32::from_bits(bits).is_finite()), "{name}");
        spoil(first.iter().map(Vec::len));
        assert!(run(&operation) == first, "{name}: NaN that was in its memory reached the result");
    }
}
