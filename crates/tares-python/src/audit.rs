//! `audit` and `scores`: which labels are wrong, from labels and out-of-sample probabilities. `found.rs` is their result.

use crate::array::{Probs, Rows, in_order, labels};
use crate::call::{failed, refused, run};
use crate::found::ArrayAudit;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use tares_cli::audit::files::{AgainstTruth, NeighbourSummary, RowNames};
use tares_cli::audit::findings::Findings;
use tares_cli::audit::from_features::{chosen_rows, from_chosen};
use tares_cli::ui::failure::Outcome;
use tares_core::Label;
use tares_core::audit::{Audited, Score, audit_ranked};
use tares_core::estimate::{Detector, Normalised, Probabilities, ProbabilityMatrix};

/// Calls `$body` with `$probs` bound to the rows of either width, normalised or not.
macro_rules! with_probs {
    ($rows:expr, $normalise:expr, |$probs:ident| $body:expr) => {
        match ($rows, $normalise) {
            (Rows::Narrow(values, classes), false) => {
                let $probs = ProbabilityMatrix::new(values, classes).map_err(refused)?;
                $body
            }
            (Rows::Wide(values, classes), false) => {
                let $probs = ProbabilityMatrix::new(values, classes).map_err(refused)?;
                $body
            }
            (Rows::Narrow(values, classes), true) => {
                let $probs = Normalised(ProbabilityMatrix::new(values, classes).map_err(refused)?);
                $body
            }
            (Rows::Wide(values, classes), true) => {
                let $probs = Normalised(ProbabilityMatrix::new(values, classes).map_err(refused)?);
                $body
            }
        }
    };
}

/// Audits labels: `given` are numbers of the columns of `probs`. `truth` measures how good the audit is; `features` add a second estimate
/// of the noise rate.
#[pyfunction]
#[pyo3(signature = (given, probs, method, score, normalise, truth=None, features=None))]
#[allow(clippy::too_many_arguments)]
pub fn audit(
    py: Python<'_>,
    given: PyReadonlyArray1<'_, Label>,
    probs: Probs<'_>,
    method: &str,
    score: &str,
    normalise: bool,
    truth: Option<PyReadonlyArray1<'_, Label>>,
    features: Option<PyReadonlyArray2<'_, f32>>,
) -> PyResult<ArrayAudit> {
    let (detector, score) = parse(method, score)?;
    let (given, rows) = (labels(&given)?, probs.rows()?);
    let truth = truth.as_ref().map(labels).transpose()?;
    let width = features.as_ref().map_or(0, |features| features.as_array().ncols());
    let features = features.as_ref().map(in_order).transpose()?;
    run(py, || {
        let (audited, against_truth) = with_probs!(rows, normalise, |probs| {
            let audited = audit_ranked(&probs, given, detector, score).map_err(refused)?;
            let against = truth.map(|truth| against(&audited, &probs, given, truth, detector, score));
            (audited, against.transpose().map_err(failed)?)
        });
        let classes = audited.per_class.len();
        let neighbours = features.map(|features| neighbours(features, width, given, classes));
        Ok(ArrayAudit {
            neighbours: neighbours.transpose().map_err(failed)?,
            against_truth,
            ..ArrayAudit::new(audited, detector, "an array in memory".to_owned())
        })
    })
}

/// How good the audit is.
pub fn against<P: Probabilities>(
    audited: &Audited,
    probs: &P,
    given: &[Label],
    truth: &[Label],
    detector: Detector,
    score: Score,
) -> Outcome<AgainstTruth> {
    let names = RowNames { data: None, listed: &[], ids: &[], named: None, classes: probs.classes() };
    let mut findings = Findings::of(audited, names, detector, String::new());
    findings.compare(given, truth, audited.scores(probs, given, score)?)?;
    findings.summary.against_truth.ok_or_else(|| tares_core::Error::empty("the truth").into())
}

fn neighbours(features: &[f32], width: usize, given: &[Label], classes: usize) -> Outcome<NeighbourSummary> {
    let chosen = chosen_rows(given.len());
    let values = chosen.iter().flat_map(|&row| &features[row * width..(row + 1) * width]).copied().collect();
    from_chosen(values, width, chosen.iter().map(|&row| given[row]).collect(), classes)
}

/// The quality of every label, from 0 (certainly wrong) to 1.
#[pyfunction]
pub fn scores<'py>(
    py: Python<'py>,
    given: PyReadonlyArray1<'py, Label>,
    probs: Probs<'py>,
    score: &str,
    normalise: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (_, score) = parse("posterior", score)?;
    let (given, rows) = (labels(&given)?, probs.rows()?);
    let scores = run(py, || with_probs!(rows, normalise, |probs| every_score(&probs, given, score).map_err(refused)))?;
    Ok(PyArray1::from_vec(py, scores))
}

fn every_score<P: Probabilities>(probs: &P, given: &[Label], score: Score) -> tares_core::Result<Vec<f64>> {
    audit_ranked(probs, given, Detector::Posterior, score)?.scores(probs, given, score)
}

/// The method and the score by name.
pub fn parse(method: &str, score: &str) -> PyResult<(Detector, Score)> {
    Ok((method.parse().map_err(refused)?, score.parse().map_err(refused)?))
}
