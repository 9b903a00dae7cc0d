//! Batch norm + leaky ReLU against Burn's operations, against a double-precision reference, and on other numbers of threads.

mod against;

use against::{Source, distance, floats, tensor};
use burn::tensor::Device;
use tares_kernels::{batch_norm_act, batch_norm_act_pointwise, batch_norm_add_act};

const EPS: f64 = 1e-5;

/// Output, mean, variance, and the gradients of `Σ y·r` with respect to input, gamma and beta.
fn run(shape: [usize; 4], slope: f64, seed: u64, own: bool) -> [Vec<f32>; 6] {
    let device = Device::flex().autodiff();
    let mut source = Source::new(seed);
    let x = tensor(&inputs(&mut source, shape), shape, &device).require_grad();
    let gamma = tensor(&source.values(shape[1]), [shape[1]], &device).require_grad();
    let beta = tensor(&source.values(shape[1]), [shape[1]], &device).require_grad();
    let r = tensor(&source.values(shape.iter().product()), shape, &device);
    let (y, mean, var) = if own {
        batch_norm_act(x.clone(), gamma.clone(), beta.clone(), EPS, slope)
    } else {
        let out = burn::tensor::module::batch_norm_train(x.clone(), gamma.clone(), beta.clone(), EPS);
        (burn::tensor::activation::leaky_relu(out.output, slope), out.mean, out.variance)
    };
    let grads = y.clone().mul(r).sum().backward();
    [
        floats(y.inner()),
        floats(mean.inner()),
        floats(var.inner()),
        floats(x.grad(&grads).unwrap()),
        floats(gamma.grad(&grads).unwrap()),
        floats(beta.grad(&grads).unwrap()),
    ]
}

/// Values far from zero in relation to their spread: the case where a careless variance loses its digits.
fn inputs(source: &mut Source, shape: [usize; 4]) -> Vec<f32> {
    let mut x = source.values(shape.iter().product());
    x.iter_mut().enumerate().for_each(|(i, v)| *v += (i / (shape[2] * shape[3]) % shape[1]) as f32);
    x
}

fn shape(seed: u64) -> [usize; 4] {
    let mut s = Source::new(seed + 500);
    [s.size(2, 9), s.size(1, 37), s.size(1, 13), s.size(1, 17)]
}

const NAMES: [&str; 6] = ["output", "mean", "variance", "input gradient", "gamma gradient", "beta gradient"];

#[test]
fn random_shapes_agree_with_burn() {
    for seed in 0..60 {
        let (shape, slope) = (shape(seed), [0.0, 0.01, 0.2, 1.0][seed as usize % 4]);
        let (own, burn) = (run(shape, slope, seed, true), run(shape, slope, seed, false));
        for ((own, burn), name) in own.iter().zip(&burn).zip(NAMES) {
            let d = distance(own, burn);
            // few values per channel: the input gradient is a small difference of large terms on both sides
            let tolerance = if shape[0] * shape[2] * shape[3] < 8 { 1e-2 } else { 1e-4 };
            assert!(d < tolerance, "{name} differs by {d:e} for {shape:?}, slope {slope}, seed {seed}");
        }
    }
}

/// The sum in one operation against batch norm, a sum and an activation of Burn: output and all four gradients.
#[test]
fn a_sum_before_the_activation_agrees_with_the_operations_one_after_the_other() {
    let device = Device::flex().autodiff();
    for seed in 0..40 {
        let (shape, slope) = (shape(seed), [0.0, 0.01, 1.0][seed as usize % 3]);
        let size = shape.iter().product();
        let mut source = Source::new(seed);
        let (x, kept) = (inputs(&mut source, shape), source.values(size));
        let (gamma, beta) = (source.values(shape[1]), source.values(shape[1]));
        let r = source.values(size);
        let run = |own: bool| {
            let [x, kept] = [&x, &kept].map(|values| tensor(values, shape, &device).require_grad());
            let [gamma, beta] = [&gamma, &beta].map(|values| tensor(values, [shape[1]], &device).require_grad());
            let y = if own {
                batch_norm_add_act(x.clone(), gamma.clone(), beta.clone(), EPS, slope, kept.clone()).0
            } else {
                let normed = burn::tensor::module::batch_norm_train(x.clone(), gamma.clone(), beta.clone(), EPS).output;
                burn::tensor::activation::leaky_relu(normed + kept.clone(), slope)
            };
            let grads = y.clone().mul(tensor(&r, shape, &device)).sum().backward();
            let of = |t: &burn::tensor::Tensor<4>| floats(t.grad(&grads).unwrap());
            let each = |t: &burn::tensor::Tensor<1>| floats(t.grad(&grads).unwrap());
            [floats(y.inner()), of(&x), of(&kept), each(&gamma), each(&beta)]
        };
        for (own, burn) in run(true).iter().zip(&run(false)) {
            let tolerance = if shape[0] * shape[2] * shape[3] < 8 { 1e-2 } else { 1e-4 };
            assert!(distance(own, burn) < tolerance, "{shape:?}, slope {slope}, seed {seed}");
        }
    }
}

/// Batch norm and a 1×1 convolution in one against the two of Burn one after the other: output and all four gradients, on any number of threads.
#[test]
fn a_convolution_in_one_with_batch_norm_agrees_with_burn() {
    let device = Device::flex().autodiff();
    for (seed, [n, channels, outputs, h, w]) in
        [[3, 5, 7, 4, 4], [9, 17, 12, 8, 8], [2, 40, 6, 16, 16], [33, 3, 4, 4, 8], [1, 6, 5, 32, 32], [4, 6, 5, 3, 5]]
            .into_iter()
            .enumerate()
    {
        let (shape, slope) = ([n, channels, h, w], [0.0, 0.01][seed % 2]);
        let mut source = Source::new(seed as u64);
        let x = inputs(&mut source, shape);
        let (gamma, beta) = (source.values(channels), source.values(channels));
        let (weight, r) = (source.values(channels * outputs), source.values(n * outputs * h * w));
        let run = |own: bool| {
            let x = tensor(&x, shape, &device).require_grad();
            let [gamma, beta] = [&gamma, &beta].map(|values| tensor(values, [channels], &device).require_grad());
            let weight = tensor(&weight, [outputs, channels, 1, 1], &device).require_grad();
            let y = if own {
                batch_norm_act_pointwise(x.clone(), gamma.clone(), beta.clone(), EPS, slope, weight.clone()).0
            } else {
                let normed = burn::tensor::module::batch_norm_train(x.clone(), gamma.clone(), beta.clone(), EPS).output;
                let z = burn::tensor::activation::leaky_relu(normed, slope);
                let options = burn::tensor::ops::ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
                burn::tensor::module::conv2d(z, weight.clone(), None, options)
            };
            let grads = y.clone().mul(tensor(&r, [n, outputs, h, w], &device)).sum().backward();
            let of = |t: &burn::tensor::Tensor<4>| floats(t.grad(&grads).unwrap());
            let each = |t: &burn::tensor::Tensor<1>| floats(t.grad(&grads).unwrap());
            [floats(y.inner()), of(&x), of(&weight), each(&gamma), each(&beta)]
        };
        let (own, burn) = (run(true), run(false));
        for (own, burn) in own.iter().zip(&burn) {
            assert!(distance(own, burn) < 1e-4, "{shape:?} to {outputs}: {:e}", distance(own, burn));
        }
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(|| run(true)) == own, "{threads} threads give other bits for {shape:?}");
        }
    }
}

/// The reference in double precision: Σ y·r as a function of (x, gamma, beta).
fn loss(shape: [usize; 4], x: &[f64], gamma: &[f64], beta: &[f64], r: &[f32], slope: f64) -> f64 {
    let [n, channels, h, w] = shape;
    let pixels = h * w;
    let mut total = 0.0;
    for c in 0..channels {
        let at: Vec<usize> = (0..n).flat_map(|i| (0..pixels).map(move |p| (i * channels + c) * pixels + p)).collect();
        let count = at.len() as f64;
        let mean = at.iter().map(|&i| x[i]).sum::<f64>() / count;
        let var = at.iter().map(|&i| (x[i] - mean).powi(2)).sum::<f64>() / count;
        for i in at {
            let z = gamma[c] * (x[i] - mean) / (var + EPS).sqrt() + beta[c];
            total += f64::from(r[i]) * if z > 0.0 { z } else { slope * z };
        }
    }
    total
}

#[test]
fn gradients_agree_with_finite_differences() {
    for seed in 0..10 {
        let slope = [0.01, 1.0, 0.3][seed as usize % 3];
        let shape = [4 + seed as usize % 3, 5, 3 + seed as usize % 5, 4];
        let results = run(shape, slope, seed, true);
        let mut source = Source::new(seed);
        let double = |v: Vec<f32>| v.into_iter().map(f64::from).collect::<Vec<f64>>();
        let mut operands =
            [double(inputs(&mut source, shape)), double(source.values(shape[1])), double(source.values(shape[1]))];
        let r = source.values(shape.iter().product());
        let mut pick = Source::new(seed + 9);
        for operand in 0..3 {
            let gradient = &results[3 + operand];
            let scale = gradient.iter().fold(0.0f32, |m, v| m.max(v.abs()));
            for _ in 0..6 {
                let at = pick.size(0, gradient.len() - 1);
                let old = operands[operand][at];
                let mut loss_at = |value: f64| {
                    operands[operand][at] = value;
                    loss(shape, &operands[0], &operands[1], &operands[2], &r, slope)
                };
                let numeric = ((loss_at(old + 1e-6) - loss_at(old - 1e-6)) / 2e-6) as f32;
                operands[operand][at] = old;
                let d = (numeric - gradient[at]).abs() / scale;
                assert!(d < 1e-4, "{} at {at} differs by {d:e} for {shape:?}, seed {seed}", NAMES[3 + operand]);
            }
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads_or_run() {
    for (seed, shape) in [[1, 3, 9, 7], [5, 17, 13, 11], [32, 24, 28, 28], [128, 10, 2, 2]].into_iter().enumerate() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| run(shape, 0.01, seed as u64, true))
                .map(|v| v.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let one = on(1);
        for threads in [1, 2, 3] {
            assert!(on(threads) == one, "{threads} threads give other bits than one for {shape:?}");
        }
    }
}

/// Adding a constant to a channel changes neither output nor gradient, however large the constant.
#[test]
fn shift_of_a_channel_changes_nothing() {
    let device = Device::flex();
    let shape = [8, 2, 5, 5];
    let x = Source::new(4).values(shape.iter().product());
    let shifted: Vec<f32> = x.iter().map(|v| v + 64.0).collect();
    let (gamma, beta) = (tensor(&[1.5, -0.5], [2], &device), tensor(&[0.1, 0.2], [2], &device));
    let norm = |x: &[f32]| floats(batch_norm_act(tensor(x, shape, &device), gamma.clone(), beta.clone(), EPS, 0.01).0);
    assert!(distance(&norm(&shifted), &norm(&x)) < 1e-4);
}
