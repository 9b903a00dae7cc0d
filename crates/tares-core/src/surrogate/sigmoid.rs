//! Sigmoid loss: `2 / (1 + e^u)`. Bounded by 2, not convex.

/// `2 / (1 + e^u)`.
pub fn value(margin: f64) -> f64 {
    2.0 / (1.0 + margin.exp())
}

/// `−2 e^u / (1 + e^u)²`, symmetric in u, so the exponential that cannot overflow serves both sides.
pub fn derivative(margin: f64) -> f64 {
    let small = (-margin.abs()).exp();
    -2.0 * small / (1.0 + small).powi(2)
}
