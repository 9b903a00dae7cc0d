//! The training options, which `train`, `compare`, `audit` and `demo` share.

use crate::learner::Learner;
use crate::ui::failure::Outcome;
use crate::ui::terminal::Screen;
use clap::Args;
use tares::{Augment, Normalise, Optimiser, Plan, Schedule};
use tares_core::Error;

/// Everything about training that can be typed.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Training")]
pub struct Training {
    /// The network: mlp, mlp:64-64, lenet, cnn9, cnn9:32, resnet18, densenet, vgg13, ...; for tables also linear, trees,
    /// forest, panel [default: chosen from the data]
    #[arg(long)]
    pub network: Option<Learner>,
    /// Passes over the data [default: 60]
    #[arg(long)]
    pub epochs: Option<usize>,
    /// Samples per step [default: 128]
    #[arg(long)]
    pub batch: Option<usize>,
    /// The seed of all random numbers [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The optimiser: adam, or sgd with momentum [default: adam]
    #[arg(long)]
    pub optimiser: Option<Optimiser>,
    /// The learning rate [default: 0.001 for adam, 0.1 for sgd]
    #[arg(long, value_name = "RATE")]
    pub learning_rate: Option<f64>,
    /// Weight decay [default: 0 for adam, 0.0005 for sgd]
    #[arg(long, value_name = "DECAY")]
    pub weight_decay: Option<f64>,
    /// Momentum of sgd [default: 0.9]
    #[arg(long, value_name = "MOMENTUM")]
    pub momentum: Option<f64>,
    /// How the learning rate falls: constant, cosine, step:40-80 (a tenth at each), co-teaching:0.4 (constant for 40 % of the
    /// epochs, then linear to 0) [default: co-teaching:0.4 for adam, steps at both thirds for sgd]
    #[arg(long)]
    pub schedule: Option<Schedule>,
    /// How pictures are changed at random during training: none, flip, crop-flip, crop:4, resized-crop:56+flip [default: none]
    #[arg(long, value_name = "KIND")]
    pub augment: Option<Augment>,
    /// Shift and scale inputs to mean 0 and standard deviation 1
    #[arg(long, conflicts_with = "normalise")]
    pub standardise: bool,
    /// Subtract a mean per channel and divide by a deviation: 0.48,0.45,0.4/0.23,0.23,0.23; or none, standardise
    #[arg(long, value_name = "MEAN/STD")]
    pub normalise: Option<Normalise>,
    /// The oddities of the original comparisons that change numbers: no dropout, batch-norm scales drawn from U(0, 1), partial
    /// batches dropped in training and testing, at most 401 batches per epoch, the noise of seed 0
    #[arg(long)]
    pub quirks: bool,
    /// Where to train: cpu, or a device this build has (cuda, metal, vulkan, ...) [default: cpu]
    #[arg(long)]
    pub device: Option<String>,
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
            ("--momentum", self.momentum.is_some()),
            ("--schedule", self.schedule.is_some()),
            ("--augment", self.augment.is_some()),
            ("--standardise", self.standardise),
            ("--normalise", self.normalise.is_some()),
            ("--quirks", self.quirks),
            ("--device", self.device.is_some()),
        ];
        options.into_iter().filter(|(_, typed)| *typed).map(|(name, _)| name).collect()
    }

    /// The name of the device to train on.
    pub fn device(&self) -> &str {
        self.device.as_deref().unwrap_or("cpu")
    }

    /// Whether an option was typed that only networks use.
    pub fn is_for_networks(&self) -> bool {
        !self.for_networks().is_empty()
    }

    /// The options that were typed and that only networks use. Every judge uses the seed.
    pub fn for_networks(&self) -> Vec<&'static str> {
        self.typed().into_iter().filter(|name| *name != "--seed").collect()
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
        // Another optimiser brings its own numbers and schedule; the same one keeps those of the plan.
        if let Some(optimiser) = self.optimiser.as_ref().filter(|typed| typed.name() != plan.optimiser.name()) {
            plan.optimiser = optimiser.clone();
            plan.schedule = Schedule::usual(optimiser, plan.epochs);
        }
        match &mut plan.optimiser {
            Optimiser::Adam(adam) => {
                adam.lr = self.learning_rate.unwrap_or(adam.lr);
                adam.weight_decay = self.weight_decay.unwrap_or(adam.weight_decay);
                if let Some(momentum) = self.momentum {
                    return Err(Error::value("momentum", "given with --optimiser sgd only", momentum).into());
                }
            }
            Optimiser::Sgd(sgd) => {
                sgd.lr = self.learning_rate.unwrap_or(sgd.lr);
                sgd.weight_decay = self.weight_decay.unwrap_or(sgd.weight_decay);
                sgd.momentum = self.momentum.unwrap_or(sgd.momentum);
            }
        }
        if let Some(schedule) = &self.schedule {
            plan.schedule = schedule.clone();
        }
        if let Some(augment) = &self.augment {
            plan.augment = augment.clone();
        }
        if let Some(normalise) = &self.normalise {
            plan.normalise = normalise.clone();
        }
        if self.standardise {
            plan.normalise = Normalise::Standardise;
        }
        plan.quirks |= self.quirks;
        Ok(plan.check()?)
    }
}

/// Warns of steps of the learning rate that come after the last epoch: they never happen.
pub fn say_unreached_steps(plan: &Plan, screen: &Screen) {
    let beyond: Vec<String> = plan.schedule.beyond(plan.epochs).iter().map(ToString::to_string).collect();
    if !beyond.is_empty() {
        screen.warning(format!(
            "schedule {}: this run of {} epochs (counted from 0) ends before the steps at {}",
            plan.schedule,
            plan.epochs,
            beyond.join(", ")
        ));
    }
}
