//! [`Mlp`]: dense layers with ReLU between them.

use super::Classifier;
use super::block::{Activation, dense};
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// A multi-layer perceptron: every hidden layer is dense → ReLU, the last layer is dense. Pictures are flattened.
#[derive(Module, Debug)]
pub struct Mlp {
    hidden: Vec<Linear>,
    head: Linear,
}

impl Mlp {
    /// Hidden layers of `widths` between `inputs` numbers and `classes` logits; no width is a linear model.
    pub fn new(inputs: usize, widths: &[usize], classes: usize, weights: &mut Weights) -> Self {
        let mut from = inputs;
        let mut layer = |to: usize| weights.linear(std::mem::replace(&mut from, to), to);
        let hidden = widths.iter().map(|&width| layer(width)).collect();
        Self { hidden, head: layer(classes) }
    }
}

impl Classifier for Mlp {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let flat = input.flatten::<2>(1, 3);
        let last = self.hidden.iter().fold(flat, |x, layer| dense(layer, x, Activation::Relu));
        dense(&self.head, last, Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let mut x = input.flatten::<2>(1, 3);
        let mut taps = Vec::with_capacity(self.hidden.len().max(1));
        for layer in &self.hidden {
            x = dense(layer, x, Activation::Relu);
            taps.push(x.clone());
        }
        if taps.is_empty() {
            taps.push(x.clone()); // a linear model sees its input
        }
        (taps, dense(&self.head, x, Activation::Identity))
    }
}
