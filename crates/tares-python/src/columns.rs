//! What whole audits and audits in parts both return: figures per class, and the probabilities behind a suspect.

use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use tares_core::audit::{ClassQuality, Evidence, Suspect};

/// Per class: rows, suspects among them, rows that should have it, mean probability of the given label (NaN without rows).
pub type ClassColumns<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// The figures per class as columns.
pub fn class_columns<'py>(py: Python<'py>, classes: &[ClassQuality]) -> ClassColumns<'py> {
    let counts = |of: fn(&ClassQuality) -> usize| {
        classes.iter().map(|class| of(class) as i64).collect::<Vec<i64>>().to_pyarray(py)
    };
    let confidence: Vec<f64> = classes.iter().map(|class| class.self_confidence.unwrap_or(f64::NAN)).collect();
    (
        counts(|class| class.rows),
        counts(|class| class.suspects),
        counts(|class| class.missing),
        confidence.to_pyarray(py),
    )
}

/// The probabilities of a suspect's given and suggested label.
pub fn probabilities(suspect: &Suspect) -> (f64, f64) {
    match suspect.evidence {
        Evidence::Probabilities { given, suggested } => (given, suggested),
        // An audit of probabilities has no other evidence.
        Evidence::Training { .. } => (f64::NAN, f64::NAN),
    }
}
