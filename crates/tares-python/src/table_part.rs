//! The two halves of an audit on a table that the machine reads itself, with the program's own readers: nothing but its name comes
//! from the cluster.

use crate::call::{refused, run_alone, unread};
use crate::parts::{SuspectColumns, missing, suspect_columns};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::path::PathBuf;
use tares_core::Label;
use tares_core::audit::{AuditPart, Score};
use tares_core::estimate::{Draw, DrawnRows, MissingRows, Posterior};
use tares_data::probabilities::{self, ClassTables, FileRows, ProbabilityTables, TableIds, TableLayout, TableOptions};

/// The tables that files, folders and patterns mean, in order.
#[pyfunction]
pub fn find_tables(named: Vec<PathBuf>) -> PyResult<Vec<PathBuf>> {
    probabilities::find_tables(&named).map_err(unread)
}

/// Which of `width` columns, perhaps with names, is which class: the classes, the class of every label, the column of every class.
#[pyfunction]
pub fn agree_names(
    labels: Vec<String>,
    columns: Option<Vec<String>>,
    width: usize,
) -> PyResult<(Vec<String>, HashMap<String, Label>, Vec<usize>)> {
    let (layout, columns) = TableLayout::of_names(labels, columns, width).map_err(PyValueError::new_err)?;
    Ok((layout.classes, layout.places, columns))
}

/// One table of many, and which of its columns are what. Nothing is read before it is asked for.
#[pyclass(frozen, module = "tares._tares")]
pub struct TablePart {
    path: PathBuf,
    label: Option<String>,
    id: String,
    seed: u64,
    missing: MissingRows,
}

/// The ids of suspects: their texts one after the other, and where each ends.
type Ids<'py> = (Bound<'py, PyBytes>, Vec<i32>);

/// Classes, the class of every label, the names of the columns.
type Layout = (Vec<String>, HashMap<String, Label>, Option<Vec<String>>);

#[pymethods]
impl TablePart {
    #[new]
    fn new(path: PathBuf, label: Option<String>, id: String, seed: u64, skip_missing: bool) -> Self {
        Self { path, label, id, seed, missing: missing(skip_missing) }
    }

    /// The different labels and the rows of each; nothing if the table has no rows.
    fn label_counts(&self, py: Python<'_>) -> PyResult<Vec<(String, usize)>> {
        run_alone(py, || Ok(self.open()?.map_or_else(Vec::new, |tables| tables.label_counts())))
    }

    /// What this table shares with all others, if their labels are `names`; and whether ids are whole numbers.
    fn layout(&self, py: Python<'_>, names: Vec<String>) -> PyResult<(Layout, bool)> {
        run_alone(py, || {
            let tables = self.open()?.ok_or_else(|| PyValueError::new_err("given labels must not be empty"))?;
            let TableLayout { classes, places, columns } = tables.layout(names).map_err(unread)?;
            Ok(((classes, places, columns), tables.ids().is_some_and(TableIds::are_whole)))
        })
    }

    /// The rows that are drawn from this table, as bytes. `counts` are the rows of every class in all tables.
    fn drawn<'py>(&self, py: Python<'py>, layout: Layout, counts: Vec<usize>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = run_alone(py, || {
            let Some((tables, ids)) = self.with_layout(layout)? else { return Ok(None) };
            let (draw, given, file) = (Draw::of(&counts).map_err(refused)?, &tables.agreed.given, &tables.file);
            let drawn = match file.is_narrow() {
                true => DrawnRows::of_part(&FileRows::<f32>::of(file), given, &ids, &draw, self.missing),
                false => DrawnRows::of_part(&FileRows::<f64>::of(file), given, &ids, &draw, self.missing),
            };
            drawn.and_then(|drawn| drawn.to_bytes()).map(Some).map_err(|error| self.refused(&error))
        })?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    /// Judges every row: the suspects, their ids, and the counts as bytes.
    fn judge<'py>(
        &self,
        py: Python<'py>,
        layout: Layout,
        model: &[u8],
        score: &str,
    ) -> PyResult<Option<(SuspectColumns<'py>, Ids<'py>, Bound<'py, PyBytes>)>> {
        let score: Score = score.parse().map_err(refused)?;
        let model = Posterior::from_bytes(model).map_err(refused)?;
        let judged = run_alone(py, || {
            let Some((tables, ids)) = self.with_layout(layout)? else { return Ok(None) };
            let (given, file) = (&tables.agreed.given, &tables.file);
            let part = match file.is_narrow() {
                true => AuditPart::judge(&model, 0, &FileRows::<f32>::of(file), given, score, self.missing),
                false => AuditPart::judge(&model, 0, &FileRows::<f64>::of(file), given, score, self.missing),
            };
            let AuditPart { counts, suspects } = part.map_err(|error| self.refused(&error))?;
            let counts = counts.to_bytes().map_err(|error| self.refused(&error))?;
            let rows: Vec<usize> = suspects.iter().map(|suspect| suspect.index).collect();
            let names = ids.of_rows(Some(&rows)).map_err(unread)?;
            let (mut text, mut ends) = (String::new(), Vec::with_capacity(rows.len()));
            for row in rows {
                text.push_str(names.name(row).unwrap_or_default());
                let end = i32::try_from(text.len());
                ends.push(end.map_err(|_| PyValueError::new_err("ids of the suspects of a table must fit into 2 GB"))?);
            }
            Ok(Some((counts, suspects, text, ends)))
        })?;
        Ok(judged.map(|(counts, suspects, text, ends)| {
            let ids = (PyBytes::new(py, text.as_bytes()), ends);
            (suspect_columns(py, &suspects), ids, PyBytes::new(py, &counts))
        }))
    }
}

impl TablePart {
    /// Nothing if the table has no rows.
    fn open(&self) -> PyResult<Option<ProbabilityTables>> {
        let options =
            TableOptions { label: self.label.as_deref(), id: Some(&self.id), seed: self.seed, missing: self.missing };
        ProbabilityTables::open_part(&self.path, options).map_err(unread)
    }

    fn with_layout(&self, (classes, places, columns): Layout) -> PyResult<Option<(ClassTables, TableIds)>> {
        let Some(tables) = self.open()? else { return Ok(None) };
        let mut tables = tables.with_layout(&TableLayout { classes, places, columns }).map_err(unread)?;
        let ids = tables.ids.take().ok_or_else(|| PyValueError::new_err("rows must have ids"))?;
        Ok(Some((tables, ids)))
    }

    /// An error of the core about a row, with the name of the table.
    fn refused(&self, error: &tares_core::Error) -> PyErr {
        PyValueError::new_err(format!("{}: {error}", self.path.display()))
    }
}
