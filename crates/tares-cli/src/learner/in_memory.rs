//! Trains without a run directory, for callers that keep the model in memory: the same steps and the same bits as `tares train`.

use super::Learner;
use super::columns::ColumnTraining;
use super::learnt::Learnt;
use crate::record::{EpochRecord, RateRecord};
use crate::run::model::Model;
use crate::run::noise_rate::told;
use crate::run::samples::Samples;
use crate::run::spec::Spec;
use crate::run::train::{Event, epoch_record};
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use std::path::Path;
use tares::{Control, Fit, Method, Network};
use tares_core::Dataset;
use tares_core::audit::Suspect;
use tares_data::Reading;

/// A trained model, and what its training tells about the labels.
#[derive(Debug)]
pub struct TrainedModel {
    /// Everything that predicting needs besides the weights.
    pub model: Model,
    /// What was learnt, with the weights.
    pub learnt: Learnt,
    /// The noise rate that the method was told.
    pub rate: Option<RateRecord>,
    /// The labels that look wrong, worst first.
    pub suspects: Vec<Suspect>,
}

/// Trains `spec` on rows that are in memory. Judges that are asked for the noise rate keep their answers in `folds` meanwhile.
///
/// # Errors
/// A value that does not fit the data; a file in `folds` that cannot be written; an interrupt.
pub fn train(
    spec: &Spec,
    data: &Dataset,
    reading: &Reading,
    folds: &Path,
    hear: &(dyn Fn(Event<'_>) + Sync),
) -> Outcome<TrainedModel> {
    spec.check()?;
    let learner = spec.network.clone().unwrap_or_else(|| Learner::network_for(data.shape()));
    let hear_rate = |progress| hear(Event::Judging("estimating the noise rate", progress));
    let rate = told(spec, data, reading, learner.network(), folds, &hear_rate)?;
    let method = match &rate {
        Some(rate) => spec.method.clone().with_exact_rate(rate.value),
        None => spec.method.clone(),
    };
    let learnt = match &learner {
        Learner::Network(network) => of_network(spec, network, &method, data, hear)?,
        Learner::Columns(columns) => {
            let training = ColumnTraining {
                learner: *columns,
                method: &method,
                spec,
                train: data,
                test: None,
                reading,
                rate: rate.as_ref(),
            };
            let hear_judge = |progress| hear(Event::Judging("training", progress));
            training.run(folds, &hear_judge, &|epoch: &EpochRecord| hear(Event::Epoch(epoch)))?
        }
    };
    let suspects = Samples::of(data, &learnt).suspects();
    let model = Model {
        network: learner,
        method,
        classes: data.class_names().to_vec(),
        reading: reading.clone(),
        inputs: learnt.inputs.clone(),
        backbone: None,
        head: learnt.head.clone(),
    };
    Ok(TrainedModel { model, learnt, rate, suspects })
}

fn of_network(
    spec: &Spec,
    network: &Network,
    method: &Method,
    data: &Dataset,
    hear: &(dyn Fn(Event<'_>) + Sync),
) -> Outcome<Learnt> {
    let device = tares::device::by_name(&spec.device)?;
    let fit = Fit::new(data, method, &spec.plan).device(&device).on_epoch(|progress| {
        hear(Event::Epoch(&epoch_record(progress.epoch)));
        if interrupt::asked() { Control::Stop } else { Control::Continue }
    });
    let fitted = fit.train_network(network)?;
    if fitted.epochs.len() < spec.plan.epochs {
        return Err(Failure::Interrupted { way_out: String::new() });
    }
    let parameters = tares::network::parameters(&fitted.networks[0]) as u64;
    Learnt::of(&fitted, data, None, parameters)
}
