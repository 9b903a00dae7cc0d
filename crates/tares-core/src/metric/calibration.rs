//! Is a model right as often as it says it is?

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};

/// Expected calibration error: predictions are put into `bins` by confidence (the largest probability), equally wide over
/// [0, 1]; the mean gap between confidence and accuracy of the bins, weighted by how many samples they hold.
///
/// ```
/// use tares_core::metric::calibration_error;
/// // Sure of itself both times, right once: the gap is 0.9 − 0.5.
/// let gap = calibration_error(&[0.9, 0.1, 0.9, 0.1], &[0, 1], 2, 10)?;
/// assert!((gap - 0.4).abs() < 1e-12);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Lengths that don't fit; nothing to compare; no bins; labels outside 0..K; probabilities outside [0, 1].
pub fn calibration_error(probabilities: &[f64], truth: &[Label], classes: usize, bins: usize) -> Result<f64> {
    if truth.is_empty() {
        return Err(Error::empty("true labels"));
    }
    if bins == 0 {
        return Err(Error::value("number of bins", "at least 1", 0));
    }
    same_length("probabilities", truth.len() * classes, probabilities.len())?;
    check_labels("true label", truth, classes)?;
    if let Some(place) = probabilities.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(Error::value("probability", "in [0, 1]", probabilities[place]).at(format!(
            "row {}, class {}",
            place / classes,
            place % classes
        )));
    }
    let mut gaps = vec![0.0; bins];
    for (row, &label) in probabilities.chunks_exact(classes).zip(truth) {
        let (mut best, mut confidence) = (0, row[0]);
        for (class, &p) in row.iter().enumerate().skip(1) {
            if p > confidence {
                (best, confidence) = (class, p);
            }
        }
        let bin = ((confidence * bins as f64).ceil() as usize).clamp(1, bins) - 1; // (0, 0.1], (0.1, 0.2], …
        gaps[bin] += confidence - f64::from(best == label as usize);
    }
    Ok(gaps.iter().map(|gap| gap.abs()).sum::<f64>() / truth.len() as f64)
}
