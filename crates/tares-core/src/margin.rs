//! Classification margins and the 0-1 loss.
//!
//! The margin u says by how much a sample is on the right side: u < 0 is misclassified. Two classes: `u = ŷ·y` with
//! y = ±1. K classes: `u = t_y − max_{i≠y} t_i` over the logits t.

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};

/// The margin of one sample among K ≥ 2 classes: `t_y − max_{i≠y} t_i`.
///
/// ```
/// use tares_core::margin::margin;
/// assert_eq!(margin(&[2.0f32, 1.0, 0.0], 0), 1.0);
/// assert_eq!(margin(&[0.0f32, 2.0, 0.0], 0), -2.0);
/// ```
///
/// # Panics
/// If there are fewer than two logits or `label` is not one of them; [`margins`] checks instead.
pub fn margin<R: Copy + Into<f64>>(logits: &[R], label: Label) -> f64 {
    let (own, best_other) = own_and_best_other(logits, label);
    own - logits[best_other].into()
}

/// The margins of N samples, `logits` row after row.
///
/// # Errors
/// K < 2; lengths that don't fit; labels outside 0..K; logits that are NaN.
pub fn margins<R: Copy + Into<f64>>(logits: &[R], labels: &[Label], classes: usize) -> Result<Vec<f64>> {
    check_rows(logits, labels, classes)?;
    Ok(logits.chunks_exact(classes).zip(labels).map(|(row, &label)| margin(row, label)).collect())
}

/// Checks rows of logits against their labels.
pub(crate) fn check_rows<R: Copy + Into<f64>>(logits: &[R], labels: &[Label], classes: usize) -> Result<()> {
    if classes < 2 {
        return Err(Error::value("number of classes", "at least 2", classes));
    }
    same_length("logits", labels.len().saturating_mul(classes), logits.len())?;
    check_labels("label", labels, classes)?;
    match logits.iter().position(|&logit| logit.into().is_nan()) {
        Some(place) => Err(Error::value("logit", "a number", "NaN").at(format!(
            "row {}, class {}",
            place / classes,
            place % classes
        ))),
        None => Ok(()),
    }
}

/// The margin for two classes told apart by the sign of one number: `ŷ·y`, y = +1 if `positive`, else −1.
pub fn binary_margin(prediction: f64, positive: bool) -> f64 {
    if positive { prediction } else { -prediction }
}

/// The 0-1 loss of a margin: 1 if u < 0, else 0.
pub fn zero_one(margin: f64) -> f64 {
    f64::from(margin < 0.0)
}

/// `J(u) = Σ 1(u_i < 0)`: the number of misclassified samples.
pub fn misclassified(margins: &[f64]) -> usize {
    margins.iter().filter(|margin| **margin < 0.0).count()
}

/// The label's own logit and the position of the largest other one (the first of equals).
pub(crate) fn own_and_best_other<R: Copy + Into<f64>>(logits: &[R], label: Label) -> (f64, usize) {
    let label = label as usize;
    assert!(logits.len() >= 2 && label < logits.len(), "{} logits, label {label}", logits.len());
    let mut best = usize::from(label == 0);
    for other in (best + 1..logits.len()).filter(|&other| other != label) {
        if logits[other].into() > logits[best].into() {
            best = other;
        }
    }
    (logits[label].into(), best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_label_itself_is_never_the_rival() {
        assert_eq!(margin(&[5.0, 1.0], 0), 4.0);
        assert_eq!(margin(&[5.0, 1.0], 1), -4.0);
        assert_eq!(margin(&[-1.0, -2.0, -3.0], 2), -2.0);
    }

    #[test]
    fn margins_say_where_the_input_is_wrong() {
        let say = |r: Result<Vec<f64>>| r.unwrap_err().to_string();
        assert_eq!(say(margins(&[0.0], &[0], 1)), "number of classes must be at least 2, got 1");
        assert_eq!(say(margins(&[0.0; 4], &[0, 7], 2)), "label must be in 0..2, got 7 at row 1");
        assert_eq!(say(margins(&[0.0; 3], &[0, 1], 2)), "logits must have 4 entries, got 3");
        assert_eq!(say(margins(&[0.0, f64::NAN], &[0], 2)), "logit must be a number, got NaN at row 0, class 1");
    }

    #[test]
    fn two_classes_agree_with_the_binary_margin() {
        for (logits, label) in [([0.3, -0.9], 0), ([0.3, -0.9], 1)] {
            let prediction = logits[0] - logits[1];
            assert_eq!(margin(&logits, label), binary_margin(prediction, label == 0));
        }
    }
}
