//! Hinge: `H(u) = max(0, 1 − u)`. Convex; the base loss of the paper's experiments, and what samples are ranked by.

/// `max(0, 1 − u)`.
pub fn value(margin: f64) -> f64 {
    (1.0 - margin).max(0.0)
}

/// −1 below u = 1, 0 from there on.
pub fn derivative(margin: f64) -> f64 {
    if margin < 1.0 { -1.0 } else { 0.0 }
}
