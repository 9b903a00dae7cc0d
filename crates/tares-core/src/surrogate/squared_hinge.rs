//! Squared hinge: `max(0, 1 − u)²`. Smooth at u = 1, and harder still on outliers than the hinge.

use super::hinge;

/// `max(0, 1 − u)²`.
pub fn value(margin: f64) -> f64 {
    hinge::value(margin).powi(2)
}

/// `−2 max(0, 1 − u)`.
pub fn derivative(margin: f64) -> f64 {
    -2.0 * hinge::value(margin)
}
