//! Label noise: how right labels become wrong ones, and what really happened.
//!
//! Papers mean different things by "20 % noise"; [`Noise`] gives each meaning its own name, and [`Corrupted`] always
//! says which rate and matrix came out. Every matrix here is `T[true][given]` with rows that sum to 1.
//!
//! Noise that needs other pictures (open-set) or a trained model (semantic) changes a data set elsewhere and is
//! measured here all the same, by [`Realised::between`].

pub mod instance;
pub mod realised;
pub mod transition;

pub use realised::Realised;
pub use transition::{Transition, TransitionRow};

use crate::dataset::{Dataset, Label};
use crate::error::{Error, Result, unit_interval};
use crate::named::Named;
use crate::stream::{Stream, stream};
use std::fmt;
use std::str::FromStr;

/// A kind of label noise: `none`, `symmetric:0.5`, `pair:0.35`, `uniform-all:0.4`, `exact:0.2`, `exact-per-class:0.2`,
/// `instance:0.3`; or any [`Transition`] matrix, `matrix:[0.9,0.1],[0.2,0.8]`, or probabilities per sample,
/// `per-sample:[0.9,0.1,0.5,0.5]`. Every noise is parsed from what it prints.
///
/// ```
/// use tares_core::{Dataset, Noise, Shape};
/// let data = Dataset::new(vec![0.0f32; 1000], Shape::Flat(1), vec![0; 1000], ["a", "b"])?;
/// let noise: Noise = "exact:0.2".parse()?;
/// let noisy = noise.corrupt(&data, 1)?;
/// assert_eq!(noisy.realised.wrong, 200);
/// assert_eq!(noisy.data.truth(), Some(data.given()));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
#[non_exhaustive]
pub enum Noise {
    /// Labels stay as they are.
    None,
    /// With probability `rate`, one of the K−1 *other* classes, all equally likely. The paper's "symmetry flipping".
    Symmetric {
        /// Probability of a wrong label.
        rate: f64,
    },
    /// With probability `rate`, the next class: i → i+1 mod K. The paper's "pair flipping".
    Pair {
        /// Probability of a wrong label.
        rate: f64,
    },
    /// With probability `rate`, redrawn over *all* K classes; the rate of wrong labels is `rate·(K−1)/K`.
    UniformAll {
        /// Probability of a redraw.
        rate: f64,
    },
    /// Exactly `⌊rate·N⌋` samples get another class.
    Exact {
        /// The part of wrong labels.
        rate: f64,
    },
    /// In every class exactly `⌊rate·N_k⌋` samples get another class.
    ExactPerClass {
        /// The part of wrong labels in each class.
        rate: f64,
    },
    /// Flips that depend on the sample itself; see [`instance`].
    Instance {
        /// The mean probability of a wrong label.
        rate: f64,
    },
    /// Any matrix `T[true][given]`.
    Matrix(Transition),
    /// The distribution of each sample's given label: N rows of K probabilities.
    PerSample(Vec<f64>),
}

/// The names of the kinds with a short form; matrices and per-sample probabilities are written out.
pub const NAMES: [&str; 7] = ["none", "symmetric", "pair", "uniform-all", "exact", "exact-per-class", "instance"];

/// A data set with new given labels, and what happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Corrupted {
    /// The rows with their new labels; the truth is the former truth, or the former labels where none was known.
    pub data: Dataset,
    /// What really happened.
    pub realised: Realised,
}

impl Noise {
    /// Gives `data` wrong labels, drawn from stream `"noise"` of `seed`.
    ///
    /// The same seed gives the same labels whatever else is drawn. Flips start from the given labels.
    ///
    /// # Errors
    /// A rate outside [0, 1]; a matrix or probabilities that don't fit the data.
    pub fn corrupt(&self, data: &Dataset, seed: u64) -> Result<Corrupted> {
        self.check()?;
        let given = self.labels(data, &mut stream(seed, "noise"))?;
        let truth = data.truth().unwrap_or(data.given()).to_vec();
        let data = data.clone().with_truth(truth)?.relabel(given)?;
        let realised = Realised::of(&data)?;
        Ok(Corrupted { data, realised })
    }

    /// Checks the parameters that don't depend on data.
    ///
    /// # Errors
    /// A rate outside [0, 1].
    pub fn check(&self) -> Result<()> {
        match self.rate() {
            Some(rate) => unit_interval("noise rate", rate),
            None => Ok(()),
        }
    }

    /// The rate in the name, if there is one; what it means depends on the kind.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Self::Symmetric { rate }
            | Self::Pair { rate }
            | Self::UniformAll { rate }
            | Self::Exact { rate }
            | Self::ExactPerClass { rate }
            | Self::Instance { rate } => Some(rate),
            Self::None | Self::Matrix(_) | Self::PerSample(_) => None,
        }
    }

    /// The probability of a wrong label among `classes` equally frequent classes, where the kind tells it.
    pub fn expected_rate(&self, classes: usize) -> Option<f64> {
        match self {
            Self::None => Some(0.0),
            Self::UniformAll { rate } => Some(rate * (classes as f64 - 1.0) / classes as f64),
            Self::Matrix(transition) => {
                let right: f64 = (0..transition.classes()).map(|k| transition.at(k, k)).sum();
                Some(1.0 - right / transition.classes() as f64)
            }
            Self::PerSample(_) => None,
            _ => self.rate(),
        }
    }

    fn labels(&self, data: &Dataset, draws: &mut Stream) -> Result<Vec<Label>> {
        let classes = data.classes();
        let given = data.given();
        Ok(match self {
            Self::None => given.to_vec(),
            Self::Symmetric { rate } => Transition::symmetric(classes, *rate)?.draw(given, draws)?,
            Self::Pair { rate } => Transition::pair(classes, *rate)?.draw(given, draws)?,
            Self::UniformAll { rate } => Transition::uniform_all(classes, *rate)?.draw(given, draws)?,
            Self::Matrix(transition) => transition.draw(given, draws)?,
            Self::Exact { rate } => flip_exactly(given, classes, &[(0..given.len()).collect()], *rate, draws),
            Self::ExactPerClass { rate } => {
                let of_class = |class| (0..given.len()).filter(|&index| given[index] == class).collect();
                let groups: Vec<Vec<usize>> = (0..classes as Label).map(of_class).collect();
                flip_exactly(given, classes, &groups, *rate, draws)
            }
            Self::Instance { rate } => draw_rows(&instance::probabilities(data, *rate, draws)?, classes, draws),
            Self::PerSample(probabilities) => {
                check_rows(probabilities, given.len(), classes)?;
                draw_rows(probabilities, classes, draws)
            }
        })
    }
}

/// In each group exactly `⌊rate · its size⌋` labels become another class.
fn flip_exactly(given: &[Label], classes: usize, groups: &[Vec<usize>], rate: f64, draws: &mut Stream) -> Vec<Label> {
    let mut labels = given.to_vec();
    for group in groups {
        let mut order = group.clone();
        draws.shuffle(&mut order);
        // A hair is added before rounding down: 0.29 · 100 is 28.999999999999996 in f64, and people mean 29.
        let flips = (rate * group.len() as f64 * (1.0 + 4.0 * f64::EPSILON)).floor() as usize;
        for &index in &order[..flips.min(group.len())] {
            let other = draws.below(classes - 1) as Label;
            labels[index] = other + Label::from(other >= given[index]);
        }
    }
    labels
}

fn check_rows(probabilities: &[f64], rows: usize, classes: usize) -> Result<()> {
    crate::error::same_length("label probabilities", rows * classes, probabilities.len())?;
    let bad = |row: &[f64]| transition::check_distribution("label probabilities", row).err();
    match probabilities.chunks_exact(classes).enumerate().find_map(|(index, row)| Some((index, bad(row)?))) {
        Some((index, error)) => Err(error.at(format!("row {index}"))),
        None => Ok(()),
    }
}

fn draw_rows(probabilities: &[f64], classes: usize, draws: &mut Stream) -> Vec<Label> {
    probabilities.chunks_exact(classes).map(|row| draws.weighted(row) as Label).collect()
}

impl fmt::Display for Noise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Symmetric { rate } => write!(f, "symmetric:{rate}"),
            Self::Pair { rate } => write!(f, "pair:{rate}"),
            Self::UniformAll { rate } => write!(f, "uniform-all:{rate}"),
            Self::Exact { rate } => write!(f, "exact:{rate}"),
            Self::ExactPerClass { rate } => write!(f, "exact-per-class:{rate}"),
            Self::Instance { rate } => write!(f, "instance:{rate}"),
            Self::Matrix(transition) => {
                let rows: Vec<String> = transition.to_dense().iter().map(|row| list(row)).collect();
                write!(f, "matrix:{}", rows.join(","))
            }
            Self::PerSample(probabilities) => write!(f, "per-sample:{}", list(probabilities)),
        }
    }
}

/// `[0.9,0.1]`; numbers are printed so that they are read back to the last bit.
fn list(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(f64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// `[0.9,0.1],[0.2,0.8]`, as after `example`'s colon.
fn lists(named: &Named<'_>, example: &str) -> Result<Vec<Vec<f64>>> {
    let text: String = named.argument.unwrap_or_default().chars().filter(|c| !c.is_whitespace()).collect();
    let inside = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let numbers = |list: &str| match list.is_empty() {
        true => Some(Vec::new()),
        false => list.split(',').map(|number| number.parse().ok()).collect::<Option<Vec<f64>>>(),
    };
    inside.and_then(|inside| inside.split("],[").map(numbers).collect()).ok_or_else(|| {
        Error::value(format!("parameter of noise {}", named.name), format!("lists of numbers, as in {example}"), text)
    })
}

impl FromStr for Noise {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Named::parse("noise", text)?;
        let noise = match named.name {
            "none" => named.plain(Self::None)?,
            "symmetric" => Self::Symmetric { rate: named.number()? },
            "pair" => Self::Pair { rate: named.number()? },
            "uniform-all" => Self::UniformAll { rate: named.number()? },
            "exact" => Self::Exact { rate: named.number()? },
            "exact-per-class" => Self::ExactPerClass { rate: named.number()? },
            "instance" => Self::Instance { rate: named.number()? },
            "matrix" => Self::Matrix(Transition::new(lists(&named, "matrix:[0.9,0.1],[0.2,0.8]")?)?),
            "per-sample" => Self::PerSample(lists(&named, "per-sample:[0.9,0.1,0.5,0.5]")?.concat()),
            _ => return Err(named.unknown(&NAMES)),
        };
        noise.check()?;
        Ok(noise)
    }
}

crate::named::as_text!(Noise);

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind after another; the compiler asks for the next one when a kind is added.
    fn after(noise: &Noise) -> Option<Noise> {
        let rate = 1.0 / 3.0; // needs all 17 digits
        Some(match noise {
            Noise::None => Noise::Symmetric { rate },
            Noise::Symmetric { .. } => Noise::Pair { rate },
            Noise::Pair { .. } => Noise::UniformAll { rate },
            Noise::UniformAll { .. } => Noise::Exact { rate },
            Noise::Exact { .. } => Noise::ExactPerClass { rate: 5e-324 },
            Noise::ExactPerClass { .. } => Noise::Instance { rate },
            Noise::Instance { .. } => Noise::Matrix(Transition::uniform_all(3, rate).expect("a rate in [0, 1]")),
            Noise::Matrix(_) => Noise::PerSample(vec![rate, 1.0 - rate, 0.1 + 0.2, 0.7]),
            Noise::PerSample(rows) if !rows.is_empty() => Noise::PerSample(Vec::new()),
            Noise::PerSample(_) => return None,
        })
    }

    #[test]
    fn every_noise_is_parsed_from_what_it_prints() {
        for noise in std::iter::successors(Some(Noise::None), after) {
            assert_eq!(noise.to_string().parse::<Noise>().unwrap(), noise, "{noise}");
        }
    }

    #[test]
    fn lists_that_cannot_be_read_say_how_they_are_written() {
        let say = |text: &str| text.parse::<Noise>().unwrap_err().to_string();
        let wanted = "parameter of noise matrix must be lists of numbers, as in matrix:[0.9,0.1],[0.2,0.8], got ";
        for bad in ["matrix", "matrix:0.5", "matrix:[1,0],[0,x]", "matrix:[1,0],0,1]"] {
            assert!(say(bad).starts_with(wanted), "{}", say(bad));
        }
        assert_eq!(say("matrix:[1,0],[1]"), "row 1 of the transition matrix must have 2 entries, got 1");
        assert_eq!("matrix: [1, 0], [0.5, 0.5]".parse::<Noise>().unwrap().to_string(), "matrix:[1,0],[0.5,0.5]");
    }
}
