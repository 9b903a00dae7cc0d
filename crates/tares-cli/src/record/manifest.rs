//! `manifest.json`: the settings of a run and its results.

use super::parse_json;
use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares::loss::Doubt;
use tares_core::Error;

/// The version of a run's files. It is raised whenever an older program would misunderstand them.
pub const FORMAT: u32 = 1;

/// `manifest.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The [`FORMAT`] it was written in.
    pub format: u32,
    /// The version of tares that wrote it.
    pub version: String,
    /// Whether the run is complete.
    pub state: State,
    /// The training method.
    pub method: String,
    /// The network.
    pub network: String,
    /// Its number of trainable parameters.
    pub parameters: u64,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Epochs to train, according to the spec.
    pub epochs: usize,
    /// The noise that was put in, if any was.
    #[serde(default)]
    pub noise: Option<NoiseRecord>,
    /// The noise rate that the method was told.
    #[serde(default)]
    pub rate: Option<RateRecord>,
    /// The data.
    pub data: DataRecord,
    /// The machine that trained it.
    pub machine: Machine,
    /// When it began, UTC.
    pub started: String,
    /// The results, once the run is finished.
    #[serde(default)]
    pub result: Option<ResultRecord>,
}

/// Whether a run is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Being trained, or interrupted.
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
    /// The rate that was typed; for kinds without one, the counted rate.
    pub rate: f64,
    /// The fraction of labels that differ from the truth.
    pub realised: f64,
    /// Counts, `[true][given]`.
    pub matrix: Vec<Vec<u64>>,
}

/// The noise rate a method works with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateRecord {
    /// The rate.
    pub value: f64,
    /// Where it comes from: `given`, or how it was estimated.
    pub source: String,
    /// The interval in which an estimated rate most likely lies.
    #[serde(default, alias = "band")] // its name before 0.1
    pub interval: Option<(f64, f64)>,
    /// Why an estimate should not be trusted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// The data of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// The name or path that was typed.
    pub source: String,
    /// A hash of all numbers and labels, before noise.
    pub hash: String,
    /// Number of training rows.
    pub train_rows: usize,
    /// Number of test rows.
    pub test_rows: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Channels, height, width; or one number for tables.
    pub shape: Vec<usize>,
    /// One sentence for each column that was changed or left out when the data was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Files of the data that were missing: the run had only a part of it (`tares reproduce --subset`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_files: Vec<String>,
}

/// The machine that trained a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Operating system and architecture.
    pub system: String,
    /// Number of cores that the process may use.
    pub cores: usize,
    /// The device of training.
    pub device: String,
}

/// The results of a finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// Test accuracy, averaged over the last ten epochs, or over the last quarter of a short run. RoG: of its head.
    pub test_accuracy_last10: Option<f64>,
    /// Test accuracy of the best epoch. RoG: of its head.
    pub test_accuracy_best: Option<f64>,
    /// RoG: test accuracy of the network under the head, averaged over the last epochs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_accuracy_last10: Option<f64>,
    /// The estimated accuracy on true labels, where the test labels are as noisy as the training labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_accuracy: Option<TrueAccuracyRecord>,
    /// Label precision, averaged over the same epochs; only if the truth is known.
    pub label_precision_last10: Option<f64>,
    /// Counts of test rows, `[true][predicted]`.
    pub confusion: Vec<Vec<u64>>,
    /// Number of training rows whose label looks wrong.
    pub suspects: usize,
    /// Why the method `tares` corrected no label, if it corrected none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncorrected: Option<Doubt>,
    /// Reasons not to trust the suspects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Duration of training.
    pub seconds: f64,
}

/// The estimated accuracy on true labels, for a test set whose labels are partly wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrueAccuracyRecord {
    /// The estimated accuracy.
    pub accuracy: f64,
    /// The interval in which it most likely lies.
    pub interval: (f64, f64),
    /// Why it cannot be estimated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

impl TrueAccuracyRecord {
    /// Says that the test labels are noisy, and what the accuracy on true labels is.
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
    /// Reads and checks a manifest, so that its users need not check it again.
    ///
    /// # Errors
    /// It cannot be read, was written by a newer version, or its parts don't fit each other.
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
            let (low, high) = rate.interval.unwrap_or((rate.value, rate.value));
            [rate.value, low, high].into_iter().try_for_each(|part| fraction("noise rate", part))?;
            if rate.value >= 1.0 {
                return Err(Error::value("noise rate", "in [0, 1)", rate.value));
            }
        }
        if let Some(result) = &self.result {
            square("confusion", &result.confusion, classes)?;
            let accuracies = [
                result.test_accuracy_last10,
                result.test_accuracy_best,
                result.network_accuracy_last10,
                result.label_precision_last10,
            ];
            let told = result.true_accuracy.iter().flat_map(|told| [told.accuracy, told.interval.0, told.interval.1]);
            accuracies.into_iter().flatten().chain(told).try_for_each(|part| fraction("accuracy", part))?;
        }
        Ok(())
    }
}

/// Refuses a matrix that is neither empty nor has a row and a column per class.
fn square(what: &str, matrix: &[Vec<u64>], classes: usize) -> tares_core::Result<()> {
    let fits = matrix.len() == classes && matrix.iter().all(|row| row.len() == classes);
    match matrix.is_empty() || fits {
        true => Ok(()),
        false => Err(Error::value(what, format!("{classes} x {classes}, a row per class"), "another shape")),
    }
}

/// Refuses a number outside [0, 1]: pages draw these as parts of a whole.
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
    fn a_rate_written_before_0_1_keeps_its_interval() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("manifest.json");
        let text = serde_json::to_string(&made_up("npcl", "symmetric", 0.5, 1, 0.9).manifest).unwrap();
        let old = text.replace("\"interval\":null", "\"band\":[0.4,0.6]");
        assert_ne!(old, text);
        std::fs::write(&path, old).unwrap();
        assert_eq!(Manifest::read(&path).unwrap().rate.unwrap().interval, Some((0.4, 0.6)));
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
