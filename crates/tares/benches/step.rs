//! One whole training step (forward, loss, backward, Adam) of standard training, NPCL and Co-teaching.
//!
//! `cargo bench --workspace --bench step [-- case ...] [--rounds N] [--cpu]` prints `case,method,ms,ratio_to_standard`. Methods take
//! turns inside every round, and the ratio is the median of the rounds' own ratios, so that a busy machine disturbs all
//! alike. With `--cpu` (Linux) the time of a step is not what the clock says but what all threads together were given of the
//! processors, which other programs disturb less still. The row `selection` is Algorithm 1 on the batch's losses alone, `curriculum loss` and `cross-entropy` are
//! those losses forward and backward on ready logits; `waiting for data` is how long a step of standard training waits for its batch when batches
//! are shuffled, scaled and cut beside it, as in `fit`. Wanted: NPCL ≤ 1.03, Co-teaching about 2, selection ≤ 0.01.

#[allow(dead_code)] // of the two meters the bench needs the clock only
#[path = "../examples/process/mod.rs"]
mod process;

use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use process::processor_ms;
use std::hint::black_box;
use std::time::Instant;
use tares::batches::Batches;
use tares::descent::Descent;
use tares::loss::{CurriculumLoss, CurriculumLossConfig, cross_entropy};
use tares::network::{AnyNetwork, Classifier, Network, begin_step};
use tares::{Augment, InputTransform, Normalise, Optimiser, Plan};
use tares_core::{Curriculum, Dataset, Extra, Selector, Shape, Threshold, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A network, the pictures it sees, and the batch size.
struct Case {
    name: &'static str,
    network: &'static str,
    channels: usize,
    side: usize,
    batch: usize,
    rounds: usize,
}

const CASES: [Case; 3] = [
    Case { name: "mlp", network: "mlp:256-256", channels: 1, side: 28, batch: 128, rounds: 200 },
    Case { name: "lenet", network: "lenet", channels: 1, side: 28, batch: 128, rounds: 60 },
    Case { name: "cnn9", network: "cnn9", channels: 3, side: 32, batch: 32, rounds: 25 },
];

fn main() {
    tares::join_workers();
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let rounds = arguments.iter().position(|a| a == "--rounds").and_then(|at| arguments.get(at + 1)?.parse().ok());
    let named = |case: &Case| arguments.iter().any(|argument| argument == case.name);
    let all = !CASES.iter().any(named);
    let by_processor = arguments.iter().any(|a| a == "--cpu");
    assert!(!by_processor || processor_ms() > 0.0, "--cpu needs Linux");
    let clock: fn() -> f64 = if by_processor { processor_ms } else { wall_ms };
    println!("case,method,ms,ratio_to_standard");
    for case in CASES.iter().filter(|case| all || named(case)) {
        measure(case, rounds.unwrap_or(case.rounds), clock);
    }
}

fn measure(case: &Case, rounds: usize, clock: fn() -> f64) {
    let device = Device::flex().autodiff();
    let batch = Batch::new(case, &device);
    let mut standard = Learner::new(case, 1, &device);
    let mut pruned = Learner::new(case, 1, &device);
    let mut pair = [Learner::new(case, 1, &device), Learner::new(case, 2, &device)];
    let loss = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.5 }).init().expect("a rate in [0, 1]");
    let mut selector = Selector::new();
    let mut times: [Vec<f64>; 3] = Default::default();
    for round in 0..rounds + 1 {
        begin_step(1, round as u64, &device);
        // The order changes every round, so that none always runs on the caches of the same other.
        for turn in 0..3 {
            let method = (turn + round) % 3;
            let start = clock();
            match method {
                0 => standard.step(&batch),
                1 => pruned.step_curriculum(&batch, &loss, &mut selector),
                _ => co_teaching(&mut pair, &batch),
            }
            if round > 0 {
                times[method].push(clock() - start); // the first round warms up
            }
        }
    }
    let base = median(times[0].clone());
    for (name, times_of) in ["standard", "npcl", "co-teaching"].iter().zip(&times) {
        let ratios = times_of.iter().zip(&times[0]).map(|(time, standard)| time / standard).collect();
        println!("{},{name},{:.4},{:.4}", case.name, median(times_of.clone()), median(ratios));
    }
    let [curriculum, plain] = losses_alone(case, &loss);
    let waiting = waiting(case, rounds, &mut standard, &device);
    let parts = [
        ("selection", selection(case)),
        ("curriculum loss", curriculum),
        ("cross-entropy", plain),
        ("waiting for data", waiting),
    ];
    for (name, ms) in parts {
        println!("{},{name},{ms:.4},{:.5}", case.name, ms / base);
    }
}

struct Batch {
    inputs: Tensor<4>,
    targets: Tensor<1, Int>,
    size: usize,
}

impl Batch {
    fn new(case: &Case, device: &Device) -> Self {
        let mut draw = stream(1, "bench");
        let shape = [case.batch, case.channels, case.side, case.side];
        let pixels: Vec<f32> = (0..shape.iter().product()).map(|_| draw.unit() as f32).collect();
        let labels: Vec<i64> = (0..case.batch).map(|_| draw.below(10) as i64).collect();
        Self {
            inputs: Tensor::from_data(TensorData::new(pixels, shape), device),
            targets: Tensor::from_data(TensorData::new(labels, [case.batch]), device),
            size: case.batch,
        }
    }
}

struct Learner {
    network: Option<AnyNetwork>,
    descent: Descent,
}

impl Learner {
    fn new(case: &Case, seed: u64, device: &Device) -> Self {
        let shape = Shape::Image { channels: case.channels, height: case.side, width: case.side };
        let name: Network = case.network.parse().expect("a network");
        Self {
            network: Some(name.init(shape, 10, seed, device).expect("a shape that fits")),
            descent: Descent::new(Optimiser::default()),
        }
    }

    fn logits(&self, batch: &Batch) -> Tensor<2> {
        self.network.as_ref().expect("a network").logits(batch.inputs.clone())
    }

    fn step(&mut self, batch: &Batch) {
        let loss = cross_entropy(self.logits(batch), batch.targets.clone()).mean();
        self.update(loss);
    }

    fn step_curriculum(&mut self, batch: &Batch, loss: &CurriculumLoss, selector: &mut Selector) {
        let (loss, kept) = loss.forward_with(selector, self.logits(batch), batch.targets.clone());
        black_box(kept);
        self.update(loss);
    }

    fn update(&mut self, loss: Tensor<1>) {
        let network = self.network.take().expect("a network");
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        self.network = Some(self.descent.step(network, gradients, 1e-3, 0.9));
    }
}

/// Each network learns from the half of the batch on which the other's loss is smallest.
fn co_teaching(pair: &mut [Learner; 2], batch: &Batch) {
    let losses = [0, 1].map(|which| cross_entropy(pair[which].logits(batch), batch.targets.clone()));
    let chosen = losses.clone().map(|losses| {
        let values = losses.without_autodiff().into_data().try_to_vec::<f32>().expect("floats");
        let mut order: Vec<i32> = (0..batch.size as i32).collect();
        order.sort_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
        order.truncate(batch.size / 2);
        order
    });
    for (which, losses) in losses.into_iter().enumerate() {
        let kept = chosen[1 - which].clone();
        let kept = Tensor::<1, Int>::from_data(TensorData::new(kept, [batch.size / 2]), &losses.device());
        pair[which].update(losses.select(0, kept).mean());
    }
}

/// Algorithm 1 alone, ms.
fn selection(case: &Case) -> f64 {
    let mut draw = stream(2, "bench");
    let losses: Vec<f64> = (0..case.batch).map(|_| (1.0 + draw.normal()).max(0.0)).collect();
    let wrong: Vec<bool> = losses.iter().map(|&loss| loss > 1.0).collect();
    let labels: Vec<u32> = (0..case.batch).map(|_| draw.below(10) as u32).collect();
    let curriculum = Curriculum { threshold: Threshold::Npcl { rate: 0.5 }, extra: Extra::WhenSlack, balanced: false };
    let mut selector = Selector::new();
    repeat(2000, || {
        let chosen = curriculum.select(&mut selector, black_box(&losses), &wrong, &labels, 10);
        black_box(chosen.expect("losses that are numbers").count);
    })
}

/// How long a step waits for its batch, ms: the median over `rounds` steps of one epoch, without the first.
fn waiting(case: &Case, rounds: usize, learner: &mut Learner, device: &Device) -> f64 {
    let mut draw = stream(4, "bench");
    let (rows, size) = ((rounds + 1) * case.batch, case.channels * case.side * case.side);
    let bytes: Vec<u8> = (0..rows * size).map(|_| draw.below(256) as u8).collect();
    let shape = Shape::Image { channels: case.channels, height: case.side, width: case.side };
    let labels = (0..rows).map(|_| draw.below(10) as u32).collect();
    let data = Dataset::new(bytes, shape, labels, (0..10).map(|class| class.to_string())).expect("rows that fit");
    let transform = InputTransform::new(&data, &Augment::default(), &Normalise::Standardise).expect("plain pictures");
    let plan = Plan { batch: case.batch, ..Plan::default() };
    let all: Vec<usize> = (0..rows).collect();
    let mut batches = Batches::training(&data, &all, &transform, &plan, 0, device);
    let mut times = Vec::with_capacity(rounds + 1);
    loop {
        let start = wall_ms();
        let Some(batch) = batches.next() else { break };
        times.push(wall_ms() - start);
        learner.step(&Batch { inputs: batch.inputs, targets: batch.targets, size: case.batch });
    }
    median(times.split_off(1))
}

/// The whole curriculum loss, and the mean cross-entropy, on ready logits, forward and backward, ms.
fn losses_alone(case: &Case, loss: &CurriculumLoss) -> [f64; 2] {
    let device = Device::flex().autodiff();
    let mut draw = stream(3, "bench");
    let logits: Vec<f32> = (0..case.batch * 10).map(|_| draw.normal() as f32).collect();
    let logits = Tensor::<2>::from_data(TensorData::new(logits, [case.batch, 10]), &device);
    let targets = Batch::new(case, &device).targets;
    let mut selector = Selector::new();
    let curriculum = repeat(500, || {
        let (value, kept) = loss.forward_with(&mut selector, logits.clone().require_grad(), targets.clone());
        black_box((value.backward(), kept));
    });
    let plain = repeat(500, || {
        black_box(cross_entropy(logits.clone().require_grad(), targets.clone()).mean().backward());
    });
    [curriculum, plain]
}

fn wall_ms() -> f64 {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
    START.elapsed().as_secs_f64() * 1e3
}

/// The median time of `times` calls, ms.
fn repeat(times: usize, mut call: impl FnMut()) -> f64 {
    let timed = (0..times).map(|_| {
        let start = Instant::now();
        call();
        start.elapsed().as_secs_f64() * 1e3
    });
    median(timed.collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
