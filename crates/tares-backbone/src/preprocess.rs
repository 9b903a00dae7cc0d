//! How a picture becomes the input of a network: size, order of the channels, normalisation.

use crate::onnx::{Graph, ValueInfo};
use crate::tensor::Tensor;
use tares_core::Error;
use tares_data::Picture;

/// Mean and deviation of ImageNet's pixels, in 0..1: what torchvision's and most of timm's networks were trained with.
pub const IMAGENET_MEAN: [f32; 3] = [0.485, 0.456, 0.406];
/// See [`IMAGENET_MEAN`].
pub const IMAGENET_STD: [f32; 3] = [0.229, 0.224, 0.225];
/// The side of pictures for a network that takes any size.
pub const DEFAULT_SIDE: usize = 224;

/// The user's options for a network; the rest is read from its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BackboneOptions {
    /// Height and width of its input pictures.
    pub size: Option<(usize, usize)>,
    /// Subtracted from red, green and blue (in 0..1).
    pub mean: Option<[f32; 3]>,
    /// What the difference is divided by.
    pub std: Option<[f32; 3]>,
    /// The value to use as features, by its name in the file.
    pub layer: Option<String>,
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Given,
    Model,
    Default,
}

/// How a picture becomes an input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Preprocess {
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub size_from: Source,
    /// `[1, H, W, C]` instead of `[1, C, H, W]`.
    channels_last: bool,
    mean: [f32; 3],
    std: [f32; 3],
    pub norm_from: Source,
}

impl Preprocess {
    /// Reads the shape of the input; options decide where the network leaves a choice.
    pub fn of(graph: &Graph, input: &ValueInfo, options: &BackboneOptions) -> Result<Self, String> {
        let not_pictures =
            |what: String| format!("{what}; a network for pictures reads batch x channels x height x width");
        let shape = match input.shape.as_deref() {
            Some(&[batch, a, b, c]) => {
                if let Some(batch) = batch.filter(|&batch| batch != 1) {
                    return Err(format!(
                        "takes {batch} pictures at once; export it for one, or for a batch of any size"
                    ));
                }
                [a, b, c]
            }
            Some(shape) => {
                return Err(not_pictures(format!("its input \"{}\" has {} sizes", input.name, shape.len())));
            }
            None => [None; 3],
        };
        let is_colour = |size: Option<usize>| matches!(size, Some(1 | 3));
        let (channels_last, channels, own) = match shape {
            [first, height, width] if is_colour(first) => (false, first, [height, width]),
            [height, width, last] if is_colour(last) => (true, last, [height, width]),
            [None, height, width] => (false, Some(3), [height, width]),
            [first, ..] => {
                let got = first.unwrap_or(0);
                return Err(format!("its input has {got} channels; pictures have 3 (colour) or 1 (grey)"));
            }
        };
        let (size, size_from) = match (own, options.size) {
            ([Some(height), Some(width)], Some(asked)) if asked != (height, width) => {
                return Err(format!("takes pictures of {height}x{width} only, {}x{} was asked for", asked.0, asked.1));
            }
            ([Some(height), Some(width)], _) => ((height, width), Source::Model),
            (_, Some(asked)) => (asked, Source::Given),
            ([height, width], None) => {
                let side = height.or(width).unwrap_or(DEFAULT_SIDE);
                ((height.unwrap_or(side), width.unwrap_or(side)), Source::Default)
            }
        };
        let told = |name: &str| graph.metadata.get(name).and_then(|text| three(text));
        let (mean, std, norm_from) = match (options.mean, options.std, told("mean"), told("std")) {
            (None, None, Some(mean), Some(std)) => (mean, std, Source::Model),
            (None, None, _, _) => (IMAGENET_MEAN, IMAGENET_STD, Source::Default),
            (mean, std, _, _) => (mean.unwrap_or(IMAGENET_MEAN), std.unwrap_or(IMAGENET_STD), Source::Given),
        };
        let made = Self {
            channels: channels.unwrap_or(3),
            height: size.0,
            width: size.1,
            size_from,
            channels_last,
            mean,
            std,
            norm_from,
        };
        made.check().map_err(|error| error.to_string())?;
        Ok(made)
    }

    fn check(&self) -> Result<(), Error> {
        if !(1..=4096).contains(&self.height) || !(1..=4096).contains(&self.width) {
            let got = format!("{}x{}", self.height, self.width);
            return Err(Error::value("size of the backbone's pictures", "from 1x1 to 4096x4096", got));
        }
        if let Some(value) = self.mean.iter().find(|value| !value.is_finite()) {
            return Err(Error::value("backbone mean", "finite", value));
        }
        if let Some(value) = self.std.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            return Err(Error::value("backbone deviation", "finite and above 0", value));
        }
        Ok(())
    }

    /// The middle of a picture, resized with antialiasing, normalised.
    pub fn input(&self, picture: &Picture) -> Tensor {
        let plane = self.height * self.width;
        let mut pixels = vec![0; self.channels * plane];
        picture.write_cropped(self.height, self.width, &mut pixels);
        let number = |channel: usize, byte: u8| (f32::from(byte) / 255.0 - self.mean[channel]) / self.std[channel];
        let channels = self.channels;
        match self.channels_last {
            false => {
                let values = pixels.iter().enumerate().map(|(at, &byte)| number(at / plane, byte)).collect();
                Tensor::floats(vec![1, channels, self.height, self.width], values)
            }
            true => {
                let values = (0..plane)
                    .flat_map(|at| (0..channels).map(move |c| (c, at)))
                    .map(|(c, at)| number(c, pixels[c * plane + at]));
                Tensor::floats(vec![1, self.height, self.width, channels], values.collect())
            }
        }
    }

    /// Everything that an input depends on, as text: part of the cache's key.
    pub fn identity(&self) -> String {
        let Self { channels, height, width, channels_last, mean, std, .. } = self;
        format!("{channels}x{height}x{width} last {channels_last} mean {mean:?} std {std:?} middle bilinear")
    }
}

/// Three numbers in a text, with any separators.
fn three(text: &str) -> Option<[f32; 3]> {
    let numbers = text.split(|c: char| !(c.is_ascii_digit() || ".-+eE".contains(c))).filter(|word| !word.is_empty());
    numbers.map(|word| word.parse().ok()).collect::<Option<Vec<f32>>>()?.try_into().ok()
}
