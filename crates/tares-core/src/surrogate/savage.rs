//! Savage loss (Masnadi-Shirazi & Vasconcelos 2009), scaled by 4: `4 / (1 + e^u)²`. Bounded, not convex.

/// `4 / (1 + e^u)²`.
pub fn value(margin: f64) -> f64 {
    4.0 / (1.0 + margin.exp()).powi(2)
}

/// `−8 e^u / (1 + e^u)³ = −8 p² (1 − p)` with p = 1 / (1 + e^u): finite for every margin.
pub fn derivative(margin: f64) -> f64 {
    let p = 1.0 / (1.0 + margin.exp());
    -8.0 * p * p * (1.0 - p)
}
