//! `corrupt`: wrong labels on purpose, the same bits as `tares corrupt`.

use crate::array::{in_order, labels};
use crate::call::{refused, run};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use tares_core::{Dataset, Label, Noise, Shape, Transition};

/// New labels, drawn from stream `"noise"` of `seed`. `matrix` is `[true][given]` and replaces `noise`; `features` are the rows, for noise
/// that depends on them.
#[pyfunction]
pub fn corrupt<'py>(
    py: Python<'py>,
    given: PyReadonlyArray1<'py, Label>,
    classes: usize,
    noise: &str,
    seed: u64,
    matrix: Option<PyReadonlyArray2<'py, f64>>,
    features: Option<PyReadonlyArray2<'py, f32>>,
) -> PyResult<Bound<'py, PyArray1<Label>>> {
    let noise = match matrix {
        Some(matrix) => {
            let rows = matrix.as_array().outer_iter().map(|row| row.to_vec()).collect();
            Noise::Matrix(Transition::new(rows).map_err(refused)?)
        }
        None => noise.parse().map_err(refused)?,
    };
    let given = labels(&given)?;
    let (values, width) = match &features {
        Some(features) => (in_order(features)?.to_vec(), features.as_array().ncols()),
        None => (vec![0.0; given.len()], 1),
    };
    let noisy = run(py, || {
        let names = (0..classes).map(|class| class.to_string());
        let data = Dataset::new(values, Shape::Flat(width), given.to_vec(), names).map_err(refused)?;
        Ok(noise.corrupt(&data, seed).map_err(refused)?.data.given().to_vec())
    })?;
    Ok(PyArray1::from_vec(py, noisy))
}
