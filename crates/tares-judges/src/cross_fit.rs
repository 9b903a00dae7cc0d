//! A judge's predictions for rows that it was not trained on.

/// The result of fitting a judge once per fold.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossFit<S> {
    /// N × K out-of-fold log-probabilities, row after row.
    pub log_probs: Vec<f64>,
    /// The one setting chosen on them (strength of the penalty, number of rounds). It is a single number chosen on all
    /// rows, so no row's own label decides its prediction.
    pub setting: S,
}

/// Writes the rows of one fold to their places.
pub(crate) fn scatter(into: &mut [f64], rows: &[usize], from: &[f64], classes: usize) {
    for (&row, values) in rows.iter().zip(from.chunks_exact(classes)) {
        into[row * classes..][..classes].copy_from_slice(values);
    }
}
