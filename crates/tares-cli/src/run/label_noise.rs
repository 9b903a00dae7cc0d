//! [`LabelNoise`]: every noise the program can put into labels, as it is typed.
//!
//! The kinds that only need labels are `tares-core`'s. A matrix needs a file, open-set noise another data set, semantic
//! noise a trained network: they live here, where files and networks meet.

use crate::record::NoiseRecord;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use tares::{Fit, Method, Network, Plan};
use tares_core::noise::NAMES;
use tares_core::{Dataset, Error, Noise, Realised, Transition};
use tares_data::LoadOptions;

/// A noise as it is typed: `symmetric:0.5`, `matrix:t.csv`, `open-set:cifar-100:0.4`, `semantic:lenet`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LabelNoise {
    /// A kind that needs nothing but labels.
    Labels(Noise),
    /// `T[true][given]` from a CSV file: one line per true class.
    Matrix(PathBuf),
    /// A part of the pictures is replaced by pictures of another data set; the labels stay.
    OpenSet {
        /// The other data set: a name or a path.
        other: String,
        /// The part that is replaced.
        rate: f64,
    },
    /// A network trained on a small clean part labels the rest.
    Semantic {
        /// The network.
        network: Network,
        /// The part it is trained on; those rows keep their labels.
        part: f64,
    },
}

/// The part replaced by open-set noise unless given.
const OPEN_SET_RATE: f64 = 0.4;
/// The part a label generator is trained on unless given.
const SEMANTIC_PART: f64 = 0.1;

impl LabelNoise {
    /// No noise.
    pub const NONE: Self = Self::Labels(Noise::None);

    /// Its name without numbers.
    pub fn kind(&self) -> String {
        match self {
            Self::Labels(noise) => noise.to_string().split(':').next().unwrap_or("none").to_owned(),
            Self::Matrix(_) => "matrix".to_owned(),
            Self::OpenSet { .. } => "open-set".to_owned(),
            Self::Semantic { .. } => "semantic".to_owned(),
        }
    }

    /// The rate in its name, if there is one.
    pub fn rate(&self) -> Option<f64> {
        match self {
            Self::Labels(noise) => noise.rate(),
            Self::OpenSet { rate, .. } => Some(*rate),
            Self::Matrix(_) | Self::Semantic { .. } => None,
        }
    }

    /// Puts the noise into `data`; the truth is remembered in the data set.
    ///
    /// # Errors
    /// A rate outside its domain, a file that cannot be read, a matrix or data set that doesn't fit.
    pub fn corrupt(&self, data: &Dataset, seed: u64, load: &LoadOptions) -> Outcome<Dataset> {
        Ok(match self {
            Self::Labels(noise) => noise.corrupt(data, seed)?.data,
            Self::Matrix(path) => Noise::Matrix(read_matrix(path, data.classes())?).corrupt(data, seed)?.data,
            Self::OpenSet { other, rate } => {
                let others = tares_data::load(other, load, &mut |_| {})?.train;
                tares_data::open_set(data, &others, *rate, seed)?
            }
            Self::Semantic { network, part } => semantic(data, network, *part, seed)?,
        })
    }

    /// What the noise really did.
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

    /// The rate a method may be told when the noise is known: as announced, or as realised where nothing is announced.
    pub fn known_rate(&self, data: &Dataset) -> f64 {
        let announced = match self {
            Self::Labels(noise) => noise.expected_rate(data.classes()),
            Self::OpenSet { rate, .. } => Some(*rate),
            Self::Matrix(_) | Self::Semantic { .. } => None,
        };
        announced.or_else(|| data.noise_rate()).unwrap_or(0.0)
    }
}

impl fmt::Display for LabelNoise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Labels(noise) => noise.fmt(f),
            Self::Matrix(path) => write!(f, "matrix:{}", path.display()),
            Self::OpenSet { other, rate } => write!(f, "open-set:{other}:{rate}"),
            Self::Semantic { network, part } if *part == SEMANTIC_PART => write!(f, "semantic:{network}"),
            Self::Semantic { network, part } => write!(f, "semantic:{network}:{part}"),
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
                let (other, rate) = last_number(rest, OPEN_SET_RATE);
                Ok(Self::OpenSet { other: other.to_owned(), rate: fraction("rate of open-set noise", rate)? })
            }
            "semantic" if rest.is_empty() => needs("semantic:lenet"),
            "semantic" => {
                let (network, part) = last_number(rest, SEMANTIC_PART);
                Ok(Self::Semantic { network: network.parse()?, part: fraction("clean part of semantic noise", part)? })
            }
            name if NAMES.contains(&name) => text.parse().map(Self::Labels),
            name => {
                let known: Vec<&str> = NAMES.iter().copied().chain(["matrix", "open-set", "semantic"]).collect();
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

/// `name:0.4` → name and 0.4; a last part that is no number belongs to the name (a path, `mlp:64-64`).
fn last_number(text: &str, otherwise: f64) -> (&str, f64) {
    match text.rsplit_once(':').and_then(|(name, number)| Some((name, number.parse::<f64>().ok()?))) {
        Some((name, number)) if text.matches(':').count() > 1 || !name.ends_with("mlp") => (name, number),
        _ => (text, otherwise),
    }
}

fn fraction(what: &str, value: f64) -> Result<f64, Error> {
    if value > 0.0 && value < 1.0 { Ok(value) } else { Err(Error::value(what, "in (0, 1)", value)) }
}

/// A CSV of K lines with K probabilities each, `T[true][given]`.
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

/// A network trained on a clean part labels all other rows with its answers: wrong where the classes look alike.
fn semantic(data: &Dataset, network: &Network, part: f64, seed: u64) -> Outcome<Dataset> {
    let truth = data.truth().unwrap_or(data.given()).to_vec();
    let clean = data.clone().relabel(truth.clone())?;
    let (_, small) = clean.split(part, seed)?;
    let plan = Plan { epochs: 30, seed, ..Plan::default() };
    let generator = Fit::new(&small, &Method::Standard, &plan).train_network(network)?;
    let mut given = generator.predictions(&clean)?;
    let rows: std::collections::HashMap<usize, usize> = (0..data.len()).map(|row| (data.stored(row), row)).collect();
    for row in (0..small.len()).map(|row| rows[&small.stored(row)]) {
        given[row] = truth[row];
    }
    Ok(clean.with_truth(truth)?.relabel(given)?)
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
            "semantic:lenet",
            "semantic:mlp:64-64:0.05",
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
        assert!(error("semantic:lennet").contains("lenet"));
    }
}
