//! Same seed, same bits, whatever the number of threads: two NPCL steps of every kind of network.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Int, Tensor, TensorData};
use tares::loss::CurriculumLossConfig;
use tares::network::{Classifier, Network, begin_step};
use tares_core::{Shape, Threshold, stream};

#[test]
fn two_steps_are_the_same_bits_on_one_two_and_three_threads() {
    for (name, channels, side, batch) in [
        ("mlp:256-256", 1, 28, 128),
        ("lenet", 1, 28, 64),
        ("cnn9", 3, 28, 4),
        ("resnet18", 3, 12, 4),
        ("densenet:16-12", 3, 16, 8),
        ("vgg11", 3, 32, 4),
    ] {
        let [one, two, three] = [1, 2, 3].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of threads");
            pool.install(|| train(name, channels, side, batch))
        });
        assert_eq!(one, two, "{name}: 1 and 2 threads");
        assert_eq!(one, three, "{name}: 1 and 3 threads");
    }
}

/// The bits of two losses and of all numbers in the network after them.
fn train(name: &str, channels: usize, side: usize, batch: usize) -> Vec<u32> {
    let device = tares::device::by_name("cpu").unwrap().autodiff();
    let shape = Shape::Image { channels, height: side, width: side };
    let mut network = name.parse::<Network>().unwrap().init(shape, 10, 1, &device).unwrap();
    let loss = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.3 }).init().unwrap();
    let mut optimiser = AdamConfig::new().init();
    let mut draw = stream(1, "pictures");
    let mut bits = Bits(Vec::new());
    for step in 0..2 {
        let pixels: Vec<f32> = (0..batch * shape.size()).map(|_| draw.unit() as f32).collect();
        let labels: Vec<i64> = (0..batch).map(|_| draw.below(10) as i64).collect();
        let input = Tensor::<4>::from_data(TensorData::new(pixels, [batch, channels, side, side]), &device);
        let targets = Tensor::<1, Int>::from_data(TensorData::new(labels, [batch]), &device);
        begin_step(1, step, &device);
        let value = loss.forward(network.logits(input), targets);
        let gradients = GradientsParams::from_grads(value.backward(), &network);
        network = optimiser.step(1e-3, network, gradients);
        bits.0.push(value.into_scalar::<f32>().to_bits());
    }
    network.visit(&mut bits);
    bits.0
}

struct Bits(Vec<u32>);

impl ModuleVisitor for Bits {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let values = param.val().into_data().try_to_vec::<f32>().expect("floats");
        self.0.extend(values.into_iter().map(f32::to_bits));
    }
}
