//! Theorem 1 (Hu et al. 2018): the 0-1 risk and its worst case over all reweightings of the samples that stay within
//! an f-divergence ball rise and fall together.
//!
//! ```text
//! R̂     = 1/n Σ l_i
//! R̂_adv = sup over r ≥ 0, mean(r) = 1, mean(f(r)) ≤ δ of  1/n Σ r_i l_i
//! ```
//!
//! For 0-1 losses the supremum needs no search over n weights: f is convex, so giving all wrong samples one weight and
//! all right ones another is never worse. With ρ = R̂ and q = R̂_adv it is the largest q in [ρ, 1] with
//! `ρ f(q/ρ) + (1−ρ) f((1−q)/(1−ρ)) ≤ δ`: closed for χ² and total variation, one root for KL.

use crate::error::{Error, Result};
use std::fmt;
use std::str::FromStr;

/// The divergence that bounds how far the test distribution may be from the training one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Divergence {
    /// Kullback–Leibler: f(r) = r log r.
    Kl,
    /// Pearson χ²: f(r) = (r − 1)².
    ChiSquared,
    /// Total variation: f(r) = |r − 1| / 2.
    TotalVariation,
}

impl Divergence {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Kl, Self::ChiSquared, Self::TotalVariation];

    /// f(r), convex with f(1) = 0.
    pub fn f(self, r: f64) -> f64 {
        match self {
            Self::Kl if r == 0.0 => 0.0,
            Self::Kl => r * r.ln(),
            Self::ChiSquared => (r - 1.0).powi(2),
            Self::TotalVariation => (r - 1.0).abs() / 2.0,
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kl => "kl",
            Self::ChiSquared => "chi-squared",
            Self::TotalVariation => "total-variation",
        })
    }
}

impl FromStr for Divergence {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|divergence| divergence.to_string() == text)
            .ok_or_else(|| Error::unknown("divergence", text, &["kl", "chi-squared", "total-variation"]))
    }
}

/// The worst reweighting: its risk, and the weight of each wrong and each right sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstCase {
    /// `R̂_adv`.
    pub risk: f64,
    /// r_i of every misclassified sample.
    pub weight_wrong: f64,
    /// r_i of every correctly classified sample.
    pub weight_right: f64,
}

/// The empirical 0-1 risk: the part of misclassified samples.
///
/// # Errors
/// No samples.
pub fn risk(wrong: &[bool]) -> Result<f64> {
    if wrong.is_empty() {
        return Err(Error::empty("samples"));
    }
    Ok(wrong.iter().filter(|wrong| **wrong).count() as f64 / wrong.len() as f64)
}

/// The empirical adversarial 0-1 risk in the ball of size `delta`.
///
/// ```
/// use tares_core::risk::{Divergence, adversarial_risk};
/// let worst = adversarial_risk(&[true, false, false, false], Divergence::TotalVariation, 0.25)?;
/// assert_eq!(worst.risk, 0.5);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// No samples; a `delta` that is negative or not finite.
pub fn adversarial_risk(wrong: &[bool], divergence: Divergence, delta: f64) -> Result<WorstCase> {
    let rho = risk(wrong)?;
    if !(delta >= 0.0 && delta.is_finite()) {
        return Err(Error::value("size of the divergence ball", "a finite number >= 0", delta));
    }
    if rho == 0.0 || rho == 1.0 {
        return Ok(WorstCase { risk: rho, weight_wrong: 1.0, weight_right: 1.0 });
    }
    let risk = match divergence {
        Divergence::ChiSquared => (rho + (delta * rho * (1.0 - rho)).sqrt()).min(1.0),
        Divergence::TotalVariation => (rho + delta).min(1.0),
        Divergence::Kl => largest_within_kl(rho, delta),
    };
    Ok(WorstCase { risk, weight_wrong: risk / rho, weight_right: (1.0 - risk) / (1.0 - rho) })
}

/// The largest q in [ρ, 1] with KL(q ‖ ρ) ≤ δ, to the last bit: bisection until no f64 lies between.
fn largest_within_kl(rho: f64, delta: f64) -> f64 {
    let f = |r: f64| Divergence::Kl.f(r);
    let divergence = |q: f64| rho * f(q / rho) + (1.0 - rho) * f((1.0 - q) / (1.0 - rho));
    if divergence(1.0) <= delta {
        return 1.0;
    }
    let (mut inside, mut outside) = (rho, 1.0);
    loop {
        let middle = 0.5 * (inside + outside);
        if middle <= inside || middle >= outside {
            return inside;
        }
        if divergence(middle) <= delta { inside = middle } else { outside = middle }
    }
}
