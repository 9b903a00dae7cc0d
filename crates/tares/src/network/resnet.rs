//! [`ResNet`]: residual networks of basic blocks, in the form used for small pictures.

use super::Classifier;
use super::block::{Activation, ConvBlock, Window, dense, global_average};
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// conv 3×3 64 → four stages of basic blocks (64, 128, 256, 512 channels; every stage but the first halves the size)
/// → global average → dense K. No pooling at the entrance, as pictures of 32×32 need it.
///
/// ResNet-18 has 2, 2, 2, 2 blocks (11.17 M parameters for 3 channels and K = 10), ResNet-34 has 3, 4, 6, 3 (21.28 M).
#[derive(Module, Debug)]
pub struct ResNet {
    stem: ConvBlock,
    stages: Vec<Vec<BasicBlock>>,
    head: Linear,
}

/// relu(conv–norm–relu–conv–norm (x) + shortcut (x)); the shortcut is a 1×1 convolution where the shape changes.
#[derive(Module, Debug)]
struct BasicBlock {
    first: ConvBlock,
    second: ConvBlock,
    shortcut: Option<ConvBlock>,
}

impl ResNet {
    /// The smallest side; three halvings leave one pixel.
    pub const SMALLEST: usize = 8;

    /// `blocks` per stage, for pictures of `channels`, sides at least [`ResNet::SMALLEST`].
    pub fn new(channels: usize, blocks: [usize; 4], classes: usize, weights: &mut Weights) -> Self {
        let stem = ConvBlock::normed(weights, [channels, 64], Window::SAME, Activation::Relu);
        let mut from = 64;
        let mut stages = Vec::with_capacity(4);
        for (number, (&count, width)) in blocks.iter().zip([64, 128, 256, 512]).enumerate() {
            let mut stage = Vec::with_capacity(count);
            for block in 0..count {
                let stride = if number > 0 && block == 0 { 2 } else { 1 };
                stage.push(BasicBlock::new([std::mem::replace(&mut from, width), width], stride, weights));
            }
            stages.push(stage);
        }
        Self { stem, stages, head: weights.linear(512, classes) }
    }
}

impl BasicBlock {
    fn new(channels: [usize; 2], stride: usize, weights: &mut Weights) -> Self {
        let [from, to] = channels;
        let first = ConvBlock::normed(weights, channels, Window { stride, ..Window::SAME }, Activation::Relu);
        let second = ConvBlock::normed(weights, [to, to], Window::SAME, Activation::Relu);
        let shortcut = (stride != 1 || from != to)
            .then(|| ConvBlock::normed(weights, channels, Window { stride, ..Window::POINT }, Activation::Identity));
        Self { first, second, shortcut }
    }

    fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let kept = match &self.shortcut {
            Some(shortcut) => shortcut.forward(input.clone()),
            None => input.clone(),
        };
        self.second.forward_and_add(self.first.forward(input), kept)
    }
}

impl Classifier for ResNet {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let maps = self.stages.iter().flatten().fold(self.stem.forward(input), |x, block| block.forward(x));
        dense(&self.head, global_average(maps), Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let mut x = self.stem.forward(input);
        let mut taps = Vec::with_capacity(self.stages.len());
        for stage in &self.stages {
            x = stage.iter().fold(x, |x, block| block.forward(x));
            taps.push(global_average(x.clone()));
        }
        let logits = dense(&self.head, taps[taps.len() - 1].clone(), Activation::Identity);
        (taps, logits)
    }

    /// After every block of the last stage.
    fn late_features(&self, input: Tensor<4>) -> Vec<Tensor<2>> {
        let earlier = self.stages[..self.stages.len() - 1].iter().flatten();
        let mut x = earlier.fold(self.stem.forward(input), |x, block| block.forward(x));
        let last = self.stages[self.stages.len() - 1].iter();
        last.map(|block| {
            x = block.forward(x.clone());
            global_average(x.clone())
        })
        .collect()
    }
}
