//! Test labels as noisy as the training labels: what the accuracy is on true ones.

use crate::record::TrueAccuracyRecord;
use crate::run::label_noise::LabelNoise;
use crate::run::spec::Spec;
use tares::Fitted;
use tares::network::AnyNetwork;
use tares_core::Dataset;
use tares_core::estimate::{Caution, ProbabilityMatrix, TrueAccuracy, true_accuracy};
use tares_data::Loaded;

/// The accuracy on true labels, if the test rows were set aside from a file whose labels nobody vouches for. `None` where test
/// labels can be trusted: they came apart from the training rows, their truth is known, or noise was put into training alone.
pub fn accuracy(spec: &Spec, loaded: &Loaded, fitted: &Fitted<AnyNetwork>) -> Option<TrueAccuracyRecord> {
    let test = loaded.test.as_ref()?;
    if !loaded.found.test_set_aside || test.truth().is_some() || spec.noise != LabelNoise::NONE {
        return None;
    }
    // The run is over: whatever keeps the accuracy from being estimated is said and stops nothing.
    Some(estimate(test, fitted).unwrap_or_else(|problem| TrueAccuracyRecord {
        accuracy: 0.0,
        interval: (0.0, 1.0),
        warning: Some(problem),
    }))
}

fn estimate(test: &Dataset, fitted: &Fitted<AnyNetwork>) -> Result<TrueAccuracyRecord, String> {
    let probabilities = fitted.probabilities(test).map_err(|error| error.to_string())?;
    let matrix = ProbabilityMatrix::new(&probabilities, test.classes()).map_err(|error| error.to_string())?;
    let TrueAccuracy { accuracy, interval, cautions, .. } =
        true_accuracy(&matrix, test.given()).map_err(|error| error.to_string())?;
    // A model that agrees with every label was not trained on them: these rows were set aside.
    let doubt = cautions
        .iter()
        .find(|caution| matches!(caution, Caution::WeakJudge { .. } | Caution::AboveDisagreement { .. }));
    let warning = doubt.map(|caution| caution.sentence(|class| test.class_names()[class].clone()));
    Ok(TrueAccuracyRecord { accuracy, interval, warning })
}
