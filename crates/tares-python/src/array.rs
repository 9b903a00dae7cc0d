//! NumPy arrays from Python, read without a copy.
//!
//! The package passes C-contiguous arrays of the right type (`python/tares/_inputs.py` converts others once).

use numpy::ndarray::Dimension;
use numpy::{Element, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2, PyReadwriteArray2, PyUntypedArrayMethods};
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
            Self::Narrow(array) => Rows::Narrow(in_order(array)?, array.as_array().ncols()),
            Self::Wide(array) => Rows::Wide(in_order(array)?, array.as_array().ncols()),
        })
    }
}

/// Labels as the core's type.
///
/// # Errors
/// An array that is not contiguous.
pub fn labels<'a>(array: &'a PyReadonlyArray1<'_, Label>) -> PyResult<&'a [Label]> {
    in_order(array)
}

/// The numbers of an array, row after row.
///
/// # Errors
/// An array that is not C-contiguous. (`as_slice` alone also gives column-major arrays, column after column.)
pub fn in_order<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    match array.as_slice() {
        Ok(values) if array.is_c_contiguous() => Ok(values),
        _ => Err(scattered()),
    }
}

/// The same to be written to.
///
/// # Errors
/// An array that is not C-contiguous.
pub fn in_order_mut<'a, T: Element>(array: &'a mut PyReadwriteArray2<'_, T>) -> PyResult<&'a mut [T]> {
    if !array.is_c_contiguous() {
        return Err(scattered());
    }
    array.as_slice_mut().map_err(|_| scattered())
}

fn scattered() -> PyErr {
    PyTypeError::new_err("arrays must be C-contiguous here; numpy.ascontiguousarray makes one")
}
