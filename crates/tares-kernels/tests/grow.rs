//! A DenseNet's layers as one operation each, against the same in three.

mod against;

use against::{Source, distance, floats, tensor};
use burn::tensor::{Device, Tensor};
use tares_kernels::{append_channels, batch_norm_act_pointwise, conv2d, grow};

const EPS: f64 = 1e-5;
const LAYERS: usize = 3;
const NEW: usize = 4;

/// Outputs and all gradients of some layers, in one operation each or in three.
fn run([n, channels, h, w]: [usize; 4], seed: u64, one: bool) -> Vec<Vec<f32>> {
    let device = Device::flex().autodiff();
    let mut source = Source::new(seed);
    let x = tensor(&source.values(n * channels * h * w), [n, channels, h, w], &device).require_grad();
    let mut results = Vec::new();
    let (mut all, mut known, mut parameters) = (x.clone(), None, Vec::new());
    for layer in 0..LAYERS {
        let inputs = channels + layer * NEW;
        let [gamma, beta] = [0, 1].map(|_| tensor(&source.values(inputs), [inputs], &device).require_grad());
        let first = tensor(&source.values(8 * inputs), [8, inputs, 1, 1], &device).require_grad();
        let second = tensor(&source.values(NEW * 8 * 9), [NEW, 8, 3, 3], &device).require_grad();
        let rest = |maps: Tensor<4>| conv2d(maps, second.clone(), None, [1, 1], [1, 1]);
        let (g, b, f) = (gamma.clone(), beta.clone(), first.clone());
        let mean;
        let var;
        (all, mean, var) = if one {
            grow(all, g, b, EPS, 0.01, f, known.take(), rest)
        } else {
            let (y, mean, var) = batch_norm_act_pointwise(all.clone(), g, b, EPS, 0.01, f);
            (append_channels(all, rest(y)), mean, var)
        };
        results.extend([floats(mean.clone().inner()), floats(var.clone().inner())]);
        known = Some([mean, var]);
        parameters.push((gamma, beta, first, second));
    }
    let r = tensor(&source.values(all.dims().iter().product()), all.dims(), &device);
    let grads = all.clone().mul(r).sum().backward();
    results.extend([floats(all.inner()), floats(x.grad(&grads).unwrap())]);
    for (gamma, beta, first, second) in parameters {
        results.extend([gamma, beta].map(|of| floats(of.grad(&grads).unwrap())));
        results.extend([first, second].map(|of| floats(of.grad(&grads).unwrap())));
    }
    results
}

/// The last but one is not of the kind that is done in one operation; the last is large enough for several threads.
const SHAPES: [[usize; 4]; 5] = [[3, 5, 4, 4], [5, 16, 8, 8], [1, 3, 16, 16], [4, 6, 3, 5], [8, 24, 32, 32]];

#[test]
fn one_operation_does_what_three_do() {
    let mut source = Source::new(1);
    let drawn = [[4, 4], [8, 8], [3, 5], [4, 8]].map(|[h, w]| [source.size(1, 9), source.size(1, 40), h, w]);
    for (seed, shape) in SHAPES.into_iter().chain(drawn).enumerate() {
        for (i, (one, three)) in run(shape, seed as u64, true).iter().zip(&run(shape, seed as u64, false)).enumerate() {
            let d = distance(one, three);
            assert!(d < 1e-5, "result {i} differs by {d:e} for {shape:?}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let bits = |values: Vec<f32>| values.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            pool.install(|| run(shape, seed as u64, true)).into_iter().map(bits).collect::<Vec<_>>()
        };
        let one = on(1);
        assert!([2, 3].into_iter().all(|threads| on(threads) == one), "{shape:?}");
    }
}

#[test]
#[should_panic(expected = "rest changed more than channels")]
fn new_maps_of_another_size_are_refused() {
    let device = Device::flex();
    let of = |count: usize| tensor(&vec![1.0; count], [count], &device);
    let x = tensor(&[0.0; 16], [1, 1, 4, 4], &device);
    grow(x, of(1), of(1), EPS, 0.0, tensor(&[1.0], [1, 1, 1, 1], &device), None, |maps| maps.slice([0..1, 0..1, 0..2]));
}
