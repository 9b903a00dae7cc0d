//! A [`Spec`] becomes a run directory: noise, noise rate, training with checkpoints, and what is left behind.

use crate::json::to_json;
use crate::record::{
    DataRecord, EpochRecord, FORMAT, Machine, Manifest, RateRecord, ResultRecord, RunDirectory, RunRecord, State,
};
use crate::report::summary::mean_of_last;
use crate::run::label_noise::LabelNoise;
use crate::run::model::Model;
use crate::run::noisy_test;
use crate::run::samples;
use crate::run::spec::{NoiseRate, Spec};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use std::path::Path;
use std::time::{Duration, Instant};
use tares::network::{AnyNetwork, parameters};
use tares::{Checkpoint, Control, Epoch, Fit, Fitted, Method, Network};
use tares_core::{Dataset, Fingerprint, Row, Shape};
use tares_data::Loaded;

/// A checkpoint is written after the first epoch that ends this long after the last one.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(5);

/// What to do with a directory that already holds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Refuse.
    New,
    /// Go on with it; a finished run is simply read.
    Resume,
    /// Throw it away.
    Overwrite,
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The network, its parameters and the rate the method is told.
    Ready {
        /// The network.
        network: &'a str,
        /// Its parameters.
        parameters: u64,
        /// The rate, if the method needs one.
        rate: Option<&'a RateRecord>,
        /// What the noise that was put in really did.
        realised: Option<f64>,
        /// Epochs that a checkpoint already has.
        done: usize,
    },
    /// An epoch ended.
    Epoch(&'a EpochRecord),
}

/// Runs a spec in a directory, or goes on with what is there.
///
/// # Errors
/// The directory holds another run; a value that does not fit the data; a file that cannot be written; Ctrl-C.
pub fn run(
    spec: &Spec,
    loaded: &Loaded,
    place: &Path,
    start: Start,
    hear: &mut dyn FnMut(Event<'_>),
) -> Outcome<RunRecord> {
    spec.check()?;
    // From here on Ctrl-C leaves something to go on with.
    interrupt::watch();
    let directory = RunDirectory::lock(place)?;
    let network = spec.network.clone().unwrap_or_else(|| Network::suggest(loaded.train.shape()));
    let spec = Spec { network: Some(network.clone()), ..spec.clone() };
    let before = match start {
        Start::Overwrite => None,
        _ => directory.manifest()?,
    };
    match (start, &before) {
        (Start::New, Some(_)) => return Err(occupied(place)),
        (Start::Resume, Some(before)) => {
            same_spec(&directory, &spec)?;
            if before.state == State::Finished {
                return RunRecord::read(place);
            }
        }
        _ => {
            directory.clear()?;
            directory.write("spec.toml", spec.to_toml()?.as_bytes())?;
        }
    }
    let train = noisy(&spec, loaded)?;
    let device = tares::device::by_name(&spec.device)?;
    let rate = match &before {
        Some(before) => before.rate.clone(),
        None => told_rate(&spec, &train, &network)?,
    };
    let method = match &rate {
        Some(rate) => spec.method.clone().with_rate(rate.value),
        None => spec.method.clone(),
    };
    let checkpoint = read_checkpoint(&directory)?;
    let done = checkpoint.as_ref().map_or(0, Checkpoint::epochs);
    directory.keep_epochs(done)?;
    let size = {
        let shape = tares::InputTransform::new(&train, &spec.plan.augment, &spec.plan.normalise)?.shape();
        parameters(&network.init(shape, train.classes(), spec.plan.seed, &device)?) as u64
    };
    let mut manifest = manifest(&spec, loaded, &train, &method, &network, size, rate, before.as_ref())?;
    directory.write_manifest(&manifest)?;
    hear(Event::Ready {
        network: &manifest.network,
        parameters: size,
        rate: manifest.rate.as_ref(),
        realised: manifest.noise.as_ref().map(|noise| noise.realised),
        done,
    });

    let mut trouble: Option<Failure> = None;
    let mut saved = Instant::now();
    let mut fit = Fit::new(&train, &method, &spec.plan).device(&device).on_epoch(|progress| {
        let record = epoch_record(progress.epoch);
        let stop = interrupt::asked() && progress.epochs.len() < progress.total_epochs;
        let keep = || -> Outcome<()> {
            directory.append_epoch(&record)?;
            if stop || saved.elapsed() >= CHECKPOINT_EVERY {
                directory.write("checkpoint.bin", &progress.checkpoint()?.to_bytes())?;
                saved = Instant::now();
            }
            Ok(())
        };
        let mut keep = keep;
        if let Err(failure) = keep() {
            trouble = Some(failure);
            return Control::Stop;
        }
        hear(Event::Epoch(&record));
        if stop { Control::Stop } else { Control::Continue }
    });
    if let Some(test) = &loaded.test {
        fit = fit.test(test);
    }
    if let Some(checkpoint) = checkpoint {
        fit = fit.resume(checkpoint);
    }
    let fitted = fit.train_network(&network)?;
    if let Some(failure) = trouble {
        return Err(failure);
    }
    if fitted.epochs.len() < spec.plan.epochs {
        return Err(Failure::Interrupted { way_out: String::new() });
    }
    finish(&directory, &spec, loaded, &train, &method, &fitted, &mut manifest)?;
    RunRecord::read(place)
}

/// Writes everything a finished run leaves behind; the manifest last, because it says that the rest is there.
fn finish(
    directory: &RunDirectory,
    spec: &Spec,
    loaded: &Loaded,
    train: &Dataset,
    method: &Method,
    fitted: &Fitted<AnyNetwork>,
    manifest: &mut Manifest,
) -> Outcome<()> {
    directory.write("model.safetensors", &fitted.safetensors()?)?;
    let model = Model::of(spec, method, fitted, loaded);
    directory.write("model.json", &to_json(&model)?)?;
    let seen = samples::Samples::of(train, fitted)?;
    seen.write_parquet(&directory.file("samples.parquet"))?;
    let suspects = seen.suspects();
    directory.write("suspects.csv", samples::suspects_csv(train, &suspects).as_bytes())?;
    directory.write("gallery.json", &to_json(&samples::gallery(train, &suspects, &loaded.preparation)?)?)?;
    let confusion = match &loaded.test {
        Some(test) => confusion(test, &fitted.predictions(test)?),
        None => Vec::new(),
    };
    let accuracies: Vec<f64> = fitted.epochs.iter().filter_map(|epoch| epoch.test_accuracy).collect();
    let precisions: Vec<f64> = fitted.epochs.iter().filter_map(|epoch| epoch.label_precision).collect();
    manifest.result = Some(ResultRecord {
        test_accuracy_last10: mean_of_last(&accuracies, 10),
        test_accuracy_best: accuracies.iter().copied().reduce(f64::max),
        true_accuracy: noisy_test::accuracy(spec, loaded, fitted),
        label_precision_last10: mean_of_last(&precisions, 10),
        confusion,
        suspects: suspects.len(),
        seconds: fitted.epochs.iter().map(|epoch| epoch.seconds).sum(),
    });
    manifest.state = State::Finished;
    directory.write_manifest(manifest)?;
    directory.remove("checkpoint.bin")
}

/// The training rows with the noise of the spec in their labels.
fn noisy(spec: &Spec, loaded: &Loaded) -> Outcome<Dataset> {
    match &spec.noise {
        noise if *noise == LabelNoise::NONE => Ok(loaded.train.clone()),
        noise => noise.corrupt(&loaded.train, spec.plan.seed, &spec.load.options()),
    }
}

/// The noise rate the method is told; `None` if it needs none.
fn told_rate(spec: &Spec, train: &Dataset, network: &Network) -> Outcome<Option<RateRecord>> {
    if !spec.method.needs_rate() {
        return Ok(None);
    }
    if let Some(rate) = spec.method.rate() {
        return Ok(Some(RateRecord { value: rate, source: "given".to_owned(), band: None, warning: None }));
    }
    Ok(Some(match spec.noise_rate {
        NoiseRate::Given(rate) => RateRecord { value: rate, source: "given".to_owned(), band: None, warning: None },
        NoiseRate::Known => {
            let source = "the noise that was put in".to_owned();
            RateRecord { value: spec.noise.known_rate(train).min(0.99), source, band: None, warning: None }
        }
        NoiseRate::Auto => crate::run::noise_rate::estimate(spec, train, network)?,
    }))
}

fn read_checkpoint(directory: &RunDirectory) -> Outcome<Option<Checkpoint>> {
    let path = directory.file("checkpoint.bin");
    match std::fs::read(&path) {
        Ok(bytes) => {
            Ok(Some(Checkpoint::from_bytes(&bytes).map_err(|error| Failure::from(error).within(path.display()))?))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file(&path, "read", &error)),
    }
}

fn occupied(place: &Path) -> Failure {
    Failure::new(format!("{}: this directory already holds a run", place.display())).way_out(format!(
        "go on with it: tares train --resume --out {0}; throw it away: --overwrite; or choose another --out",
        place.display()
    ))
}

/// Refuses to go on with a run that was asked for differently.
fn same_spec(directory: &RunDirectory, spec: &Spec) -> Outcome<()> {
    let path = directory.file("spec.toml");
    let before: Spec = crate::run::spec::read(&path)?;
    if before == *spec {
        return Ok(());
    }
    let (before, now) = (before.to_toml()?, spec.to_toml()?);
    let change = before.lines().zip(now.lines()).find(|(before, now)| before != now);
    let (before, now) = change.unwrap_or(("other settings", "these settings"));
    Err(Failure::new(format!("{}: the run there was asked for differently: `{before}`, now `{now}`", path.display()))
        .way_out("choose another --out, or start anew with --overwrite"))
}

#[allow(clippy::too_many_arguments)] // everything a manifest records, once
fn manifest(
    spec: &Spec,
    loaded: &Loaded,
    train: &Dataset,
    method: &Method,
    network: &Network,
    parameters: u64,
    rate: Option<RateRecord>,
    before: Option<&Manifest>,
) -> Outcome<Manifest> {
    let noise = match train.truth() {
        Some(_) => Some(spec.noise.record(train)?),
        None => None,
    };
    Ok(Manifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        state: State::Unfinished,
        method: method_name(&spec.method, method),
        network: network.to_string(),
        parameters,
        seed: spec.plan.seed,
        epochs: spec.plan.epochs,
        noise,
        rate,
        data: DataRecord {
            source: spec.data.clone(),
            hash: hash(&loaded.train, loaded.test.as_ref()),
            train_rows: train.len(),
            test_rows: loaded.test.as_ref().map_or(0, Dataset::len),
            classes: train.class_names().to_vec(),
            shape: match train.shape() {
                Shape::Image { channels, height, width } => vec![channels, height, width],
                Shape::Flat(size) => vec![size],
            },
        },
        machine: Machine {
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            device: spec.device.clone(),
        },
        started: before.map_or_else(crate::run::clock::now, |before| before.started.clone()),
        result: None,
    })
}

/// The method as it was asked for: a rate that is the same for all its runs stays out of the name.
fn method_name(asked: &Method, told: &Method) -> String {
    match asked.rate() {
        Some(_) => told.to_string(),
        None => asked.name().to_owned(),
    }
}

fn epoch_record(epoch: &Epoch) -> EpochRecord {
    EpochRecord {
        epoch: epoch.epoch + 1,
        train_loss: epoch.train_loss,
        test_accuracy: epoch.test_accuracy,
        kept: epoch.kept as u64,
        kept_fraction: epoch.kept_fraction,
        label_precision: epoch.label_precision,
        label_recall: epoch.label_recall,
        learning_rate: epoch.learning_rate,
        seconds: epoch.seconds,
    }
}

/// `[true][predicted]` counts.
pub fn confusion(data: &Dataset, predictions: &[u32]) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; data.classes()]; data.classes()];
    for (&given, &predicted) in data.given().iter().zip(predictions) {
        counts[given as usize][predicted as usize] += 1;
    }
    counts
}

/// A fingerprint of all numbers and labels, for people to see that two runs saw the same data.
pub fn hash(train: &Dataset, test: Option<&Dataset>) -> String {
    let mut print = Fingerprint::default();
    let mut mix = |word: u64| print = print.with(word);
    for data in [Some(train), test].into_iter().flatten() {
        for index in 0..data.len() {
            match data.row(index) {
                Row::Bytes(bytes) => bytes.chunks(8).for_each(|chunk| {
                    mix(chunk.iter().fold(chunk.len() as u64, |word, &byte| (word << 8) | u64::from(byte)));
                }),
                Row::Floats(values) => values.iter().for_each(|value| mix(u64::from(value.to_bits()))),
            }
            mix(u64::from(data.given()[index]));
        }
    }
    format!("{:016x}", print.value())
}
