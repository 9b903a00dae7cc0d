//! `fit` and `predict` for `tares.RobustClassifier`: what `tares train` does, without its directory.
//!
//! A model is a text (JSON, as `model.json`) and bytes (its weights), so that Python can pickle and copy it as it is.

use crate::call::{Told, failed, refused, run, run_watched};
use crate::table::PyRows;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, ToPyArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::path::PathBuf;
use tares::optimiser::{Adam, Optimiser};
use tares::schedule::Schedule;
use tares::{Method, Plan};
use tares_cli::judges::inputs::text_note;
use tares_cli::learner::Learner;
use tares_cli::learner::in_memory::{TrainedModel, train};
use tares_cli::run::label_noise::LabelNoise;
use tares_cli::run::load::Load;
use tares_cli::run::model::Model;
use tares_cli::run::noise_rate::NoiseRate;
use tares_cli::run::spec::Spec;
use tares_cli::run::spec_file::VERSION;
use tares_cli::run::train::Event;
use tares_core::Label;
use tares_core::audit::{Evidence, Suspect};

/// The settings of a training, as Python spells them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    method: String,
    network: String,
    noise_rate: String,
    epochs: usize,
    batch_size: usize,
    learning_rate: f64,
    seed: u64,
}

impl Settings {
    fn spec(&self) -> PyResult<Spec> {
        let method: Method = self.method.parse().map_err(|error: tares::Error| failed(error.into()))?;
        let network: Learner = self.network.parse().map_err(refused)?;
        let noise_rate: NoiseRate = self.noise_rate.parse().map_err(refused)?;
        if noise_rate == NoiseRate::Known {
            return Err(PyValueError::new_err("noise_rate must be \"auto\" or a number in [0, 1), got known"));
        }
        let optimiser = Optimiser::Adam(Adam { lr: self.learning_rate, ..Adam::default() });
        let schedule = Schedule::usual(&optimiser, self.epochs);
        let plan = Plan {
            epochs: self.epochs,
            batch: self.batch_size,
            seed: self.seed,
            optimiser,
            schedule,
            ..Plan::default()
        };
        Ok(Spec {
            version: VERSION,
            data: "memory".to_owned(),
            directory: None,
            noise: LabelNoise::NONE,
            noise_seed: None,
            noise_rate,
            device: "cpu".to_owned(),
            network: Some(network),
            name: None,
            method,
            load: Load::default(),
            features: Default::default(),
            annotators: None,
            plan,
        })
    }
}

/// A trained model.
#[pyclass(frozen, module = "tares._tares")]
pub struct FittedModel {
    trained: TrainedModel,
    notes: Vec<String>,
}

/// Trains. `folds` is a directory for the answers of judges of the noise rate; `progress` is called with a name, steps done and all
/// steps.
#[pyfunction]
#[pyo3(signature = (rows, given, classes, texts, settings, folds, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn fit(
    py: Python<'_>,
    rows: PyRows<'_>,
    given: PyReadonlyArray1<'_, Label>,
    classes: Vec<String>,
    texts: Vec<String>,
    settings: Settings,
    folds: PathBuf,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<FittedModel> {
    let spec = settings.spec()?;
    let data = rows.read(py, &given, classes, None, &texts)?;
    let epochs = spec.plan.epochs as u64;
    let trained = run_watched(py, progress.as_ref(), |tell| {
        train(&spec, &data.train, &data.reading, &folds, &|event| tell_event(tell, &event, epochs))
    })?;
    let names = data.train.class_names();
    let held_out = trained.learnt.held_out.as_ref().map(|said| said.audited.cautions()).unwrap_or_default();
    let cautions = held_out.iter().map(|caution| caution.sentence(|class| names[class].clone()));
    let told = trained.rate.as_ref().and_then(|rate| rate.warning.clone());
    let cautions: Vec<String> = cautions.filter(|caution| Some(caution) != told.as_ref()).collect();
    let texts = trained.learnt.held_out.as_ref().and_then(|_| text_note(&data.train));
    let notes = data.notes.into_iter().chain(texts).chain(cautions).collect();
    Ok(FittedModel { trained, notes })
}

fn tell_event(tell: &(dyn Fn(Told) + Sync), event: &Event<'_>, epochs: u64) {
    match event {
        Event::Judging(what, step) => {
            let part = format!("{what}, {} ({} of {})", step.judge, step.number, step.judges);
            let (done, total) = if step.finished { (step.total, step.total) } else { (step.done, step.total) };
            tell((part, done, total.max(1)));
        }
        Event::Epoch(epoch) => tell(("training".to_owned(), epoch.epoch as u64, epochs.max(epoch.epoch as u64))),
        // A classifier is given its labels as they are: no noise is made. Its rows are all there.
        Event::Ready { .. } | Event::MakingNoise(_) | Event::Arriving { .. } => {}
    }
}

/// The probability of every class for every row.
#[pyfunction]
pub fn predict<'py>(
    py: Python<'py>,
    model: &str,
    weights: &[u8],
    rows: PyRows<'py>,
    count: usize,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let damaged = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("the model is damaged: {error}"));
    let model: Model = serde_json::from_str(model).map_err(|error| damaged(&error))?;
    model.check().map_err(|failure| damaged(&failure))?;
    let data = rows.new_rows(py, count, &model.reading)?;
    let probs = run(py, || model.probabilities_of(weights, &data, "cpu").map_err(failed))?;
    PyArray1::from_vec(py, probs).reshape([count, model.classes.len()])
}

/// What [`FittedModel::suspects`] returns: row, given, suggested, probability of each.
type SuspectColumns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

#[pymethods]
impl FittedModel {
    /// Everything that predicting needs besides the weights, as JSON.
    fn model(&self) -> PyResult<String> {
        serde_json::to_string(&self.trained.model).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// The weights.
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.trained.learnt.weights.1)
    }

    /// The noise rate that the method was told, where it comes from, its interval, and why it should not be trusted.
    #[getter]
    fn rate(&self) -> Option<(f64, String, Option<(f64, f64)>, Option<String>)> {
        let rate = self.trained.rate.as_ref()?;
        Some((rate.value, rate.source.clone(), rate.interval, rate.warning.clone()))
    }

    /// The labels that look wrong, worst first.
    fn suspects<'py>(&self, py: Python<'py>) -> SuspectColumns<'py> {
        let suspects = &self.trained.suspects;
        let whole = |of: fn(&Suspect) -> i64| PyArray1::from_iter(py, suspects.iter().map(of));
        let part = |of: fn(&Suspect) -> f64| PyArray1::from_iter(py, suspects.iter().map(of));
        (
            whole(|suspect| suspect.index as i64),
            whole(|suspect| i64::from(suspect.given)),
            whole(|suspect| i64::from(suspect.suggested)),
            part(|suspect| suspect.score),
            part(|suspect| match suspect.evidence {
                Evidence::Probabilities { suggested, .. } => suggested,
                Evidence::Training { confidence, .. } => confidence.unwrap_or(f64::NAN),
            }),
        )
    }

    /// Why each is a suspect.
    fn reasons(&self) -> Vec<String> {
        let names = &self.trained.model.classes;
        self.trained.suspects.iter().map(|suspect| suspect.reason(|label| names[label as usize].clone())).collect()
    }

    /// How often each row was kept, and how often it was seen.
    fn kept<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>) {
        (self.trained.learnt.times_kept.to_pyarray(py), self.trained.learnt.times_seen.to_pyarray(py))
    }

    /// The mean training loss of every epoch.
    fn losses(&self) -> Vec<f64> {
        self.trained.learnt.epochs.iter().map(|epoch| epoch.train_loss).collect()
    }

    /// Notes on how columns were read.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
