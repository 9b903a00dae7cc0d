//! The curriculum loss of one batch on the CPU, for `tares.torch`; and the noise rate estimated from the margins that it recorded.

use crate::array::{in_order, in_order_mut};
use crate::call::{refused, run, run_here};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, ToPyArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use tares_core::audit::score::margin_scores;
use tares_core::estimate::margins;
use tares_core::{Curriculum, Error, Extra, Label, LogitRows, Selector, Surrogate};

/// Batches with at least this many logits run on the workers. `LogitRows` never splits smaller ones.
const MANY: usize = 2_097_152;

/// A curriculum loss made of the core's base losses.
#[pyclass(frozen, module = "tares._tares")]
pub struct HostLoss {
    curriculum: Curriculum,
    ranking: Surrogate,
    training: Surrogate,
}

/// The result of one batch.
#[pyclass(frozen, module = "tares._tares")]
pub struct HostStep {
    margins: Vec<f64>,
    losses: Vec<f64>,
    kept: Vec<bool>,
    /// The mean training loss over the kept.
    #[pyo3(get)]
    value: f64,
    /// T.
    #[pyo3(get)]
    count: usize,
    #[pyo3(get)]
    extra: bool,
    #[pyo3(get)]
    misclassified: usize,
    /// `L_T`.
    #[pyo3(get)]
    sum: f64,
    #[pyo3(get)]
    objective: f64,
}

#[pymethods]
impl HostLoss {
    #[new]
    fn new(threshold: &str, ranking: &str, training: &str, extra: bool, balanced: bool) -> PyResult<Self> {
        let extra = if extra { Extra::WhenSlack } else { Extra::Never };
        let curriculum = Curriculum { threshold: threshold.parse().map_err(refused)?, extra, balanced };
        let base = |name: &str| name.parse().map_err(refused);
        Ok(Self { curriculum, ranking: base(ranking)?, training: base(training)? })
    }

    /// The loss of a batch, and its derivative by every logit in `slopes`. If a margin or a ranking loss is not a number, neither is
    /// the loss, and nothing is kept.
    fn step<'py>(
        &self,
        py: Python<'py>,
        logits: PyReadonlyArray2<'py, f32>,
        targets: PyReadonlyArray1<'py, i64>,
        mut slopes: PyReadwriteArray2<'py, f32>,
        selects: bool,
    ) -> PyResult<HostStep> {
        let (rows, classes) = logits.as_array().dim();
        if slopes.as_array().dim() != (rows, classes) {
            return Err(PyTypeError::new_err("slopes must have the shape of logits"));
        }
        let (logits, targets) = (in_order(&logits)?, in_order(&targets)?);
        let slopes = in_order_mut(&mut slopes)?;
        let work = || self.step_of(logits, &labels(targets, classes)?, classes, slopes, selects).map_err(refused);
        if logits.len() < MANY { run_here(work) } else { run(py, work) }
    }
}

impl HostLoss {
    fn step_of(
        &self,
        logits: &[f32],
        labels: &[Label],
        classes: usize,
        slopes: &mut [f32],
        selects: bool,
    ) -> tares_core::Result<HostStep> {
        let rows = LogitRows::new(logits, labels, classes)?;
        let losses = rows.losses(self.ranking);
        let wrong: Vec<bool> = rows.margins().iter().map(|&margin| margin < 0.0).collect();
        let mut step = HostStep {
            margins: Vec::new(),
            losses,
            kept: vec![false; labels.len()],
            value: f64::NAN,
            count: 0,
            extra: false,
            misclassified: wrong.iter().filter(|wrong| **wrong).count(),
            sum: 0.0,
            objective: f64::NAN,
        };
        let missing = |(margin, loss): (&f64, &f64)| margin.is_nan() || loss.is_nan();
        if rows.margins().iter().zip(&step.losses).any(missing) {
            // Passed on as NaN, as a loss without selection would do.
            let bad: Vec<bool> = rows.margins().iter().zip(&step.losses).map(missing).collect();
            let fine: Vec<bool> = bad.iter().map(|bad| !bad).collect();
            rows.mean(self.training, &fine, slopes);
            let bad = slopes.chunks_exact_mut(classes).zip(bad).filter(|(_, bad)| *bad);
            bad.for_each(|(row, _)| row.fill(f32::NAN));
        } else {
            if selects {
                let mut selector = Selector::new();
                let chosen = self.curriculum.select(&mut selector, &step.losses, &wrong, labels, classes)?;
                chosen.kept.iter().for_each(|&position| step.kept[position as usize] = true);
                (step.count, step.extra) = (chosen.count, chosen.extra);
                (step.sum, step.objective) = (chosen.sum, chosen.objective);
            } else {
                step.kept.fill(true);
                step.count = labels.len();
                step.sum = step.losses.iter().sum();
                step.objective = step.sum;
            }
            step.value = rows.mean(self.training, &step.kept, slopes);
        }
        step.margins = rows.into_margins();
        Ok(step)
    }
}

#[pymethods]
impl HostStep {
    /// Which samples were kept.
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.kept.to_pyarray(py)
    }

    /// Every sample's margin, then every sample's ranking loss.
    fn samples<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        [&self.margins[..], &self.losses].concat().to_pyarray(py)
    }

    /// Every sample's margin.
    fn margins<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.margins.to_pyarray(py)
    }
}

/// Class numbers of PyTorch as labels.
fn labels(targets: &[i64], classes: usize) -> PyResult<Vec<Label>> {
    let label = |(row, &target): (usize, &i64)| {
        let label = Label::try_from(target).ok().filter(|&label| (label as usize) < classes);
        label
            .ok_or_else(|| refused(Error::value("target", format!("in 0..{classes}"), target).at(format!("row {row}"))))
    };
    targets.iter().enumerate().map(label).collect()
}

/// What [`from_margins`] returns: the rate, its interval, every row's probability of a wrong label, and its score.
type FromMargins<'py> = (f64, (f64, f64), Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// How many labels are wrong, by the mean margins of a training history, and which.
#[pyfunction]
pub fn from_margins<'py>(py: Python<'py>, mean_margins: PyReadonlyArray1<'_, f64>) -> PyResult<FromMargins<'py>> {
    let mean_margins = in_order(&mean_margins)?;
    let judge = || Ok((margins::from_margins(mean_margins)?, margin_scores(mean_margins)?));
    let (found, scores) = run(py, || judge().map_err(refused))?;
    Ok((found.rate, found.interval, found.wrong.to_pyarray(py), scores.to_pyarray(py)))
}
