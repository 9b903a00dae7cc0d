//! Our side of `compare/pytorch/run`: training steps on demand.
//!
//! `compare_step CASE DIR` makes the case's network and eight batches, writes both to `DIR/CASE.safetensors` (weights) and
//! `DIR/CASE.batches` (per batch the pixels as f32, then the labels as i64), and prints `ready`. Then it answers lines on its input:
//!
//! - `check N`, before any other line: N plain SGD steps from the initial weights; the gradients of the first go to `DIR/CASE.gradients`,
//!   and the N losses are printed.
//! - `N`: N steps (forward, mean cross-entropy, backward, Adam 1e-3), and `wall_ms cpu_ms` per step is printed.

#[path = "../../tares-cli/src/allocator.rs"]
mod allocator; // the program's
mod process;
mod sgd_steps;

use burn::module::Module;
use burn::nn::Linear;
use burn::nn::conv::Conv2d;
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use process::{processor_ms, resident_mb};
use sgd_steps::sgd_steps;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;
use tares::Optimiser;
use tares::descent::Descent;
use tares::loss::cross_entropy;
use tares::network::{Classifier, Network, Weights};
use tares::optimiser::Adam;
use tares::safetensors::to_safetensors;
use tares_core::{Shape, stream};
use tares_kernels::{conv2d, dense, relu_max_pool};

/// Batches that a run goes through again and again.
const BATCHES: usize = 8;

fn main() {
    allocator::keep_memory();
    tares::join_workers();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, directory] = arguments.as_slice() else {
        eprintln!(
            "usage: compare_step CASE DIR, CASE one of mlp, small-cnn, lenet, cnn9, cnn9-128, resnet18, densenet, vgg16"
        );
        std::process::exit(2);
    };
    let directory = Path::new(directory);
    let name = |text: &str| text.parse::<Network>().expect("a network of tares");
    match case.as_str() {
        "mlp" => serve(case, directory, [128, 1, 28, 28], built(name("mlp:256-256"))),
        "small-cnn" => serve(case, directory, [128, 1, 28, 28], SmallCnn::new),
        "lenet" => serve(case, directory, [128, 1, 28, 28], built(name("lenet"))),
        "cnn9" => serve(case, directory, [32, 3, 32, 32], built(name("cnn9"))),
        "cnn9-128" => serve(case, directory, [128, 3, 32, 32], built(name("cnn9"))),
        "resnet18" => serve(case, directory, [32, 3, 32, 32], built(name("resnet18"))),
        "densenet" => serve(case, directory, [32, 3, 32, 32], built(name("densenet"))),
        "vgg16" => serve(case, directory, [32, 3, 32, 32], built(name("vgg16"))),
        _ => {
            eprintln!("case {case:?} is not one of mlp, small-cnn, lenet, cnn9, cnn9-128, resnet18, densenet, vgg16");
            std::process::exit(2);
        }
    }
}

/// A network of tares without dropout: both sides must compute the same losses.
fn built(network: Network) -> impl Fn(Shape, &mut Weights) -> tares::network::AnyNetwork {
    move |shape, weights| network.build(shape, 10, weights).expect("a shape that fits")
}

/// conv 3×3 32 → ReLU → pool → conv 3×3 64 → ReLU → pool → dense 128 → ReLU → dense 10.
#[derive(Module, Debug)]
struct SmallCnn {
    first: Conv2d,
    second: Conv2d,
    dense: Linear,
    head: Linear,
}

impl SmallCnn {
    fn new(_: Shape, weights: &mut Weights) -> Self {
        Self {
            first: weights.conv([1, 32], 3, 1, 1, true),
            second: weights.conv([32, 64], 3, 1, 1, true),
            dense: weights.linear(64 * 7 * 7, 128),
            head: weights.linear(128, 10),
        }
    }
}

impl Classifier for SmallCnn {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let layer = |conv: &Conv2d, x| {
            let bias = conv.bias.as_ref().map(|bias| bias.val());
            relu_max_pool(conv2d(x, conv.weight.val(), bias, [1, 1], [1, 1]))
        };
        let maps = layer(&self.second, layer(&self.first, input));
        let layer =
            |layer: &Linear, x, slope| dense(x, layer.weight.val(), layer.bias.as_ref().expect("a bias").val(), slope);
        layer(&self.head, layer(&self.dense, maps.flatten::<2>(1, 3), 0.0), 1.0)
    }
}

fn serve<N: Classifier>(case: &str, directory: &Path, shape: [usize; 4], init: impl Fn(Shape, &mut Weights) -> N) {
    let base = resident_mb();
    let device = Device::flex().autodiff();
    let [batch, channels, height, width] = shape;
    // the quirk switch leaves dropout out and draws the scales of batch norm, which go to the other side like all weights
    let mut weights = Weights::new(1, "compare", &device).original();
    let mut network = init(Shape::Image { channels, height, width }, &mut weights);
    std::fs::write(directory.join(format!("{case}.safetensors")), to_safetensors(&network).expect("weights as bytes"))
        .expect("weights written");

    let mut draw = stream(1, "batches");
    let mut bytes = Vec::new();
    let batches: Vec<(Tensor<4>, Tensor<1, Int>)> = (0..BATCHES)
        .map(|_| {
            let pixels: Vec<f32> = (0..shape.iter().product()).map(|_| draw.unit() as f32).collect();
            let labels: Vec<i64> = (0..batch).map(|_| draw.below(10) as i64).collect();
            pixels.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            labels.iter().for_each(|v| bytes.extend(v.to_le_bytes()));
            let pixels = Tensor::from_data(TensorData::new(pixels, shape), &device);
            (pixels, Tensor::from_data(TensorData::new(labels, [batch]), &device))
        })
        .collect();
    std::fs::write(directory.join(format!("{case}.batches")), bytes).expect("batches written");

    let loss = |network: &N, (pixels, labels)| cross_entropy(network.logits(pixels), labels).mean();
    let mut descent = Descent::new(Optimiser::Adam(Adam::default()));
    let mut step = 0;
    println!("ready {base:.1}");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        if let Some(count) = line.strip_prefix("check ") {
            let some = batches.iter().take(count.trim().parse().expect("a number of steps")).cloned();
            let losses = sgd_steps(network.clone(), some, loss, &directory.join(format!("{case}.gradients")));
            println!("{}", losses.iter().map(f32::to_string).collect::<Vec<_>>().join(" "));
            std::io::stdout().flush().expect("an open output");
            continue;
        }
        let count: usize = line.trim().parse().expect("a number of steps");
        let (wall, cpu) = (Instant::now(), processor_ms());
        let mut last = None;
        for _ in 0..count {
            let loss = loss(&network, batches[step % BATCHES].clone());
            let gradients = GradientsParams::from_grads(loss.backward(), &network);
            network = descent.step(network, gradients, 1e-3, 0.9);
            last = Some(loss);
            step += 1;
        }
        // Read back: whatever the device still owes belongs to the turn.
        let _ = last.map(|loss| loss.into_scalar::<f32>());
        let per_step = |ms: f64| ms / count as f64;
        let (wall, cpu) = (wall.elapsed().as_secs_f64() * 1e3, processor_ms() - cpu);
        println!("{:.4} {:.4}", per_step(wall), per_step(cpu));
        std::io::stdout().flush().expect("an open output");
    }
}
