//! `consensus`: combines several people's labels into one per row.

use crate::array::{Probs, Rows, labels};
use crate::call::{refused, run};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, ToPyArray};
use pyo3::prelude::*;
use tares_core::Label;
use tares_core::annotate::{self, Agreement, Answer, Answers, Pooling, pair_agreement};
use tares_core::estimate::{Normalised, ProbabilityMatrix};

/// A consensus, as columns.
#[pyclass(frozen, module = "tares._tares")]
pub struct ArrayConsensus {
    answers: Answers,
    found: annotate::Consensus,
}

/// The consensus of answers given as three columns: numbers of rows, of annotators, and labels.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn consensus(
    py: Python<'_>,
    shape: (usize, usize, usize),
    row: PyReadonlyArray1<'_, Label>,
    annotator: PyReadonlyArray1<'_, Label>,
    label: PyReadonlyArray1<'_, Label>,
    probs: Option<Probs<'_>>,
    method: &str,
    normalise: bool,
) -> PyResult<ArrayConsensus> {
    let pooling: Pooling = method.parse().map_err(refused)?;
    let (row, annotator, label) = (labels(&row)?, labels(&annotator)?, labels(&label)?);
    let rows = probs.as_ref().map(Probs::rows).transpose()?;
    let (answers, found) = run(py, || {
        let answer = |((&row, &annotator), &label): ((&u32, &u32), &Label)| Answer {
            row: row as usize,
            annotator: annotator as usize,
            label,
        };
        let given: Vec<Answer> = row.iter().zip(annotator).zip(label).map(answer).collect();
        let answers = Answers::new(shape.0, shape.1, shape.2, &given).map_err(refused)?;
        let found = match rows {
            None => annotate::consensus(&answers, pooling),
            Some(Rows::Narrow(values, classes)) => {
                match (ProbabilityMatrix::new(values, classes).map_err(refused)?, normalise) {
                    (probs, false) => annotate::consensus_with(&answers, &probs),
                    (probs, true) => annotate::consensus_with(&answers, &Normalised(probs)),
                }
            }
            Some(Rows::Wide(values, classes)) => {
                match (ProbabilityMatrix::new(values, classes).map_err(refused)?, normalise) {
                    (probs, false) => annotate::consensus_with(&answers, &probs),
                    (probs, true) => annotate::consensus_with(&answers, &Normalised(probs)),
                }
            }
        };
        Ok((answers, found.map_err(refused)?))
    })?;
    Ok(ArrayConsensus { answers, found })
}

#[pymethods]
impl ArrayConsensus {
    /// The consensus of every row, as numbers of classes.
    fn labels<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.found.labels.iter().map(|&label| i64::from(label)))
    }

    /// The probability of each class, rows × classes.
    fn posterior<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.found.posterior.to_pyarray(py).reshape([self.answers.rows(), self.answers.classes()])
    }

    /// The probability that each consensus is right.
    fn confidence<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.found.confidence())
    }

    /// What one more answer is expected to add to it.
    fn gain<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.found.gain.to_pyarray(py)
    }

    /// Answers to every row, and those among them that are the consensus.
    fn counts<'py>(&self, py: Python<'py>) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>) {
        let rows = 0..self.answers.rows();
        let same = |row: usize| self.answers.of_row(row).iter().filter(|a| a.label == self.found.labels[row]).count();
        (
            PyArray1::from_iter(py, rows.clone().map(|row| self.answers.of_row(row).len() as i64)),
            PyArray1::from_iter(py, rows.map(|row| same(row) as i64)),
        )
    }

    /// Per annotator: answers, quality, its interval's ends, agreement with the consensus (NaN without answers).
    #[allow(clippy::type_complexity)]
    fn quality<'py>(
        &self,
        py: Python<'py>,
    ) -> (
        Bound<'py, PyArray1<i64>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
        Bound<'py, PyArray1<f64>>,
    ) {
        let all = &self.found.annotators;
        (
            PyArray1::from_iter(py, all.iter().map(|one| one.answers as i64)),
            PyArray1::from_iter(py, all.iter().map(|one| one.quality)),
            PyArray1::from_iter(py, all.iter().map(|one| one.interval.0)),
            PyArray1::from_iter(py, all.iter().map(|one| one.interval.1)),
            PyArray1::from_iter(py, all.iter().map(|one| one.agreement.unwrap_or(f64::NAN))),
        )
    }

    /// Every answer that counts: row, annotator, label, and the probability that it is right.
    #[allow(clippy::type_complexity)]
    fn answers<'py>(
        &self,
        py: Python<'py>,
    ) -> (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>)
    {
        let (all, classes) = (self.answers.all(), self.answers.classes());
        let right = |answer: &Answer| self.found.posterior[answer.row * classes + answer.label as usize];
        (
            PyArray1::from_iter(py, all.iter().map(|answer| answer.row as i64)),
            PyArray1::from_iter(py, all.iter().map(|answer| answer.annotator as i64)),
            PyArray1::from_iter(py, all.iter().map(|answer| i64::from(answer.label))),
            PyArray1::from_iter(py, all.iter().map(right)),
        )
    }

    /// One annotator's matrix, `[true][answered]`.
    fn confusion<'py>(&self, py: Python<'py>, annotator: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (annotators, classes) = (self.answers.annotators(), self.answers.classes());
        if annotator >= annotators {
            let allowed = format!("below {annotators}");
            return Err(refused(tares_core::Error::value("annotator", allowed, annotator)));
        }
        self.found.confusion(&self.answers, annotator).to_pyarray(py).reshape([classes, classes])
    }

    /// The matrix that all annotators share, `[true][answered]`.
    fn shared<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let classes = self.answers.classes();
        self.found.shared.to_pyarray(py).reshape([classes, classes])
    }

    /// How often each pair of annotators agrees where both answered; NaN where they share no row.
    fn agreement<'py>(&self, py: Python<'py>, annotators: Vec<usize>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        if let Some(&who) = annotators.iter().find(|&&who| who >= self.answers.annotators()) {
            let allowed = format!("below {}", self.answers.annotators());
            return Err(refused(tares_core::Error::value("annotator", allowed, who)));
        }
        let found = Agreement::of(&self.answers, &annotators);
        let share = |one: usize, other: usize| found.share(one, other).unwrap_or(f64::NAN);
        let count = annotators.len();
        let rows: Vec<Vec<f64>> = (0..count).map(|one| (0..count).map(|other| share(one, other)).collect()).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// The fraction of pairs of answers to one row that agree.
    #[getter]
    fn pair_agreement(&self) -> Option<f64> {
        pair_agreement(&self.answers)
    }

    /// Answers that a later one of the same annotator to the same row replaced.
    #[getter]
    fn replaced(&self) -> usize {
        self.answers.replaced()
    }

    /// The sharpness given to the probabilities, if there were some.
    #[getter]
    fn sharpness(&self) -> Option<f64> {
        self.found.sharpness
    }
}
