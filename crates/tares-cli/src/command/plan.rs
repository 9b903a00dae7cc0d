//! The training options, which `train`, `compare`, `audit` and `demo` share.

use crate::ui::failure::Outcome;
use clap::{Args, ValueEnum};
use tares::optimiser::{Adam, Sgd};
use tares::{Augment, Network, Normalise, Optimiser, Plan};

/// Everything about training that can be typed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct Training {
    /// The network: mlp, mlp:64-64, lenet, cnn9, resnet18, densenet, vgg11, ... [default: chosen from the data]
    #[arg(long)]
    pub network: Option<Network>,
    /// Passes over the data [default: 60]
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Samples per step [default: 128]
    #[arg(long)]
    pub batch: Option<usize>,
    /// The seed of all random numbers [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The optimiser [default: adam]
    #[arg(long, value_enum)]
    pub optimiser: Option<OptimiserName>,
    /// The learning rate [default: 0.001 for adam, 0.1 for sgd]
    #[arg(long, value_name = "RATE")]
    pub learning_rate: Option<f64>,
    /// Weight decay [default: 0]
    #[arg(long, value_name = "DECAY")]
    pub weight_decay: Option<f64>,
    /// How pictures are changed at random during training [default: none]
    #[arg(long, value_enum, value_name = "KIND")]
    pub augment: Option<AugmentName>,
    /// Shift and scale inputs to mean 0 and standard deviation 1
    #[arg(long)]
    pub standardise: bool,
    /// Where to train: cpu, or a device this build has (cuda, metal, vulkan, ...) [default: cpu]
    #[arg(long)]
    pub device: Option<String>,
}

/// An optimiser by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OptimiserName {
    /// Adam
    Adam,
    /// SGD with momentum 0.9
    Sgd,
}

/// An augmentation by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AugmentName {
    /// Not at all
    None,
    /// Mirrored at random
    Flip,
    /// Shifted by up to 4 pixels and mirrored, as usual for CIFAR
    CropFlip,
}

impl Training {
    /// The options that were typed.
    pub fn typed(&self) -> Vec<&'static str> {
        let options = [
            ("--network", self.network.is_some()),
            ("--epochs", self.epochs.is_some()),
            ("--batch", self.batch.is_some()),
            ("--seed", self.seed.is_some()),
            ("--optimiser", self.optimiser.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--weight-decay", self.weight_decay.is_some()),
            ("--augment", self.augment.is_some()),
            ("--standardise", self.standardise),
            ("--device", self.device.is_some()),
        ];
        options.into_iter().filter(|(_, typed)| *typed).map(|(name, _)| name).collect()
    }

    /// The name of the device to train on.
    pub fn device(&self) -> &str {
        self.device.as_deref().unwrap_or("cpu")
    }

    /// Whether an option was typed that only networks use. Every judge uses the seed.
    pub fn is_for_networks(&self) -> bool {
        self.typed().iter().any(|name| *name != "--seed")
    }

    /// Replaces the plan's settings by those that were typed.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn apply(&self, plan: &mut Plan) -> Outcome<()> {
        if let Some(epochs) = self.epochs {
            plan.epochs = epochs;
        }
        if let Some(batch) = self.batch {
            plan.batch = batch;
        }
        if let Some(seed) = self.seed {
            plan.seed = seed;
        }
        match self.optimiser {
            Some(OptimiserName::Adam) => plan.optimiser = Optimiser::Adam(Adam::default()),
            Some(OptimiserName::Sgd) => plan.optimiser = Optimiser::Sgd(Sgd::default()),
            None => {}
        }
        match &mut plan.optimiser {
            Optimiser::Adam(adam) => {
                adam.lr = self.learning_rate.unwrap_or(adam.lr);
                adam.weight_decay = self.weight_decay.unwrap_or(adam.weight_decay);
            }
            Optimiser::Sgd(sgd) => {
                sgd.lr = self.learning_rate.unwrap_or(sgd.lr);
                sgd.weight_decay = self.weight_decay.unwrap_or(sgd.weight_decay);
            }
        }
        match self.augment {
            Some(AugmentName::None) => plan.augment = Augment::default(),
            Some(AugmentName::Flip) => plan.augment = Augment { flip: true, ..Augment::default() },
            Some(AugmentName::CropFlip) => plan.augment = Augment { pad_crop: 4, flip: true, ..Augment::default() },
            None => {}
        }
        if self.standardise {
            plan.normalise = Normalise::Standardise;
        }
        Ok(plan.check()?)
    }
}
