//! [`Weights`]: where initial weights come from. Our own named stream, drawn on the host: the same seed gives the same
//! network on every device and whatever was drawn before.

use burn::module::{Param, RunningState};
use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, PaddingConfig2d};
use burn::tensor::{Device, Tensor, TensorData};
use tares_core::{Stream, stream};

/// Draws the layers of a network, one after the other, in PyTorch's default distribution.
///
/// Weights and biases of dense layers and convolutions are uniform in `±1/√fan_in` (Kaiming uniform with `a = √5`), so
/// that comparisons with PyTorch start from the same distribution; batch norm starts at scale 1 and shift 0.
///
/// ```
/// use burn::tensor::Device;
/// use tares::network::Weights;
/// let device = Device::flex();
/// let layer = Weights::new(7, "weights", &device).linear(64, 10);
/// let again = Weights::new(7, "weights", &device).linear(64, 10);
/// assert_eq!(layer.weight.to_data(), again.weight.to_data());
/// ```
#[derive(Debug)]
pub struct Weights {
    stream: Stream,
    device: Device,
    original: bool,
}

impl Weights {
    /// The weights of the stream called `name` of `seed`; a method with two networks gives them two names.
    pub fn new(seed: u64, name: &str, device: &Device) -> Self {
        Self { stream: stream(seed, name), device: device.clone(), original: false }
    }

    /// The quirks of the original Co-teaching code that concern a network: batch-norm scales start uniform in [0, 1)
    /// instead of at 1, and dropout does nothing.
    #[must_use]
    pub fn original(mut self) -> Self {
        self.original = true;
        self
    }

    /// True after [`Weights::original`].
    pub fn is_original(&self) -> bool {
        self.original
    }

    /// A dense layer with bias.
    pub fn linear(&mut self, inputs: usize, outputs: usize) -> Linear {
        let bound = 1.0 / (inputs as f64).sqrt();
        Linear { weight: self.uniform([inputs, outputs], bound), bias: Some(self.uniform([outputs], bound)) }
    }

    /// A square convolution with equal stride and zero padding on all sides.
    pub fn conv(
        &mut self,
        channels: [usize; 2],
        kernel: usize,
        stride: usize,
        padding: usize,
        has_bias: bool,
    ) -> Conv2d {
        let [inputs, outputs] = channels;
        let bound = 1.0 / ((inputs * kernel * kernel) as f64).sqrt();
        Conv2d {
            weight: self.uniform([outputs, inputs, kernel, kernel], bound),
            bias: has_bias.then(|| self.uniform([outputs], bound)),
            stride: [stride, stride],
            kernel_size: [kernel, kernel],
            dilation: [1, 1],
            groups: 1,
            padding: PaddingConfig2d::Explicit(padding, padding, padding, padding),
        }
    }

    /// Batch norm with momentum 0.1 and epsilon 1e-5.
    pub fn norm(&mut self, channels: usize) -> BatchNorm {
        let mut norm = BatchNormConfig::new(channels).with_momentum(0.1).with_epsilon(1e-5).init(&self.device);
        // Burn makes parameters when they are first used; made here, nothing of a network depends on its first use.
        let scale = if self.original { self.draw(channels, 0.0, 1.0) } else { vec![1.0; channels] };
        norm.gamma = self.parameter(scale, [channels]);
        norm.beta = self.parameter(vec![0.0; channels], [channels]);
        norm.running_mean = RunningState::new(Tensor::zeros([channels], &self.device));
        norm.running_var = RunningState::new(Tensor::ones([channels], &self.device));
        norm
    }

    fn uniform<const D: usize>(&mut self, shape: [usize; D], bound: f64) -> Param<Tensor<D>> {
        let values = self.draw(shape.iter().product(), -bound, bound);
        self.parameter(values, shape)
    }

    fn draw(&mut self, count: usize, low: f64, high: f64) -> Vec<f32> {
        (0..count).map(|_| (low + (high - low) * self.stream.unit()) as f32).collect()
    }

    fn parameter<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Param<Tensor<D>> {
        Param::from_data(TensorData::new(values, shape), &self.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_pytorchs_default_spread() {
        // torch.nn.Linear(400, 100): weight and bias uniform in ±1/20, standard deviation 1/(20·√3) = 0.028868
        let layer = Weights::new(1, "weights", &Device::flex()).linear(400, 100);
        let values = layer.weight.to_data().try_to_vec::<f32>().unwrap();
        let deviation = (values.iter().map(|w| f64::from(w * w)).sum::<f64>() / values.len() as f64).sqrt();
        assert!(values.iter().all(|w| w.abs() <= 0.05));
        assert!((deviation - 0.028868).abs() < 3e-4, "{deviation}");
        let conv = Weights::new(1, "weights", &Device::flex()).conv([16, 8], 5, 1, 2, true);
        let largest = conv.weight.to_data().try_to_vec::<f32>().unwrap().into_iter().fold(0f32, |a, w| a.max(w.abs()));
        assert!((0.0499..=0.05).contains(&largest), "fan-in 16·25 = 400 gives ±0.05, got {largest}");
    }

    #[test]
    fn burns_own_generator_has_no_part() {
        let device = Device::flex();
        device.seed(1);
        let first = Weights::new(3, "weights", &device).conv([3, 4], 3, 1, 1, true);
        device.seed(2);
        let second = Weights::new(3, "weights", &device).conv([3, 4], 3, 1, 1, true);
        assert_eq!(first.weight.to_data(), second.weight.to_data());
        let other = Weights::new(3, "second weights", &device).conv([3, 4], 3, 1, 1, true);
        assert_ne!(first.weight.to_data(), other.weight.to_data());
    }

    #[test]
    fn original_scales_are_uniform_and_usual_ones_are_1() {
        let scales = |weights: Weights| { weights }.norm(1000).gamma.to_data().try_to_vec::<f32>().unwrap();
        let device = Device::flex();
        assert!(scales(Weights::new(1, "weights", &device)).iter().all(|&scale| scale == 1.0));
        let drawn = scales(Weights::new(1, "weights", &device).original());
        let mean = drawn.iter().sum::<f32>() / 1000.0;
        assert!((mean - 0.5).abs() < 0.06 && drawn.iter().all(|scale| (0.0..1.0).contains(scale)), "{mean}");
    }
}
