//! Networks that classify. [`Network`] names them, [`Network::init`] makes one for a data shape, and [`Classifier`] is
//! what your own module implements to be trained like them.
//!
//! Inputs are `[batch, channels, height, width]`; flat data comes as `[batch, features, 1, 1]`. Outputs are logits
//! `[batch, K]`. A network is trained on a device with autodiff and judged after `valid()`.
//!
//! Two caveats of Burn: a `clone()` of a network shares its batch-norm statistics with the original (to keep weights
//! for later, keep a record), and optimisers know parameters by their id, which is drawn when a network is made.

mod block;
mod cnn9;
mod densenet;
mod dropout;
mod lenet;
mod mlp;
mod name;
mod resnet;
mod size;
mod vgg;
mod weights;

pub use cnn9::Cnn9;
pub use densenet::DenseNet;
pub use dropout::{ChannelDropout, begin_step};
pub use lenet::LeNet;
pub use mlp::Mlp;
pub use name::Network;
pub use resnet::ResNet;
pub use vgg::Vgg;
pub use weights::Weights;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;

/// What a network must be able to do; implement it for your own Burn module to train it with every method here.
///
/// ```
/// use burn::module::Module;
/// use burn::nn::Linear;
/// use burn::tensor::{Device, Tensor};
/// use tares::network::{Classifier, Weights};
///
/// #[derive(Module, Debug)]
/// struct Mine {
///     layer: Linear,
/// }
///
/// impl Classifier for Mine {
///     fn logits(&self, input: Tensor<4>) -> Tensor<2> {
///         self.layer.forward(input.flatten(1, 3))
///     }
/// }
///
/// let device = Device::flex();
/// let mine = Mine { layer: Weights::new(1, "weights", &device).linear(64, 10) };
/// assert_eq!(mine.logits(Tensor::zeros([5, 1, 8, 8], &device)).dims(), [5, 10]);
/// ```
pub trait Classifier: Module {
    /// `[batch, channels, height, width]` to logits `[batch, K]`; flat data comes as `[batch, features, 1, 1]`.
    fn logits(&self, input: Tensor<4>) -> Tensor<2>;

    /// Hidden features from early to last, each `[batch, d]` (maps averaged over height and width), and the logits; the
    /// last one is what the final dense layer sees. Methods that look inside a network (RoG, D2L) need at least one;
    /// the default has none.
    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        (Vec::new(), self.logits(input))
    }

    /// The hidden features near the output that RoG's authors take; those of [`features`](Self::features) unless they chose
    /// others for this kind of network.
    fn late_features(&self, input: Tensor<4>) -> Vec<Tensor<2>> {
        self.features(input).0
    }
}

/// One of the networks of this crate; made by [`Network::init`].
#[derive(Module, Debug)]
#[allow(missing_docs, clippy::large_enum_variant)] // named after what they hold; Burn has no modules in boxes
pub enum AnyNetwork {
    Mlp(Mlp),
    LeNet(LeNet),
    Cnn9(Cnn9),
    ResNet(ResNet),
    DenseNet(DenseNet),
    Vgg(Vgg),
}

impl Classifier for AnyNetwork {
    fn logits(&self, input: Tensor<4>) -> Tensor<2> {
        match self {
            Self::Mlp(network) => network.logits(input),
            Self::LeNet(network) => network.logits(input),
            Self::Cnn9(network) => network.logits(input),
            Self::ResNet(network) => network.logits(input),
            Self::DenseNet(network) => network.logits(input),
            Self::Vgg(network) => network.logits(input),
        }
    }

    fn features(&self, input: Tensor<4>) -> (Vec<Tensor<2>>, Tensor<2>) {
        match self {
            Self::Mlp(network) => network.features(input),
            Self::LeNet(network) => network.features(input),
            Self::Cnn9(network) => network.features(input),
            Self::ResNet(network) => network.features(input),
            Self::DenseNet(network) => network.features(input),
            Self::Vgg(network) => network.features(input),
        }
    }

    fn late_features(&self, input: Tensor<4>) -> Vec<Tensor<2>> {
        match self {
            Self::Mlp(network) => network.late_features(input),
            Self::LeNet(network) => network.late_features(input),
            Self::Cnn9(network) => network.late_features(input),
            Self::ResNet(network) => network.late_features(input),
            Self::DenseNet(network) => network.late_features(input),
            Self::Vgg(network) => network.late_features(input),
        }
    }
}

/// How many numbers training changes: all parameters, without the running statistics of batch norm (which
/// `Module::num_params` counts too).
pub fn parameters(network: &impl Module) -> usize {
    let mut count = Count { path: Vec::new(), total: 0 };
    network.visit(&mut count);
    count.total
}

struct Count {
    path: Vec<String>,
    total: usize,
}

impl ModuleVisitor for Count {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let statistic = self.path.last().is_some_and(|name| name == "running_mean" || name == "running_var");
        if !statistic {
            self.total += param.lazy_shape().num_elements();
        }
    }
}
