//! Rows with the labels they were given: what a judge is fitted to.

use crate::error::{Result, same_length, value};
use crate::matrix::Matrix;
use tares_core::Label;

/// N rows, their given labels and, if wanted, how much each row counts.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// The inputs.
    pub inputs: &'a Matrix,
    /// The given labels, 0..`classes`.
    pub labels: &'a [Label],
    /// K, at least 2. A class may have no row.
    pub classes: usize,
    /// A weight per row: a row of weight 2 counts as two equal rows.
    pub weights: Option<&'a [f64]>,
    /// For every row the first row of its group. Rows of a group are held out together: copies of a row know its label.
    pub groups: Option<&'a [u32]>,
}

impl<'a> Labelled<'a> {
    /// Rows that all count alike.
    pub fn new(inputs: &'a Matrix, labels: &'a [Label], classes: usize) -> Self {
        Self { inputs, labels, classes, weights: None, groups: None }
    }

    /// Checks that everything fits together.
    ///
    /// # Errors
    /// No row; fewer than two classes; lengths that differ; labels outside 0..K; weights that are not finite and above 0; groups
    /// that are not named by their first row.
    pub fn check(&self) -> Result<()> {
        if self.labels.is_empty() {
            return Err(tares_core::Error::empty("list of rows").into());
        }
        if self.classes < 2 {
            return Err(value("number of classes", "at least 2", self.classes));
        }
        same_length("labels", self.inputs.rows(), self.labels.len())?;
        if let Some(row) = self.labels.iter().position(|&label| label as usize >= self.classes) {
            let allowed = format!("in 0..{}", self.classes);
            return Err(tares_core::Error::value("label", allowed, self.labels[row]).at(format!("row {row}")).into());
        }
        if let Some(weights) = self.weights {
            same_length("weights", self.labels.len(), weights.len())?;
            if let Some(row) = weights.iter().position(|weight| !(weight.is_finite() && *weight > 0.0)) {
                let error = tares_core::Error::value("weight", "a finite number > 0", weights[row]);
                return Err(error.at(format!("row {row}")).into());
            }
        }
        if let Some(groups) = self.groups {
            same_length("groups", self.labels.len(), groups.len())?;
            let first = |group: u32| groups.get(group as usize) == Some(&group);
            if let Some(row) = (0..groups.len()).find(|&row| groups[row] as usize > row || !first(groups[row])) {
                let error = tares_core::Error::value("group", "the first row of its group", groups[row]);
                return Err(error.at(format!("row {row}")).into());
            }
        }
        Ok(())
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }

    /// The weight of every class.
    pub(crate) fn class_weights(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.classes];
        for (row, &label) in self.labels.iter().enumerate() {
            totals[label as usize] += self.weight(row);
        }
        totals
    }
}

/// A copy of some rows of a [`Labelled`].
pub(crate) struct Part {
    pub(crate) inputs: Matrix,
    pub(crate) labels: Vec<Label>,
    weights: Option<Vec<f64>>,
    classes: usize,
}

impl Part {
    pub(crate) fn of(data: &Labelled<'_>, rows: &[usize]) -> Self {
        Self {
            inputs: data.inputs.select(rows),
            labels: rows.iter().map(|&row| data.labels[row]).collect(),
            weights: data.weights.map(|weights| rows.iter().map(|&row| weights[row]).collect()),
            classes: data.classes,
        }
    }

    pub(crate) fn labelled(&self) -> Labelled<'_> {
        Labelled {
            inputs: &self.inputs,
            labels: &self.labels,
            classes: self.classes,
            weights: self.weights.as_deref(),
            groups: None,
        }
    }
}
