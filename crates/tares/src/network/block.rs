//! The building blocks every network here is made of, and the only place that calls dense layers, convolution, batch
//! norm, activation and pooling: faster operations for a device are plugged in here.

use super::weights::Weights;
use burn::module::Module;
use burn::module::RunningState;
use burn::nn::conv::Conv2d;
use burn::nn::{BatchNorm, Linear, PaddingConfig2d};
use burn::tensor::{Tensor, activation};
use tares_kernels::{
    append_channels, batch_norm_act, batch_norm_act_pointwise, batch_norm_add_act, conv2d, grow, relu_max_pool,
    scale_shift_act,
};

/// What follows a linear operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Activation {
    /// Nothing.
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// `x` if `x ≥ 0`, else `slope · x`.
    LeakyRelu(f64),
}

impl Activation {
    pub(crate) fn apply<const D: usize>(self, input: Tensor<D>) -> Tensor<D> {
        match self {
            Self::Identity => input,
            Self::Relu => activation::relu(input),
            Self::LeakyRelu(slope) => activation::leaky_relu(input, slope),
        }
    }

    /// What negative values are multiplied by.
    fn slope(self) -> f64 {
        match self {
            Self::Identity => 1.0,
            Self::Relu => 0.0,
            Self::LeakyRelu(slope) => slope,
        }
    }
}

/// Convolution → batch norm (if there is one) → activation.
#[derive(Module, Debug)]
pub(crate) struct ConvBlock {
    conv: Conv2d,
    norm: Option<BatchNorm>,
    #[module(skip)]
    activation: Activation,
}

/// The numbers of a square convolution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) kernel: usize,
    pub(crate) stride: usize,
    pub(crate) padding: usize,
    pub(crate) bias: bool,
}

impl Window {
    /// A 3×3 window that keeps the size.
    pub(crate) const SAME: Self = Self { kernel: 3, stride: 1, padding: 1, bias: false };
    /// One pixel.
    pub(crate) const POINT: Self = Self { kernel: 1, stride: 1, padding: 0, bias: false };
}

impl ConvBlock {
    /// With batch norm.
    pub(crate) fn normed(weights: &mut Weights, channels: [usize; 2], window: Window, activation: Activation) -> Self {
        let conv = weights.conv(channels, window.kernel, window.stride, window.padding, window.bias);
        Self { conv, norm: Some(weights.norm(channels[1])), activation }
    }

    /// Without batch norm.
    pub(crate) fn plain(weights: &mut Weights, channels: [usize; 2], window: Window, activation: Activation) -> Self {
        let conv = weights.conv(channels, window.kernel, window.stride, window.padding, window.bias);
        Self { conv, norm: None, activation }
    }

    /// `[batch, channels in, height, width]` to `[batch, channels out, height', width']`.
    pub(crate) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        let output = convolve(&self.conv, input);
        match &self.norm {
            Some(norm) => normalise(norm, output, self.activation),
            None => self.activation.apply(output),
        }
    }

    /// [`ConvBlock::forward`] with `kept` added before the activation: the end of a residual block.
    pub(crate) fn forward_and_add(&self, input: Tensor<4>, kept: Tensor<4>) -> Tensor<4> {
        let output = convolve(&self.conv, input);
        match &self.norm {
            Some(norm) => normalise_and_add(norm, output, kept, self.activation),
            None => self.activation.apply(output + kept),
        }
    }

    /// [`ConvBlock::forward`], then the maximum over 2×2 windows.
    pub(crate) fn forward_pooled(&self, input: Tensor<4>) -> Tensor<4> {
        match (&self.norm, self.activation) {
            (None, Activation::Relu) => relu_max_pool(convolve(&self.conv, input)),
            _ => max_pool(self.forward(input)),
        }
    }
}

/// Batch norm → ReLU → convolution: the pre-activation order of DenseNet.
#[derive(Module, Debug)]
pub(crate) struct NormConv {
    norm: BatchNorm,
    conv: Conv2d,
}

impl NormConv {
    pub(crate) fn new(weights: &mut Weights, channels: [usize; 2], window: Window) -> Self {
        let norm = weights.norm(channels[0]);
        Self { norm, conv: weights.conv(channels, window.kernel, window.stride, window.padding, window.bias) }
    }

    pub(crate) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        if self.is_pointwise() && fixed(&self.norm, &input).is_none() {
            let norm = &self.norm;
            let (gamma, beta, weight) = (norm.gamma.val(), norm.beta.val(), self.conv.weight.val());
            return follow(norm, batch_norm_act_pointwise(input, gamma, beta, norm.epsilon, 0.0, weight));
        }
        convolve(&self.conv, normalise(&self.norm, input, Activation::Relu))
    }

    /// The input, and after it what `rest` makes of [`NormConv::forward`].
    pub(crate) fn grow(&self, input: Maps, rest: impl FnOnce(Tensor<4>) -> Tensor<4>) -> Maps {
        let Maps { all, known } = input;
        if self.is_pointwise() && fixed(&self.norm, &all).is_none() {
            let norm = &self.norm;
            let (gamma, beta, weight) = (norm.gamma.val(), norm.beta.val(), self.conv.weight.val());
            let (all, mean, var) = grow(all, gamma, beta, norm.epsilon, 0.0, weight, known, rest);
            let known = Some([mean.clone(), var.clone()]);
            return Maps { all: follow(norm, (all, mean, var)), known };
        }
        let new = rest(self.forward(all.clone()));
        Maps { all: append_channels(all, new), known: None }
    }

    fn is_pointwise(&self) -> bool {
        self.conv.kernel_size == [1, 1] && self.conv.stride == [1, 1] && self.conv.bias.is_none()
    }
}

/// The maps of a DenseNet's block so far.
pub(crate) struct Maps {
    pub(crate) all: Tensor<4>,
    /// Mean and variance of the first of them over the batch.
    known: Option<[Tensor<1>; 2]>,
}

impl From<Tensor<4>> for Maps {
    fn from(all: Tensor<4>) -> Self {
        Self { all, known: None }
    }
}

/// Batch norm → ReLU: the end of a DenseNet.
#[derive(Module, Debug)]
pub(crate) struct NormRelu {
    norm: BatchNorm,
}

impl NormRelu {
    pub(crate) fn new(weights: &mut Weights, channels: usize) -> Self {
        Self { norm: weights.norm(channels) }
    }

    pub(crate) fn forward(&self, input: Tensor<4>) -> Tensor<4> {
        normalise(&self.norm, input, Activation::Relu)
    }
}

/// Dense layer → activation: `[batch, inputs]` to `[batch, outputs]`.
pub(crate) fn dense(layer: &Linear, input: Tensor<2>, activation: Activation) -> Tensor<2> {
    match &layer.bias {
        Some(bias) => tares_kernels::dense(input, layer.weight.val(), bias.val(), activation.slope()),
        None => activation.apply(layer.forward(input)),
    }
}

/// The convolution by our own kernels, unless it is of a kind they don't know.
fn convolve(conv: &Conv2d, input: Tensor<4>) -> Tensor<4> {
    let padding = match conv.padding {
        PaddingConfig2d::Valid => [0, 0],
        PaddingConfig2d::Explicit(top, left, bottom, right) if (top, left) == (bottom, right) => [top, left],
        _ => return conv.forward(input),
    };
    if conv.groups != 1 || conv.dilation != [1, 1] {
        return conv.forward(input);
    }
    conv2d(input, conv.weight.val(), conv.bias.as_ref().map(|bias| bias.val()), conv.stride, padding)
}

/// Batch norm and activation in one.
fn normalise(norm: &BatchNorm, input: Tensor<4>, activation: Activation) -> Tensor<4> {
    let slope = activation.slope();
    match fixed(norm, &input) {
        Some([scale, shift]) => scale_shift_act(input, scale, shift, slope),
        None => follow(norm, batch_norm_act(input, norm.gamma.val(), norm.beta.val(), norm.epsilon, slope)),
    }
}

/// Batch norm, a sum and an activation in one.
fn normalise_and_add(norm: &BatchNorm, input: Tensor<4>, kept: Tensor<4>, activation: Activation) -> Tensor<4> {
    match fixed(norm, &input) {
        Some([scale, shift]) => activation.apply(scale_shift_act(input, scale, shift, 1.0) + kept),
        None => {
            let (gamma, beta) = (norm.gamma.val(), norm.beta.val());
            follow(norm, batch_norm_add_act(input, gamma, beta, norm.epsilon, activation.slope(), kept))
        }
    }
}

/// Scale and shift by the running statistics; nothing while training, which uses those of the batch.
fn fixed(norm: &BatchNorm, input: &Tensor<4>) -> Option<[Tensor<1>; 2]> {
    let device = input.device();
    if device.is_autodiff() && norm.training.is_enabled() {
        return None;
    }
    let [mean, var] = [&norm.running_mean, &norm.running_var].map(|state| state.value().to_device(&device));
    let scale = norm.gamma.val() / (var + norm.epsilon).sqrt();
    let shift = norm.beta.val() - mean * scale.clone();
    Some([scale, shift])
}

/// Lets the running statistics follow those of a batch, as [`BatchNorm::forward`] would do it, but without leaving them waiting:
/// Burn takes an update up only at the next training step, so a record of the network written in between would be one
/// step old, and a resumed run would differ.
fn follow(norm: &BatchNorm, (output, mean, var): (Tensor<4>, Tensor<1>, Tensor<1>)) -> Tensor<4> {
    let device = output.device();
    let towards = |state: &RunningState<Tensor<1>>, batch: Tensor<1>| {
        let old = state.value_sync().to_device(&device);
        let new = old.mul_scalar(1.0 - norm.momentum).add(batch.detach().mul_scalar(norm.momentum));
        state.update(new.detach());
        state.value_sync();
    };
    towards(&norm.running_mean, mean);
    towards(&norm.running_var, var);
    output
}

/// Maximum over 2×2 windows; an odd last row or column falls away.
pub(crate) fn max_pool(input: Tensor<4>) -> Tensor<4> {
    tares_kernels::max_pool(input)
}

/// Mean over 2×2 windows; an odd last row or column falls away.
pub(crate) fn average_pool(input: Tensor<4>) -> Tensor<4> {
    tares_kernels::average_pool(input)
}

/// Mean over height and width: `[batch, channels, height, width]` to `[batch, channels]`.
pub(crate) fn global_average(input: Tensor<4>) -> Tensor<2> {
    let [batch, channels, height, width] = input.dims();
    if height * width == 1 {
        return input.reshape([batch, channels]);
    }
    input.reshape([batch, channels, height * width]).mean_dim(2).reshape([batch, channels])
}
