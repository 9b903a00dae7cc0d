//! Truncated hinge (Wu & Liu 2007): `min(max(0, 1 − u), cap)`, cap ≥ 1. A single outlier costs at most the cap.

use super::hinge;

/// `min(max(0, 1 − u), cap)`.
pub fn value(margin: f64, cap: f64) -> f64 {
    hinge::value(margin).min(cap)
}

/// −1 between the cap and u = 1, 0 elsewhere: beyond the cap a sample no longer pulls.
pub fn derivative(margin: f64, cap: f64) -> f64 {
    if hinge::value(margin) < cap { hinge::derivative(margin) } else { 0.0 }
}
