//! Three NPCL steps on the CPU and on another device; fails if the losses differ by more than 1e-4.
//!
//! `cargo run --release -p tares --features gl --example three_steps -- gl`; without an argument the CPU is compared with
//! itself. `compare/software-gl/run` does this on Mesa's software OpenGL, without a GPU.

use burn::module::Module;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::process::ExitCode;
use tares::loss::{CurriculumLossConfig, Kept};
use tares::network::{Classifier, Network, begin_step};
use tares_core::{Result, Shape, Threshold, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const TOLERANCE: f32 = 1e-4;

fn main() -> ExitCode {
    let other = std::env::args().nth(1).unwrap_or_else(|| "cpu".to_owned());
    match compare(&other) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("three_steps: {error}");
            ExitCode::from(2)
        }
    }
}

fn compare(other: &str) -> Result<bool> {
    let mut agree = true;
    println!("network,step,cpu,{other},kept,kept there");
    for name in ["mlp:64-64", "lenet", "resnet18"] {
        let expected = train(name, &tares::device::by_name("cpu")?.autodiff())?;
        let found = train(name, &tares::device::by_name(other)?.autodiff())?;
        for (step, ((cpu, kept), (device, kept_there))) in expected.iter().zip(&found).enumerate() {
            let same = if kept.positions == kept_there.positions { "the same" } else { "others" };
            println!("{name},{step},{cpu},{device},{},{same}", kept.positions.len());
            agree &= (cpu - device).abs() <= TOLERANCE * (1.0 + cpu.abs()) && kept.positions == kept_there.positions;
        }
    }
    println!("{}", if agree { "the devices agree" } else { "THE DEVICES DIFFER" });
    Ok(agree)
}

/// The losses of three steps, and what was kept.
fn train(network: &str, device: &Device) -> Result<Vec<(f32, Kept)>> {
    let shape = Shape::Image { channels: 1, height: 12, width: 12 };
    let mut network = network.parse::<Network>()?.init(shape, 10, 1, device)?.train();
    let loss = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.3 }).init()?;
    // Not Adam: its first step is ± the learning rate however small a gradient is, so that the rounding of a gradient
    // near zero, which every device does in its own way, would become a whole step.
    let mut optimiser = SgdConfig::new().init();
    let mut draw = stream(1, "pictures");
    let mut losses = Vec::new();
    for step in 0..3 {
        let pixels: Vec<f32> = (0..32 * 144).map(|_| draw.unit() as f32).collect();
        let labels: Vec<i64> = (0..32).map(|_| draw.below(10) as i64).collect();
        let input = Tensor::<4>::from_data(TensorData::new(pixels, [32, 1, 12, 12]), device);
        let targets = Tensor::<1, Int>::from_data(TensorData::new(labels, [32]), device);
        begin_step(1, step, device);
        let (value, kept) = loss.forward_kept(network.logits(input), targets);
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimiser.step(0.005, network, gradients);
        losses.push((value.into_scalar::<f32>(), kept));
    }
    Ok(losses)
}
