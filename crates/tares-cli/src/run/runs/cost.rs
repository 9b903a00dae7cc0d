//! What runs will cost: the seconds of an epoch, known from finished epochs or measured on a few batches, times the epochs that are left;
//! and what must be trained before them: networks that estimate the noise rate, and the network that makes semantic noise.

use super::{RunProgress, name, place};
use crate::learner::Learner;
use crate::record::read_epochs;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::noise_rate::judging_epochs;
use crate::run::spec::Spec;
use crate::ui::failure::Outcome;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use tares::{Fit, Method, Plan};
use tares_core::{Dataset, Shape};
use tares_data::Loaded;

/// Batches that are trained to measure an epoch.
const BATCHES: usize = 6;
/// The rate that methods are told meanwhile; their cost hardly depends on it.
const ANY_RATE: f64 = 0.2;

/// What one run will cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunCost {
    /// Its progress.
    #[serde(flatten)]
    pub progress: RunProgress,
    /// Seconds that are left, on this machine; unknown for models that are not networks.
    pub seconds_left: Option<f64>,
    /// Those of them that pass before the first epoch.
    pub seconds_before: f64,
}

/// What every run will cost. An epoch's time comes from the run's own epochs, from those of the same method and network below `out`, or from a
/// few batches that are trained now; `hear` is told of each.
///
/// # Errors
/// A value that does not fit the data; a run that cannot be read.
pub fn costs(runs: &[Spec], loaded: &Loaded, out: &Path, hear: &dyn Fn(&str)) -> Outcome<Vec<RunCost>> {
    let mut known: HashMap<String, Option<f64>> = HashMap::new();
    // Finished epochs, even of another run of the same kind, are better evidence than a few batches.
    for spec in runs {
        if let Some(seconds) = trained(out, spec)? {
            known.entry(kind(spec, loaded)).or_insert(Some(seconds));
        }
    }
    let mut before = Before::default();
    let mut found = Vec::new();
    for spec in runs {
        let progress = RunProgress::of(out, spec);
        let left = spec.plan.epochs.saturating_sub(progress.epochs) as f64;
        let begun = progress.finished || progress.epochs > 0;
        let seconds_before = if begun { 0.0 } else { before.seconds(spec, loaded)? };
        let seconds_left = match progress.finished {
            true => Some(0.0),
            false => {
                let own = trained(out, spec)?;
                let kind = kind(spec, loaded);
                if own.is_none() && !known.contains_key(&kind) {
                    hear(&format!("measuring {} with {}", spec.called(), learner(spec, &loaded.train)));
                    known.insert(kind.clone(), measured(spec, &loaded.train, loaded.test.as_ref())?);
                }
                own.or_else(|| known.get(&kind).copied().flatten()).map(|seconds| seconds * left + seconds_before)
            }
        };
        found.push(RunCost { progress, seconds_left, seconds_before });
    }
    Ok(found)
}

/// What was measured of the trainings that precede runs.
#[derive(Default)]
struct Before {
    /// Seconds of an epoch of a judge, by its kind.
    judges: HashMap<String, Option<f64>>,
    /// Noises whose labels an earlier run of the list will have made.
    noises: HashSet<String>,
}

impl Before {
    /// Seconds that pass before the first epoch of a run. Judges of columns are not counted.
    fn seconds(&mut self, spec: &Spec, loaded: &Loaded) -> Outcome<f64> {
        Ok(self.judging(spec, loaded)? + self.making_noise(spec, loaded)?)
    }

    fn judging(&mut self, spec: &Spec, loaded: &Loaded) -> Outcome<f64> {
        let train = &loaded.train;
        let epochs = judging_epochs(spec, spec.load.rows.unwrap_or(train.len()).min(train.len()));
        if epochs == 0.0 || !matches!(train.shape(), Shape::Image { .. }) {
            return Ok(0.0);
        }
        let judge = Spec { method: Method::Standard, name: None, ..spec.clone() };
        let kind = kind(&judge, loaded);
        if !self.judges.contains_key(&kind) {
            self.judges.insert(kind.clone(), measured(&judge, train, None)?);
        }
        Ok(epochs * self.judges[&kind].unwrap_or(0.0))
    }

    fn making_noise(&mut self, spec: &Spec, loaded: &Loaded) -> Outcome<f64> {
        let LabelNoise::Semantic(generator) = &spec.noise else { return Ok(0.0) };
        let seed = spec.noise_seed();
        let rows = spec.load.thinned(&loaded.train)?;
        // The first run that needs the labels makes them for all others.
        if !self.noises.insert(format!("{} {seed}", spec.noise)) || generator.is_made(&rows, seed, &spec.device)? {
            return Ok(0.0);
        }
        let plan = generator.plan(seed);
        let load = Load { rows: None, ..spec.load.clone() };
        let network = Some(Learner::Network(generator.network.clone()));
        let maker = Spec { method: Method::Standard, network, plan, load, ..spec.clone() };
        let epoch = measured(&maker, &loaded.train, None)?.unwrap_or(0.0);
        Ok(epoch * generator.part * generator.epochs as f64)
    }
}

/// Runs of one kind take equally long.
fn kind(spec: &Spec, loaded: &Loaded) -> String {
    let Plan { batch, augment, .. } = &spec.plan;
    format!("{} {} {batch} {augment:?} {}", spec.called(), learner(spec, &loaded.train), spec.device)
}

fn learner(spec: &Spec, train: &Dataset) -> Learner {
    spec.network.clone().unwrap_or_else(|| Learner::network_for(train.shape()))
}

/// Seconds of an epoch that this run has trained.
fn trained(out: &Path, spec: &Spec) -> Outcome<Option<f64>> {
    let path = place(out, spec).join("epochs.jsonl");
    let epochs = if path.exists() { read_epochs(&path)? } else { Vec::new() };
    let total: f64 = epochs.iter().map(|epoch| epoch.seconds).sum();
    Ok((!epochs.is_empty()).then(|| total / epochs.len() as f64))
}

/// Seconds of an epoch, by the second of two epochs on a few batches of the data; `None` for models that are not networks.
fn measured(spec: &Spec, train: &Dataset, test: Option<&Dataset>) -> Outcome<Option<f64>> {
    let Learner::Network(network) = learner(spec, train) else { return Ok(None) };
    // A run may train on the first rows only (`Load::rows`), but it always tests on all test rows.
    let epoch_rows = spec.load.rows.unwrap_or(train.len()).min(train.len());
    let rows = (BATCHES * spec.plan.batch).min(epoch_rows);
    let few = spread(train, rows)?;
    let few_test = test.map(|test| spread(test, (test.len() * rows / epoch_rows).clamp(1, test.len()))).transpose()?;
    let plan = Plan { epochs: 2, ..spec.plan.clone() };
    let method = spec.method.clone().with_exact_rate(ANY_RATE);
    let device = tares::device::by_name(&spec.device)?;
    let mut fit = Fit::new(&few, &method, &plan).device(&device);
    if let Some(test) = &few_test {
        fit = fit.test(test);
    }
    let fitted =
        fit.train_network(&network).map_err(|error| crate::ui::failure::Failure::from(error).within(name(spec)))?;
    let second = fitted.epochs.last().map(|epoch| epoch.seconds);
    Ok(second.map(|seconds| seconds * epoch_rows as f64 / rows as f64))
}

/// Every n-th row, `count` of them.
fn spread(data: &Dataset, count: usize) -> Outcome<Dataset> {
    let chosen: Vec<usize> = (0..count).map(|at| at * data.len() / count).collect();
    Ok(data.subset(&chosen)?)
}

/// `2 h 5 min`, `48 s`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 1.0 => "less than a second".to_owned(),
        short if short < 90.0 => format!("{short:.0} s"),
        middling if middling < 5400.0 => format!("{:.0} min", middling / 60.0),
        long if long < 172_800.0 => format!("{:.0} h {:.0} min", (long / 3600.0).floor(), (long % 3600.0) / 60.0),
        long => format!("{:.1} days", long / 86_400.0),
    }
}
