//! Our side of the cases `npcl-epoch…` of `compare/pytorch/run`: a whole epoch on demand, from the files to the test accuracy.
//!
//! `compare_epoch NETWORK DATA DIR` reads the IDX files of folder DATA once, and writes what the other side must share to DIR:
//! `epoch.safetensors` (initial weights), `epoch.given` (the labels after symmetric noise of 0.2) and `epoch.order` (the rows in the order of
//! the epoch), both as i64. Then it prints `ready` and answers lines on its input:
//!
//! - `check N`: N plain SGD steps with the NPCL loss on the first batches of the epoch, from the initial weights; the gradients of the first
//!   go to `DIR/epoch.gradients`, and the N losses are printed.
//! - anything else: reads the files again, corrupts, trains one epoch with NPCL through `fit`, tests, and prints
//!   `wall_ms cpu_ms objective accuracy`.

#[path = "../../tares-cli/src/allocator.rs"]
mod allocator; // the program's
mod process;
mod sgd_steps;

use burn::tensor::Device;
use process::{processor_ms, resident_mb};
use sgd_steps::sgd_steps;
use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;
use tares::batches::Batches;
use tares::loss::CurriculumLossConfig;
use tares::method::Npcl;
use tares::network::{AnyNetwork, Classifier, Network, Weights};
use tares::safetensors::to_safetensors;
use tares::{Fit, InputTransform, Method, Plan, Schedule};
use tares_core::{Dataset, Noise, Threshold, stream};
use tares_data::{LoadOptions, load};

const RATE: f64 = 0.2;

fn main() {
    allocator::keep_memory();
    tares::join_workers();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [network, data, directory] = arguments.as_slice() else {
        eprintln!("usage: compare_epoch NETWORK DATA DIR");
        std::process::exit(2);
    };
    let base = resident_mb();
    let network: Network = network.parse().expect("a network of tares");
    let plan = Plan { epochs: 1, schedule: Schedule::Constant, ..Plan::default() };
    let method = Method::Npcl(Npcl { rate: RATE.into(), burn_in: 0, ..Npcl::default() });
    let directory = Path::new(directory);
    share(&network, &plan, &read(data).0, directory);
    println!("ready {base:.1}");
    for line in std::io::stdin().lock().lines() {
        if let Some(count) = line.expect("a line").strip_prefix("check ") {
            let count = count.trim().parse().expect("a number of steps");
            let losses = first_steps(&network, &plan, &read(data).0, count, directory);
            println!("{}", losses.iter().map(f32::to_string).collect::<Vec<_>>().join(" "));
            std::io::stdout().flush().expect("an open output");
            continue;
        }
        let (wall, cpu) = (Instant::now(), processor_ms());
        let (train, test) = read(data);
        let fitted = Fit::new(&train, &method, &plan).test(&test).train_network(&network).expect("an epoch");
        let (wall, cpu) = (wall.elapsed().as_secs_f64() * 1e3, processor_ms() - cpu);
        let epoch = &fitted.epochs[0];
        println!("{wall:.4} {cpu:.4} {} {}", epoch.train_loss, epoch.test_accuracy.expect("a test"));
        std::io::stdout().flush().expect("an open output");
    }
}

/// The training rows with some of their labels wrong, and the test rows.
fn read(folder: &str) -> (Dataset, Dataset) {
    let loaded = load(folder, &LoadOptions::default(), &mut |_| {}).expect("a folder of IDX files");
    let noisy = Noise::Symmetric { rate: RATE }.corrupt(&loaded.train, 1).expect("noise");
    (noisy.data, loaded.test.expect("test files"))
}

/// The losses of plain SGD steps on the first batches of the epoch.
fn first_steps(network: &Network, plan: &Plan, train: &Dataset, count: usize, directory: &Path) -> Vec<f32> {
    let device = Device::flex().autodiff();
    let made = network.init(train.shape(), train.classes(), plan.seed, &device).expect("a shape that fits");
    let transform = InputTransform::new(train, &plan.augment, &plan.normalise).expect("plain pictures");
    let rows: Vec<usize> = (0..train.len()).collect();
    let batches = Batches::training(train, &rows, &transform, plan, 0, &device).take(count);
    let npcl = CurriculumLossConfig::new(Threshold::Npcl { rate: RATE }).init().expect("a rate");
    let loss =
        |network: &AnyNetwork, batch: tares::batches::Batch| npcl.forward(network.logits(batch.inputs), batch.targets);
    sgd_steps(made, batches, loss, &directory.join("epoch.gradients"))
}

/// Writes initial weights, noisy labels and the order of the rows for the other side.
fn share(network: &Network, plan: &Plan, train: &Dataset, directory: &Path) {
    let mut weights = Weights::new(plan.seed, "weights", &Device::flex());
    let network = network.build(train.shape(), train.classes(), &mut weights).expect("a shape that fits");
    let mut order: Vec<i64> = (0..train.len() as i64).collect();
    stream(plan.seed, "order/0").shuffle(&mut order);
    let bytes = |values: &mut dyn Iterator<Item = i64>| values.flat_map(i64::to_le_bytes).collect::<Vec<u8>>();
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(directory.join(name), bytes).expect("a file written");
    write("epoch.safetensors", to_safetensors(&network).expect("weights as bytes"));
    write("epoch.given", bytes(&mut train.given().iter().map(|&label| i64::from(label))));
    write("epoch.order", bytes(&mut order.into_iter()));
}
