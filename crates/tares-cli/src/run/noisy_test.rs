//! Where test labels are as noisy as the training labels, estimates the accuracy on true labels.

use crate::record::TrueAccuracyRecord;
use crate::run::label_noise::LabelNoise;
use crate::run::spec::Spec;
use tares_core::Dataset;
use tares_core::estimate::{Caution, ProbabilityMatrix, TrueAccuracy, true_accuracy};
use tares_data::Loaded;

/// The estimated accuracy on true labels, if the test rows were set aside from the same data as the training rows. `None` where
/// test labels can be trusted: they are separate test data, their truth is known, or we put noise into the training rows alone.
pub fn accuracy(spec: &Spec, loaded: &Loaded, probabilities: &[f32]) -> Option<TrueAccuracyRecord> {
    let test = loaded.test.as_ref()?;
    if !loaded.found.test_set_aside || test.truth().is_some() || spec.noise != LabelNoise::NONE {
        return None;
    }
    // The run is complete, so a failed estimate becomes a warning, not an error.
    Some(estimate(test, probabilities).unwrap_or_else(|problem| TrueAccuracyRecord {
        accuracy: 0.0,
        interval: (0.0, 1.0),
        warning: Some(problem),
    }))
}

fn estimate(test: &Dataset, probabilities: &[f32]) -> Result<TrueAccuracyRecord, String> {
    let matrix = ProbabilityMatrix::new(probabilities, test.classes()).map_err(|error| error.to_string())?;
    let TrueAccuracy { accuracy, interval, cautions, .. } =
        true_accuracy(&matrix, test.given()).map_err(|error| error.to_string())?;
    // Full agreement usually means that the model was trained on these rows, but these were set aside: skip that caution.
    let doubt = cautions
        .iter()
        .find(|caution| matches!(caution, Caution::WeakJudge { .. } | Caution::AboveDisagreement { .. }));
    let warning = doubt.map(|caution| caution.sentence(|class| test.class_names()[class].clone()));
    Ok(TrueAccuracyRecord { accuracy, interval, warning })
}
