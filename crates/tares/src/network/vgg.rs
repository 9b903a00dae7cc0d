//! [`Vgg`]: plain stacks of 3×3 convolutions with batch norm, in the form used for small pictures.

use super::Classifier;
use super::block::{Activation, ConvBlock, Window, dense, global_average, max_pool};
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// Five stages of [conv 3×3 with bias → batch norm → ReLU], each ended by a pooling → global average → dense K.
///
/// VGG-11 has 1, 1, 2, 2, 2 convolutions of 64, 128, 256, 512, 512 channels (9.23 M parameters for 3 channels and
/// K = 10), VGG-13 has 2, 2, 2, 2, 2 (9.42 M), VGG-16 has 2, 2, 3, 3, 3 (14.73 M).
#[derive(Module, Debug)]
pub struct Vgg {
    stages: Vec<Vec<ConvBlock>>,
    head: Linear,
}

impl Vgg {
    /// The smallest side; five poolings leave one pixel.
    pub const SMALLEST: usize = 32;

    /// `convolutions` per stage, for pictures of `channels`, sides at least [`Vgg::SMALLEST`].
    pub fn new(channels: usize, convolutions: [usize; 5], classes: usize, weights: &mut Weights) -> Self {
        let window = Window { bias: true, ..Window::SAME };
        let mut from = channels;
        let mut stages = Vec::with_capacity(5);
        for (&count, width) in convolutions.iter().zip([64, 128, 256, 512, 512]) {
            let mut stage = Vec::with_capacity(count);
            for _ in 0..count {
                let channels = [std::mem::replace(&mut from, width), width];
                stage.push(ConvBlock::normed(weights, channels, window, Activation::Relu));
            }
            stages.push(stage);
        }
        Self { stages, head: weights.linear(512, classes) }
    }
}

impl Classifier for Vgg {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let stage = |x, stage: &Vec<ConvBlock>| max_pool(stage.iter().fold(x, |x, block| block.forward(x)));
        dense(&self.head, global_average(self.stages.iter().fold(input, stage)), Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let mut x = input;
        let mut taps = Vec::with_capacity(self.stages.len());
        for stage in &self.stages {
            x = max_pool(stage.iter().fold(x, |x, block| block.forward(x)));
            taps.push(global_average(x.clone()));
        }
        let logits = dense(&self.head, taps[taps.len() - 1].clone(), Activation::Identity);
        (taps, logits)
    }
}
