//! [`Generator`]: semantic noise. A network trained on a small clean part labels all other rows; its mistakes are where classes look
//! alike, as people's are.
//!
//! The labels depend on the data, the generator, the seed and the device alone. They are made once and kept in the user's cache
//! directory, so that all runs of a comparison, and the next comparison, share them.

use super::directory::same_run::hash;
use crate::files::{create_directory, write_whole};
use crate::json::to_json;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;
use tares::{Augment, Control, Fit, Method, Network, Optimiser, Plan, Schedule};
use tares_core::{Dataset, Error, Fingerprint, Label};

/// The fraction of rows that the network is trained on unless another is typed.
const PART: f64 = 0.1;
/// Its epochs unless others are typed.
const EPOCHS: usize = 30;

/// The network that makes the labels, and how it is trained: `semantic:vgg13:0.05:epochs=100:optimiser=sgd:augment=crop-flip`.
#[derive(Clone, Debug, PartialEq)]
pub struct Generator {
    /// The network.
    pub network: Network,
    /// The fraction of rows it is trained on; those rows keep their labels.
    pub part: f64,
    /// Passes over those rows.
    pub epochs: usize,
    /// The optimiser, with its defaults.
    pub optimiser: Optimiser,
    /// How pictures are varied.
    pub augment: Augment,
}

impl Generator {
    /// The training rows with the generator's labels; what they were before is their truth. While its network is trained, `hear` is told
    /// how many of its epochs are done.
    ///
    /// # Errors
    /// The network doesn't fit the data, or Ctrl-C.
    pub fn corrupt(&self, data: &Dataset, seed: u64, device: &str, hear: &dyn Fn(NoiseProgress)) -> Outcome<Dataset> {
        self.corrupt_with(data, seed, device, tares_data::cache_dir().as_deref(), hear)
    }

    fn corrupt_with(
        &self,
        data: &Dataset,
        seed: u64,
        device: &str,
        cache: Option<&Path>,
        hear: &dyn Fn(NoiseProgress),
    ) -> Outcome<Dataset> {
        let _one = one_at_a_time();
        let truth = data.truth().unwrap_or(data.given()).to_vec();
        let clean = data.clone().relabel(truth.clone())?;
        let made = Made { generator: self.to_string(), data: hash(&clean, None), seed, device: device.to_owned() };
        let file = cache.map(|cache| made.file(cache));
        let kept = file.as_deref().and_then(|file| made.read(file, &clean));
        let given = match kept {
            Some(labels) => labels,
            None => {
                let labels = self.labels(&clean, seed, device, hear)?;
                if let Some(file) = &file {
                    // Without a cache the result is the same, only later.
                    let _ = made.write(file, &labels);
                }
                labels
            }
        };
        Ok(clean.with_truth(truth)?.relabel(given)?)
    }

    /// Whether the labels for this data are in the cache already.
    pub fn is_made(&self, data: &Dataset, seed: u64, device: &str) -> Outcome<bool> {
        let clean = data.clone().relabel(data.truth().unwrap_or(data.given()).to_vec())?;
        let made = Made { generator: self.to_string(), data: hash(&clean, None), seed, device: device.to_owned() };
        Ok(tares_data::cache_dir().is_some_and(|cache| made.read(&made.file(&cache), &clean).is_some()))
    }

    /// The settings of its training.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan {
            epochs: self.epochs,
            seed,
            schedule: Schedule::usual(&self.optimiser, self.epochs),
            optimiser: self.optimiser.clone(),
            augment: self.augment.clone(),
            ..Plan::default()
        }
    }

    /// Trains the network and labels every row it was not trained on.
    fn labels(&self, clean: &Dataset, seed: u64, device: &str, hear: &dyn Fn(NoiseProgress)) -> Outcome<Vec<Label>> {
        let (_, small) = clean.split(self.part, seed)?;
        let plan = self.plan(seed);
        let device = tares::device::by_name(device)?;
        let fit = Fit::new(&small, &Method::Standard, &plan).device(&device);
        let told = |done| hear(NoiseProgress { network: self.network.to_string(), done, epochs: plan.epochs });
        told(0);
        let fit = fit.on_epoch(|progress| {
            told(progress.epochs.len());
            if interrupt::asked() { Control::Stop } else { Control::Continue }
        });
        let generator = fit.train_network(&self.network)?;
        if generator.epochs.len() < plan.epochs {
            let way_out = "the network that makes the noise was not finished; run the same command again".to_owned();
            return Err(Failure::Interrupted { way_out });
        }
        let mut given = generator.predictions(clean)?;
        let rows: HashMap<usize, usize> = (0..clean.len()).map(|row| (clean.stored(row), row)).collect();
        for row in (0..small.len()).map(|row| rows[&small.stored(row)]) {
            given[row] = clean.given()[row];
        }
        Ok(given)
    }
}

/// How far the training of a generator's network is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoiseProgress {
    /// The network.
    pub network: String,
    /// Epochs done.
    pub done: usize,
    /// Epochs to do.
    pub epochs: usize,
}

impl NoiseProgress {
    /// Whether it is time for another line where lines cannot be replaced.
    pub fn is_worth_a_line(&self) -> bool {
        self.done.is_multiple_of(10) || self.done == self.epochs
    }
}

impl fmt::Display for NoiseProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { network, done, epochs } = self;
        write!(f, "training {network}, which makes the noise: epoch {done} of {epochs}")
    }
}

/// Runs side by side that need the same labels wait for the first one instead of training its network twice.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TRAINING: Mutex<()> = Mutex::new(());
    loop {
        match TRAINING.try_lock() {
            Ok(guard) => return guard,
            Err(TryLockError::Poisoned(poisoned)) => return poisoned.into_inner(),
            // Help instead of waiting: the training may need this very thread of rayon's pool.
            Err(TryLockError::WouldBlock) => {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
        }
    }
}

/// What the labels depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Made {
    generator: String,
    data: String,
    seed: u64,
    device: String,
}

/// A file of the cache.
#[derive(Serialize, Deserialize)]
struct Labels {
    made: Made,
    labels: Vec<Label>,
}

impl Made {
    fn file(&self, cache: &Path) -> PathBuf {
        let text = format!("{} {} {} {}", self.generator, self.data, self.seed, self.device);
        let print = text.bytes().fold(Fingerprint::default(), |print, byte| print.with(u64::from(byte)));
        cache.join("semantic").join(format!("{:016x}.json", print.value()))
    }

    /// The labels in the file, if they were made from the same things and are complete; a damaged file counts as absent.
    fn read(&self, file: &Path, data: &Dataset) -> Option<Vec<Label>> {
        let found: Labels = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
        let fits = found.labels.len() == data.len() && found.labels.iter().all(|&l| (l as usize) < data.classes());
        (found.made == *self && fits).then_some(found.labels)
    }

    fn write(&self, file: &Path, labels: &[Label]) -> Outcome<()> {
        create_directory(file.parent().unwrap_or(Path::new(".")))?;
        write_whole(file, &to_json(&Labels { made: self.clone(), labels: labels.to_vec() })?)
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "semantic:{}", self.network)?;
        if self.part != PART {
            write!(f, ":{}", self.part)?;
        }
        if self.epochs != EPOCHS {
            write!(f, ":epochs={}", self.epochs)?;
        }
        if self.optimiser != Optimiser::default() {
            write!(f, ":optimiser={}", self.optimiser.name())?;
        }
        match self.augment.to_string().as_str() {
            "none" => Ok(()),
            "crop:4+flip" => f.write_str(":augment=crop-flip"),
            other => write!(f, ":augment={other}"),
        }
    }
}

impl FromStr for Generator {
    type Err = Error;

    /// What follows `semantic:`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let (plain, settings): (Vec<&str>, Vec<&str>) = text.split(':').partition(|piece| !piece.contains('='));
        let written = plain.join(":");
        // A last number is the clean part, unless it belongs to the network (`mlp:64`, `cnn9:32`).
        let (network, part) = match (written.parse::<Network>(), written.rsplit_once(':')) {
            (Err(_), Some((network, part))) if part.parse::<f64>().is_ok() => (network.parse()?, part.parse().ok()),
            (network, _) => (network?, None),
        };
        let mut generator = Self {
            network,
            part: part.unwrap_or(PART),
            epochs: EPOCHS,
            optimiser: Optimiser::default(),
            augment: Augment::default(),
        };
        for (key, value) in settings.iter().filter_map(|piece| piece.split_once('=')) {
            let wrong = |allowed: &str| Error::value(format!("{key} of semantic noise"), allowed, value);
            match key {
                "epochs" => generator.epochs = value.parse().map_err(|_| wrong("a whole number"))?,
                "optimiser" => generator.optimiser = value.parse().map_err(|_| wrong("adam or sgd"))?,
                "augment" => generator.augment = value.parse().map_err(|_| wrong("none, flip or crop-flip"))?,
                _ => {
                    let known = ["epochs", "optimiser", "augment"];
                    return Err(Error::unknown("setting of semantic noise", key, &known));
                }
            }
        }
        if !(generator.part > 0.0 && generator.part < 1.0) {
            return Err(Error::value("clean part of semantic noise", "in (0, 1)", generator.part));
        }
        if generator.epochs == 0 {
            return Err(Error::value("epochs of semantic noise", "at least 1", 0));
        }
        Ok(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digits() -> Dataset {
        tares_data::load("digits", &tares_data::LoadOptions::default(), &mut |_| {}).unwrap().train
    }

    #[test]
    fn labels_are_made_once_and_read_by_the_next_run() {
        let cache = tempfile::tempdir().unwrap();
        let data = digits();
        let generator: Generator = "mlp:8:0.05:epochs=1".parse().unwrap();
        let said = std::cell::RefCell::new(Vec::new());
        let hear = |progress: NoiseProgress| said.borrow_mut().push(progress.to_string());
        let first = generator.corrupt_with(&data, 1, "cpu", Some(cache.path()), &hear).unwrap();
        assert_eq!(
            said.take(),
            [0, 1].map(|done| format!("training mlp:8, which makes the noise: epoch {done} of 1")),
            "whoever waits is told for what"
        );
        let files = || std::fs::read_dir(cache.path().join("semantic")).unwrap().map(|f| f.unwrap().path());
        let file: Vec<PathBuf> = files().collect();
        assert_eq!(file.len(), 1);
        // Other labels in the file come back: nothing was trained.
        let text = std::fs::read_to_string(&file[0]).unwrap();
        let mut kept: Labels = serde_json::from_str(&text).unwrap();
        assert_eq!(kept.labels, first.given());
        kept.labels = vec![3; data.len()];
        std::fs::write(&file[0], serde_json::to_vec(&kept).unwrap()).unwrap();
        let second = generator.corrupt_with(&data, 1, "cpu", Some(cache.path()), &|_| {}).unwrap();
        assert!(second.given().iter().all(|&label| label == 3));
        assert_eq!(second.truth(), Some(data.given()));
        // A damaged file, another seed and no cache at all train anew.
        std::fs::write(&file[0], &text[..text.len() / 2]).unwrap();
        assert_eq!(
            generator.corrupt_with(&data, 1, "cpu", Some(cache.path()), &|_| {}).unwrap().given(),
            first.given()
        );
        assert_ne!(
            generator.corrupt_with(&data, 2, "cpu", Some(cache.path()), &|_| {}).unwrap().given(),
            first.given()
        );
        assert_eq!(files().count(), 2);
        assert_eq!(generator.corrupt_with(&data, 1, "cpu", None, &|_| {}).unwrap().given(), first.given());
    }

    #[test]
    fn the_rows_a_generator_is_trained_on_keep_their_labels() {
        let data = digits();
        let noisy =
            "mlp:8:0.3:epochs=1".parse::<Generator>().unwrap().corrupt_with(&data, 1, "cpu", None, &|_| {}).unwrap();
        let (_, small) = data.split(0.3, 1).unwrap();
        let stored: HashMap<usize, usize> = (0..data.len()).map(|row| (data.stored(row), row)).collect();
        for row in (0..small.len()).map(|row| stored[&small.stored(row)]) {
            assert_eq!(noisy.given()[row], data.given()[row]);
        }
        assert!(noisy.noise_rate().unwrap() > 0.1, "one epoch makes mistakes");
    }

    #[test]
    fn generators_are_read_as_they_are_written() {
        for text in
            ["lenet", "mlp:64-64:0.05", "cnn9:32", "cnn9:32:0.2:epochs=5", "vgg13:optimiser=sgd:augment=crop-flip"]
        {
            let generator: Generator = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(generator.to_string(), format!("semantic:{text}"));
        }
        for bad in
            ["lenet:2", "lenet:epochs=0", "lenet:epochs=x", "lenet:optimiser=adm", "lenet:epoch=3", "lenet:augment=up"]
        {
            assert!(bad.parse::<Generator>().is_err(), "{bad}");
        }
    }
}
