//! What is asked for: [`Spec`] is one run, [`Experiment`] the product of data, noises, methods and seeds. Both are
//! TOML files; unknown keys are errors that say where.

use crate::run::label_noise::LabelNoise;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tares::{Method, Network, Plan};
use tares_core::Error;
use tares_data::LoadOptions;

/// The version of spec files; raised when an old file would mean something else.
pub const VERSION: u32 = 1;

/// One run: everything that decides its numbers, every default written out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Spec {
    /// [`VERSION`].
    pub version: u32,
    /// A built-in name or a path.
    pub data: String,
    /// The noise to put in, for experiments.
    #[serde(default = "no_noise")]
    pub noise: LabelNoise,
    /// The noise rate the method is told.
    #[serde(default)]
    pub noise_rate: NoiseRate,
    /// The device of training.
    #[serde(default = "cpu")]
    pub device: String,
    /// The network; chosen from the data's shape if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// The training method.
    #[serde(default = "npcl")]
    pub method: Method,
    /// How the data is read.
    #[serde(default)]
    pub load: Load,
    /// Epochs, batches, optimiser, seed.
    #[serde(default)]
    pub plan: Plan,
}

/// Several runs that differ in noise, method and seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Experiment {
    /// [`VERSION`].
    pub version: u32,
    /// A built-in name or a path.
    pub data: String,
    /// The noises to put in.
    #[serde(default = "no_noises")]
    pub noises: Vec<LabelNoise>,
    /// The seeds.
    #[serde(default = "first_seed")]
    pub seeds: Vec<u64>,
    /// The noise rate the methods are told.
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
    /// Epochs, batches, optimiser. (Its seed is replaced by each of `seeds`.)
    #[serde(default)]
    pub plan: Plan,
}

impl Experiment {
    /// The runs, noises first, then methods, then seeds.
    pub fn runs(&self) -> Vec<Spec> {
        let mut runs = Vec::new();
        for noise in &self.noises {
            for method in &self.methods {
                for &seed in &self.seeds {
                    runs.push(Spec {
                        version: VERSION,
                        data: self.data.clone(),
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

    /// Refuses what cannot be run.
    ///
    /// # Errors
    /// Nothing to run, or a value outside its domain.
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

impl Spec {
    /// Refuses what cannot be run, as far as it shows without the data.
    ///
    /// # Errors
    /// A value outside its domain.
    pub fn check(&self) -> Outcome<()> {
        check_version(self.version)?;
        self.plan.check()?;
        if let Some(network) = &self.network {
            network.check()?;
        }
        // A rate that comes from an estimate is not here yet; any will do to check the rest.
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

    /// As a TOML file.
    ///
    /// # Errors
    /// A value TOML cannot hold.
    pub fn to_toml(&self) -> Outcome<String> {
        to_toml(self)
    }
}

/// Reads a TOML file into a [`Spec`] or an [`Experiment`].
///
/// # Errors
/// The file cannot be read; a wrong or unknown key, with line and column; a version this program does not know.
pub fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Outcome<T> {
    parse(&crate::files::read_text(path)?).map_err(|failure| failure.within(path.display()))
}

/// Reads TOML text.
///
/// # Errors
/// A wrong or unknown key, with line and column; a version this program does not know.
pub fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Outcome<T> {
    // The version first: a file from another time should not be told about its keys.
    if let Ok(table) = text.parse::<toml::Table>() {
        match table.get("version") {
            Some(toml::Value::Integer(version)) => check_version(u32::try_from(*version).unwrap_or(u32::MAX))?,
            Some(other) => return Err(Error::value("version", VERSION.to_string(), other).into()),
            None => {
                return Err(Failure::new(format!("version must be {VERSION}, got none"))
                    .way_out(format!("add `version = {VERSION}` at the top of the file")));
            }
        }
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..start].matches('\n').count() + 1;
        let column = text[..start].rsplit('\n').next().map_or(0, |before| before.chars().count()) + 1;
        Failure::new(format!("line {line}, column {column}: {}", error.message().replace('\n', " ")))
    })
}

/// As TOML text.
///
/// # Errors
/// A value TOML cannot hold.
pub fn to_toml(value: &impl Serialize) -> Outcome<String> {
    toml::to_string(value).map_err(|error| Failure::new(format!("this cannot be written as TOML: {error}")))
}

fn check_version(version: u32) -> Outcome<()> {
    match version {
        VERSION => Ok(()),
        newer if newer > VERSION => {
            Err(Failure::new(format!("version must be {VERSION}, got {newer}: the file is from a newer tares"))
                .way_out("update tares"))
        }
        older => Err(Failure::new(format!("version must be {VERSION}, got {older}"))
            .way_out(format!("change it to `version = {VERSION}`; version {older} files had the same keys"))),
    }
}

/// The noise rate a method is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RateText", into = "RateText")]
pub enum NoiseRate {
    /// Estimated from the data.
    #[default]
    Auto,
    /// The rate of the noise that was put in, as comparisons do.
    Known,
    /// This one.
    Given(f64),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum RateText {
    Number(f64),
    Text(String),
}

impl TryFrom<RateText> for NoiseRate {
    type Error = Error;

    fn try_from(text: RateText) -> Result<Self, Error> {
        match text {
            RateText::Number(rate) => rate.to_string().parse(),
            RateText::Text(text) => text.parse(),
        }
    }
}

impl From<NoiseRate> for RateText {
    fn from(rate: NoiseRate) -> Self {
        match rate {
            NoiseRate::Given(rate) => Self::Number(rate),
            other => Self::Text(other.to_string()),
        }
    }
}

impl fmt::Display for NoiseRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Known => f.write_str("known"),
            Self::Given(rate) => rate.fmt(f),
        }
    }
}

impl FromStr for NoiseRate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::value("noise rate", "a number in [0, 1), auto or known", text);
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "known" => Ok(Self::Known),
            number => match number.parse::<f64>() {
                Ok(rate) if (0.0..1.0).contains(&rate) => Ok(Self::Given(rate)),
                _ => Err(wrong()),
            },
        }
    }
}

/// How the data is read; see [`LoadOptions`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Load {
    /// Where built-in sets are looked for first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    /// The label column of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column that names the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// Labels in a file of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Data to test on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The part kept for testing when no test part is given.
    pub test_fraction: f64,
    /// The seed of that draw.
    pub split_seed: u64,
    /// Height and width for pictures of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<(usize, usize)>,
    /// Leave out files that cannot be read.
    pub skip_unreadable: bool,
    /// CIFAR-100: the 20 groups.
    pub coarse: bool,
}

impl Default for Load {
    fn default() -> Self {
        let options = LoadOptions::default();
        Self {
            data_dir: None,
            label: None,
            id_column: None,
            labels: None,
            test: None,
            test_fraction: options.test_fraction,
            split_seed: options.seed,
            image_size: None,
            skip_unreadable: options.skip_unreadable,
            coarse: options.coarse,
        }
    }
}

impl Load {
    /// In the words of `tares-data`.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            data_dir: self.data_dir.clone(),
            label: self.label.clone(),
            id_column: self.id_column.clone(),
            labels: self.labels.clone(),
            test: self.test.clone(),
            test_fraction: self.test_fraction,
            seed: self.split_seed,
            image_size: self.image_size,
            skip_unreadable: self.skip_unreadable,
            coarse: self.coarse,
            ..LoadOptions::default()
        }
    }
}

fn no_noise() -> LabelNoise {
    LabelNoise::NONE
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

fn cpu() -> String {
    "cpu".to_owned()
}

fn npcl() -> Method {
    "npcl".parse().expect("a known method")
}

#[cfg(test)]
mod tests {
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
