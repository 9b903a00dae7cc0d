//! [`ArrayAudit`]: what an audit found, as columns; and as the files of the program.

use crate::array::labels;
use crate::call::{run, unwritten};
use crate::columns::{ClassColumns, class_columns, probabilities};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use std::path::PathBuf;
use tares_cli::audit::files::{AgainstTruth, JudgeSummary, NeighbourSummary};
use tares_cli::audit::findings::Findings;
use tares_cli::audit::rows::AuditRows;
use tares_core::Label;
use tares_core::audit::{Audited, Suspect};
use tares_core::estimate::Detector;

/// What an audit found.
#[pyclass(frozen, module = "tares._tares")]
pub struct ArrayAudit {
    pub(crate) audited: Audited,
    pub(crate) detector: Detector,
    /// Where the probabilities came from.
    pub(crate) origin: String,
    pub(crate) against_truth: Option<AgainstTruth>,
    pub(crate) neighbours: Option<NeighbourSummary>,
    /// The rows that our own judges judged, and their answers.
    pub(crate) judged: Option<Judged>,
}

/// Rows that our own judges judged.
pub(crate) struct Judged {
    /// The rows, with their data.
    pub rows: AuditRows,
    pub judges: Vec<JudgeSummary>,
    /// N × K.
    pub probs: Vec<f64>,
}

impl ArrayAudit {
    pub(crate) fn new(audited: Audited, detector: Detector, origin: String) -> Self {
        Self { audited, detector, origin, against_truth: None, neighbours: None, judged: None }
    }

    fn column<'py, T: numpy::Element>(&self, py: Python<'py>, of: impl Fn(&Suspect) -> T) -> Bound<'py, PyArray1<T>> {
        PyArray1::from_iter(py, self.audited.suspects.iter().map(of))
    }

    /// The number of a judged row among all rows; rows without a label were not judged.
    fn place(&self, row: usize) -> i64 {
        let data = self.judged.as_ref().and_then(|judged| judged.rows.data.as_ref());
        data.map_or(row, |(data, _)| data.stored(row)) as i64
    }
}

/// Labels for rows that have none: row, label, its probability.
type Missing<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// A judge: its name, agreement, log-loss, weight, and chosen setting.
type JudgeRow = (String, f64, f64, f64, Option<String>);

/// How good an audit is: wrong labels, precision, recall, F1, AUROC, average precision, share of right suggestions.
type Goodness = (usize, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<f64>);

#[pymethods]
impl ArrayAudit {
    /// N.
    #[getter]
    fn rows(&self) -> usize {
        self.audited.overview.rows
    }

    /// The rows of the suspects, worst first.
    fn row<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        self.column(py, |suspect| self.place(suspect.index))
    }

    /// Of this many rows, those whose label is a suspect.
    fn mask<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let mut mask = vec![false; rows];
        for suspect in &self.audited.suspects {
            let row = self.place(suspect.index);
            let cell = usize::try_from(row).ok().and_then(|row| mask.get_mut(row));
            *cell.ok_or_else(|| PyIndexError::new_err(format!("row {row} of {rows}")))? = true;
        }
        Ok(PyArray1::from_vec(py, mask))
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
        self.column(py, |suspect| probabilities(suspect).0)
    }

    /// The probabilities of the suggested label.
    fn p_suggested<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.column(py, |suspect| probabilities(suspect).1)
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

    /// The share of wrong labels by the labels of each row's nearest rows, and its interval.
    #[getter]
    fn neighbours(&self) -> Option<(f64, (f64, f64))> {
        self.neighbours.map(|found| (found.noise_rate, found.noise_rate_interval))
    }

    /// How good the audit is, if the truth was given.
    #[getter]
    fn against_truth(&self) -> Option<Goodness> {
        let found = self.against_truth.as_ref()?;
        let ranked = (found.auroc, found.average_precision);
        Some((found.wrong, found.precision, found.recall, found.f1, ranked.0, ranked.1, found.right_suggestions))
    }

    /// K × K, `[true][given]`.
    fn transition<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        Ok(PyArray2::from_vec2(py, &self.audited.estimate.transition.to_dense())?)
    }

    /// Per class: rows, suspects among them, rows that should have it, mean probability of the given label (NaN without rows).
    fn per_class<'py>(&self, py: Python<'py>) -> ClassColumns<'py> {
        class_columns(py, &self.audited.per_class)
    }

    /// Reasons not to trust the rate and the suspects.
    fn cautions(&self, names: Vec<String>) -> Vec<String> {
        let name = |class: usize| names.get(class).cloned().unwrap_or_else(|| class.to_string());
        let cautions: Vec<String> = self.audited.cautions().iter().map(|caution| caution.sentence(name)).collect();
        let notes = self.judged.as_ref().map_or(&[][..], |judged| &judged.rows.notes);
        cautions.into_iter().chain(notes.iter().cloned()).collect()
    }

    /// Our own judges, if they judged the labels.
    fn judges(&self) -> Vec<JudgeRow> {
        let judges = self.judged.as_ref().map_or(&[][..], |judged| &judged.judges);
        let row = |judge: &JudgeSummary| {
            (judge.judge.clone(), judge.agreement, judge.log_loss, judge.weight, judge.setting.clone())
        };
        judges.iter().map(row).collect()
    }

    /// The answers of our own judges: the numbers of the rows that they judged, and N × K probabilities.
    fn probs<'py>(&self, py: Python<'py>) -> PyResult<Option<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>)>> {
        let Some(judged) = &self.judged else { return Ok(None) };
        let rows = PyArray1::from_iter(py, (0..self.audited.overview.rows).map(|row| self.place(row)));
        let chunks: Vec<Vec<f64>> =
            judged.probs.chunks_exact(self.audited.per_class.len().max(1)).map(<[f64]>::to_vec).collect();
        Ok(Some((rows, PyArray2::from_vec2(py, &chunks)?)))
    }

    /// Labels for rows that have none.
    fn missing<'py>(&self, py: Python<'py>) -> Missing<'py> {
        let rows = self.judged.as_ref().map(|judged| &judged.rows);
        let unlabelled = rows.and_then(|rows| rows.unlabelled.as_ref());
        let answers = rows.map_or(&[][..], |rows| &rows.missing);
        let place = |row: usize| unlabelled.map_or(row, |rows| rows.stored(row)) as i64;
        (
            PyArray1::from_iter(py, (0..answers.len()).map(place)),
            PyArray1::from_iter(py, answers.iter().map(|answer| i64::from(answer.0))),
            PyArray1::from_iter(py, answers.iter().map(|answer| answer.1)),
        )
    }

    /// Writes what the program writes: `suspects.csv`, `labels-suggested.csv`, `summary.json` and the page `audit.html`.
    #[pyo3(signature = (out, given, classes, ids, notes, gallery))]
    #[allow(clippy::too_many_arguments)]
    fn save(
        &self,
        py: Python<'_>,
        out: PathBuf,
        given: PyReadonlyArray1<'_, Label>,
        classes: Vec<String>,
        ids: Vec<String>,
        notes: Vec<String>,
        gallery: usize,
    ) -> PyResult<String> {
        let rows = match &self.judged {
            Some(judged) => judged.rows.clone(),
            None => AuditRows { given: labels(&given)?.to_vec(), classes, ids, notes, ..AuditRows::default() },
        };
        run(py, || {
            let names = rows.names(self.audited.per_class.len());
            let mut findings = Findings::of(&self.audited, names, self.detector, self.origin.clone());
            findings.summary.against_truth.clone_from(&self.against_truth);
            findings.summary.neighbours = self.neighbours;
            findings.summary.data_notes.clone_from(&rows.notes);
            findings.summary.labels_missing = rows.missing.len();
            if let Some(judged) = &self.judged {
                findings.summary.judges.clone_from(&judged.judges);
            }
            rows.write(&out, &findings, gallery).map(str::to_owned).map_err(unwritten)
        })
    }
}
