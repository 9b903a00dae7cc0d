//! What `compare/pytorch/check.py` compares: the gradients of the first step and the losses of a few plain SGD steps.

use burn::module::{Module, ModuleMapper, Param};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use std::path::Path;
use tares::Optimiser;
use tares::descent::Descent;
use tares::optimiser::Sgd;
use tares::safetensors::to_safetensors;

/// The learning rate, as in `check.py`.
const RATE: f64 = 0.01;

/// One step per batch; the gradients of the first go to a file with the names of the weights, the losses are returned.
///
/// Plain SGD, because a step is then proportional to its gradient. Adam's first step is `lr · sign(gradient)`, which
/// turns a gradient that is rounding alone into a step of full size.
pub fn sgd_steps<M: Module, B>(
    mut network: M,
    batches: impl Iterator<Item = B>,
    loss: impl Fn(&M, B) -> Tensor<1>,
    file: &Path,
) -> Vec<f32> {
    let rule = Sgd { lr: RATE, momentum: 0.0, weight_decay: 0.0, nesterov: false };
    let mut descent = Descent::new(Optimiser::Sgd(rule));
    let mut losses = Vec::new();
    for batch in batches {
        let loss = loss(&network, batch);
        let gradients = GradientsParams::from_grads(loss.backward(), &network);
        if losses.is_empty() {
            let slopes = network.clone().map(&mut Slopes(&gradients));
            std::fs::write(file, to_safetensors(&slopes).expect("gradients as bytes")).expect("gradients written");
        }
        losses.push(loss.into_scalar::<f32>());
        network = descent.step(network, gradients, RATE, 0.0);
    }
    losses
}

/// Puts the gradient in the place of every weight that has one.
struct Slopes<'a>(&'a GradientsParams);

impl ModuleMapper for Slopes<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let slopes = self.0.get::<D>(id).map_or(tensor, Tensor::from_inner);
        Param::from_mapped_value(id, slopes, mapper)
    }
}
