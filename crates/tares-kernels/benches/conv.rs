//! How fast convolutions of the networks' shapes are: `cargo bench -p tares-kernels --bench conv [-- part of a name]`.
//!
//! Prints, per shape, billions of multiplications per second as a direct convolution counts them, forward, and for each of the gradients.

use burn::tensor::{Device, Tensor};
use std::time::Instant;

/// Name, batch, channels in, side, channels out, kernel, stride, padding.
type Case = (&'static str, usize, usize, usize, usize, usize, usize, usize);

const CASES: [Case; 20] = [
    ("lenet-1", 128, 1, 28, 6, 5, 1, 2),
    ("lenet-2", 128, 6, 14, 16, 5, 1, 0),
    ("stem-32", 128, 1, 28, 32, 3, 1, 1),
    ("stem-64", 32, 3, 32, 64, 3, 1, 1),
    ("densenet-grow-32", 32, 48, 32, 12, 3, 1, 1),
    ("densenet-grow-16", 32, 48, 16, 12, 3, 1, 1),
    ("densenet-grow-8", 32, 48, 8, 12, 3, 1, 1),
    ("densenet-point-32", 32, 120, 32, 48, 1, 1, 0),
    ("densenet-point-8", 32, 240, 8, 48, 1, 1, 0),
    ("resnet-down-16", 32, 64, 32, 128, 3, 2, 1),
    ("resnet-down-8", 32, 128, 16, 256, 3, 2, 1),
    ("resnet-down-4", 32, 256, 8, 512, 3, 2, 1),
    ("resnet-shortcut-16", 32, 64, 32, 128, 1, 2, 0),
    ("resnet-shortcut-4", 32, 256, 8, 512, 1, 2, 0),
    ("same-64-32", 32, 64, 32, 64, 3, 1, 1),
    ("same-128-16", 32, 128, 16, 128, 3, 1, 1),
    ("same-256-8", 32, 256, 8, 256, 3, 1, 1),
    ("late-256-4", 32, 256, 4, 512, 3, 1, 1),
    ("late-512-4", 32, 512, 4, 512, 3, 1, 1),
    ("late-512-2", 32, 512, 2, 512, 3, 1, 1),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    println!("shape,forward,to the input,to the weight");
    for case in
        CASES.iter().filter(|case| wanted.is_empty() || wanted.iter().any(|part| case.0.contains(part.as_str())))
    {
        measure(*case);
    }
}

fn measure((name, n, ci, side, co, kernel, stride, padding): Case) {
    let device = Device::flex().autodiff();
    let conv = |x: &Tensor<4>, weight: &Tensor<4>| {
        tares_kernels::conv2d(x.clone(), weight.clone(), None, [stride; 2], [padding; 2])
    };
    let x = Tensor::<4>::ones([n, ci, side, side], &device);
    let weight = Tensor::<4>::ones([co, ci, kernel, kernel], &device);
    let [_, _, oh, ow] = conv(&x, &weight).dims();
    let multiplications = (n * co * oh * ow * ci * kernel * kernel) as f64;
    let forward = fastest(|| {
        let start = Instant::now();
        let _ = conv(&x, &weight);
        start.elapsed().as_secs_f64()
    });
    let [to_input, to_weight] = [true, false].map(|input| {
        let [x, weight] = match input {
            true => [x.clone().require_grad(), weight.clone()],
            false => [x.clone(), weight.clone().require_grad()],
        };
        fastest(|| {
            let sum = conv(&x, &weight).sum();
            let start = Instant::now();
            let _gradients = sum.backward();
            start.elapsed().as_secs_f64()
        })
    });
    let speed = |seconds: f64| multiplications / seconds / 1e9;
    println!("{name},{:.1},{:.1},{:.1}", speed(forward), speed(to_input), speed(to_weight));
}

/// The least of what `seconds` returns within a third of a second.
fn fastest(mut seconds: impl FnMut() -> f64) -> f64 {
    let (begin, mut least) = (Instant::now(), f64::INFINITY);
    while begin.elapsed().as_secs_f64() < 0.33 {
        least = least.min(seconds());
    }
    least
}
