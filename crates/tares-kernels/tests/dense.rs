//! The dense layer against Burn's operations, against finite differences in double precision, and on other numbers of threads.

mod against;

use against::{Source, distance, floats, tensor};
use burn::tensor::{Device, Tensor, activation};
use tares_kernels::dense;

/// `[n, inputs, outputs]`
type Size = [usize; 3];

const NAMES: [&str; 4] = ["output", "input gradient", "weight gradient", "bias gradient"];

fn operands([n, inputs, outputs]: Size, seed: u64) -> [Vec<f32>; 4] {
    let mut source = Source::new(seed);
    [n * inputs, inputs * outputs, outputs, n * outputs].map(|len| source.values(len))
}

/// Output and the gradients of `Σ y·r` with respect to input, weight and bias.
fn run(size: Size, slope: f64, seed: u64, own: bool) -> [Vec<f32>; 4] {
    let device = Device::flex().autodiff();
    let [n, inputs, outputs] = size;
    let [x, weight, bias, r] = operands(size, seed);
    let x = tensor(&x, [n, inputs], &device).require_grad();
    let weight = tensor(&weight, [inputs, outputs], &device).require_grad();
    let bias = tensor(&bias, [outputs], &device).require_grad();
    let y = if own {
        dense(x.clone(), weight.clone(), bias.clone(), slope)
    } else {
        activation::leaky_relu(x.clone().matmul(weight.clone()) + bias.clone().reshape([1, outputs]), slope)
    };
    let grads = y.clone().mul(tensor(&r, [n, outputs], &device)).sum().backward();
    let gradient = [x.grad(&grads), weight.grad(&grads)].map(|g| floats(g.unwrap()));
    let [dx, dw] = gradient;
    [floats(y.inner()), dx, dw, floats(bias.grad(&grads).unwrap())]
}

fn agree(size: Size, slope: f64, seed: u64) {
    let (own, burn) = (run(size, slope, seed, true), run(size, slope, seed, false));
    for ((own, burn), name) in own.iter().zip(&burn).zip(NAMES) {
        let d = distance(own, burn);
        assert!(d < 1e-4, "{name} differs by {d:e} for {size:?}, slope {slope}, seed {seed}");
    }
}

#[test]
fn random_sizes_agree_with_burn() {
    for seed in 0..80 {
        let mut s = Source::new(seed + 700);
        let n = if seed % 4 == 0 { 1 } else { s.size(1, 200) };
        agree([n, s.size(1, 150), s.size(1, 90)], [0.0, 0.01, 0.3, 1.0][seed as usize % 4], seed);
    }
}

#[test]
fn layers_of_the_networks_agree_with_burn() {
    for (seed, size) in
        [[128, 784, 256], [128, 256, 256], [128, 256, 10], [128, 400, 120], [7, 120, 84], [334, 84, 10], [1, 128, 100]]
            .into_iter()
            .enumerate()
    {
        agree(size, (seed % 2) as f64, seed as u64);
    }
}

/// Σ y·r in double precision.
fn loss([n, inputs, outputs]: Size, [x, weight, bias]: &[Vec<f64>; 3], r: &[f32], slope: f64) -> f64 {
    let mut total = 0.0;
    for i in 0..n {
        for o in 0..outputs {
            let z = bias[o] + (0..inputs).map(|k| x[i * inputs + k] * weight[k * outputs + o]).sum::<f64>();
            total += f64::from(r[i * outputs + o]) * if z > 0.0 { z } else { slope * z };
        }
    }
    total
}

#[test]
fn gradients_agree_with_finite_differences() {
    for seed in 0..12 {
        let mut pick = Source::new(seed + 40);
        let size = [if seed == 0 { 1 } else { pick.size(2, 9) }, pick.size(1, 19), pick.size(1, 18)];
        let slope = [0.0, 0.01, 1.0][seed as usize % 3];
        let results = run(size, slope, seed, true);
        let [x, weight, bias, r] = operands(size, seed);
        let mut doubles = [x, weight, bias].map(|v| v.into_iter().map(f64::from).collect::<Vec<f64>>());
        for operand in 0..3 {
            let gradient = &results[1 + operand];
            let scale = gradient.iter().fold(1e-3f32, |m, v| m.max(v.abs()));
            for _ in 0..8 {
                let at = pick.size(0, gradient.len() - 1);
                let old = doubles[operand][at];
                let mut loss_at = |value: f64| {
                    doubles[operand][at] = value;
                    loss(size, &doubles, &r, slope)
                };
                let numeric = ((loss_at(old + 1e-6) - loss_at(old - 1e-6)) / 2e-6) as f32;
                doubles[operand][at] = old;
                let d = (numeric - gradient[at]).abs() / scale;
                assert!(d < 1e-4, "{} at {at} differs by {d:e} for {size:?}, seed {seed}", NAMES[1 + operand]);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_run() {
    for (seed, size) in [[1, 30, 7], [65, 33, 17], [128, 784, 256], [200, 300, 130]].into_iter().enumerate() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(size, 0.0, seed as u64, true))
                .map(|v| v.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let one = on(1);
        for threads in [1, 2, 3] {
            assert!(on(threads) == one, "{threads} threads give other bits than one for {size:?}");
        }
    }
}

#[test]
fn views_are_read_in_their_logical_order() {
    let device = Device::flex();
    let mut source = Source::new(3);
    let (x, weight, bias) = (source.values(12), source.values(20), source.values(5));
    let whole = tensor(&x, [4, 3], &device);
    let weight = tensor(&weight, [5, 4], &device);
    let view = dense(whole.clone().transpose(), weight.clone().transpose(), tensor(&bias, [5], &device), 1.0);
    let want = whole.transpose().matmul(weight.transpose()) + tensor(&bias, [5], &device).reshape([1, 5]);
    assert!(distance(&floats(view), &floats(want)) < 1e-5);
}

#[test]
fn nothing_in_nothing_out_and_nan_stays() {
    let device = Device::flex();
    let none = dense(Tensor::zeros([0, 3], &device), Tensor::ones([3, 2], &device), Tensor::zeros([2], &device), 0.0);
    assert_eq!(none.dims(), [0, 2]);
    let x = tensor(&[f32::NAN, 1.0, f32::NEG_INFINITY, 1.0], [2, 2], &device);
    let y = floats(dense(x, Tensor::ones([2, 1], &device), Tensor::zeros([1], &device), 0.0));
    assert!(y[0].is_nan() && y[1] == 0.0, "{y:?}");
}

#[test]
#[should_panic(expected = "dense: input [2, 3] needs a weight of [3, outputs]")]
fn wrong_sizes_are_named() {
    let device = Device::flex();
    dense(Tensor::zeros([2, 3], &device), Tensor::zeros([4, 5], &device), Tensor::zeros([5], &device), 0.0);
}
