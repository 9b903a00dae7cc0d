//! [`LeNet`]: LeNet-5 with today's activations; small enough for a laptop.

use super::Classifier;
use super::block::{Activation, ConvBlock, Window, dense, global_average};
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// conv 5×5 (padding 2) 6 → pool → conv 5×5 16 → pool → dense 120 → 84 → K, with ReLU and maximum pooling.
///
/// On 28×28×1 pictures with K = 10 this is LeNet-5: 61,706 parameters. The second convolution has no padding where the
/// map it sees is at least 6 wide and high, and padding 2 on smaller ones, so that 8×8 pictures work too.
#[derive(Module, Debug)]
pub struct LeNet {
    first: ConvBlock,
    second: ConvBlock,
    dense1: Linear,
    dense2: Linear,
    head: Linear,
}

impl LeNet {
    /// The smallest side that leaves a pixel after both poolings.
    pub const SMALLEST: usize = 4;

    /// For pictures of `[channels, height, width]`, sides at least [`LeNet::SMALLEST`].
    pub fn new([channels, height, width]: [usize; 3], classes: usize, weights: &mut Weights) -> Self {
        let window = Window { kernel: 5, stride: 1, padding: 2, bias: true };
        let first = ConvBlock::plain(weights, [channels, 6], window, Activation::Relu);
        let padding = if height.min(width) / 2 >= 6 { 0 } else { 2 };
        let second = ConvBlock::plain(weights, [6, 16], Window { padding, ..window }, Activation::Relu);
        let side = |side: usize| (side / 2 + 2 * padding - 4) / 2;
        let dense1 = weights.linear(16 * side(height) * side(width), 120);
        let dense2 = weights.linear(120, 84);
        Self { first, second, dense1, dense2, head: weights.linear(84, classes) }
    }

    fn last(&self, maps: Tensor<4>) -> (Tensor<2>, Tensor<2>) {
        let early = dense(&self.dense1, maps.flatten::<2>(1, 3), Activation::Relu);
        let last = dense(&self.dense2, early.clone(), Activation::Relu);
        (early, last)
    }
}

impl Classifier for LeNet {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let maps = self.second.forward_pooled(self.first.forward_pooled(input));
        dense(&self.head, self.last(maps).1, Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let first = self.first.forward_pooled(input);
        let second = self.second.forward_pooled(first.clone());
        let (early, last) = self.last(second.clone());
        let logits = dense(&self.head, last.clone(), Activation::Identity);
        (vec![global_average(first), global_average(second), early, last], logits)
    }
}
