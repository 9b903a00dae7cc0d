//! Max-pool, scale-shift and Adam against the same things made of Burn's operations.

mod against;

use against::{Source, distance, floats, tensor};
use burn::tensor::module::{avg_pool2d, max_pool2d};
use burn::tensor::ops::{AvgPoolOptions, MaxPoolOptions};
use burn::tensor::{Device, Tensor, activation};
use tares_kernels::{AdamStep, adam, append_channels, average_pool, max_pool, relu_max_pool, scale_shift_act};

fn shape(seed: u64) -> [usize; 4] {
    let mut s = Source::new(seed + 300);
    [s.size(1, 6), s.size(1, 33), s.size(2, 17), s.size(2, 21)]
}

#[test]
fn max_pool_and_its_gradient_agree_with_burn() {
    let device = Device::flex().autodiff();
    for seed in 0..40 {
        let shape = shape(seed);
        let mut source = Source::new(seed);
        let (values, r) = (source.values(shape.iter().product()), source.values(shape.iter().product()));
        let run = |own: bool| {
            let x = tensor(&values, shape, &device).require_grad();
            let options = MaxPoolOptions::new([2, 2]).with_stride([2, 2]);
            let y = if own { max_pool(x.clone()) } else { max_pool2d(x.clone(), options) };
            let r = tensor(&r[..y.shape().num_elements()], y.dims(), &device);
            let grads = y.clone().mul(r).sum().backward();
            [floats(y.inner()), floats(x.grad(&grads).unwrap())]
        };
        assert_eq!(run(true), run(false), "{shape:?}, seed {seed}");
    }
}

#[test]
fn average_pool_and_its_gradient_agree_with_burn() {
    let device = Device::flex().autodiff();
    for seed in 0..40 {
        let shape = shape(seed);
        let mut source = Source::new(seed);
        let (values, r) = (source.values(shape.iter().product()), source.values(shape.iter().product()));
        let run = |own: bool| {
            let x = tensor(&values, shape, &device).require_grad();
            let options = AvgPoolOptions::new([2, 2]).with_stride([2, 2]);
            let y = if own { average_pool(x.clone()) } else { avg_pool2d(x.clone(), options) };
            let r = tensor(&r[..y.shape().num_elements()], y.dims(), &device);
            let grads = y.clone().mul(r).sum().backward();
            [floats(y.inner()), floats(x.grad(&grads).unwrap())]
        };
        let (own, burn) = (run(true), run(false));
        assert!(own.iter().zip(&burn).all(|(own, burn)| distance(own, burn) < 1e-6), "{shape:?}, seed {seed}");
    }
}

#[test]
fn appended_channels_and_their_gradients_are_those_of_burn() {
    let device = Device::flex().autodiff();
    for seed in 0..20 {
        let [n, a, h, w] = shape(seed);
        let b = 1 + seed as usize % 5;
        let mut source = Source::new(seed);
        let (first, second) = (source.values(n * a * h * w), source.values(n * b * h * w));
        let r = source.values(n * (a + b) * h * w);
        let run = |own: bool| {
            let first = tensor(&first, [n, a, h, w], &device).require_grad();
            let second = tensor(&second, [n, b, h, w], &device).require_grad();
            let y = match own {
                true => append_channels(first.clone(), second.clone()),
                false => Tensor::cat(vec![first.clone(), second.clone()], 1),
            };
            let grads = y.clone().mul(tensor(&r, [n, a + b, h, w], &device)).sum().backward();
            [floats(y.inner()), floats(first.grad(&grads).unwrap()), floats(second.grad(&grads).unwrap())]
        };
        assert_eq!(run(true), run(false), "{a} + {b} channels, seed {seed}");
    }
}

#[test]
fn relu_and_max_pool_in_one_are_the_two_one_after_the_other() {
    let device = Device::flex().autodiff();
    for seed in 0..40 {
        let shape = shape(seed);
        let mut source = Source::new(seed);
        let (values, r) = (source.values(shape.iter().product()), source.values(shape.iter().product()));
        // few different values: windows with equal ones, and with none above 0, are common
        let values: Vec<f32> = values.iter().map(|v| (v * 3.0).round() / 3.0 - 0.4).collect();
        let run = |own: bool| {
            let x = tensor(&values, shape, &device).require_grad();
            let y = if own { relu_max_pool(x.clone()) } else { max_pool(activation::relu(x.clone())) };
            let r = tensor(&r[..y.shape().num_elements()], y.dims(), &device);
            let grads = y.clone().mul(r).sum().backward();
            [floats(y.inner()), floats(x.grad(&grads).unwrap())]
        };
        assert_eq!(run(true), run(false), "{shape:?}, seed {seed}");
    }
}

#[test]
fn equal_values_send_the_gradient_to_the_first_and_nan_is_kept() {
    let device = Device::flex().autodiff();
    let x = tensor(&[2.0, 2.0, 2.0, 2.0, 1.0, f32::NAN, 3.0, 2.0], [2, 1, 2, 2], &device).require_grad();
    let y = max_pool(x.clone());
    assert!(floats(y.clone().inner())[1].is_nan());
    let dx = floats(x.grad(&y.narrow(0, 0, 1).sum().backward()).unwrap());
    assert_eq!(dx, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn scale_shift_agrees_with_burn_and_leaves_shared_memory_alone() {
    let device = Device::flex();
    for seed in 0..30 {
        let (shape, slope) = (shape(seed), [0.0, 0.01, 1.0][seed as usize % 3]);
        let mut source = Source::new(seed);
        let values = source.values(shape.iter().product());
        let (scale, shift) = (source.values(shape[1]), source.values(shape[1]));
        let [scale, shift] = [scale, shift].map(|v| tensor(&v, [shape[1]], &device));
        let x = tensor(&values, shape, &device);
        let per_channel = |t: &Tensor<1>| t.clone().reshape([1, shape[1], 1, 1]);
        let want = activation::leaky_relu(x.clone() * per_channel(&scale) + per_channel(&shift), slope);
        let shared = floats(scale_shift_act(x.clone(), scale.clone(), shift.clone(), slope));
        assert_eq!(floats(x.clone()), values, "the caller's own tensor was written to");
        assert!(distance(&shared, &floats(want)) < 1e-6);
        assert_eq!(floats(scale_shift_act(x, scale, shift, slope)), shared, "in place gives something else");
    }
}

#[test]
fn adam_agrees_with_the_formula_in_double_precision() {
    let device = Device::flex();
    let step = AdamStep { beta1: 0.9, beta2: 0.999, eps: 1e-8, rate: 1e-2, weight_decay: 0.01 };
    for length in [1, 7, 33, 40_000] {
        let mut source = Source::new(length as u64);
        let start = source.values(length);
        let mut want: Vec<[f64; 3]> = start.iter().map(|&w| [f64::from(w), 0.0, 0.0]).collect();
        let mut state =
            [tensor(&start, [length], &device), Tensor::zeros([length], &device), Tensor::zeros([length], &device)];
        let kept = state[0].clone();
        for _ in 0..5 {
            let gradient = source.values(length);
            state = adam(state, tensor(&gradient, [length], &device), step);
            for ([w, m, v], g) in want.iter_mut().zip(&gradient) {
                let g = f64::from(*g) + step.weight_decay * *w;
                *m = step.beta1 * *m + (1.0 - step.beta1) * g;
                *v = step.beta2 * *v + (1.0 - step.beta2) * g * g;
                *w -= step.rate * *m / (v.sqrt() + step.eps);
            }
        }
        for (k, tensor) in state.into_iter().enumerate() {
            let want: Vec<f32> = want.iter().map(|s| s[k] as f32).collect();
            assert!(distance(&floats(tensor), &want) < 1e-5, "part {k} of length {length}");
        }
        assert_eq!(floats(kept), start, "a tensor that somebody else holds was written to");
    }
}
