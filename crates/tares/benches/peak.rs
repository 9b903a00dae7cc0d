//! How much of the machine a training step of cnn9 uses: `cargo bench --workspace --bench peak` prints `what,threads,gflops,share_of_peak`.
//!
//! The peak is what the `gemm` crate reaches (through Burn's matrix product) on products that fit the caches, one per thread, the best of many.
//! The step (forward, cross-entropy, backward, Adam; 32 pictures of 3×32×32) is counted in the multiplications and additions of a *direct* convolution;
//! Winograd's algorithm needs a quarter to a half of them, so more than 1 is possible.

use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::hint::black_box;
use std::time::Instant;
use tares::Optimiser;
use tares::descent::Descent;
use tares::loss::cross_entropy;
use tares::network::{Classifier, Network, begin_step};
use tares_core::{Shape, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 32;
const STEPS: usize = 12;

/// Channels in and out, and side of the output, of cnn9's convolutions, all 3×3.
const LAYERS: [[usize; 3]; 9] = [
    [3, 128, 32],
    [128, 128, 32],
    [128, 128, 32],
    [128, 256, 16],
    [256, 256, 16],
    [256, 256, 16],
    [256, 512, 6],
    [512, 256, 4],
    [256, 128, 2],
];

fn main() {
    tares::join_workers();
    let threads = rayon::current_num_threads();
    let peak = (0..3).map(|_| peak(threads)).fold(0.0, f64::max);
    println!("what,threads,gflops,share_of_peak");
    println!("gemm,{threads},{peak:.1},1.00");
    let forward: f64 = LAYERS.iter().map(|[from, to, side]| (2 * 9 * from * to * side * side) as f64).sum();
    // forward, gradient of the weights, gradient of the input except the picture itself
    let [from, to, side] = LAYERS[0];
    let step = (3.0 * forward - (2 * 9 * from * to * side * side) as f64) * BATCH as f64 / 1e9;
    let gflops = step / step_seconds();
    println!("cnn9 step,{threads},{gflops:.1},{:.2}", gflops / peak);
}

/// The sum over threads of the best rate of each, all at work at once.
fn peak(threads: usize) -> f64 {
    let one = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
        pool.install(|| {
            let (m, n, k) = (256, 512, 256);
            let device = Device::flex();
            let (a, b) = (Tensor::<2>::ones([m, k], &device), Tensor::<2>::ones([k, n], &device));
            let start = Instant::now();
            let mut best = f64::MAX;
            while start.elapsed().as_secs_f64() < 1.0 {
                let once = Instant::now();
                black_box(a.clone().matmul(b.clone()));
                best = best.min(once.elapsed().as_secs_f64());
            }
            (2 * m * n * k) as f64 / best / 1e9
        })
    };
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        all.into_iter().map(|thread| thread.join().expect("a rate")).sum()
    })
}

/// The median step.
fn step_seconds() -> f64 {
    let device = Device::flex().autodiff();
    let shape = Shape::Image { channels: 3, height: 32, width: 32 };
    let name: Network = "cnn9".parse().expect("a network");
    let mut network = name.init(shape, 10, 1, &device).expect("a shape that fits");
    let mut draw = stream(1, "bench");
    let pixels: Vec<f32> = (0..BATCH * 3 * 1024).map(|_| draw.unit() as f32).collect();
    let labels: Vec<i64> = (0..BATCH).map(|_| draw.below(10) as i64).collect();
    let inputs = Tensor::<4>::from_data(TensorData::new(pixels, [BATCH, 3, 32, 32]), &device);
    let targets = Tensor::<1, Int>::from_data(TensorData::new(labels, [BATCH]), &device);
    let mut descent = Descent::new(Optimiser::default());
    let mut times = Vec::with_capacity(STEPS);
    for step in 0..=STEPS {
        let start = Instant::now();
        begin_step(1, step as u64, &device);
        let loss = cross_entropy(network.logits(inputs.clone()), targets.clone()).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        network = descent.step(network, gradients, 1e-3, 0.9);
        if step > 0 {
            times.push(start.elapsed().as_secs_f64()); // the first one warms up
        }
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
