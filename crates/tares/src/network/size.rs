//! How large a network is before it is made, and how large it may be.

use super::Network;
use tares_core::{Error, Result, Shape};

/// The largest network that is made from a name: a gigabyte of weights, and four times as much while Adam trains them.
/// A name out of a damaged or hostile file must not take all memory.
const MOST_PARAMETERS: f64 = (1u64 << 28) as f64;
/// Layers one after the other; the deepest published DenseNet has 264.
pub(super) const MOST_LAYERS: usize = 1000;

impl Network {
    /// Refuses a network that is too large for rows of this shape.
    pub(super) fn check_size(&self, shape: Shape, classes: usize) -> Result<()> {
        let size = self.size(shape, classes);
        if size > MOST_PARAMETERS {
            let name = match self {
                Self::Mlp { .. } => "mlp",
                Self::DenseNet { .. } => "densenet",
                Self::Cnn9 { .. } => "cnn9",
                _ => &self.to_string(),
            };
            let got = format!("about {size:.1e}");
            return Err(Error::value(format!("parameters of {name}"), format!("at most {MOST_PARAMETERS}"), got));
        }
        Ok(())
    }

    /// How many parameters it has for rows of this shape, before it is made: exact for `mlp`, within a few percent for
    /// the others. In floating point, because sizes out of a file may overflow any integer.
    fn size(&self, shape: Shape, classes: usize) -> f64 {
        let [channels, height, width] = match shape {
            Shape::Image { channels, height, width } => [channels, height, width],
            Shape::Flat(columns) => [columns, 1, 1],
        }
        .map(|side| side as f64);
        let classes = classes as f64;
        match self {
            Self::Mlp { widths } => {
                let widths = widths.iter().map(|&width| width as f64).chain([classes]);
                let layers =
                    widths.scan(channels * height * width, |from, to| Some((std::mem::replace(from, to) + 1.0) * to));
                layers.sum()
            }
            Self::LeNet => {
                let side = |side: f64| (side / 4.0 - 2.0).max(1.0); // after two poolings and a 5×5 window
                150.0 * channels + 1920.0 * side(height) * side(width) + 85.0 * classes + 12_700.0
            }
            Self::Cnn9 { width } => {
                let width = *width as f64;
                9.0 * width * channels + width * classes + 270.0 * width * width + 46.0 * width
            }
            Self::ResNet18 => 576.0 * channels + 512.0 * classes + 11.2e6,
            Self::ResNet34 => 576.0 * channels + 512.0 * classes + 21.3e6,
            Self::DenseNet { depth, growth } => {
                let (layers, growth) = (depth.saturating_sub(4) / 6, *growth as f64);
                let (mut width, mut sum) = (2.0 * growth, 18.0 * growth * channels);
                for block in 0..3 {
                    for _ in 0..layers.min(MOST_LAYERS) {
                        sum += 4.0 * growth * width + 36.0 * growth * growth;
                        width += growth;
                    }
                    if block < 2 {
                        sum += width * width / 2.0;
                        width /= 2.0;
                    }
                }
                sum + width * classes
            }
            Self::Vgg11 => 576.0 * channels + 512.0 * classes + 9.2e6,
            Self::Vgg13 => 576.0 * channels + 512.0 * classes + 9.4e6,
            Self::Vgg16 => 576.0 * channels + 512.0 * classes + 14.7e6,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parameters;
    use super::*;
    use burn::tensor::Device;

    fn image(channels: usize, side: usize) -> Shape {
        Shape::Image { channels, height: side, width: side }
    }

    #[test]
    fn the_size_is_known_before_a_network_is_made() {
        for name in [
            "mlp:",
            "mlp:256-256",
            "lenet",
            "cnn9",
            "cnn9:8",
            "resnet18",
            "densenet",
            "densenet:40-24",
            "vgg11",
            "vgg13",
        ] {
            for (shape, classes) in [(image(3, 32), 10), (image(1, 40), 100)] {
                let named: Network = name.parse().unwrap();
                let (made, size) = (
                    parameters(&named.init(shape, classes, 1, &Device::flex()).unwrap()) as f64,
                    named.size(shape, classes),
                );
                assert!((size / made - 1.0).abs() < 0.1, "{name}: {size} for {made}");
            }
        }
    }

    #[test]
    fn a_network_that_would_take_all_memory_is_refused() {
        let largest = usize::MAX;
        let huge = [format!("mlp:{largest}"), format!("mlp:{largest}-{largest}"), "cnn9:5000".into()];
        let dense = [format!("densenet:10-{largest}"), "densenet:1000-500".into(), "densenet:6000004-12".into()];
        let deep = ["1"; 1001].join("-");
        for name in huge.iter().chain(&dense).chain([&format!("mlp:{deep}")]) {
            let error = name.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains("must be at most"), "{name:.40}: {error}");
            assert!(error.len() < 120, "{error}");
        }
        // The name alone is harmless, the data make it large.
        let wide = Shape::Image { channels: largest, height: 32, width: 32 };
        let large = Shape::Image { channels: 1, height: largest, width: largest };
        for name in ["mlp", "lenet", "cnn9", "resnet18", "densenet", "vgg11"] {
            let made = name.parse::<Network>().unwrap().init(wide, 10, 1, &Device::flex());
            assert!(made.unwrap_err().to_string().contains("parameters of"), "{name}");
            assert!(name.parse::<Network>().unwrap().init(image(1, 32), largest, 1, &Device::flex()).is_err());
        }
        assert!(Network::LeNet.init(large, 10, 1, &Device::flex()).is_err());
    }
}
