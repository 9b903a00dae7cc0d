//! [`LabelNoise`]: every kind of noise that the program can put into labels, written as it is typed.
//!
//! Kinds that need only labels are in `tares-core`. The others are here, because they need what the core may not use: a
//! file (`matrix`, `human`), other data sets (`open-set`) or a trained network (`semantic`, [`Generator`]).

use super::semantic_noise::{Generator, NoiseProgress};
use crate::record::NoiseRecord;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tares_core::noise::NAMES;
use tares_core::{Dataset, Error, Noise, Realised, Transition};
use tares_data::{Builtin, HumanLabels, LoadOptions};

/// A kind of noise: `symmetric:0.5`, `matrix:t.csv`, `open-set:cifar-100:0.4`, `semantic:lenet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LabelNoise {
    /// A kind that needs nothing but labels.
    Labels(Noise),
    /// `T[true][given]` from a CSV file: one line per true class.
    Matrix(PathBuf),
    /// Some pictures are replaced by pictures of other data sets; the labels stay.
    OpenSet {
        /// The other data sets, names or paths: `a+b` is half of each.
        others: Vec<String>,
        /// The fraction that is replaced.
        rate: f64,
    },
    /// A network is trained on a small clean part of the data and labels the rest.
    Semantic(Generator),
    /// Labels that people gave to CIFAR-10 or CIFAR-100 (CIFAR-N).
    Human(HumanLabels),
}

/// The fraction that open-set noise replaces unless another is typed.
const OPEN_SET_RATE: f64 = 0.4;

impl LabelNoise {
    /// No noise.
    pub const NONE: Self = Self::Labels(Noise::None);

    /// The name without numbers: `symmetric`.
    pub fn kind(&self) -> String {
        match self {
            Self::Labels(noise) => noise.to_string().split(':').next().unwrap_or("none").to_owned(),
            Self::Matrix(_) => "matrix".to_owned(),
            Self::OpenSet { .. } => "open-set".to_owned(),
            Self::Semantic(_) => "semantic".to_owned(),
            Self::Human(_) => "human".to_owned(),
        }
    }

    /// Whether it looks at nothing of a row but its label.
    pub fn needs_only_labels(&self) -> bool {
        match self {
            Self::Labels(noise) => !matches!(noise, Noise::Instance { .. }),
            Self::Matrix(_) | Self::Human(_) => true,
            Self::OpenSet { .. } | Self::Semantic(_) => false,
        }
    }

    /// The rate that was typed, for kinds that have one.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Labels(noise) => noise.rate(),
            Self::OpenSet { rate, .. } => Some(*rate),
            Self::Matrix(_) | Self::Semantic(_) | Self::Human(_) => None,
        }
    }

    /// Puts the noise into `data`; the result also holds the true labels. A network that makes the labels is trained on `device`, and
    /// `hear` is told how far it is.
    ///
    /// # Errors
    /// A rate that is not allowed, a file that cannot be read, a matrix or data set that doesn't fit.
    pub fn corrupt(
        &self,
        data: &Dataset,
        seed: u64,
        load: &LoadOptions,
        device: &str,
        hear: &dyn Fn(NoiseProgress),
    ) -> Outcome<Dataset> {
        Ok(match self {
            Self::Labels(noise) => noise.corrupt(data, seed)?.data,
            Self::Matrix(path) => Noise::Matrix(read_matrix(path, data.classes())?).corrupt(data, seed)?.data,
            Self::OpenSet { others, rate } => {
                let load = |other: &String| Ok(tares_data::load(other, load, &mut |_| {})?.train);
                let others = others.iter().map(load).collect::<Outcome<Vec<Dataset>>>()?;
                tares_data::open_set(data, &others.iter().collect::<Vec<_>>(), *rate, seed)?
            }
            Self::Semantic(generator) => generator.corrupt(data, seed, device, hear)?,
            Self::Human(which) => human(data, *which, load)?,
        })
    }

    /// Counts how many labels the noise changed, and how, for the run's manifest.
    ///
    /// # Errors
    /// The truth is unknown.
    pub fn record(&self, data: &Dataset) -> Outcome<NoiseRecord> {
        let realised = Realised::of(data)?;
        let counts = realised.counts.iter().map(|row| row.iter().map(|&count| count as u64).collect()).collect();
        Ok(NoiseRecord {
            name: self.to_string(),
            kind: self.kind(),
            rate: self.rate().unwrap_or_else(|| realised.rate()),
            realised: realised.rate(),
            matrix: counts,
        })
    }

    /// The rate that `--noise-rate known` tells a method: the expected rate of this kind of noise, or the counted rate
    /// for kinds that promise none.
    pub fn known_rate(&self, data: &Dataset) -> f64 {
        let expected = match self {
            Self::Labels(noise) => noise.expected_rate(data.classes()),
            Self::OpenSet { rate, .. } => Some(*rate),
            Self::Matrix(_) | Self::Semantic(_) | Self::Human(_) => None,
        };
        expected.or_else(|| data.noise_rate()).unwrap_or(0.0)
    }
}

impl fmt::Display for LabelNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels(noise) => noise.fmt(f),
            Self::Matrix(path) => write!(f, "matrix:{}", path.display()),
            Self::OpenSet { others, rate } => write!(f, "open-set:{}:{rate}", others.join("+")),
            Self::Semantic(generator) => generator.fmt(f),
            Self::Human(which) => write!(f, "human:{which}"),
        }
    }
}

impl FromStr for LabelNoise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        let needs =
            |example: &str| Err(Error::value(format!("noise {kind}"), format!("written as in {example}"), text));
        match kind {
            "matrix" if rest.is_empty() => needs("matrix:transition.csv"),
            "matrix" => Ok(Self::Matrix(rest.into())),
            "open-set" if rest.is_empty() => needs("open-set:cifar-100:0.4"),
            "open-set" => {
                let (others, rate) = last_number(rest, OPEN_SET_RATE);
                let others: Vec<String> = others.split('+').map(str::to_owned).collect();
                if others.iter().any(String::is_empty) {
                    return needs("open-set:cifar-100+tiny-imagenet:0.6");
                }
                Ok(Self::OpenSet { others, rate: fraction("rate of open-set noise", rate)? })
            }
            "semantic" if rest.is_empty() => needs("semantic:lenet"),
            "semantic" => rest.parse().map(Self::Semantic),
            "human" if rest.is_empty() => needs("human:worst"),
            "human" => rest.parse().map(Self::Human),
            name if NAMES.contains(&name) => text.parse().map(Self::Labels),
            name => {
                let known: Vec<&str> =
                    NAMES.iter().copied().chain(["matrix", "open-set", "semantic", "human"]).collect();
                Err(Error::unknown("noise", name, &known))
            }
        }
    }
}

impl TryFrom<String> for LabelNoise {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<LabelNoise> for String {
    fn from(noise: LabelNoise) -> Self {
        noise.to_string()
    }
}

/// Splits `name:0.4` into name and number. A last part that is not a number belongs to the name (a path).
fn last_number(text: &str, otherwise: f64) -> (&str, f64) {
    let split = text.rsplit_once(':').and_then(|(name, number)| Some((name, number.parse::<f64>().ok()?)));
    split.unwrap_or((text, otherwise))
}

fn fraction(what: &str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(Error::value(what, "in (0, 1)", value)) }
}

/// Reads `T[true][given]` from a CSV file of K lines with K probabilities each.
fn read_matrix(path: &Path, classes: usize) -> Outcome<Transition> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_path(path)
        .map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let mut rows = Vec::new();
    for (number, record) in reader.records().enumerate() {
        let place = format!("{}: line {}", path.display(), number + 1);
        let record = record.map_err(|error| Failure::new(error).within(&place))?;
        let row: Result<Vec<f64>, Failure> = record
            .iter()
            .map(|cell| {
                cell.parse().map_err(|_| Failure::new(format!("{place}: probability must be a number, got '{cell}'")))
            })
            .collect();
        rows.push(row?);
    }
    if rows.len() != classes {
        let text = format!("{}: matrix must have {classes} rows, one per class, got {}", path.display(), rows.len());
        return Err(Failure::new(text));
    }
    Transition::new(rows).map_err(|error| Failure::from(error).within(path.display()))
}

/// The labels that people gave to the rows of CIFAR: row by row, so the data must be the whole of it, in its own order.
fn human(data: &Dataset, which: HumanLabels, load: &LoadOptions) -> Outcome<Dataset> {
    let source = if which == HumanLabels::Noisy { Builtin::Cifar100 } else { Builtin::Cifar10 };
    let options = load.clone().with(|options| options.human_labels = Some(which));
    let labelled = tares_data::load(source.name(), &options, &mut |_| {})?.train;
    let truth = data.truth().unwrap_or(data.given());
    if labelled.truth() != Some(truth) {
        let data = format!("the training rows of {}, all of them in their order", source.name());
        return Err(Error::value(format!("data for noise human:{which}"), data, "other rows").into());
    }
    Ok(data.clone().with_truth(truth.to_vec())?.relabel(labelled.given().to_vec())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noise_is_read_as_it_is_written() {
        for text in [
            "none",
            "symmetric:0.5",
            "pair:0.35",
            "uniform-all:0.4",
            "exact:0.2",
            "exact-per-class:0.2",
            "instance:0.3",
            "matrix:dir/t.csv",
            "open-set:cifar-100:0.4",
            "open-set:other/x:y:0.25",
            "open-set:cifar-100+tiny-imagenet:0.6",
            "semantic:lenet",
            "semantic:mlp:64-64:0.05",
            "human:worst",
            "semantic:vgg13:0.05:epochs=100:optimiser=sgd:augment=crop-flip",
        ] {
            assert_eq!(text.parse::<LabelNoise>().unwrap().to_string(), text);
        }
        assert_eq!("open-set:mnist".parse::<LabelNoise>().unwrap().to_string(), "open-set:mnist:0.4");
    }

    #[test]
    fn mistakes_say_the_way_out() {
        let error = |text: &str| text.parse::<LabelNoise>().unwrap_err().to_string();
        assert!(error("symetric:0.5").contains("did you mean symmetric?"), "{}", error("symetric:0.5"));
        assert!(error("symmetric:1.5").contains("1.5"), "{}", error("symmetric:1.5"));
        assert!(error("matrix").contains("matrix:transition.csv"));
        assert!(error("open-set:mnist:2").contains("in (0, 1)"));
        assert!(error("open-set:mnist+:0.2").contains("cifar-100+tiny-imagenet"));
        assert!(error("semantic:lennet").contains("lenet"));
        assert!(error("human").contains("human:worst") && error("human:wurst").contains("worst"));
    }
}
