//! The noise rate from a training history. The margin of the given label, averaged over epochs (the area under the margin,
//! Pleiss et al. 2020), is low for wrong labels: the other rows of the true class pull the network away from them.
//!
//! A mixture of two normal distributions is fitted to the averages by expectation maximisation. If one distribution explains
//! them as well (BIC), no label is called wrong.

use crate::error::{Error, Result};

/// How many labels are wrong, and which.
#[derive(Clone, Debug, PartialEq)]
pub struct MarginEstimate {
    /// The part of labels that are wrong.
    pub rate: f64,
    /// Where the rate lies: two standard errors of counting, and the expected number of rows on the wrong side.
    pub interval: (f64, f64),
    /// Probability that each label is wrong.
    pub wrong: Vec<f64>,
}

/// Splits mean margins into those of right and of wrong labels.
///
/// ```
/// use tares_core::estimate::margins::from_margins;
/// let margins: Vec<f64> = (0..100).map(|i| if i % 5 == 0 { -2.0 } else { 3.0 } + 0.01 * f64::from(i)).collect();
/// let found = from_margins(&margins)?;
/// assert!((found.rate - 0.2).abs() < 0.01);
/// assert!(found.wrong[0] > 0.99 && found.wrong[1] < 0.01);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Fewer than ten margins; margins that are not finite.
pub fn from_margins(mean_margins: &[f64]) -> Result<MarginEstimate> {
    if mean_margins.len() < 10 {
        return Err(Error::value("mean margins", "at least 10", mean_margins.len()));
    }
    if let Some(index) = mean_margins.iter().position(|margin| !margin.is_finite()) {
        return Err(Error::value("mean margin", "finite", mean_margins[index]).at(format!("row {index}")));
    }
    let rows = mean_margins.len() as f64;
    let one = Normal::of(mean_margins.iter().map(|&m| (m, 1.0)));
    let single: f64 = mean_margins.iter().map(|&m| one.density(m).ln()).sum();

    let mut sorted = mean_margins.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let quantile = |q: f64| sorted[((rows - 1.0) * q) as usize];
    // EM starts with one component at each end.
    let mut low = Normal { mean: quantile(0.05), deviation: one.deviation / 2.0, weight: 0.3 };
    let mut high = Normal { mean: quantile(0.75), deviation: one.deviation / 2.0, weight: 0.7 };
    let mut wrong = vec![0.0; mean_margins.len()];
    let mut double = f64::NEG_INFINITY;
    for _ in 0..200 {
        let mut likelihood = 0.0;
        for (p, &margin) in wrong.iter_mut().zip(mean_margins) {
            let (a, b) = (low.weight * low.density(margin), high.weight * high.density(margin));
            // A wide upper component must not claim the lowest margins, which lie left of the lower one.
            *p = if margin <= low.mean {
                1.0
            } else if margin >= high.mean {
                0.0
            } else {
                a / (a + b)
            };
            likelihood += (a + b).ln();
        }
        low = Normal::of(mean_margins.iter().zip(&wrong).map(|(&m, &p)| (m, p)));
        high = Normal::of(mean_margins.iter().zip(&wrong).map(|(&m, &p)| (m, 1.0 - p)));
        (low.weight, high.weight) = (low.weight / rows, high.weight / rows);
        // Neither component may shrink onto a single row.
        let least = one.deviation * 0.02 + f64::MIN_POSITIVE;
        (low.deviation, high.deviation) = (low.deviation.max(least), high.deviation.max(least));
        if (likelihood - double).abs() < 1e-9 * rows {
            break;
        }
        double = likelihood;
    }
    // The three additional parameters must lower the BIC, and wrong labels must have negative margins.
    if double - single < 1.5 * rows.ln() || low.mean >= 0.0 {
        wrong.fill(0.0);
    }
    Ok(MarginEstimate::of(wrong))
}

/// The same from what a training method itself believes: the probability that each label is right.
///
/// ```
/// use tares_core::estimate::margins::from_beliefs;
/// let found = from_beliefs(&[0.9, 1.0, 0.0, 0.9])?;
/// assert!((found.rate - 0.3).abs() < 1e-12 && found.wrong[2] == 1.0);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// No belief at all, or one outside [0, 1].
pub fn from_beliefs(right: &[f64]) -> Result<MarginEstimate> {
    if right.is_empty() {
        return Err(Error::empty("beliefs"));
    }
    if let Some(index) = right.iter().position(|belief| !(0.0..=1.0).contains(belief)) {
        return Err(Error::value("belief", "in [0, 1]", right[index]).at(format!("row {index}")));
    }
    Ok(MarginEstimate::of(right.iter().map(|belief| 1.0 - belief).collect()))
}

impl MarginEstimate {
    /// The same rate with an interval that is not narrower than what so many `rows` can tell of it.
    ///
    /// ```
    /// use tares_core::estimate::margins::from_beliefs;
    /// let found = from_beliefs(&[vec![1.0; 700], vec![0.0; 300]].concat())?;
    /// assert!(found.interval.0 > 0.27);
    /// let (low, high) = found.resting_on(50).interval;
    /// assert!(low < 0.2 && high > 0.4);
    /// # Ok::<(), tares_core::Error>(())
    /// ```
    #[must_use]
    pub fn resting_on(mut self, rows: usize) -> Self {
        let (low, high) = super::counting_interval(self.rate, rows);
        self.interval = (self.interval.0.min(low), self.interval.1.max(high));
        self
    }

    /// From the probability that each label is wrong.
    fn of(wrong: Vec<f64>) -> Self {
        let rows = wrong.len() as f64;
        let rate = wrong.iter().sum::<f64>() / rows;
        let doubt = wrong.iter().map(|p| p.min(1.0 - p)).sum::<f64>() / rows;
        let (low, high) = super::counting_interval(rate, wrong.len());
        Self { rate, interval: ((low - doubt).max(0.0), (high + doubt).min(1.0)), wrong }
    }
}

/// A component of the mixture.
struct Normal {
    mean: f64,
    deviation: f64,
    weight: f64,
}

impl Normal {
    fn of(weighted: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let weight: f64 = weighted.clone().map(|(_, w)| w).sum::<f64>().max(f64::MIN_POSITIVE);
        let mean = weighted.clone().map(|(x, w)| x * w).sum::<f64>() / weight;
        let variance = weighted.map(|(x, w)| w * (x - mean) * (x - mean)).sum::<f64>() / weight;
        Self { mean, deviation: variance.sqrt().max(1e-9), weight }
    }

    fn density(&self, x: f64) -> f64 {
        let z = (x - self.mean) / self.deviation;
        ((-0.5 * z * z).exp() / self.deviation / std::f64::consts::TAU.sqrt()).max(f64::MIN_POSITIVE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::stream;

    #[test]
    fn two_components_give_their_share() {
        for (rate, seed) in [(0.05, 1), (0.2, 2), (0.45, 3)] {
            let mut draws = stream(seed, "test");
            let margins: Vec<f64> = (0..5000)
                .map(|_| if draws.chance(rate) { draws.normal() - 2.0 } else { 4.0 + 1.5 * draws.normal() })
                .collect();
            let found = from_margins(&margins).unwrap();
            assert!((found.rate - rate).abs() < 0.02, "{rate}: {}", found.rate);
            assert!(found.interval.0 <= rate && rate <= found.interval.1);
        }
    }

    #[test]
    fn one_component_has_no_wrong_labels() {
        let mut draws = stream(5, "test");
        let margins: Vec<f64> = (0..3000).map(|_| 3.0 + draws.normal()).collect();
        assert_eq!(from_margins(&margins).unwrap().rate, 0.0);
        assert_eq!(from_margins(&[1.0; 20]).unwrap().rate, 0.0);
    }

    #[test]
    fn bad_margins_are_refused() {
        assert!(from_margins(&[1.0; 5]).is_err());
        assert!(from_margins(&[f64::NAN; 20]).is_err());
    }
}
