//! [`DenseNet`]: DenseNet-BC, in which every layer sees the maps of all earlier layers of its block.

use super::Classifier;
use super::block::{Activation, ConvBlock, Maps, NormConv, NormRelu, Window, average_pool, dense, global_average};
use super::weights::Weights;
use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::Tensor;

/// conv 3×3 → three dense blocks with a halving transition (1×1 convolution, reduction .5, mean pooling) between them →
/// norm, ReLU, global average → dense K.
///
/// A layer is norm–ReLU–conv 1×1 to 4·growth channels, norm–ReLU–conv 3×3 to `growth` channels, appended to its input.
/// With depth L a block has (L − 4)/6 layers. DenseNet-BC-100-12 has 0.77 M parameters for 3 channels and K = 10.
#[derive(Module, Debug)]
pub struct DenseNet {
    stem: ConvBlock,
    blocks: Vec<Vec<DenseLayer>>,
    transitions: Vec<NormConv>,
    last: NormRelu,
    head: Linear,
}

#[derive(Module, Debug)]
struct DenseLayer {
    bottleneck: NormConv,
    grow: NormConv,
}

impl DenseNet {
    /// The smallest side; two halvings leave one pixel.
    pub const SMALLEST: usize = 4;

    /// For pictures of `channels`, sides at least [`DenseNet::SMALLEST`]; `depth` is 6n + 4.
    pub fn new(channels: usize, depth: usize, growth: usize, classes: usize, weights: &mut Weights) -> Self {
        let layers = (depth - 4) / 6;
        let mut width = 2 * growth;
        let stem = ConvBlock::plain(weights, [channels, width], Window::SAME, Activation::Identity);
        let (mut blocks, mut transitions) = (Vec::new(), Vec::new());
        for number in 0..3 {
            let mut block = Vec::with_capacity(layers);
            for _ in 0..layers {
                block.push(DenseLayer {
                    bottleneck: NormConv::new(weights, [width, 4 * growth], Window::POINT),
                    grow: NormConv::new(weights, [4 * growth, growth], Window::SAME),
                });
                width += growth;
            }
            blocks.push(block);
            if number < 2 {
                transitions.push(NormConv::new(weights, [width, width / 2], Window::POINT));
                width /= 2;
            }
        }
        Self { stem, blocks, transitions, last: NormRelu::new(weights, width), head: weights.linear(width, classes) }
    }

    /// The maps at the end of each of the three parts.
    fn parts(&self, input: Tensor<4>) -> [Tensor<4>; 3] {
        let through = |block: &[DenseLayer], x: Tensor<4>| {
            block.iter().fold(Maps::from(x), |maps, layer| layer.forward(maps)).all
        };
        let first = average_pool(self.transitions[0].forward(through(&self.blocks[0], self.stem.forward(input))));
        let second = average_pool(self.transitions[1].forward(through(&self.blocks[1], first.clone())));
        let third = self.last.forward(through(&self.blocks[2], second.clone()));
        [first, second, third]
    }
}

impl DenseLayer {
    fn forward(&self, input: Maps) -> Maps {
        self.bottleneck.grow(input, |maps| self.grow.forward(maps))
    }
}

impl Classifier for DenseNet {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        let [_, _, last] = self.parts(input);
        dense(&self.head, global_average(last), Activation::Identity)
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        let taps = self.parts(input).map(global_average);
        let logits = dense(&self.head, taps[2].clone(), Activation::Identity);
        (taps.into(), logits)
    }

    /// Within the last block: after its 6th and 11th layer, and at its end.
    fn late_features(&self, input: Tensor<4>) -> Vec<Tensor<2>> {
        let [_, second, _] = self.parts(input);
        let mut maps = Maps::from(second);
        let mut taps = Vec::with_capacity(3);
        for (number, layer) in self.blocks[2].iter().enumerate() {
            maps = layer.forward(maps);
            if number == 5 || number == 10 {
                taps.push(global_average(maps.all.clone()));
            }
        }
        taps.push(global_average(self.last.forward(maps.all)));
        taps
    }
}
