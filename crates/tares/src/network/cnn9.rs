//! [`Cnn9`]: the nine-layer network of the Co-teaching comparisons.

use super::Classifier;
use super::block::{Activation, ConvBlock, Window, dense, global_average, max_pool};
use super::dropout::ChannelDropout;
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// 3×[conv 3×3, 128] → pool → channel dropout .25 → 3×[conv 3×3, 256] → pool → channel dropout .25 → conv 3×3 without
/// padding 512, 256, 128 → global average → dense K.
///
/// Each convolution has a bias and is followed by batch norm (momentum .1, epsilon 1e-5) and LeakyReLU 0.01.
/// 4.43 M parameters; about 0.75 G multiply-adds per 32×32×3 picture.
///
/// With another width w, these are w, 2w, 4w, 2w and w channels: with 32 it has 1/16 of the work.
#[derive(Module, Debug)]
pub struct Cnn9 {
    early: Vec<ConvBlock>,
    middle: Vec<ConvBlock>,
    late: Vec<ConvBlock>,
    dropout: ChannelDropout,
    head: Linear,
}

impl Cnn9 {
    /// The smallest side: two poolings leave 7, three convolutions without padding leave 1.
    pub const SMALLEST: usize = 28;

    /// Channels of the first convolutions, as published.
    pub const WIDTH: usize = 128;

    /// For pictures of `channels`, sides at least [`Cnn9::SMALLEST`].
    /// The published width is [`Cnn9::WIDTH`].
    pub fn new(channels: usize, width: usize, classes: usize, weights: &mut Weights) -> Self {
        let mut from = channels;
        let mut stage = |widths: [usize; 3], padding: usize, weights: &mut Weights| -> Vec<ConvBlock> {
            let window = Window { padding, bias: true, ..Window::SAME };
            let mut block = |width: usize| {
                let channels = [std::mem::replace(&mut from, width), width];
                ConvBlock::normed(weights, channels, window, Activation::LeakyRelu(0.01))
            };
            widths.map(&mut block).into()
        };
        Self {
            early: stage([width; 3], 1, weights),
            middle: stage([2 * width; 3], 1, weights),
            late: stage([4 * width, 2 * width, width], 0, weights),
            dropout: ChannelDropout::new(if weights.is_original() { 0.0 } else { 0.25 }),
            head: weights.linear(width, classes),
        }
    }

    fn stages(&self, input: Tensor<4>) -> [Tensor<4>; 3] {
        let through = |stage: &[ConvBlock], x| stage.iter().fold(x, |x, block| block.forward(x));
        let early = self.dropout.forward(max_pool(through(&self.early, input)));
        let middle = self.dropout.forward(max_pool(through(&self.middle, early.clone())));
        let late = through(&self.late, middle.clone());
        [early, middle, late]
    }
}

impl Classifier for Cnn9 {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let [_, _, late] = self.stages(input);
        dense(&self.head, global_average(late), Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let taps = self.stages(input).map(global_average);
        let logits = dense(&self.head, taps[2].clone(), Activation::Identity);
        (taps.into(), logits)
    }
}
