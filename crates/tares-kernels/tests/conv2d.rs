//! The convolution against Burn's own, against finite differences, and against itself on other numbers of threads.

mod against;

use against::{Source, distance, floats, tensor};
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor};

#[derive(Clone, Copy, Debug)]
struct Case {
    x: [usize; 4],
    weight: [usize; 4],
    stride: [usize; 2],
    padding: [usize; 2],
    bias: bool,
}

/// Output and the gradients of `Σ y·r` with respect to input, weight and bias.
type Results = [Vec<f32>; 4];

fn run(case: Case, seed: u64, own: bool) -> Results {
    let device = Device::flex().autodiff();
    let mut source = Source::new(seed);
    let x = tensor(&source.values(case.x.iter().product()), case.x, &device).require_grad();
    let weight = tensor(&source.values(case.weight.iter().product()), case.weight, &device).require_grad();
    let bias = tensor(&source.values(case.weight[0]), [case.weight[0]], &device).require_grad();
    let to_bias = case.bias.then(|| bias.clone());
    let y = if own {
        tares_kernels::conv2d(x.clone(), weight.clone(), to_bias, case.stride, case.padding)
    } else {
        let options = ConvOptions::new(case.stride, case.padding, [1, 1], 1);
        burn::tensor::module::conv2d(x.clone(), weight.clone(), to_bias, options)
    };
    let r = tensor(&source.values(y.dims().iter().product()), y.dims(), &device);
    let grads = y.clone().mul(r).sum().backward();
    let bias = if case.bias { floats(bias.grad(&grads).unwrap()) } else { Vec::new() };
    [floats(y.inner()), floats(x.grad(&grads).unwrap()), floats(weight.grad(&grads).unwrap()), bias]
}

/// Odd sizes, batch 1, channels that no vector width divides, kernels of all the networks, strides 1 to 3.
fn random_case(seed: u64) -> Case {
    let mut s = Source::new(seed + 1000);
    let kernel = [1, 2, 3, 3, 3, 5, 7][s.size(0, 6)];
    let kernels = if s.size(0, 4) == 0 { [kernel, s.size(1, 4)] } else { [kernel, kernel] };
    let padding = [s.size(0, kernels[0] / 2 + 1), s.size(0, kernels[1] / 2 + 1)];
    let side = |s: &mut Source, k: usize| s.size(k, k + 17);
    let (ci, co) = (s.size(1, 37), s.size(1, 37));
    Case {
        x: [[1, 1, 2, 3, 5, 9][s.size(0, 5)], ci, side(&mut s, kernels[0]), side(&mut s, kernels[1])],
        weight: [co, ci, kernels[0], kernels[1]],
        stride: [[1, 1], [1, 1], [2, 2], [1, 2], [3, 1]][s.size(0, 4)],
        padding,
        bias: s.size(0, 1) == 1,
    }
}

/// A 1×1 convolution whose weight gradient is a sum over pixels in registers.
const MANY_PIXELS: Case =
    Case { x: [35, 9, 16, 16], weight: [13, 9, 1, 1], stride: [1; 2], padding: [0; 2], bias: false };
/// Many weights on small maps, as late in a network.
const FEW_TILES: Case =
    Case { x: [18, 200, 4, 4], weight: [170, 200, 3, 3], stride: [1; 2], padding: [1; 2], bias: true };

const NAMES: [&str; 4] = ["output", "input gradient", "weight gradient", "bias gradient"];

fn agree(case: Case, seed: u64) {
    let (own, burn) = (run(case, seed, true), run(case, seed, false));
    for ((own, burn), name) in own.iter().zip(&burn).zip(NAMES) {
        let d = distance(own, burn);
        assert!(d < 1e-4, "{name} differs by {d:e} for {case:?}, seed {seed}");
    }
}

#[test]
fn random_shapes_agree_with_burn() {
    for seed in 0..150 {
        agree(random_case(seed), seed);
    }
}

/// The layers of the nine-layer network at half width, LeNet's, and ResNet's, at the sizes where they run.
#[test]
fn layers_of_the_networks_agree_with_burn() {
    let three = |n, ci, side, co, stride, pad| Case {
        x: [n, ci, side, side],
        weight: [co, ci, 3, 3],
        stride: [stride; 2],
        padding: [pad; 2],
        bias: true,
    };
    let cases = [
        three(4, 3, 32, 128, 1, 1),
        three(4, 64, 32, 64, 1, 1),
        three(8, 64, 16, 128, 1, 1),
        three(8, 128, 8, 256, 1, 0),
        three(32, 256, 6, 128, 1, 0),
        MANY_PIXELS,
        FEW_TILES,
        three(32, 512, 2, 512, 1, 1),
        three(32, 128, 4, 64, 1, 0),
        three(8, 1, 28, 32, 1, 1),
        three(8, 32, 14, 64, 1, 1),
        three(4, 64, 32, 128, 2, 1),
        Case { x: [16, 1, 28, 28], weight: [6, 1, 5, 5], stride: [1, 1], padding: [2, 2], bias: true },
        Case { x: [16, 6, 14, 14], weight: [16, 6, 5, 5], stride: [1, 1], padding: [0, 0], bias: true },
        Case { x: [4, 64, 32, 32], weight: [128, 64, 1, 1], stride: [2, 2], padding: [0, 0], bias: false },
        Case { x: [4, 108, 16, 16], weight: [48, 108, 1, 1], stride: [1, 1], padding: [0, 0], bias: false },
    ];
    for (seed, case) in cases.into_iter().enumerate() {
        agree(case, seed as u64);
    }
}

/// Output, and the gradients with respect to input and weight, of a 3×3 convolution with stride 1 and padding 1 in double precision.
fn exact(case: Case, x: &[f32], weight: &[f32], dy: &[f32]) -> [Vec<f64>; 3] {
    let ([n, ci, h, w], co) = (case.x, case.weight[0]);
    let [mut y, mut dx, mut dw] = [n * co * h * w, n * ci * h * w, co * ci * 9].map(|size| vec![0.0; size]);
    for (i, o, c) in (0..n * co * ci).map(|at| (at / (co * ci), at / ci % co, at % ci)) {
        for (row, column, tap) in (0..h * w * 9).map(|at| (at / (9 * w), at / 9 % w, at % 9)) {
            let from = (row + tap / 3, column + tap % 3);
            if (1..=h).contains(&from.0) && (1..=w).contains(&from.1) {
                let pixel = ((i * ci + c) * h + from.0 - 1) * w + from.1 - 1;
                let (out, tap) = (((i * co + o) * h + row) * w + column, (o * ci + c) * 9 + tap);
                y[out] += f64::from(x[pixel]) * f64::from(weight[tap]);
                dx[pixel] += f64::from(dy[out]) * f64::from(weight[tap]);
                dw[tap] += f64::from(dy[out]) * f64::from(x[pixel]);
            }
        }
    }
    [y, dx, dw]
}

/// With all terms of a sum one after the other, or with Winograd's usual points ±1 and ±2, the largest error here is 2e-6 to 6e-6.
#[test]
fn long_sums_are_nearly_exact() {
    let case = |n, ci, side, co| Case {
        x: [n, ci, side, side],
        weight: [co, ci, 3, 3],
        stride: [1; 2],
        padding: [1; 2],
        bias: false,
    };
    let device = Device::flex().autodiff();
    // many channels in, or out; many tiles; all of these in the order for few tiles
    for case in [case(32, 256, 8, 16), case(32, 16, 8, 256), case(16, 16, 32, 16), case(32, 256, 4, 128)] {
        let mut source = Source::new(5);
        let [x, weight, dy] = [case.x, case.weight, [case.x[0], case.weight[0], case.x[2], case.x[3]]]
            .map(|shape| (source.values(shape.iter().product()), shape));
        let [input, filters, r] =
            [&x, &weight, &dy].map(|(values, shape)| tensor(values, *shape, &device).require_grad());
        let y = tares_kernels::conv2d(input.clone(), filters.clone(), None, case.stride, case.padding);
        let grads = y.clone().mul(r).sum().backward();
        let own = [floats(y.inner()), floats(input.grad(&grads).unwrap()), floats(filters.grad(&grads).unwrap())];
        for ((own, exact), name) in own.iter().zip(exact(case, &x.0, &weight.0, &dy.0)).zip(NAMES) {
            let apart = own.iter().zip(&exact).map(|(a, b)| (f64::from(*a) - b).powi(2)).sum::<f64>();
            let error = (apart / exact.iter().map(|v| v * v).sum::<f64>()).sqrt();
            assert!(error < 1.2e-6, "{name} is off by {error:e} for {case:?}");
        }
    }
}

/// The convolution is linear in each operand, so a large step has no truncation error: only rounding is left.
#[test]
fn gradients_agree_with_finite_differences() {
    let device = Device::flex();
    for seed in 0..12 {
        let case = Case { bias: true, ..random_case(seed) };
        let [_, dx, dw, db] = run(case, seed, true);
        let mut source = Source::new(seed);
        let mut operands = [
            source.values(case.x.iter().product()),
            source.values(case.weight.iter().product()),
            source.values(case.weight[0]),
        ];
        let y_shape = forward(&operands, case, &device).dims();
        let r = source.values(y_shape.iter().product());
        let mut pick = Source::new(seed + 77);
        for (operand, gradient) in [dx, dw, db].iter().enumerate() {
            let scale = gradient.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            for _ in 0..4 {
                let at = pick.size(0, gradient.len() - 1);
                let old = operands[operand][at];
                let mut loss = |value: f32| -> f64 {
                    operands[operand][at] = value;
                    let y = floats(forward(&operands, case, &device));
                    y.iter().zip(&r).map(|(y, r)| f64::from(*y) * f64::from(*r)).sum()
                };
                let slope = ((loss(old + 2.0) - loss(old - 2.0)) / 4.0) as f32;
                operands[operand][at] = old;
                let d = (slope - gradient[at]).abs() / scale;
                assert!(d < 1e-4, "{} at {at} differs by {d:e} for {case:?}, seed {seed}", NAMES[operand + 1]);
            }
        }
    }
}

fn forward(operands: &[Vec<f32>; 3], case: Case, device: &Device) -> Tensor<4> {
    let (x, weight) = (tensor(&operands[0], case.x, device), tensor(&operands[1], case.weight, device));
    let bias = Some(tensor(&operands[2], [case.weight[0]], device));
    tares_kernels::conv2d(x, weight, bias, case.stride, case.padding)
}

#[test]
fn bits_do_not_depend_on_threads_or_run() {
    let mut cases: Vec<Case> = (0..25).map(random_case).collect();
    cases.push(Case { x: [1, 40, 30, 30], weight: [50, 40, 3, 3], stride: [1; 2], padding: [1; 2], bias: true });
    cases.push(Case { x: [33, 32, 14, 14], weight: [64, 32, 3, 3], stride: [1; 2], padding: [1; 2], bias: true });
    cases.push(Case { x: [7, 64, 15, 15], weight: [64, 64, 1, 1], stride: [1; 2], padding: [0; 2], bias: true });
    cases.push(MANY_PIXELS);
    cases.push(FEW_TILES);
    for (seed, case) in cases.into_iter().enumerate() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let results = pool.install(|| run(case, seed as u64, true));
            results.map(|values| values.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let one = on(1);
        for threads in [1, 2, 3, 5] {
            assert!(on(threads) == one, "{threads} threads give other bits than one for {case:?}");
        }
    }
}

/// A view of a larger tensor, and a gradient that arrives transposed, are read in their logical order.
#[test]
fn views_are_read_in_their_logical_order() {
    let device = Device::flex();
    let mut source = Source::new(3);
    let whole = tensor(&source.values(2 * 7 * 6 * 9), [2, 7, 6, 9], &device);
    let weight = tensor(&source.values(4 * 5 * 3 * 3), [4, 5, 3, 3], &device);
    let view = whole.slice([0..2, 1..6, 0..6, 1..8]).swap_dims(2, 3);
    let copied = tensor(&floats(view.clone()), view.dims(), &device);
    let conv = |x| floats(tares_kernels::conv2d(x, weight.clone(), None, [1, 1], [1, 1]));
    assert_eq!(conv(view), conv(copied));
}

#[test]
#[should_panic(expected = "has 3 channels, weight [4, 5, 3, 3] expects 5")]
fn wrong_channels_are_named() {
    let device = Device::flex();
    let (x, weight) = (Tensor::<4>::zeros([1, 3, 8, 8], &device), Tensor::<4>::zeros([4, 5, 3, 3], &device));
    tares_kernels::conv2d(x, weight, None, [1, 1], [1, 1]);
}
