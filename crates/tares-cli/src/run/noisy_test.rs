//! Where test labels are as noisy as the training labels, estimates the accuracy on true labels.
//!
//! The rows of a table that are hard for a model look like rows with wrong labels. So the noise rate of a table is the refined one that
//! the run found on its training rows (or, without one, on the test rows), and the accuracy follows from it. Where nobody can tell wrong
//! labels from hard rows, no accuracy is given.

use crate::judges::panel::{is_table, refine};
use crate::learner::learnt::Learnt;
use crate::record::{RateRecord, TrueAccuracyRecord};
use crate::run::label_noise::LabelNoise;
use crate::run::spec::Spec;
use crate::ui::failure::Outcome;
use tares::evaluate;
use tares_core::Dataset;
use tares_core::audit::{Audited, audit};
use tares_core::estimate::{Caution, Detector, ProbabilityMatrix, TrueAccuracy, accuracy_behind, true_accuracy};
use tares_data::{Loaded, Reading};

/// The estimated accuracy on true labels, if the test rows were set aside from the same data as the training rows. `None` where
/// test labels can be trusted: they are separate test data, their truth is known, or we put noise into the training rows alone.
pub fn accuracy(
    spec: &Spec,
    loaded: &Loaded,
    learnt: &Learnt,
    rate: Option<&RateRecord>,
) -> Option<TrueAccuracyRecord> {
    let (test, probabilities) = (loaded.test.as_ref()?, learnt.test.as_deref()?);
    if !loaded.found.test_set_aside || test.truth().is_some() || spec.noise != LabelNoise::NONE {
        return None;
    }
    let estimated = match is_table(&loaded.reading) {
        true => of_table(test, probabilities, learnt, rate, &loaded.reading),
        false => of_pictures(test, probabilities),
    };
    // The run is complete, so a failed estimate becomes a warning, not an error.
    Some(estimated.unwrap_or_else(|error| unknown(error.to_string())))
}

fn unknown(why: String) -> TrueAccuracyRecord {
    TrueAccuracyRecord { accuracy: 0.0, interval: (0.0, 1.0), warning: Some(why) }
}

fn of_table(
    test: &Dataset,
    probabilities: &[f32],
    learnt: &Learnt,
    rate: Option<&RateRecord>,
    reading: &Reading,
) -> Outcome<TrueAccuracyRecord> {
    let by_audit = |found: &Audited| (found.estimate.rate, found.estimate.interval, doubt(&found.cautions(), test));
    let estimated = rate.and_then(|rate| Some((rate.value, rate.interval?, rate.warning.clone())));
    let (rate, interval, doubt) = match (&learnt.held_out, estimated) {
        (Some(held_out), _) => by_audit(&held_out.audited),
        (None, Some(estimated)) => estimated,
        (None, None) => {
            let wide: Vec<f64> = probabilities.iter().map(|&p| f64::from(p)).collect();
            let mut found = audit(&ProbabilityMatrix::new(&wide, test.classes())?, test.given(), Detector::default())?;
            refine(&mut found, &wide, test.given(), Some(test), reading, Detector::default())?;
            by_audit(&found)
        }
    };
    if let Some(doubt) = doubt {
        return Ok(unknown(doubt));
    }
    let answers = evaluate::answers(probabilities, test.classes());
    let right = answers.iter().zip(test.given()).filter(|(answer, given)| answer == given).count();
    let agreement = right as f64 / test.len() as f64;
    let (accuracy, interval) = accuracy_behind(agreement, test.len(), test.classes(), rate, interval);
    Ok(TrueAccuracyRecord { accuracy, interval, warning: None })
}

fn of_pictures(test: &Dataset, probabilities: &[f32]) -> Outcome<TrueAccuracyRecord> {
    let matrix = ProbabilityMatrix::new(probabilities, test.classes())?;
    let TrueAccuracy { accuracy, interval, cautions, .. } = true_accuracy(&matrix, test.given())?;
    Ok(match doubt(&cautions, test) {
        Some(doubt) => unknown(doubt),
        None => TrueAccuracyRecord { accuracy, interval, warning: None },
    })
}

/// The reason not to trust a rate, if there is one.
fn doubt(cautions: &[Caution], test: &Dataset) -> Option<String> {
    // Full agreement usually means that the model was trained on these rows, but these were set aside: skip that caution.
    let doubt = |caution: &&Caution| caution.is_about_the_rate() && !matches!(caution, Caution::InSample { .. });
    Some(cautions.iter().find(doubt)?.sentence(|class| test.class_names()[class].clone()))
}
