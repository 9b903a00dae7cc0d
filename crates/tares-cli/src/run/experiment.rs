//! [`Experiment`]: every combination of noises, methods and seeds on one data set.

use super::contender::Contender;
use super::label_noise::LabelNoise;
use super::load::Load;
use super::noise_rate::NoiseRate;
use super::spec::{Spec, cpu};
use super::spec_file::{VERSION, check_version};
use crate::backbone::options::FeatureSource;
use crate::files::file_name;
use crate::learner::Learner;
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use tares::Plan;
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
    /// The seed of the noise, if it is not that of each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_seed: Option<u64>,
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
    pub network: Option<Learner>,
    /// The training methods, with what else is different for one of them.
    pub methods: Vec<Contender>,
    /// How the data is read.
    #[serde(default)]
    pub load: Load,
    /// Epochs, batches, optimiser. Its seed is ignored: each run takes one of `seeds`.
    #[serde(default)]
    pub plan: Plan,
}

impl Experiment {
    /// All runs, ordered by noise, then method, then seed.
    ///
    /// # Errors
    /// A method's own plan has a setting that plans don't have.
    pub fn runs(&self) -> Outcome<Vec<Spec>> {
        let plans = self.methods.iter().map(|row| row.plan(&self.plan)).collect::<Outcome<Vec<Plan>>>()?;
        let mut runs = Vec::new();
        for noise in &self.noises {
            for (row, plan) in self.methods.iter().zip(&plans) {
                for &seed in &self.seeds {
                    runs.push(Spec {
                        version: VERSION,
                        data: self.data.clone(),
                        directory: None,
                        noise: noise.clone(),
                        noise_seed: self.noise_seed,
                        noise_rate: row.noise_rate.unwrap_or(self.noise_rate),
                        device: self.device.clone(),
                        network: row.network.clone().or_else(|| self.network.clone()),
                        name: row.name.clone(),
                        method: row.method.clone(),
                        load: self.load.clone(),
                        features: FeatureSource::default(),
                        annotators: None,
                        plan: Plan { seed, ..plan.clone() },
                    });
                }
            }
        }
        Ok(runs)
    }

    /// Refuses an experiment that cannot be run.
    ///
    /// # Errors
    /// There is nothing to run, something is listed twice, or a value is not allowed.
    pub fn check(&self) -> Outcome<()> {
        check_version(self.version)?;
        for (what, empty) in
            [("noises", self.noises.is_empty()), ("methods", self.methods.is_empty()), ("seeds", self.seeds.is_empty())]
        {
            if empty {
                return Err(Error::empty(what).into());
            }
        }
        // Compare the names of directories: two rows in one directory would share their runs.
        let names = |list: Vec<String>| list.into_iter().map(|name| (file_name(&name), name)).collect::<Vec<_>>();
        only_once("noises", names(self.noises.iter().map(ToString::to_string).collect()))?;
        only_once("methods", names(self.methods.iter().map(Contender::called).collect()))?;
        only_once("seeds", names(self.seeds.iter().map(ToString::to_string).collect()))?;
        self.runs()?.iter().try_for_each(Spec::check)
    }
}

fn only_once(what: &str, entries: Vec<(String, String)>) -> Outcome<()> {
    for (position, (directory, name)) in entries.iter().enumerate() {
        if let Some((_, twin)) = entries[..position].iter().find(|(before, _)| before == directory) {
            let got = if twin == name { format!("{name} twice") } else { format!("{twin} and {name}, too alike") };
            return Err(Error::value(what, "different from each other", got).into());
        }
    }
    Ok(())
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
        let runs = experiment.runs().unwrap();
        assert_eq!(runs.len(), 8);
        assert_eq!((runs[1].plan.seed, runs[1].noise_rate), (7, NoiseRate::Known));
        assert_eq!(parse::<Experiment>(&to_toml(&experiment).unwrap()).unwrap(), experiment);
    }

    #[test]
    fn one_row_of_a_comparison_may_be_tuned() {
        let text = "version = 1\ndata = \"digits\"\nnetwork = \"mlp\"\n\n[[methods]]\nmethod = \"standard\"\n\n[[methods]]\n\
                    method = \"standard\"\nname = \"tuned\"\nnetwork = \"mlp:64\"\nplan.epochs = 3\n\n[plan]\nepochs = 9\n";
        let experiment: Experiment = parse(text).unwrap();
        experiment.check().unwrap();
        let runs = experiment.runs().unwrap();
        assert_eq!((runs[0].called(), runs[0].plan.epochs), ("standard".into(), 9));
        assert_eq!((runs[1].called(), runs[1].plan.epochs), ("tuned".into(), 3));
        assert_ne!(runs[0].network, runs[1].network);
        assert_eq!(parse::<Experiment>(&to_toml(&experiment).unwrap()).unwrap(), experiment);
    }

    #[test]
    fn the_same_row_twice_is_refused() {
        let said = |methods: &str| {
            let text = format!("version = 1\ndata = \"digits\"\nmethods = {methods}\n");
            parse::<Experiment>(&text).unwrap().check().unwrap_err().to_string()
        };
        let text = said("[\"npcl\", \"standard\", \"npcl\"]");
        assert_eq!(text, "methods must be different from each other, got npcl twice");
        let text = said("[\"npcl\", {method = \"standard\", name = \"npcl?\"}]");
        assert!(text.contains("npcl and npcl?, too alike"), "{text}");
    }
}
