//! Writes every network's weights, one batch, its logits and the gradient of its mean cross-entropy as plain f32 files, for
//! `compare/networks/check.py` to repeat in PyTorch. `cargo run --release -p tares --example dump_networks -- DIRECTORY`

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use std::path::Path;
use tares::loss::cross_entropy;
use tares::network::{Classifier, Network, Weights};
use tares_core::{Shape, stream};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Network, channels, side, batch.
const CASES: [(&str, usize, usize, usize); 12] = [
    ("mlp:64-32", 1, 8, 16),
    ("lenet", 1, 28, 8),
    ("cnn9", 3, 32, 4),
    ("cnn9:32", 1, 28, 4),
    ("resnet18", 3, 32, 4),
    ("resnet34", 3, 32, 2),
    ("densenet:10-4", 1, 8, 16),
    ("densenet:16-12", 3, 32, 3),
    ("densenet:22-12", 3, 16, 5),
    ("vgg11", 3, 32, 4),
    ("vgg13", 3, 32, 4),
    ("vgg16", 3, 32, 4),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).ok_or("dump_networks: name the directory to write to")?;
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let device = Device::flex().autodiff();
    for (name, channels, side, batch) in CASES {
        let shape = Shape::Image { channels, height: side, width: side };
        // `original` switches dropout off and draws the batch-norm scales, which would otherwise all be 1.
        let mut weights = Weights::new(1, "weights", &device).original();
        let network = name.parse::<Network>()?.build(shape, 10, &mut weights)?;
        let mut draw = stream(1, "pictures");
        let pixels: Vec<f32> = (0..batch * shape.size()).map(|_| draw.unit() as f32).collect();
        let labels: Vec<i32> = (0..batch).map(|_| draw.below(10) as i32).collect();
        let input = Tensor::<4>::from_data(TensorData::new(pixels.clone(), [batch, channels, side, side]), &device);
        let targets = Tensor::<1, Int>::from_data(TensorData::new(labels.clone(), [batch]), &device);

        let mut parameters = Flat(Vec::new());
        network.visit(&mut parameters);
        let judged = network.valid().logits(input.clone().without_autodiff());
        let logits = network.logits(input);
        let loss = cross_entropy(logits.clone(), targets).mean();
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        let mut slopes = Slopes(Vec::new(), &gradients);
        network.visit(&mut slopes);

        let labels = labels.iter().map(|&label| label as f32).collect();
        let dense = |tensor: Tensor<2>| tensor.into_data().try_to_vec::<f32>();
        for (part, values) in [
            ("parameters", parameters.0),
            ("input", pixels),
            ("labels", labels),
            ("logits", dense(logits)?),
            ("judged", dense(judged)?),
            ("gradients", slopes.0),
        ] {
            let bytes: Vec<u8> = values.iter().flat_map(|value: &f32| value.to_le_bytes()).collect();
            std::fs::write(directory.join(format!("{}.{part}.f32", name.replace(':', "-"))), bytes)?;
        }
        println!("{name} {channels} {side} {batch}");
    }
    Ok(())
}

/// All floats of a network, in the order of its fields.
struct Flat(Vec<f32>);

impl ModuleVisitor for Flat {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.0.extend(param.val().into_data().try_to_vec::<f32>().expect("floats"));
    }
}

/// Their gradients; batch-norm statistics have none.
struct Slopes<'a>(Vec<f32>, &'a GradientsParams);

impl ModuleVisitor for Slopes<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(gradient) = self.1.get::<D>(param.id) {
            self.0.extend(gradient.into_data().try_to_vec::<f32>().expect("floats"));
        }
    }
}
