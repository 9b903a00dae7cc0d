//! Logistic loss in base 2: `log₂(1 + e^{−u})`, which is exactly 1 at u = 0 and so bounds the 0-1 loss.

use std::f64::consts::LN_2;

/// `log₂(1 + e^{−u})`, written so that neither exponential overflows.
pub fn value(margin: f64) -> f64 {
    ((-margin).max(0.0) + (-margin.abs()).exp().ln_1p()) / LN_2
}

/// `−1 / ((1 + e^u) ln 2)`.
pub fn derivative(margin: f64) -> f64 {
    -1.0 / ((1.0 + margin.exp()) * LN_2)
}
