//! A run on disk: everything a report, a prediction or a repetition needs, and nothing that must be computed again.
//!
//! ```text
//! spec.toml          what was asked, every default written out
//! manifest.json      what happened: versions, data hash, realised noise, machine, result
//! epochs.jsonl       one line per epoch
//! samples.parquet    one row per training sample: margin over epochs, times kept, last loss, prediction
//! gallery.json       the most suspicious samples with their pictures or values
//! suspects.csv       the same samples and the rest of the list, for people
//! model.safetensors  the weights
//! model.json         how files become rows and rows become inputs
//! checkpoint.bin     while unfinished: the complete state of training
//! .lock              held by the process that writes here
//! ```

use crate::files::{create_directory, read_text, write_whole};
use crate::json::to_json;
use crate::report::gallery::Card;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The version of the files below; raised when an old reader would misunderstand them.
pub const FORMAT: u32 = 1;

/// One line of `epochs.jsonl`. Fractions are in 0..1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// Counted from 1.
    pub epoch: usize,
    /// Mean loss over the batches.
    pub train_loss: f64,
    /// On the test part, if there is one.
    #[serde(default)]
    pub test_accuracy: Option<f64>,
    /// Samples that carried gradient.
    pub kept: u64,
    /// The same as a fraction of all seen.
    pub kept_fraction: f64,
    /// Right labels among the kept, if the truth is known.
    #[serde(default)]
    pub label_precision: Option<f64>,
    /// Kept among the right labels, if the truth is known.
    #[serde(default)]
    pub label_recall: Option<f64>,
    /// The learning rate of the epoch.
    pub learning_rate: f64,
    /// Time of the epoch, evaluation included.
    pub seconds: f64,
}

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
    /// Mean over the last ten epochs.
    pub test_accuracy_last10: Option<f64>,
    /// Of the best epoch.
    pub test_accuracy_best: Option<f64>,
    /// What the accuracy is on true labels, where the test labels are as noisy as the training labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_accuracy: Option<TrueAccuracyRecord>,
    /// Mean over the last ten epochs, if the truth is known.
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

/// All that a report needs of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// What to call it: its directory.
    pub name: String,
    /// `manifest.json`.
    pub manifest: Manifest,
    /// `epochs.jsonl`.
    pub epochs: Vec<EpochRecord>,
    /// `gallery.json`; empty if there is none.
    pub gallery: Vec<Card>,
}

impl RunRecord {
    /// Reads a run directory.
    ///
    /// # Errors
    /// It is no run directory, was written by a newer version, or a file is damaged.
    pub fn read(directory: &Path) -> Outcome<Self> {
        let path = directory.join("manifest.json");
        if !path.exists() {
            return Err(Failure::new(format!("{}: not a run directory: it has no manifest.json", directory.display()))
                .way_out("name a directory that `tares train` or `tares compare` wrote"));
        }
        let manifest = read_manifest(&path)?;
        let gallery = directory.join("gallery.json");
        let gallery = if gallery.exists() { parse_json(&gallery, &read_text(&gallery)?)? } else { Vec::new() };
        Ok(Self {
            name: directory.display().to_string(),
            manifest,
            epochs: read_epochs(&directory.join("epochs.jsonl"))?,
            gallery,
        })
    }
}

/// A run directory that this process alone writes to.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    /// Dropped last: the system releases the lock with it, also after kill -9.
    _lock: File,
}

impl RunDirectory {
    /// Makes the directory if need be and locks it.
    ///
    /// # Errors
    /// It cannot be made or written, or another process is at work in it.
    pub fn lock(path: &Path) -> Outcome<Self> {
        create_directory(path)?;
        let lock_path = path.join(".lock");
        let mut options = OpenOptions::new();
        let mut lock = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(|error| Failure::file(&lock_path, "write", &error))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = lock.read_to_string(&mut owner);
                let owner = owner.trim();
                let who = if owner.is_empty() { "another process".to_owned() } else { format!("process {owner}") };
                return Err(Failure::new(format!("{}: {who} is at work in this directory", path.display()))
                    .way_out("wait until it has ended, or choose another directory with --out"));
            }
            Err(TryLockError::Error(error)) => return Err(Failure::file(&lock_path, "lock", &error)),
        }
        // Only for the message above; the lock itself is the system's.
        let _ = lock.set_len(0).and_then(|()| write!(lock, "{}", std::process::id()));
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes one file as a whole.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Outcome<()> {
        write_whole(&self.file(name), bytes)
    }

    /// Writes `manifest.json`.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn write_manifest(&self, manifest: &Manifest) -> Outcome<()> {
        self.write("manifest.json", &to_json(manifest)?)
    }

    /// Reads `manifest.json`, if there is one.
    ///
    /// # Errors
    /// It is damaged or from a newer version.
    pub fn manifest(&self) -> Outcome<Option<Manifest>> {
        let path = self.file("manifest.json");
        if path.exists() { read_manifest(&path).map(Some) } else { Ok(None) }
    }

    /// Adds a line to `epochs.jsonl`.
    ///
    /// # Errors
    /// The disk is full or the directory read-only.
    pub fn append_epoch(&self, epoch: &EpochRecord) -> Outcome<()> {
        let path = self.file("epochs.jsonl");
        let mut line = serde_json::to_vec(epoch).map_err(Failure::new)?;
        line.push(b'\n');
        let append = || OpenOptions::new().create(true).append(true).open(&path)?.write_all(&line);
        append().map_err(|error| Failure::file(&path, "write", &error))
    }

    /// Cuts `epochs.jsonl` back to the first `count` epochs: those a checkpoint knows.
    ///
    /// # Errors
    /// It cannot be read or written, or has fewer epochs.
    pub fn keep_epochs(&self, count: usize) -> Outcome<Vec<EpochRecord>> {
        let path = self.file("epochs.jsonl");
        let mut epochs = read_epochs(&path)?;
        if epochs.len() < count {
            let text = format!("{}: {} epochs, but the checkpoint is at epoch {count}", path.display(), epochs.len());
            return Err(Failure::new(text).way_out("start the run anew without --resume"));
        }
        epochs.truncate(count);
        // The lines themselves, not the numbers read from them: reading JSON may lose the last bit.
        let text = if path.exists() { read_text(&path)? } else { String::new() };
        let bytes: String = text.split_inclusive('\n').take(count).collect();
        write_whole(&path, bytes.as_bytes())?;
        Ok(epochs)
    }

    /// Throws away an earlier run: the manifest first, so that a crash leaves no half of it that looks whole.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn clear(&self) -> Outcome<()> {
        let names =
            ["manifest.json", "checkpoint.bin", "epochs.jsonl", "samples.parquet", "gallery.json", "suspects.csv"];
        names.iter().chain(&["model.safetensors", "model.json", "spec.toml"]).try_for_each(|name| self.remove(name))
    }

    /// Removes a file that is no longer needed; it is no error if it never was there.
    ///
    /// # Errors
    /// It is there and cannot be removed.
    pub fn remove(&self, name: &str) -> Outcome<()> {
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Failure::file(&self.file(name), "remove", &error))
            }
            _ => Ok(()),
        }
    }
}

fn read_manifest(path: &Path) -> Outcome<Manifest> {
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
    parse_json(path, &text)
}

/// All complete lines; a last line without its newline was cut by a crash and is left out.
fn read_epochs(path: &Path) -> Outcome<Vec<EpochRecord>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read_text(path)?;
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole
        .lines()
        .enumerate()
        .map(|(number, line)| {
            serde_json::from_str(line)
                .map_err(|error| Failure::new(format!("{}: line {}: {error}", path.display(), number + 1)))
        })
        .collect()
}

fn parse_json<T: for<'de> Deserialize<'de>>(path: &Path, text: &str) -> Outcome<T> {
    serde_json::from_str(text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Four digits: numbers that survive JSON.
    fn short(value: f64) -> f64 {
        (value * 1e4).round() / 1e4
    }

    /// A made-up run whose accuracy rises to `level`.
    pub fn made_up(method: &str, noise: &str, rate: f64, seed: u64, level: f64) -> RunRecord {
        let epochs: Vec<EpochRecord> = (1..=12)
            .map(|epoch| EpochRecord {
                epoch,
                train_loss: short(2.0 / epoch as f64),
                test_accuracy: Some(short(level * (1.0 - 0.5 / epoch as f64) + 0.002 * seed as f64)),
                kept: 3823 - 100 * epoch as u64,
                kept_fraction: short(1.0 - 0.025 * epoch as f64),
                label_precision: Some(short(0.5 + 0.03 * epoch as f64)),
                label_recall: Some(0.9),
                learning_rate: 1e-3,
                seconds: 0.25,
            })
            .collect();
        let classes: Vec<String> = ["cat", "dog", "<b>cow</b>"].map(str::to_owned).to_vec();
        let manifest = Manifest {
            format: FORMAT,
            version: "0.1.0".into(),
            state: State::Finished,
            method: method.into(),
            network: "mlp".into(),
            parameters: 85_002,
            seed,
            epochs: 12,
            noise: Some(NoiseRecord {
                name: format!("{noise}:{rate}"),
                kind: noise.into(),
                rate,
                realised: 0.4967,
                matrix: vec![vec![50, 25, 25], vec![20, 60, 20], vec![0, 0, 0]],
            }),
            rate: Some(RateRecord { value: rate, source: "given".into(), band: None, warning: None }),
            data: DataRecord {
                source: "digits".into(),
                hash: "0123456789abcdef".into(),
                train_rows: 3823,
                test_rows: 1797,
                classes: classes.clone(),
                shape: vec![1, 8, 8],
            },
            machine: Machine { system: "linux x86_64".into(), cores: 2, device: "cpu".into() },
            started: "2026-01-02T03:04:05Z".into(),
            result: Some(ResultRecord {
                test_accuracy_last10: Some(level),
                test_accuracy_best: Some(level),
                true_accuracy: None,
                label_precision_last10: Some(0.8),
                confusion: vec![vec![90, 8, 2], vec![5, 95, 0], vec![1, 2, 97]],
                suspects: 17,
                seconds: 3.0,
            }),
        };
        let card = |index: usize| Card {
            id: format!("row {index}"),
            given: "cat".into(),
            suggested: "<b>cow</b>".into(),
            truth: Some("dog".into()),
            score: short(0.01 * index as f64),
            picture: None,
            values: vec![("<i>width</i>".into(), "1.5".into())],
        };
        RunRecord { name: format!("runs/{method}-{seed}"), manifest, epochs, gallery: (0..3).map(card).collect() }
    }

    #[test]
    fn a_second_process_is_told_who_is_at_work() {
        let place = tempfile::tempdir().unwrap();
        let first = RunDirectory::lock(place.path()).unwrap();
        let text = RunDirectory::lock(place.path()).unwrap_err().to_string();
        assert!(text.contains(&format!("process {} is at work", std::process::id())), "{text}");
        drop(first);
        RunDirectory::lock(place.path()).unwrap();
    }

    #[test]
    fn a_line_cut_by_a_crash_is_left_out() {
        let place = tempfile::tempdir().unwrap();
        let run = RunDirectory::lock(place.path()).unwrap();
        let epochs = made_up("npcl", "symmetric", 0.5, 1, 0.9).epochs;
        epochs.iter().for_each(|epoch| run.append_epoch(epoch).unwrap());
        let path = run.file("epochs.jsonl");
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 20]).unwrap();
        assert_eq!(read_epochs(&path).unwrap(), epochs[..11]);
        assert_eq!(run.keep_epochs(4).unwrap(), epochs[..4]);
        assert_eq!(read_epochs(&path).unwrap(), epochs[..4]);
        assert!(run.keep_epochs(5).unwrap_err().to_string().contains("without --resume"));
    }

    #[test]
    fn a_run_of_a_newer_version_is_refused_with_the_way_out() {
        let place = tempfile::tempdir().unwrap();
        let run = RunDirectory::lock(place.path()).unwrap();
        let manifest = Manifest { format: FORMAT + 1, ..made_up("npcl", "symmetric", 0.5, 1, 0.9).manifest };
        run.write_manifest(&manifest).unwrap();
        let text = run.manifest().unwrap_err().to_string();
        assert!(text.contains("format must be at most 1, got 2") && text.contains("update tares"), "{text}");
    }

    #[test]
    fn a_run_comes_back_as_it_was_written() {
        let place = tempfile::tempdir().unwrap();
        let record = made_up("npcl", "symmetric", 0.5, 1, 0.9);
        let run = RunDirectory::lock(place.path()).unwrap();
        run.write_manifest(&record.manifest).unwrap();
        record.epochs.iter().for_each(|epoch| run.append_epoch(epoch).unwrap());
        run.write("gallery.json", &to_json(&record.gallery).unwrap()).unwrap();
        let read = RunRecord::read(place.path()).unwrap();
        assert_eq!(RunRecord { name: record.name.clone(), ..read }, record);
    }
}
