//! NumPy arrays from Python, read without a copy.
//!
//! The package passes C-contiguous arrays of the right type (`python/tares/_inputs.py` converts others once).

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use tares_core::Label;

/// N × K probabilities of either width.
#[derive(FromPyObject)]
pub enum Probs<'py> {
    /// 32 bits.
    Narrow(PyReadonlyArray2<'py, f32>),
    /// 64 bits.
    Wide(PyReadonlyArray2<'py, f64>),
}

/// The numbers of an array, row after row, and how many columns it has.
pub enum Rows<'a> {
    /// 32 bits.
    Narrow(&'a [f32], usize),
    /// 64 bits.
    Wide(&'a [f64], usize),
}

impl Probs<'_> {
    /// The numbers, without a copy.
    ///
    /// # Errors
    /// An array that is not C-contiguous.
    pub fn rows(&self) -> PyResult<Rows<'_>> {
        Ok(match self {
            Self::Narrow(array) => Rows::Narrow(array.as_slice().map_err(scattered)?, array.as_array().ncols()),
            Self::Wide(array) => Rows::Wide(array.as_slice().map_err(scattered)?, array.as_array().ncols()),
        })
    }
}

/// Labels as the core's type.
///
/// # Errors
/// An array that is not contiguous.
pub fn labels<'a>(array: &'a PyReadonlyArray1<'_, Label>) -> PyResult<&'a [Label]> {
    array.as_slice().map_err(scattered)
}

/// The error for an array that is not contiguous.
pub fn scattered(_: numpy::AsSliceError) -> PyErr {
    PyTypeError::new_err("arrays must be C-contiguous here; numpy.ascontiguousarray makes one")
}
