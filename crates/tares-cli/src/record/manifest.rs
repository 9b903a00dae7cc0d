//! `manifest.json`: what a run is and what came out of it.

use super::parse_json;
use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares_core::Error;

/// The version of the files of a run; raised when an old reader would misunderstand them.
pub const FORMAT: u32 = 1;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT`] when it was written.
    pub format: u32,
    /// The version of tares that wrote it.
    pub version: String,
    /// Whether the run is complete.
    pub state: State,
    /// The training method.
    pub method: String,
    /// The network.
    pub network: String,
    /// Its trainable numbers.
    pub parameters: u64,
    /// The seed of everything random.
    pub seed: u64,
    /// Epochs asked for.
    pub epochs: usize,
    /// The noise that was put in, if any was.
    #[serde(default)]
    pub noise: Option<NoiseRecord>,
    /// The noise rate the method was told.
    #[serde(default)]
    pub rate: Option<RateRecord>,
    /// The data.
    pub data: DataRecord,
    /// Where it ran.
    pub machine: Machine,
    /// When it began, UTC.
    pub started: String,
    /// What came out, once finished.
    #[serde(default)]
    pub result: Option<ResultRecord>,
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Training, or stopped before its end.
    Unfinished,
    /// Complete.
    Finished,
}

/// The label noise that was put in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoiseRecord {
    /// As it was typed: `symmetric:0.5`.
    pub name: String,
    /// `symmetric`, `pair`, …
    pub kind: String,
    /// The rate asked for.
    pub rate: f64,
    /// The part of labels that is really wrong.
    pub realised: f64,
    /// Counts, `[true][given]`.
    pub matrix: Vec<Vec<u64>>,
}

/// The noise rate a method works with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateRecord {
    /// The rate.
    pub value: f64,
    /// Where it came from: `given`, or how it was estimated.
    pub source: String,
    /// The band of an estimate.
    #[serde(default)]
    pub band: Option<(f64, f64)>,
    /// Why an estimate should not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// What was trained on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// As the user named it.
    pub source: String,
    /// A hash of all numbers and labels, before noise.
    pub hash: String,
    /// Rows trained on.
    pub train_rows: usize,
    /// Rows tested on.
    pub test_rows: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Channels, height, width; or one number for tables.
    pub shape: Vec<usize>,
    /// A sentence for every column that is not used as it stands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Where a run ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and architecture.
    pub system: String,
    /// Cores the process may use.
    pub cores: usize,
    /// The device of training.
    pub device: String,
}

/// The end of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// Mean over the last ten epochs, at most the last quarter of the run.
    pub test_accuracy_last10: Option<f64>,
    /// Of the best epoch.
    pub test_accuracy_best: Option<f64>,
    /// What the accuracy is on true labels, where the test labels are as noisy as the training labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_accuracy: Option<TrueAccuracyRecord>,
    /// Mean over the same epochs, if the truth is known.
    pub label_precision_last10: Option<f64>,
    /// Test rows, `[true][predicted]`.
    pub confusion: Vec<Vec<u64>>,
    /// Training samples whose label looks wrong.
    pub suspects: usize,
    /// Time of training.
    pub seconds: f64,
}

/// An accuracy on labels that are partly wrong, and what it is on true ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrueAccuracyRecord {
    /// The estimated part of true labels that the model answers.
    pub accuracy: f64,
    /// Where it lies.
    pub interval: (f64, f64),
    /// Why it cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl TrueAccuracyRecord {
    /// That the test labels are noisy, and what the accuracy is on true ones.
    pub fn sentence(&self) -> String {
        let noisy = "the test labels are as noisy as the training labels";
        let percent = |value: f64| format!("{:.1} %", 100.0 * value);
        match &self.warning {
            Some(warning) => format!("{noisy}; the accuracy on true labels cannot be estimated: {warning}"),
            None => {
                let (low, high) = self.interval;
                let (low, high) = (percent(low), percent(high));
                format!(
                    "{noisy}; estimated accuracy on true labels {} (between {low} and {high})",
                    percent(self.accuracy)
                )
            }
        }
    }
}

impl Manifest {
    /// Reads a manifest and refuses one that is damaged, so that nobody who uses it has to look again.
    ///
    /// # Errors
    /// It cannot be read, is from a newer version, or its parts don't fit each other.
    pub fn read(path: &Path) -> Outcome<Self> {
        let text = read_text(path)?;
        #[derive(Deserialize)]
        struct Version {
            format: u32,
            version: String,
        }
        let version: Version = parse_json(path, &text)?;
        if version.format > FORMAT {
            let text = format!(
                "{}: format must be at most {FORMAT}, got {} (written by tares {})",
                path.display(),
                version.format,
                version.version
            );
            return Err(Failure::new(text).way_out("update tares"));
        }
        let manifest: Self = parse_json(path, &text)?;
        manifest.check().map_err(|error| Failure::from(error).within(path.display()))?;
        Ok(manifest)
    }

    fn check(&self) -> tares_core::Result<()> {
        let classes = self.data.classes.len();
        if let Some(noise) = &self.noise {
            square("noise matrix", &noise.matrix, classes)?;
            fraction("realised noise", noise.realised)?;
            fraction("rate of the noise", noise.rate)?;
        }
        if let Some(rate) = &self.rate {
            let (low, high) = rate.band.unwrap_or((rate.value, rate.value));
            [rate.value, low, high].into_iter().try_for_each(|part| fraction("noise rate", part))?;
            if rate.value >= 1.0 {
                return Err(Error::value("noise rate", "in [0, 1)", rate.value));
            }
        }
        if let Some(result) = &self.result {
            square("confusion", &result.confusion, classes)?;
            let accuracies = [result.test_accuracy_last10, result.test_accuracy_best, result.label_precision_last10];
            let told = result.true_accuracy.iter().flat_map(|told| [told.accuracy, told.interval.0, told.interval.1]);
            accuracies.into_iter().flatten().chain(told).try_for_each(|part| fraction("accuracy", part))?;
        }
        Ok(())
    }
}

/// A matrix is absent or has a row and a column per class.
fn square(what: &str, matrix: &[Vec<u64>], classes: usize) -> tares_core::Result<()> {
    let fits = matrix.len() == classes && matrix.iter().all(|row| row.len() == classes);
    match matrix.is_empty() || fits {
        true => Ok(()),
        false => Err(Error::value(what, format!("{classes} x {classes}, a row per class"), "another shape")),
    }
}

/// Everything a page draws as a part of a whole.
pub(super) fn fraction(what: &str, part: f64) -> tares_core::Result<()> {
    if (0.0..=1.0).contains(&part) { Ok(()) } else { Err(Error::value(what, "in [0, 1]", part)) }
}

#[cfg(test)]
mod tests {
    use super::super::made_up::made_up;
    use super::*;

    /// What is said about a manifest of a run with three classes in which `part` was replaced.
    fn said(part: &str, damaged: &str) -> String {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("manifest.json");
        let text = serde_json::to_string(&made_up("npcl", "symmetric", 0.5, 1, 0.9).manifest).unwrap();
        assert!(text.contains(part), "{part} not in {text}");
        std::fs::write(&path, text.replacen(part, damaged, 1)).unwrap();
        Manifest::read(&path).unwrap_err().to_string()
    }

    #[test]
    fn a_run_of_a_newer_version_is_refused_with_the_way_out() {
        let text = said("\"format\":1", "\"format\":2");
        assert!(text.contains("format must be at most 1, got 2") && text.contains("update tares"), "{text}");
    }

    #[test]
    fn matrices_that_are_not_square_are_refused() {
        assert!(said("[[90,8,2],", "[").contains("confusion must be 3 x 3, a row per class"));
        assert!(said("[50,25,25]", "[50,25]").contains("noise matrix must be 3 x 3"));
        assert!(said("\"classes\":[\"cat\",", "\"classes\":[").contains("noise matrix must be 2 x 2"));
    }

    #[test]
    fn parts_of_a_whole_lie_between_0_and_1() {
        assert!(said("\"realised\":0.4967", "\"realised\":1e300").contains("realised noise must be in [0, 1]"));
        assert!(said("\"value\":0.5", "\"value\":1.0").contains("noise rate must be in [0, 1), got 1"));
        let text = said("\"test_accuracy_last10\":0.9", "\"test_accuracy_last10\":-2.0");
        assert!(text.contains("accuracy must be in [0, 1], got -2"), "{text}");
    }
}
