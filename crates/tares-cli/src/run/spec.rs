//! [`Spec`]: the settings of one run.

use super::label_noise::LabelNoise;
use super::load::Load;
use super::noise_rate::NoiseRate;
use super::spec_file::{check_version, to_toml};
use crate::backbone::options::FeatureSource;
use crate::learner::Learner;
use crate::ui::failure::Outcome;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares::{Method, Plan};
use tares_core::Error;
use tares_data::{LoadOptions, Source};

/// The settings of one run: everything that its numbers depend on. Its file spells out every default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// The version of spec files: [`VERSION`](super::spec_file::VERSION).
    pub version: u32,
    /// A built-in name or a path.
    pub data: String,
    /// The directory in which the command was typed. Relative paths start there, so the run can be continued from anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The noise to put into the labels, for experiments.
    #[serde(default = "no_noise")]
    pub noise: LabelNoise,
    /// The seed of the noise, if it is not that of the run: one noise for all runs of a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_seed: Option<u64>,
    /// The noise rate that the method is told.
    #[serde(default)]
    pub noise_rate: NoiseRate,
    /// The device of training.
    #[serde(default = "cpu")]
    pub device: String,
    /// The network; chosen from the data's shape if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Learner>,
    /// The run's name in tables; if absent, its method as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The training method.
    #[serde(default = "npcl")]
    pub method: Method,
    /// How the data is read.
    #[serde(default)]
    pub load: Load,
    /// The features that replace the rows.
    #[serde(default, skip_serializing_if = "FeatureSource::is_none")]
    pub features: FeatureSource,
    /// Several people's labels, whose soft consensus is learnt: a table of answers, or a directory that `tares consensus` wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotators: Option<String>,
    /// Epochs, batches, optimiser, seed.
    #[serde(default)]
    pub plan: Plan,
}

impl Spec {
    /// Refuses settings that cannot work, as far as this is known without the data.
    ///
    /// # Errors
    /// A value that is not allowed.
    pub fn check(&self) -> Outcome<()> {
        check_version(self.version)?;
        self.plan.check()?;
        if let Some(network) = &self.network {
            network.check(&self.method)?;
        }
        // A rate to be estimated is not known yet; any valid rate serves to check the method's other values.
        let method =
            if self.method.rate().is_some() { self.method.clone() } else { self.method.clone().with_rate(0.1) };
        method.check()?;
        if let NoiseRate::Given(rate) = self.noise_rate
            && !(0.0..1.0).contains(&rate)
        {
            return Err(Error::value("noise rate", "in [0, 1), auto or known", rate).into());
        }
        tares::device::by_name(&self.device)?;
        Ok(())
    }

    /// The run's name in tables. Runs that differ in more than the seed need different names, or they would be averaged.
    pub fn called(&self) -> String {
        self.name.clone().unwrap_or_else(|| self.method.to_string())
    }

    /// As a TOML file.
    ///
    /// # Errors
    /// A value TOML cannot hold.
    pub fn to_toml(&self) -> Outcome<String> {
        to_toml(self)
    }

    /// The same settings, with the network named and the directory recorded that relative paths start from.
    #[must_use]
    pub fn complete(&self, network: Learner) -> Self {
        let here = || Some(std::env::current_dir().ok()?.to_str()?.to_owned());
        Self { network: Some(network), directory: self.directory.clone().or_else(here), ..self.clone() }
    }

    /// What to load: a built-in name, or a path that is valid in the current directory.
    pub fn source(&self) -> String {
        match self.elsewhere() {
            Some(directory) => source_in(directory, &self.data),
            None => self.data.clone(),
        }
    }

    /// How to load it, with paths that are valid in the current directory.
    pub fn options(&self) -> LoadOptions {
        let mut options = self.load.options();
        if let Some(directory) = self.elsewhere() {
            for path in [&mut options.data_dir, &mut options.labels_file, &mut options.test].into_iter().flatten() {
                *path = directory.join(&path);
            }
        }
        options
    }

    /// The features, with paths that are valid in the current directory.
    pub fn features(&self) -> FeatureSource {
        self.elsewhere().map_or_else(|| self.features.clone(), |directory| self.features.seen_from(directory))
    }

    /// Whose labels are learnt, as a path that is valid in the current directory.
    pub fn annotators(&self) -> Option<String> {
        let named = self.annotators.as_ref()?;
        Some(self.elsewhere().map_or_else(|| named.clone(), |directory| source_in(directory, named)))
    }

    /// The noise, with paths that are valid in the current directory.
    pub fn noise(&self) -> LabelNoise {
        match (self.elsewhere(), &self.noise) {
            (Some(directory), LabelNoise::Matrix(path)) => LabelNoise::Matrix(directory.join(path)),
            (Some(directory), LabelNoise::OpenSet { others, rate }) => {
                let others = others.iter().map(|other| source_in(directory, other)).collect();
                LabelNoise::OpenSet { others, rate: *rate }
            }
            (_, noise) => noise.clone(),
        }
    }

    /// The seed of the noise: as given; 0 with the quirks of the original comparisons, which drew one noise for all runs; otherwise
    /// that of the run.
    pub fn noise_seed(&self) -> u64 {
        self.noise_seed.unwrap_or(if self.plan.quirks { 0 } else { self.plan.seed })
    }

    /// The directory that relative paths start from, unless it is the current one.
    fn elsewhere(&self) -> Option<&Path> {
        let directory = Path::new(self.directory.as_deref()?);
        (std::env::current_dir().ok().as_deref() != Some(directory)).then_some(directory)
    }
}

/// A built-in name unchanged; a path joined to the directory it starts from.
fn source_in(directory: &Path, source: &str) -> String {
    let Ok(parsed) = source.parse::<Source>();
    match parsed {
        Source::Path(path) => directory.join(path).to_string_lossy().into_owned(),
        Source::Builtin(_) => source.to_owned(),
    }
}

fn no_noise() -> LabelNoise {
    LabelNoise::NONE
}

pub(super) fn cpu() -> String {
    "cpu".to_owned()
}

fn npcl() -> Method {
    "npcl".parse().expect("a known method")
}

#[cfg(test)]
mod tests {
    use super::super::spec_file::parse;
    use super::*;

    const SPEC: &str =
        "version = 1\ndata = \"digits\"\nnoise = \"pair:0.35\"\nmethod = \"npcl\"\n\n[plan]\nepochs = 3\n";

    #[test]
    fn a_spec_survives_its_file_with_every_default_written_out() {
        let spec: Spec = parse(SPEC).unwrap();
        assert_eq!((spec.plan.epochs, spec.plan.batch, spec.noise_rate), (3, 128, NoiseRate::Auto));
        let text = spec.to_toml().unwrap();
        assert_eq!(parse::<Spec>(&text).unwrap(), spec, "{text}");
        for key in ["batch = 128", "test-fraction = 0.2", "device = \"cpu\"", "noise-rate = \"auto\""] {
            assert!(text.contains(key), "{key} not in\n{text}");
        }
    }

    #[test]
    fn the_noise_has_the_seed_of_the_run_unless_given_or_quirky() {
        let seed = |text: &str| parse::<Spec>(text).unwrap().noise_seed();
        assert_eq!(seed(&format!("{SPEC}seed = 7\n")), 7);
        assert_eq!(seed(&format!("{SPEC}seed = 7\nquirks = true\n")), 0);
        let given = SPEC.replace("method", "noise-seed = 3\nmethod");
        assert_eq!(seed(&format!("{given}seed = 7\nquirks = true\n")), 3);
    }

    #[test]
    fn unknown_keys_say_line_and_column() {
        let text = SPEC.replace("epochs = 3", "epoch = 3");
        let error = parse::<Spec>(&text).unwrap_err().to_string();
        assert!(error.starts_with("line 7, column 1: unknown field `epoch`"), "{error}");
        let error = parse::<Spec>(&SPEC.replace("noise =", "nois =")).unwrap_err().to_string();
        assert!(error.starts_with("line 3, column 1: unknown field `nois`"), "{error}");
        let error = parse::<Spec>(&SPEC.replace("pair:0.35", "pear:0.35")).unwrap_err().to_string();
        assert!(error.starts_with("line 3, column 9") && error.contains("did you mean pair?"), "{error}");
    }

    #[test]
    fn other_versions_say_what_to_do() {
        let error = |version: &str| parse::<Spec>(&SPEC.replace("version = 1", version)).unwrap_err().to_string();
        assert!(error("version = 0").contains("change it to `version = 1`"));
        assert!(error("version = 2").contains("update tares"));
        assert!(error("").contains("add `version = 1`"));
    }

    #[test]
    fn paths_start_where_the_run_was_asked_for() {
        let text = "version = 1\ndata = \"flowers.csv\"\ndirectory = \"/elsewhere\"\nnoise = \"matrix:t.csv\"\n\n\
                    [load]\ntest = \"/absolute/test.csv\"\nlabels = \"labels.npy\"\n";
        let spec: Spec = parse(text).unwrap();
        assert_eq!(spec.source(), "/elsewhere/flowers.csv");
        assert_eq!(spec.noise().to_string(), "matrix:/elsewhere/t.csv");
        let options = spec.options();
        assert_eq!(options.test, Some("/absolute/test.csv".into()));
        assert_eq!(options.labels_file, Some("/elsewhere/labels.npy".into()));
        let builtin = Spec { data: "digits".into(), ..spec.clone() };
        assert_eq!(builtin.source(), "digits");
        let here = Spec { directory: None, ..spec }.complete("mlp".parse().unwrap());
        assert_eq!(here.source(), "flowers.csv", "as it was typed, where it was typed");
    }
}
