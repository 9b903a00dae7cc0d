//! `audit` and `scores`: which labels are wrong, from labels and out-of-sample probabilities.

use crate::array::{Probs, Rows, labels};
use crate::call::{refused, run};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use tares_core::Label;
use tares_core::audit::{Audited, Evidence, Score, Suspect, audit_ranked};
use tares_core::estimate::{Detector, Normalised, Probabilities, ProbabilityMatrix};

/// What an audit found, as columns.
#[pyclass(frozen, module = "tares._tares")]
pub struct ArrayAudit {
    audited: Audited,
}

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

/// Audits labels: `given` are numbers of the columns of `probs`.
#[pyfunction]
pub fn audit(
    py: Python<'_>,
    given: PyReadonlyArray1<'_, Label>,
    probs: Probs<'_>,
    method: &str,
    score: &str,
    normalise: bool,
) -> PyResult<ArrayAudit> {
    let (detector, score) = parse(method, score)?;
    let (given, rows) = (labels(&given)?, probs.rows()?);
    let audited = run(py, || {
        with_probs!(rows, normalise, |probs| audit_ranked(&probs, given, detector, score).map_err(refused))
    })?;
    Ok(ArrayAudit { audited })
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

fn parse(method: &str, score: &str) -> PyResult<(Detector, Score)> {
    Ok((method.parse().map_err(refused)?, score.parse().map_err(refused)?))
}

impl ArrayAudit {
    fn column<'py, T: numpy::Element>(&self, py: Python<'py>, of: impl Fn(&Suspect) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.audited.suspects.iter().map(of))
    }
}

#[pymethods]
impl ArrayAudit {
    /// N.
    #[getter]
    fn rows(&self) -> usize {
        self.audited.overview.rows
    }

    /// The rows of the suspects, worst first.
    fn row<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |suspect| suspect.index as i64)
    }

    /// Their labels, as numbers of columns.
    fn given<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |suspect| i64::from(suspect.given))
    }

    /// What they should be, as numbers of columns.
    fn suggested<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |suspect| i64::from(suspect.suggested))
    }

    /// How good their labels are: 0 is certainly wrong.
    fn score<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |suspect| suspect.score)
    }

    /// The probabilities of the given label.
    fn p_given<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |suspect| probability(suspect).0)
    }

    /// The probabilities of the suggested label.
    fn p_suggested<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |suspect| probability(suspect).1)
    }

    /// Why each is a suspect, in words with the names of the classes.
    fn reasons(&self, names: Vec<String>) -> Vec<String> {
        let name = |class: Label| names.get(class as usize).cloned().unwrap_or_else(|| class.to_string());
        self.audited.suspects.iter().map(|suspect| suspect.reason(name)).collect()
    }

    /// The share of wrong labels, and its interval.
    #[getter]
    fn noise_rate(&self) -> (f64, (f64, f64)) {
        (self.audited.estimate.rate, self.audited.estimate.interval)
    }

    /// K × K, `[true][given]`.
    fn transition<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(PyArray2::from_vec2(py, &self.audited.estimate.transition.to_dense())?)
    }

    /// Per class: rows, suspects among them, rows that should have it, mean probability of the given label (NaN without rows).
    #[allow(clippy::type_complexity)]
    fn per_class<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)
    {
        let classes = &self.audited.per_class;
        let counts = |of: fn(&tares_core::audit::ClassQuality) -> usize| {
            classes.iter().map(|class| of(class) as i64).collect::<Vec<i64>>().to_pyarray(py)
        };
        let confidence: Vec<f64> = classes.iter().map(|class| class.self_confidence.unwrap_or(f64::NAN)).collect();
        (
            counts(|class| class.rows),
            counts(|class| class.suspects),
            counts(|class| class.missing),
            confidence.to_pyarray(py),
        )
    }

    /// What should be known before rate and suspects are trusted.
    fn cautions(&self, names: Vec<String>) -> Vec<String> {
        let name = |class: usize| names.get(class).cloned().unwrap_or_else(|| class.to_string());
        self.audited.cautions().iter().map(|caution| caution.sentence(name)).collect()
    }
}

fn probability(suspect: &Suspect) -> (f64, f64) {
    match suspect.evidence {
        Evidence::Probabilities { given, suggested } => (given, suggested),
        // An audit of probabilities has no other evidence.
        Evidence::Training { .. } => (f64::NAN, f64::NAN),
    }
}
