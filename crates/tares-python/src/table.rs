//! Columns and arrays from Python as rows of the program.

use crate::array::{in_order, labels};
use crate::call::{run, unread};
use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray4, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use tares_core::{Dataset, Features, Label, Shape};
use tares_data::Reading;
use tares_data::memory::{InMemory, new_table};
use tares_data::table::{Column, Values};

/// The code of a label or a text that is missing.
pub const MISSING: u32 = u32::MAX;

/// The cells of one column.
#[derive(FromPyObject)]
pub enum ColumnCells<'py> {
    /// Numbers, NaN where there is none.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// A code per row, [`MISSING`] where there is no text, and what the codes stand for.
    Texts(PyReadonlyArray1<'py, u32>, Vec<String>),
}

/// Rows as Python has them.
#[derive(FromPyObject)]
pub enum PyRows<'py> {
    /// Columns with names.
    Table(Vec<(String, ColumnCells<'py>)>),
    /// Features that a network computed for each row.
    Features(PyReadonlyArray2<'py, f32>),
    /// Pictures of bytes, `[row][channel][height][width]`.
    Bytes(PyReadonlyArray4<'py, u8>),
    /// Pictures of floats.
    Floats(PyReadonlyArray4<'py, f32>),
}

impl PyRows<'_> {
    /// Training rows. `given` has [`MISSING`] where a row has no label.
    ///
    /// # Errors
    /// What the rows hold does not fit.
    pub fn read(
        &self,
        py: Python<'_>,
        given: &PyReadonlyArray1<'_, Label>,
        classes: Vec<String>,
        ids: Option<Vec<String>>,
        texts: &[String],
    ) -> PyResult<InMemory> {
        let given: Vec<Option<Label>> =
            labels(given)?.iter().map(|&label| (label != MISSING).then_some(label)).collect();
        let (columns, array) = (self.columns()?, self.array()?);
        run(py, || match array {
            None => InMemory::table(copied(&columns)?, &given, classes, ids, texts).map_err(unread),
            Some((features, shape)) => InMemory::array(features, shape, &given, classes).map_err(unread),
        })
    }

    /// Rows to predict, read as the training rows were.
    ///
    /// # Errors
    /// Rows of another kind or shape; a column that is not there.
    pub fn new_rows(&self, py: Python<'_>, rows: usize, reading: &Reading) -> PyResult<Dataset> {
        let (columns, array) = (self.columns()?, self.array()?);
        run(py, || match array {
            None => new_table(copied(&columns)?, rows, reading).map_err(unread),
            Some((features, shape)) => {
                let made = InMemory::array(features, shape, &vec![Some(0); rows], reading.class_names.clone());
                Ok(made.map_err(unread)?.train)
            }
        })
    }

    fn array(&self) -> PyResult<Option<(Features, Shape)>> {
        let image = |shape: &[usize]| Shape::Image { channels: shape[1], height: shape[2], width: shape[3] };
        Ok(match self {
            Self::Table(_) => None,
            Self::Features(values) => {
                let width = values.as_array().ncols();
                Some((in_order(values)?.to_vec().into(), Shape::Flat(width)))
            }
            Self::Bytes(values) => Some((in_order(values)?.to_vec().into(), image(values.shape()))),
            Self::Floats(values) => Some((in_order(values)?.to_vec().into(), image(values.shape()))),
        })
    }

    fn columns(&self) -> PyResult<Vec<(&str, Cells<'_>)>> {
        let Self::Table(columns) = self else { return Ok(Vec::new()) };
        let mut borrowed = Vec::with_capacity(columns.len());
        for (name, cells) in columns {
            let cells = match cells {
                ColumnCells::Numbers(numbers) => Cells::Numbers(in_order(numbers)?),
                ColumnCells::Texts(codes, levels) => Cells::Texts(in_order(codes)?, levels),
            };
            borrowed.push((name.as_str(), cells));
        }
        Ok(borrowed)
    }
}

/// The cells of a column where Python has them.
enum Cells<'a> {
    Numbers(&'a [f64]),
    Texts(&'a [u32], &'a [String]),
}

/// The columns as `tares-data` wants them. Many numbers are copied, so all threads do it.
fn copied(columns: &[(&str, Cells<'_>)]) -> PyResult<Vec<Column>> {
    let column = |(name, cells): &(&str, Cells<'_>)| {
        let values = match *cells {
            Cells::Numbers(numbers) => Values::Numbers(numbers.to_vec()),
            Cells::Texts(codes, levels) => {
                if !codes.iter().all(|&code| code == MISSING || (code as usize) < levels.len()) {
                    return Err(PyValueError::new_err(format!("column \"{name}\": a code without a text")));
                }
                Values::Text { codes: codes.to_vec(), levels: levels.to_vec() }
            }
        };
        Ok(Column::new((*name).to_owned(), values))
    };
    columns.par_iter().map(column).collect()
}
