//! The curriculum loss of one batch on the CPU, for `tares.torch`; and the noise rate estimated from the margins that it recorded.

use crate::call::{refused, run, run_here};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, ToPyArray};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use tares_core::audit::score::margin_scores;
use tares_core::estimate::margins;
use tares_core::{Curriculum, Error, Extra, Label, LogitRows, Selector, Surrogate};

/// Batches with at least this many logits run on the workers. `LogitRows` never splits smaller ones.
const MANY: usize = 65_536;

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

    /// The loss of a batch, and its derivative by every logit. If a margin or a ranking loss is not a number, neither is the loss,
    /// and nothing is kept.
    fn step<'py>(
        &self,
        py: Python<'py>,
        logits: PyReadonlyArray2<'py, f32>,
        targets: PyReadonlyArray1<'py, i64>,
        selects: bool,
    ) -> PyResult<(HostStep, Bound<'py, PyArray2<f32>>)> {
        let (rows, classes) = logits.as_array().dim();
        let scattered = |_| PyTypeError::new_err("logits and targets must be C-contiguous");
        let (logits, targets) = (logits.as_slice().map_err(scattered)?, targets.as_slice().map_err(scattered)?);
        let slopes = PyArray2::zeros(py, [rows, classes], false);
        let mut out = slopes.readwrite();
        let out = out.as_slice_mut().map_err(scattered)?;
        let work = || self.step_of(logits, &labels(targets, classes)?, classes, out, selects).map_err(refused);
        let step = if logits.len() < MANY { run_here(work) } else { run(py, work) }?;
        Ok((step, slopes))
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
        let (margins, losses) = (rows.margins().to_vec(), rows.losses(self.ranking));
        let wrong: Vec<bool> = margins.iter().map(|&margin| margin < 0.0).collect();
        let misclassified = wrong.iter().filter(|wrong| **wrong).count();
        let fine: Vec<bool> = margins.iter().zip(&losses).map(|(u, l)| !u.is_nan() && !l.is_nan()).collect();
        if !fine.iter().all(|fine| *fine) {
            // Passed on as NaN, as a loss without selection would do.
            rows.mean(self.training, &fine, slopes);
            let bad = slopes.chunks_exact_mut(classes).zip(&fine).filter(|(_, fine)| !**fine);
            bad.for_each(|(row, _)| row.fill(f32::NAN));
            let (value, objective, kept) = (f64::NAN, f64::NAN, vec![false; labels.len()]);
            return Ok(HostStep {
                margins,
                losses,
                kept,
                value,
                count: 0,
                extra: false,
                misclassified,
                sum: 0.0,
                objective,
            });
        }
        if !selects {
            let (sum, kept) = (losses.iter().sum(), fine);
            let (value, count) = (rows.mean(self.training, &kept, slopes), labels.len());
            return Ok(HostStep {
                margins,
                losses,
                kept,
                value,
                count,
                extra: false,
                misclassified,
                sum,
                objective: sum,
            });
        }
        let mut selector = Selector::new();
        let chosen = self.curriculum.select(&mut selector, &losses, &wrong, labels, classes)?;
        let mut kept = vec![false; labels.len()];
        chosen.kept.iter().for_each(|&position| kept[position as usize] = true);
        let value = rows.mean(self.training, &kept, slopes);
        let (count, extra, sum, objective) = (chosen.count, chosen.extra, chosen.sum, chosen.objective);
        Ok(HostStep { margins, losses, kept, value, count, extra, misclassified, sum, objective })
    }
}

#[pymethods]
impl HostStep {
    /// Which samples were kept.
    fn kept<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.kept.to_pyarray(py)
    }

    /// The ranking loss of every sample.
    fn losses<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.losses.to_pyarray(py)
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
    let scattered = |_| PyTypeError::new_err("mean margins must be contiguous");
    let mean_margins = mean_margins.as_slice().map_err(scattered)?;
    let judge = || Ok((margins::from_margins(mean_margins)?, margin_scores(mean_margins)?));
    let (found, scores) = run(py, || judge().map_err(refused))?;
    Ok((found.rate, found.interval, found.wrong.to_pyarray(py), scores.to_pyarray(py)))
}
