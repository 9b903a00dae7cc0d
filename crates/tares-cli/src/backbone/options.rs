//! [`FeatureSource`]: which features replace the rows: as options, in spec files and in models.

use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use tares_backbone::BackboneOptions;

/// Which features replace the rows. If no field is set, the rows are used as they are.
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Features")]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct FeatureSource {
    /// A network that turns pictures into features, which then replace the pictures: .onnx, or the model.safetensors
    /// of a run on pictures
    #[arg(long, value_name = "FILE", conflicts_with = "features")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone: Option<PathBuf>,
    /// Height and width of the pictures the backbone sees, as in 224x224 [default: its own, or 224x224]
    #[arg(long, value_name = "HxW", value_parser = crate::run::load::size, requires = "backbone")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone_size: Option<(usize, usize)>,
    /// Subtracted from red, green and blue (0 to 1) before the backbone sees them [default: 0.485,0.456,0.406 of ImageNet]
    #[arg(long, value_name = "R,G,B", value_parser = three, requires = "backbone")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone_mean: Option<Three>,
    /// What they are divided by afterwards [default: 0.229,0.224,0.225 of ImageNet]
    #[arg(long, value_name = "R,G,B", value_parser = three, requires = "backbone")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone_std: Option<Three>,
    /// The value in the backbone that is used as features, by its name in the ONNX file [default: the input of the last dense layer]
    #[arg(long, value_name = "NAME", requires = "backbone")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backbone_layer: Option<String>,
    /// Features that another program computed, rows x features in .npy, in the order of the rows; they replace the rows
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub features: Option<PathBuf>,
}

/// One number per colour.
pub type Three = [f32; 3];

impl FeatureSource {
    /// Whether rows are read as they are.
    pub fn is_none(&self) -> bool {
        self.backbone.is_none() && self.features.is_none()
    }

    /// The options that were typed.
    pub fn typed(&self) -> Vec<&'static str> {
        let options = [
            ("--backbone", self.backbone.is_some()),
            ("--backbone-size", self.backbone_size.is_some()),
            ("--backbone-mean", self.backbone_mean.is_some()),
            ("--backbone-std", self.backbone_std.is_some()),
            ("--backbone-layer", self.backbone_layer.is_some()),
        ];
        options.into_iter().filter(|(_, typed)| *typed).map(|(name, _)| name).collect()
    }

    /// The same, with relative paths joined to `directory`.
    #[must_use]
    pub fn seen_from(&self, directory: &Path) -> Self {
        let join = |path: &Option<PathBuf>| path.as_ref().map(|path| directory.join(path));
        Self { backbone: join(&self.backbone), features: join(&self.features), ..self.clone() }
    }

    /// The options of the backbone besides its file.
    pub fn network(&self) -> BackboneOptions {
        BackboneOptions {
            size: self.backbone_size,
            mean: self.backbone_mean,
            std: self.backbone_std,
            layer: self.backbone_layer.clone(),
        }
    }
}

/// Three numbers, as in `0.5,0.5,0.5`; one stands for all three.
fn three(text: &str) -> Result<Three, String> {
    let wrong = || format!("must be written as in 0.485,0.456,0.406, got '{text}'");
    let numbers: Vec<f32> =
        text.split(',').map(|word| word.trim().parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
    match numbers[..] {
        [all] => Ok([all; 3]),
        [red, green, blue] => Ok([red, green, blue]),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_three_numbers_or_one_for_all() {
        assert_eq!(three("0.5, 0.25,1"), Ok([0.5, 0.25, 1.0]));
        assert_eq!(three("0.5"), Ok([0.5; 3]));
        assert!(three("0.5,0.5").unwrap_err().contains("0.485,0.456,0.406"));
        assert!(three("red").is_err());
    }
}
