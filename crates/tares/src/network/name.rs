//! [`Network`]: the networks by name, and what a data shape must be for each.

use super::size::MOST_LAYERS;
use super::{AnyNetwork, Cnn9, DenseNet, LeNet, Mlp, ResNet, Vgg, Weights};
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use tares_core::{Error, Result, Shape};

/// The name of a network, as files and command lines write it.
///
/// ```
/// use burn::tensor::Device;
/// use tares::network::{Network, parameters};
/// use tares_core::Shape;
/// let network: Network = "mlp:256-256".parse()?;
/// let digits = Shape::Image { channels: 1, height: 8, width: 8 };
/// let made = network.init(digits, 10, 1, &Device::flex())?;
/// assert_eq!(parameters(&made), 64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10);
/// assert_eq!("densenet".parse::<Network>()?.to_string(), "densenet:100-12");
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Network {
    /// `mlp` (= `mlp:256-256`): dense layers of these widths, with ReLU.
    Mlp {
        /// Hidden widths, first to last.
        widths: Vec<usize>,
    },
    /// `lenet`: LeNet-5.
    LeNet,
    /// `cnn9` (= `cnn9:128`): the nine-layer network of the Co-teaching comparisons; `cnn9:32` has a quarter of its channels.
    Cnn9 {
        /// Channels of the first convolutions.
        width: usize,
    },
    /// `resnet18`.
    ResNet18,
    /// `resnet34`.
    ResNet34,
    /// `densenet` (= `densenet:100-12`): DenseNet-BC with this depth and growth.
    DenseNet {
        /// 6n + 4.
        depth: usize,
        /// Channels every layer adds.
        growth: usize,
    },
    /// `vgg11`, with batch norm.
    Vgg11,
    /// `vgg13`, with batch norm.
    Vgg13,
    /// `vgg16`, with batch norm.
    Vgg16,
}

impl Network {
    /// Names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 9] =
        ["mlp", "lenet", "cnn9", "resnet18", "resnet34", "densenet", "vgg11", "vgg13", "vgg16"];

    /// One small network for a data shape that trains quickly without a GPU: `mlp` for flat data and pictures below
    /// 12 pixels, `lenet` for larger ones.
    pub fn suggest(shape: Shape) -> Self {
        match shape {
            Shape::Image { height, width, .. } if height.min(width) >= 12 => Self::LeNet,
            _ => Self::Mlp { widths: vec![256, 256] },
        }
    }

    /// Makes the network for rows of `shape` and `classes` classes, with the weights of stream `"weights"` of `seed`.
    ///
    /// # Errors
    /// See [`Network::build`].
    pub fn init(&self, shape: Shape, classes: usize, seed: u64, device: &Device) -> Result<AnyNetwork> {
        self.build(shape, classes, &mut Weights::new(seed, "weights", device))
    }

    /// Makes the network with weights from a stream of your choice (a second network of the same run).
    ///
    /// # Errors
    /// Fewer than two classes; pictures too small, or no pictures, for a convolutional network; widths that are 0; a
    /// DenseNet depth that is not 6n + 4; more than 268 million parameters.
    pub fn build(&self, shape: Shape, classes: usize, weights: &mut Weights) -> Result<AnyNetwork> {
        self.check()?;
        if classes < 2 {
            return Err(Error::value("number of classes", "at least 2", classes));
        }
        if matches!(shape, Shape::Image { channels: 0, .. } | Shape::Flat(0)) {
            return Err(Error::value("numbers per row", "at least 1 (networks read no texts)", 0));
        }
        self.check_size(shape, classes)?;
        Ok(match self {
            Self::Mlp { widths } => AnyNetwork::Mlp(Mlp::new(shape.size(), widths, classes, weights)),
            Self::LeNet => AnyNetwork::LeNet(LeNet::new(self.picture(shape, LeNet::SMALLEST)?, classes, weights)),
            Self::Cnn9 { width } => {
                let [channels, ..] = self.picture(shape, Cnn9::SMALLEST)?;
                AnyNetwork::Cnn9(Cnn9::new(channels, *width, classes, weights))
            }
            Self::ResNet18 | Self::ResNet34 => {
                let [channels, ..] = self.picture(shape, ResNet::SMALLEST)?;
                let blocks = if *self == Self::ResNet18 { [2, 2, 2, 2] } else { [3, 4, 6, 3] };
                AnyNetwork::ResNet(ResNet::new(channels, blocks, classes, weights))
            }
            Self::DenseNet { depth, growth } => {
                let [channels, ..] = self.picture(shape, DenseNet::SMALLEST)?;
                AnyNetwork::DenseNet(DenseNet::new(channels, *depth, *growth, classes, weights))
            }
            Self::Vgg11 | Self::Vgg13 | Self::Vgg16 => {
                let [channels, ..] = self.picture(shape, Vgg::SMALLEST)?;
                let convolutions = match self {
                    Self::Vgg11 => [1, 1, 2, 2, 2],
                    Self::Vgg13 => [2; 5],
                    _ => [2, 2, 3, 3, 3],
                };
                AnyNetwork::Vgg(Vgg::new(channels, convolutions, classes, weights))
            }
        })
    }

    /// Checks the numbers in the name.
    ///
    /// # Errors
    /// A width or growth of 0; a DenseNet depth that is not 6n + 4 with n ≥ 1; more than 1,000 layers; more than 268
    /// million parameters whatever the data.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Mlp { widths } if widths.contains(&0) => Err(Error::value("mlp width", "at least 1", 0)),
            Self::Mlp { widths } if widths.len() > MOST_LAYERS => {
                Err(Error::value("layers of mlp", format!("at most {MOST_LAYERS}"), widths.len()))
            }
            Self::Cnn9 { width: 0 } => Err(Error::value("cnn9 width", "at least 1", 0)),
            Self::DenseNet { depth, .. } if *depth < 10 || (depth - 4) % 6 != 0 => {
                Err(Error::value("densenet depth", "6n + 4 with n at least 1 (22, 40, 100, ...)", depth))
            }
            Self::DenseNet { depth, .. } if *depth > MOST_LAYERS => {
                Err(Error::value("densenet depth", format!("at most {MOST_LAYERS}"), depth))
            }
            Self::DenseNet { growth: 0, .. } => Err(Error::value("densenet growth", "at least 1", 0)),
            _ => self.check_size(Shape::Flat(1), 2),
        }
    }

    /// Channels, height and width, if these are pictures with sides of at least `smallest`.
    fn picture(&self, shape: Shape, smallest: usize) -> Result<[usize; 3]> {
        match shape {
            Shape::Image { channels, height, width } if height.min(width) >= smallest => Ok([channels, height, width]),
            Shape::Image { height, width, .. } => Err(Error::value(
                format!("pictures for {self}"),
                format!("at least {smallest}x{smallest} pixels (smaller ones: resnet18, lenet, mlp)"),
                format!("{height}x{width}"),
            )),
            Shape::Flat(size) => Err(Error::value(
                format!("data for {self}"),
                "pictures (for plain numbers use mlp)",
                format!("rows of {size} numbers"),
            )),
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mlp { widths } => {
                let widths: Vec<String> = widths.iter().map(usize::to_string).collect();
                write!(f, "mlp:{}", widths.join("-"))
            }
            Self::LeNet => f.write_str("lenet"),
            Self::Cnn9 { width: Cnn9::WIDTH } => f.write_str("cnn9"),
            Self::Cnn9 { width } => write!(f, "cnn9:{width}"),
            Self::ResNet18 => f.write_str("resnet18"),
            Self::ResNet34 => f.write_str("resnet34"),
            Self::DenseNet { depth, growth } => write!(f, "densenet:{depth}-{growth}"),
            Self::Vgg11 => f.write_str("vgg11"),
            Self::Vgg13 => f.write_str("vgg13"),
            Self::Vgg16 => f.write_str("vgg16"),
        }
    }
}

impl FromStr for Network {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, numbers) = match text.split_once(':') {
            Some((name, numbers)) => (name, Some(numbers)),
            None => (text, None),
        };
        let network = match (name, numbers) {
            ("mlp", None) => Self::Mlp { widths: vec![256, 256] },
            ("mlp", Some("")) => Self::Mlp { widths: Vec::new() },
            ("mlp", Some(widths)) => Self::Mlp { widths: dashed("mlp widths", "like 256-256", widths)? },
            ("densenet", None) => Self::DenseNet { depth: 100, growth: 12 },
            ("densenet", Some(numbers)) => {
                let allowed = "depth-growth, like 100-12";
                match dashed("densenet", allowed, numbers)?[..] {
                    [depth, growth] => Self::DenseNet { depth, growth },
                    _ => return Err(Error::value("densenet", allowed, numbers)),
                }
            }
            ("lenet", None) => Self::LeNet,
            ("cnn9", None) => Self::Cnn9 { width: Cnn9::WIDTH },
            ("cnn9", Some(width)) => {
                let allowed = "a number of channels, like cnn9:32";
                Self::Cnn9 { width: width.parse().map_err(|_| Error::value("cnn9 width", allowed, width))? }
            }
            ("resnet18", None) => Self::ResNet18,
            ("resnet34", None) => Self::ResNet34,
            ("vgg11", None) => Self::Vgg11,
            ("vgg13", None) => Self::Vgg13,
            ("vgg16", None) => Self::Vgg16,
            _ => return Err(Error::unknown("network", text, &Self::NAMES)),
        };
        network.check()?;
        Ok(network)
    }
}

fn dashed(what: &str, allowed: &str, text: &str) -> Result<Vec<usize>> {
    text.split('-').map(|number| number.parse().map_err(|_| Error::value(what, allowed, text))).collect()
}

impl TryFrom<String> for Network {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Classifier, begin_step, parameters};
    use super::*;
    use burn::module::Module;
    use burn::tensor::{Distribution, Tensor};

    fn image(channels: usize, side: usize) -> Shape {
        Shape::Image { channels, height: side, width: side }
    }

    fn network(name: &str, shape: Shape, classes: usize) -> AnyNetwork {
        name.parse::<Network>().unwrap().init(shape, classes, 1, &Device::flex().autodiff()).unwrap()
    }

    #[test]
    fn parameter_counts_are_the_published_ones() {
        let count = |name: &str, shape, classes| parameters(&network(name, shape, classes));
        assert_eq!(count("lenet", image(1, 28), 10), 61_706); // LeCun et al. 1998 with full connections
        assert_eq!(count("cnn9", image(3, 32), 10), 4_434_570); // 4.43 M
        assert_eq!(count("resnet18", image(3, 32), 10), 11_173_962); // 11.17 M
        assert_eq!(count("resnet34", image(3, 32), 10), 21_282_122); // 21.28 M
        assert_eq!(count("densenet", image(3, 32), 10), 769_162); // BC-100-12: 0.77 M ("0.8 M" in the paper)
        assert_eq!(count("vgg11", image(3, 32), 10), 9_231_114); // 9.23 M
        assert_eq!(count("vgg13", image(3, 32), 10), 9_416_010); // 9.42 M
        assert_eq!(count("vgg16", image(3, 32), 10), 14_728_266); // 14.73 M
        assert_eq!(count("cnn9:128", image(3, 32), 10), 4_434_570);
        assert_eq!(count("cnn9:32", image(3, 32), 10), 279_210); // a quarter of the channels, a sixteenth of the weights
        assert_eq!(count("mlp:256-256", image(1, 8), 10), 85_002);
    }

    #[test]
    fn every_network_takes_every_size_that_makes_sense() {
        let device = Device::flex().autodiff();
        let cases: [(&str, &[(usize, usize)]); 7] = [
            ("mlp:16", &[(1, 8), (1, 28), (3, 32), (3, 64)]),
            ("lenet", &[(1, 4), (1, 8), (1, 11), (1, 12), (1, 28), (3, 32), (3, 56), (3, 64)]),
            ("cnn9:16", &[(1, 28), (3, 32)]),
            ("resnet18", &[(1, 8), (3, 32)]),
            ("densenet:10-4", &[(1, 4), (1, 8), (1, 28), (3, 32), (3, 56)]),
            ("densenet:22-12", &[(3, 32)]),
            ("vgg11", &[(3, 32)]),
        ];
        for (name, shapes) in cases {
            for &(channels, side) in shapes {
                let made = network(name, image(channels, side), 7);
                let input = Tensor::<4>::random([2, channels, side, side], Distribution::Default, &device);
                begin_step(1, 1, &device);
                let logits = made.logits(input.clone());
                assert_eq!(logits.dims(), [2, 7], "{name} on {channels}x{side}x{side}");
                begin_step(1, 1, &device);
                let (taps, again) = made.features(input);
                assert_eq!(logits.to_data(), again.to_data(), "{name}: features give other logits");
                assert!(!taps.is_empty() && taps.iter().all(|tap| tap.dims()[0] == 2), "{name}");
            }
        }
    }

    #[test]
    fn pictures_that_are_not_square_work() {
        let device = Device::flex();
        for name in ["lenet", "densenet:10-4", "mlp:8"] {
            let shape = Shape::Image { channels: 2, height: 9, width: 20 };
            let made = name.parse::<Network>().unwrap().init(shape, 3, 1, &device).unwrap();
            assert_eq!(made.logits(Tensor::zeros([1, 2, 9, 20], &device)).dims(), [1, 3], "{name}");
        }
    }

    #[test]
    fn what_makes_no_sense_says_why() {
        let message = |name: &str, shape| {
            let network = name.parse::<Network>().unwrap();
            network.init(shape, 10, 1, &Device::flex()).unwrap_err().to_string()
        };
        assert_eq!(
            message("cnn9", image(1, 8)),
            "pictures for cnn9 must be at least 28x28 pixels (smaller ones: resnet18, lenet, mlp), got 8x8"
        );
        assert!(message("vgg16", image(1, 28)).contains("at least 32x32"));
        assert!(message("resnet18", image(1, 7)).contains("at least 8x8"));
        assert_eq!(
            message("lenet", Shape::Flat(30)),
            "data for lenet must be pictures (for plain numbers use mlp), got rows of 30 numbers"
        );
        let mlp: Network = "mlp".parse().unwrap();
        assert!(mlp.init(Shape::Flat(4), 1, 1, &Device::flex()).is_err());
    }

    #[test]
    fn names_survive_a_round_trip() {
        let names = "mlp:256-256 mlp:8 mlp: lenet cnn9 cnn9:32 resnet18 resnet34 densenet:40-12 vgg11 vgg13 vgg16";
        for name in names.split(' ') {
            let network: Network = name.parse().unwrap();
            assert_eq!(network.to_string(), name);
            let text = serde_json::to_string(&network).unwrap();
            assert_eq!(text, format!("\"{name}\""));
            assert_eq!(serde_json::from_str::<Network>(&text).unwrap(), network);
        }
        for bad in [
            "mlp:0",
            "mlp:a",
            "mlp:3-",
            "lenet:3",
            "cnn9:0",
            "cnn9:wide",
            "densenet:41-12",
            "densenet:100",
            "densenet:4-12",
            "resnet",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
        let near = "resnet81".parse::<Network>().unwrap_err().to_string();
        assert!(near.contains("did you mean resnet18"), "{near}");
    }

    #[test]
    fn the_suggestion_fits_the_shape() {
        for shape in [Shape::Flat(3), image(1, 8), image(3, 11), image(1, 28), image(3, 224)] {
            assert!(Network::suggest(shape).init(shape, 10, 1, &Device::flex()).is_ok());
        }
        assert_eq!(Network::suggest(image(1, 28)), Network::LeNet);
    }

    #[test]
    fn same_seed_same_network_and_evaluation_is_repeatable() {
        let device = Device::flex().autodiff();
        let input = Tensor::<4>::random([3, 3, 28, 28], Distribution::Default, &Device::flex());
        let made = |seed| "cnn9".parse::<Network>().unwrap().init(image(3, 28), 10, seed, &device).unwrap().valid();
        let first = made(5).logits(input.clone()).to_data();
        assert_eq!(first, made(5).logits(input.clone()).to_data());
        assert_ne!(first, made(6).logits(input).to_data());
    }

    #[test]
    fn a_record_holds_the_batch_norm_statistics_of_the_last_step() {
        use burn::module::{ModuleVisitor, Param};
        struct Statistics(Vec<f32>, String);
        impl ModuleVisitor for Statistics {
            fn enter_module(&mut self, name: &str, _: &str) {
                self.1 = name.to_owned();
            }
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                if self.1 == "running_mean" {
                    self.0.extend(param.val().to_data().try_to_vec::<f32>().unwrap());
                }
            }
        }
        let device = Device::flex().autodiff();
        let made = network("densenet:10-4", image(1, 8), 3);
        let statistics = || {
            let mut seen = Statistics(Vec::new(), String::new());
            made.visit(&mut seen);
            seen.0
        };
        let before = statistics();
        assert!(!before.is_empty() && before.iter().all(|&mean| mean == 0.0));
        made.logits(Tensor::random([4, 1, 8, 8], Distribution::Default, &device));
        assert!(statistics().iter().any(|&mean| mean != 0.0));
    }
}
