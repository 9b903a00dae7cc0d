//! Turns a [`Spec`] into a run directory: puts in noise, finds the noise rate, trains with checkpoints, writes results.

mod arriving;

use super::directory::same_run::{DataHash, OTHER_DATA, same_data, same_spec};
use super::directory::{CHECKPOINT_EVERY, RunDirectory, read_checkpoint};
use super::label_noise::LabelNoise;
use super::model::Model;
use super::semantic_noise::NoiseProgress;
use super::spec::Spec;
use super::{noise_rate, noisy_test, samples};
use crate::audit::files::sentences;
use crate::backbone::described::BackboneRecord;
use crate::json::to_json;
use crate::judges::folds::{FOLDS, remove_folds};
use crate::judges::panel::JudgesProgress;
use crate::learner::columns::ColumnTraining;
use crate::learner::learnt::{HELD_OUT_FILE, Learnt};
use crate::learner::{ColumnLearner, Learner};
use crate::record::confusion::{confusion, weak_on_test_rows};
use crate::record::suspects::{RowNames, write_suspects};
use crate::record::{DataRecord, EpochRecord, FORMAT, Machine, Manifest, RateRecord, ResultRecord, RunRecord, State};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use arriving::{is_here, while_arriving};
use std::path::Path;
use std::time::Instant;
use tares::network::parameters;
use tares::{Checkpoint, Control, Epoch, Fit, Method, Network, evaluate};
use tares_core::metric::mean_of_last;
use tares_core::{Dataset, Shape};
use tares_data::Loaded;

/// What to do with a directory that already holds a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Refuse to touch it.
    New,
    /// Continue it; a finished run is only read.
    Resume,
    /// Delete it and start again.
    Overwrite,
}

/// What a run reports while it is trained.
#[derive(Debug)]
pub enum Event<'a> {
    /// An epoch of the network that makes the noise ended.
    MakingNoise(NoiseProgress),
    /// A judge took a step; the text says what the judges are for.
    Judging(&'static str, JudgesProgress),
    /// Pictures were decoded while training goes on.
    Arriving {
        /// How many so far.
        arrived: usize,
        /// Of how many.
        of: usize,
    },
    /// Training is about to begin.
    Ready {
        /// The network.
        network: &'a str,
        /// Its number of parameters.
        parameters: u64,
        /// The noise rate that the method is told, if it needs one.
        rate: Option<&'a RateRecord>,
        /// The fraction of labels that differ from the truth, if that is known.
        realised: Option<f64>,
        /// Epochs that are already trained, according to the checkpoint.
        done: usize,
    },
    /// An epoch ended.
    Epoch(&'a EpochRecord),
}

/// Trains a spec in a directory that this process has locked, or continues the run that is there. `data` is the
/// hash of the loaded data, made once for all runs.
///
/// # Errors
/// The directory holds another run; a value does not fit the data; a file cannot be written; Ctrl-C.
pub fn run_in(
    directory: &RunDirectory,
    spec: &Spec,
    loaded: &Loaded,
    data: &DataHash<'_>,
    backbone: Option<&BackboneRecord>,
    start: Start,
    hear: &(dyn Fn(Event<'_>) + Sync),
) -> Outcome<RunRecord> {
    spec.check()?;
    // From here on, Ctrl-C stops after the current epoch and leaves a run that can be continued. While pictures arrive, there is
    // nothing to continue yet.
    if is_here(&loaded.train, loaded.test.as_ref()) {
        interrupt::watch();
    }
    let place = directory.path();
    let learner = spec.network.clone().unwrap_or_else(|| Learner::network_for(loaded.train.shape()));
    let spec = spec.complete(learner.clone());
    if start == Start::Overwrite && directory.is_taken() {
        // Pictures that turn out damaged must not cost the run that is there.
        while_arriving(&loaded.train, loaded.test.as_ref(), hear, || data.get())?;
    }
    let before = begin(directory, &spec, data, start)?;
    if before.as_ref().is_some_and(|before| before.state == State::Finished) {
        return RunRecord::read(place);
    }
    let train = noisy(&spec, loaded, &|progress| hear(Event::MakingNoise(progress)))?;
    let folds = directory.file(FOLDS);
    let rate = match &before {
        Some(before) => before.rate.clone(),
        None => {
            let hear = |progress| hear(Event::Judging("estimating the noise rate", progress));
            noise_rate::told(&spec, &train, &loaded.reading, learner.network(), &folds, &hear)?
        }
    };
    let method = match &rate {
        Some(rate) => spec.method.clone().with_exact_rate(rate.value),
        None => spec.method.clone(),
    };
    let mut manifest = manifest(&spec, loaded, &train, &learner, rate, before.as_ref())?;
    let training = Training { spec: &spec, loaded, data, backbone, train: &train, method: &method, directory };
    let learnt = match &learner {
        Learner::Network(network) => training.network(network, &mut manifest, hear)?,
        Learner::Columns(columns) => training.columns(*columns, &mut manifest, hear)?,
    };
    training.finish(&learner, &learnt, &mut manifest)?;
    RunRecord::read(place)
}

/// A run between its noise rate and its results.
struct Training<'a> {
    spec: &'a Spec,
    loaded: &'a Loaded,
    data: &'a DataHash<'a>,
    backbone: Option<&'a BackboneRecord>,
    /// The training rows, with the spec's noise in their labels.
    train: &'a Dataset,
    /// The method, with its rate.
    method: &'a Method,
    directory: &'a RunDirectory,
}

impl Training<'_> {
    /// Writes the manifest with the hash of the data, for which all rows must be there.
    fn write_manifest(&self, manifest: &mut Manifest) -> Outcome<()> {
        self.data.get()?.clone_into(&mut manifest.data.hash);
        self.directory.write_manifest(manifest)
    }

    /// Trains a network, with checkpoints.
    fn network(
        &self,
        network: &Network,
        manifest: &mut Manifest,
        hear: &(dyn Fn(Event<'_>) + Sync),
    ) -> Outcome<Learnt> {
        let Self { spec, loaded, train, method, directory, .. } = *self;
        let device = tares::device::by_name(&spec.device)?;
        let path = directory.file("checkpoint.bin");
        let checkpoint = read_checkpoint(&path)?;
        let past = checkpoint.as_ref().map_or(Ok(Vec::new()), Checkpoint::history);
        let past = past.map_err(|error| Failure::from(error).within(path.display()))?;
        directory.write_epochs(&past.iter().map(epoch_record).collect::<Vec<_>>())?;
        let done = past.len();
        manifest.parameters = {
            let shape = tares::InputTransform::new(train, &spec.plan.augment, &spec.plan.normalise)?.shape();
            parameters(&network.init(shape, train.classes(), spec.plan.seed, &device)?) as u64
        };
        let begin = |manifest: &mut Manifest| -> Outcome<()> {
            self.write_manifest(manifest)?;
            // The rate is in the manifest, so the folds are no longer needed.
            remove_folds(&directory.file(FOLDS))
        };
        // While pictures arrive there is no manifest: a run that ends before its first epoch does is none.
        let mut begun = is_here(&loaded.train, loaded.test.as_ref());
        if begun {
            begin(manifest)?;
        }
        hear(ready(manifest, done));

        let mut trouble: Option<Failure> = None;
        let mut saved = Instant::now();
        let mut fit = Fit::new(train, method, &spec.plan).device(&device).on_epoch(|progress| {
            let record = epoch_record(progress.epoch);
            let stop = interrupt::asked() && progress.epochs.len() < progress.total_epochs;
            let mut keep = || -> Outcome<()> {
                if !std::mem::replace(&mut begun, true) {
                    begin(manifest)?;
                }
                directory.append_epoch(&record)?;
                if stop || saved.elapsed() >= CHECKPOINT_EVERY {
                    directory.write("checkpoint.bin", &progress.checkpoint()?.to_bytes())?;
                    saved = Instant::now();
                }
                Ok(())
            };
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
        let fitted = while_arriving(&loaded.train, loaded.test.as_ref(), hear, move || fit.train_network(network))?;
        if let Some(failure) = trouble {
            return Err(failure);
        }
        if fitted.epochs.len() < spec.plan.epochs {
            return Err(Failure::Interrupted { way_out: String::new() });
        }
        Learnt::of(&fitted, train, loaded.test.as_ref(), manifest.parameters)
    }

    /// Trains a model of columns. Its judges' answers are kept in the folds until the run is finished.
    fn columns(
        &self,
        learner: ColumnLearner,
        manifest: &mut Manifest,
        hear: &(dyn Fn(Event<'_>) + Sync),
    ) -> Outcome<Learnt> {
        self.write_manifest(manifest)?;
        hear(ready(manifest, 0));
        let training = ColumnTraining {
            learner,
            method: self.method,
            spec: self.spec,
            train: self.train,
            test: self.loaded.test.as_ref(),
            reading: &self.loaded.reading,
            rate: manifest.rate.as_ref(),
        };
        let hear_judge = |progress| hear(Event::Judging("training", progress));
        let hear_epoch = |epoch: &EpochRecord| hear(Event::Epoch(epoch));
        let learnt = training.run(&self.directory.file(FOLDS), &hear_judge, &hear_epoch)?;
        (manifest.parameters, manifest.epochs) = (learnt.parameters, learnt.epochs.len());
        Ok(learnt)
    }

    /// Writes the results. The manifest comes last, because it says that the rest is complete.
    fn finish(&self, learner: &Learner, learnt: &Learnt, manifest: &mut Manifest) -> Outcome<()> {
        let Self { spec, loaded, backbone, train, method, directory, .. } = *self;
        directory.write_epochs(&learnt.epochs)?;
        let (file, bytes) = &learnt.weights;
        directory.write(file, bytes)?;
        learnt.held_out.iter().try_for_each(|said| directory.write(HELD_OUT_FILE, &said.to_npy(train.classes())))?;
        directory.write("model.json", &to_json(&Model::of(learner, method, learnt, loaded, backbone))?)?;
        let seen = samples::Samples::of(train, learnt);
        seen.write_parquet(&directory.file("samples.parquet"))?;
        let suspects = seen.suspects();
        let names = RowNames { data: Some(train), listed: &[], ids: &[], named: None, classes: train.classes() };
        write_suspects(&directory.file("suspects.csv"), names, &suspects)?;
        // Noise that replaces pictures is seen in the rows themselves.
        let shown = loaded.shown.as_ref().unwrap_or(train);
        directory.write("gallery.json", &to_json(&samples::gallery(train, shown, &suspects, &loaded.reading)?)?)?;
        let tested = loaded.test.as_ref().zip(learnt.test.as_deref());
        let predicted = tested.map(|(test, said)| (test, evaluate::answers(said, test.classes())));
        let network: Vec<Option<f64>> = learnt.epochs.iter().map(|epoch| epoch.test_accuracy).collect();
        // A head predicts instead of the network and exists only at the end, so there are no epochs to average over.
        let head = predicted.as_ref().filter(|_| learnt.head.is_some()).map(|(test, answers)| {
            let right = answers.iter().zip(test.given()).filter(|(answer, given)| answer == given).count();
            right as f64 / test.len() as f64
        });
        let confusion = predicted.map_or_else(Vec::new, |(test, answers)| confusion(test, &answers));
        let warnings = match &learnt.held_out {
            Some(found) => sentences(&found.audited.cautions(), names),
            None => weak_on_test_rows(&confusion).into_iter().collect(),
        };
        let precisions: Vec<Option<f64>> = learnt.epochs.iter().map(|epoch| epoch.label_precision).collect();
        // The last round of trees is the model; earlier rounds are only parts of it, so nothing is averaged.
        let last = match learner {
            Learner::Network(_) => mean_of_last(&network),
            Learner::Columns(_) => network.last().copied().flatten(),
        };
        manifest.result = Some(ResultRecord {
            test_accuracy_last10: head.or(last),
            test_accuracy_best: head.or_else(|| network.iter().copied().flatten().reduce(f64::max)),
            network_accuracy_last10: head.and(last),
            true_accuracy: noisy_test::accuracy(spec, loaded, learnt, manifest.rate.as_ref()),
            label_precision_last10: mean_of_last(&precisions),
            confusion,
            suspects: suspects.len(),
            uncorrected: learnt.doubt,
            warnings,
            seconds: learnt.epochs.iter().map(|epoch| epoch.seconds).sum(),
        });
        manifest.state = State::Finished;
        directory.write_manifest(manifest)?;
        remove_folds(&directory.file(FOLDS))?;
        directory.remove("checkpoint.bin")
    }
}

/// What is known when training begins.
fn ready(manifest: &Manifest, done: usize) -> Event<'_> {
    Event::Ready {
        network: &manifest.network,
        parameters: manifest.parameters,
        rate: manifest.rate.as_ref(),
        realised: manifest.noise.as_ref().map(|noise| noise.realised),
        done,
    }
}

/// Prepares the directory and returns the manifest of the run to continue, if there is one.
///
/// # Errors
/// The directory holds a run with other settings or data, or any run when [`Start::New`] was asked for.
fn begin(directory: &RunDirectory, spec: &Spec, data: &DataHash<'_>, start: Start) -> Outcome<Option<Manifest>> {
    match start {
        Start::New if directory.is_taken() => Err(occupied(directory.path())),
        Start::Resume if directory.is_taken() || directory.file("spec.toml").exists() => {
            same_spec(directory.path(), spec)?;
            same_data(directory.path(), data.get()?, OTHER_DATA)?;
            directory.manifest()
        }
        _ => {
            directory.clear()?;
            directory.write("spec.toml", spec.to_toml()?.as_bytes())?;
            Ok(None)
        }
    }
}

/// The training rows, with the spec's noise in their labels.
fn noisy(spec: &Spec, loaded: &Loaded, hear: &dyn Fn(NoiseProgress)) -> Outcome<Dataset> {
    let rows = spec.load.thinned(&loaded.train)?;
    let kept = spec.load.first_rows(&rows)?;
    let noisy = match &spec.noise {
        noise if *noise == LabelNoise::NONE => rows,
        _ => spec.noise().corrupt(&rows, spec.noise_seed(), &spec.options(), &spec.device, hear)?,
    };
    Ok(match kept {
        Some(kept) => noisy.subset(&kept)?,
        None => noisy,
    })
}

fn occupied(place: &Path) -> Failure {
    Failure::new(format!("{}: this directory already holds a run", place.display())).way_out(format!(
        "continue it with: tares train --resume --out {0}; delete it with --overwrite; or choose another --out",
        place.display()
    ))
}

/// The manifest of a run that begins, without the hash of its data.
fn manifest(
    spec: &Spec,
    loaded: &Loaded,
    train: &Dataset,
    network: &Learner,
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
        method: spec.called(),
        network: network.to_string(),
        parameters: 0,
        seed: spec.plan.seed,
        epochs: spec.plan.epochs,
        noise,
        rate,
        data: DataRecord {
            source: spec.data.clone(),
            hash: String::new(),
            train_rows: train.len(),
            test_rows: loaded.test.as_ref().map_or(0, Dataset::len),
            classes: train.class_names().to_vec(),
            shape: match train.shape() {
                Shape::Image { channels, height, width } => vec![channels, height, width],
                Shape::Flat(size) => vec![size],
            },
            notes: loaded.found.column_notes.clone(),
            missing_files: loaded.found.missing_files.clone(),
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

/// An epoch of a network as a line of `epochs.jsonl`.
pub fn epoch_record(epoch: &Epoch) -> EpochRecord {
    EpochRecord {
        epoch: epoch.epoch + 1,
        train_loss: epoch.train_loss,
        train_accuracy: Some(epoch.train_accuracy),
        test_accuracy: epoch.test_accuracy,
        kept: epoch.kept as u64,
        kept_fraction: epoch.kept_fraction,
        label_precision: epoch.label_precision,
        label_recall: epoch.label_recall,
        learning_rate: epoch.learning_rate,
        steps: epoch.steps as u64,
        starved_steps: epoch.starved_steps as u64,
        bound: epoch.bound,
        plain_bound: epoch.plain_bound,
        estimated_rate: epoch.estimated_rate,
        seconds: epoch.seconds,
    }
}
