//! The two halves of an audit for a cluster: rows drawn from partitions, one model fitted to them, partitions judged with it.

use crate::array::{Probs, Rows, in_order, labels};
use crate::call::{refused, run, run_here};
use crate::columns::{ClassColumns, class_columns, probabilities};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};
use tares_core::Label;
use tares_core::audit::{AuditPart, AuditTotals, PartCounts, Score, Suspect};
use tares_core::estimate::{Draw, DrawnRows, MissingRows, Posterior, ProbabilityMatrix};

/// How likely a row of each label is drawn, from the rows of every label.
#[pyfunction]
pub fn draw_chances(counts: Vec<usize>) -> PyResult<Vec<f64>> {
    Ok(Draw::of(&counts).map_err(refused)?.chances().to_vec())
}

/// The key of a row, as Spark's `xxhash64` computes it.
#[pyfunction]
pub fn row_key(seed: u64, id: &str) -> u64 {
    tares_core::row_key(seed, id)
}

pub fn missing(skip: bool) -> MissingRows {
    if skip { MissingRows::Skip } else { MissingRows::Refuse }
}

/// The rows that were drawn from a partition, as bytes.
#[pyfunction]
pub fn drawn_rows<'py>(
    py: Python<'py>,
    keys: PyReadonlyArray1<'py, u64>,
    given: PyReadonlyArray1<'py, Label>,
    probs: Probs<'py>,
    skip_missing: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let keys = in_order(&keys)?;
    let (given, rows) = (labels(&given)?, probs.rows()?);
    macro_rules! add {
        ($values:expr, $classes:expr) => {{
            let mut drawn = DrawnRows::new($classes);
            for ((row, &label), &key) in $values.chunks_exact($classes).zip(given).zip(keys) {
                if !(skip_missing && row.iter().any(|value| value.is_nan())) {
                    drawn.add(key, label, row);
                }
            }
            drawn
        }};
    }
    let bytes = run_here(|| {
        let drawn = match rows {
            Rows::Narrow(values, classes) => add!(values, classes),
            Rows::Wide(values, classes) => add!(values, classes),
        };
        drawn.to_bytes().map_err(refused)
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// The noise model, as bytes, fitted to the rows drawn from all partitions. `counts` are the rows of every label.
#[pyfunction]
pub fn fit_noise<'py>(py: Python<'py>, parts: Vec<Vec<u8>>, counts: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = run(py, || {
        let mut all = DrawnRows::new(counts.len());
        for part in &parts {
            all.merge(DrawnRows::from_bytes(part).map_err(refused)?);
        }
        Ok(all.fit(&counts).map_err(refused)?.to_bytes())
    })?;
    Ok(PyBytes::new(py, &bytes))
}

/// Judges the rows of one partition, batch by batch.
#[pyclass(frozen, module = "tares._tares")]
pub struct PartJudge {
    model: Posterior,
    score: Score,
    missing: MissingRows,
    counts: Mutex<Option<PartCounts>>,
}

/// Suspects as columns: row, given, suggested, score, and the probabilities of both labels.
pub type SuspectColumns<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
);

/// Suspects as columns.
pub fn suspect_columns<'py>(py: Python<'py>, suspects: &[Suspect]) -> SuspectColumns<'py> {
    let whole = |of: fn(&Suspect) -> i64| PyArray1::from_iter(py, suspects.iter().map(of));
    let real = |of: fn(&Suspect) -> f64| PyArray1::from_iter(py, suspects.iter().map(of));
    (
        whole(|suspect| suspect.index as i64),
        whole(|suspect| i64::from(suspect.given)),
        whole(|suspect| i64::from(suspect.suggested)),
        real(|suspect| suspect.score),
        real(|suspect| probabilities(suspect).0),
        real(|suspect| probabilities(suspect).1),
    )
}

#[pymethods]
impl PartJudge {
    #[new]
    fn new(model: &[u8], score: &str, skip_missing: bool) -> PyResult<Self> {
        let score: Score = score.parse().map_err(refused)?;
        let model = Posterior::from_bytes(model).map_err(refused)?;
        Ok(Self { model, score, missing: missing(skip_missing), counts: Mutex::new(None) })
    }

    /// Judges a batch on this thread alone. The error about a row that cannot be used names its place in the batch.
    fn judge<'py>(
        &self,
        py: Python<'py>,
        given: PyReadonlyArray1<'py, Label>,
        probs: Probs<'py>,
    ) -> PyResult<SuspectColumns<'py>> {
        let (given, rows) = (labels(&given)?, probs.rows()?);
        macro_rules! part {
            ($values:expr, $classes:expr) => {{
                let probs = ProbabilityMatrix::new($values, $classes).map_err(refused)?;
                AuditPart::judge(&self.model, 0, &probs, given, self.score, self.missing).map_err(refused)
            }};
        }
        let AuditPart { counts, suspects } = run_here(|| match rows {
            Rows::Narrow(values, classes) => part!(values, classes),
            Rows::Wide(values, classes) => part!(values, classes),
        })?;
        counts.check().map_err(refused)?;
        let mut all = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *all {
            Some(all) => all.merge(counts),
            none => *none = Some(counts),
        }
        Ok(suspect_columns(py, &suspects))
    }

    /// The counts over all batches so far, as bytes; nothing without a batch.
    fn counts<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = counts.as_ref().map(|counts| counts.to_bytes().map_err(refused)).transpose()?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }
}

/// The result of the counts of all partitions.
#[pyclass(frozen, module = "tares._tares")]
pub struct PartTotals {
    totals: AuditTotals,
}

#[pymethods]
impl PartTotals {
    #[new]
    fn new(model: &[u8], parts: Vec<Vec<u8>>) -> PyResult<Self> {
        let model = Posterior::from_bytes(model).map_err(refused)?;
        let counts = parts.iter().map(|part| PartCounts::from_bytes(part).map_err(refused));
        let mut all: Option<PartCounts> = None;
        for counts in counts {
            match (&mut all, counts?) {
                (Some(all), counts) => all.merge(counts),
                (none, counts) => *none = Some(counts),
            }
        }
        let all = all.ok_or_else(|| PyValueError::new_err("given labels must not be empty"))?;
        Ok(Self { totals: all.finish(&model).map_err(refused)? })
    }

    /// N.
    #[getter]
    fn rows(&self) -> usize {
        self.totals.estimate.rows
    }

    /// Rows that were left out.
    #[getter]
    fn missing(&self) -> usize {
        self.totals.missing
    }

    /// The share of wrong labels, and its interval.
    #[getter]
    fn noise_rate(&self) -> (f64, (f64, f64)) {
        (self.totals.estimate.rate, self.totals.estimate.interval)
    }

    /// K × K, `[true][given]`.
    fn transition<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(PyArray2::from_vec2(py, &self.totals.estimate.transition.to_dense())?)
    }

    /// Per class: rows, suspects among them, rows that should have it, mean probability of the given label (NaN without rows).
    fn per_class<'py>(&self, py: Python<'py>) -> ClassColumns<'py> {
        class_columns(py, &self.totals.per_class)
    }

    /// Reasons not to trust the rate and the suspects.
    fn cautions(&self, names: Vec<String>) -> Vec<String> {
        let name = |class: usize| names.get(class).cloned().unwrap_or_else(|| class.to_string());
        self.totals.cautions().iter().map(|caution| caution.sentence(name)).collect()
    }
}
