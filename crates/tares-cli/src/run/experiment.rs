//! [`Experiment`]: every combination of noises, methods and seeds on one data set.

use super::label_noise::LabelNoise;
use super::load::Load;
use super::noise_rate::NoiseRate;
use super::spec::{Spec, cpu};
use super::spec_file::{VERSION, check_version};
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use tares::{Method, Network, Plan};
use tares_core::Error;

/// Several runs that differ in noise, method and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// [`VERSION`].
    pub version: u32,
    /// A built-in name or a path.
    pub data: String,
    /// The kinds of noise to put into the labels.
    #[serde(default = "no_noises")]
    pub noises: Vec<LabelNoise>,
    /// The seeds.
    #[serde(default = "first_seed")]
    pub seeds: Vec<u64>,
    /// The noise rate that methods are told.
    #[serde(default = "known")]
    pub noise_rate: NoiseRate,
    /// The device of training.
    #[serde(default = "cpu")]
    pub device: String,
    /// The network; chosen from the data's shape if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The training methods.
    pub methods: Vec<Method>,
    /// How the data is read.
    #[serde(default)]
    pub load: Load,
    /// Epochs, batches, optimiser. Its seed is ignored: each run takes one of `seeds`.
    #[serde(default)]
    pub plan: Plan,
}

impl Experiment {
    /// All runs, ordered by noise, then method, then seed.
    pub fn runs(&self) -> Vec<Spec> {
        let mut runs = Vec::new();
        for noise in &self.noises {
            for method in &self.methods {
                for &seed in &self.seeds {
                    runs.push(Spec {
                        version: VERSION,
                        data: self.data.clone(),
                        directory: None,
                        noise: noise.clone(),
                        noise_rate: self.noise_rate,
                        device: self.device.clone(),
                        network: self.network.clone(),
                        method: method.clone(),
                        load: self.load.clone(),
                        plan: Plan { seed, ..self.plan.clone() },
                    });
                }
            }
        }
        runs
    }

    /// Refuses an experiment that cannot be run.
    ///
    /// # Errors
    /// There is nothing to run, or a value is not allowed.
    pub fn check(&self) -> Outcome<()> {
        check_version(self.version)?;
        for (what, empty) in
            [("noises", self.noises.is_empty()), ("methods", self.methods.is_empty()), ("seeds", self.seeds.is_empty())]
        {
            if empty {
                return Err(Error::empty(what).into());
            }
        }
        self.runs().iter().try_for_each(Spec::check)
    }
}

fn no_noises() -> Vec<LabelNoise> {
    vec![LabelNoise::NONE]
}

fn first_seed() -> Vec<u64> {
    vec![1]
}

fn known() -> NoiseRate {
    NoiseRate::Known
}

#[cfg(test)]
mod tests {
    use super::super::spec_file::{parse, to_toml};
    use super::*;

    #[test]
    fn an_experiment_is_the_product_of_its_lists() {
        let text = "version = 1\ndata = \"digits\"\nnoises = [\"symmetric:0.5\", \"pair:0.35\"]\n\
                    methods = [\"standard\", \"npcl\"]\nseeds = [1, 7]\n";
        let experiment: Experiment = parse(text).unwrap();
        experiment.check().unwrap();
        let runs = experiment.runs();
        assert_eq!(runs.len(), 8);
        assert_eq!((runs[1].plan.seed, runs[1].noise_rate), (7, NoiseRate::Known));
        assert_eq!(parse::<Experiment>(&to_toml(&experiment).unwrap()).unwrap(), experiment);
    }
}
