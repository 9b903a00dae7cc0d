//! Metrics, with the same bits as the program's.

use crate::array::{in_order, labels};
use crate::call::{refused, run};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use tares_core::Label;
use tares_core::metric::{self, Confusion, MeanStd, Retrieval};

/// The share of answers that are right.
#[pyfunction]
pub fn accuracy(
    py: Python<'_>,
    truth: PyReadonlyArray1<'_, Label>,
    predicted: PyReadonlyArray1<'_, Label>,
) -> PyResult<f64> {
    let (truth, predicted) = (labels(&truth)?, labels(&predicted)?);
    run(py, || metric::accuracy(truth, predicted).map_err(refused))
}

/// The mean accuracy of the classes.
#[pyfunction]
pub fn balanced_accuracy(
    py: Python<'_>,
    truth: PyReadonlyArray1<'_, Label>,
    predicted: PyReadonlyArray1<'_, Label>,
    classes: usize,
) -> PyResult<f64> {
    let (truth, predicted) = (labels(&truth)?, labels(&predicted)?);
    run(py, || Ok(Confusion::new(truth, predicted, classes).map_err(refused)?.balanced_accuracy()))
}

/// Counts, `[true][predicted]`.
#[pyfunction]
pub fn confusion<'py>(
    py: Python<'py>,
    truth: PyReadonlyArray1<'py, Label>,
    predicted: PyReadonlyArray1<'py, Label>,
    classes: usize,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let (truth, predicted) = (labels(&truth)?, labels(&predicted)?);
    let counts = run(py, || Ok(Confusion::new(truth, predicted, classes).map_err(refused)?.counts))?;
    let counts: Vec<Vec<i64>> = counts.iter().map(|row| row.iter().map(|&count| count as i64).collect()).collect();
    Ok(PyArray2::from_vec2(py, &counts)?)
}

/// Precision, recall and F1.
type Figures = (Option<f64>, Option<f64>, Option<f64>);

/// How well a set of rows matches the wanted ones.
#[pyfunction]
pub fn retrieval(
    py: Python<'_>,
    chosen: PyReadonlyArray1<'_, u32>,
    wanted: PyReadonlyArray1<'_, bool>,
) -> PyResult<Figures> {
    let (chosen, wanted) = (in_order(&chosen)?, in_order(&wanted)?);
    let found = run(py, || Retrieval::new(chosen, wanted).map_err(refused))?;
    Ok((found.precision(), found.recall(), found.f1()))
}

/// Area under the ROC curve.
#[pyfunction]
pub fn auroc(py: Python<'_>, scores: PyReadonlyArray1<'_, f64>, wanted: PyReadonlyArray1<'_, bool>) -> PyResult<f64> {
    let (scores, wanted) = (in_order(&scores)?, in_order(&wanted)?);
    run(py, || metric::auroc(scores, wanted).map_err(refused))
}

/// Average precision.
#[pyfunction]
pub fn average_precision(
    py: Python<'_>,
    scores: PyReadonlyArray1<'_, f64>,
    wanted: PyReadonlyArray1<'_, bool>,
) -> PyResult<f64> {
    let (scores, wanted) = (in_order(&scores)?, in_order(&wanted)?);
    run(py, || metric::average_precision(scores, wanted).map_err(refused))
}

/// Expected calibration error.
#[pyfunction]
pub fn calibration_error(
    py: Python<'_>,
    probs: PyReadonlyArray2<'_, f64>,
    truth: PyReadonlyArray1<'_, Label>,
    bins: usize,
) -> PyResult<f64> {
    let classes = probs.as_array().ncols();
    let (probs, truth) = (in_order(&probs)?, labels(&truth)?);
    run(py, || metric::calibration_error(probs, truth, classes, bins).map_err(refused))
}

/// Mean and standard deviation (not a number for a single value).
#[pyfunction]
pub fn mean_std(values: PyReadonlyArray1<'_, f64>) -> PyResult<(f64, f64)> {
    let found = MeanStd::of(in_order(&values)?).map_err(refused)?;
    Ok((found.mean, found.std.unwrap_or(f64::NAN)))
}
