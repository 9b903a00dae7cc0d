//! Figures over seeds and epochs.

use crate::error::{Error, Result};

/// Mean and sample standard deviation over seeds.
///
/// ```
/// use tares_core::metric::MeanStd;
/// let over_seeds = MeanStd::of(&[0.90, 0.92, 0.94])?;
/// assert!((over_seeds.mean - 0.92).abs() < 1e-12);
/// assert!((over_seeds.std.unwrap() - 0.02).abs() < 1e-12);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanStd {
    /// How many values.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation with n − 1 in the denominator; one value has none.
    pub std: Option<f64>,
}

impl MeanStd {
    /// Summarises.
    ///
    /// # Errors
    /// No values.
    pub fn of(values: &[f64]) -> Result<Self> {
        if values.is_empty() {
            return Err(Error::empty("values to summarise"));
        }
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Ok(Self { count, mean, std: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()) })
    }
}

/// The mean of the last `k` values, or of all if there are fewer: the paper's figure is that of the last ten epochs.
///
/// # Errors
/// No values; `k` = 0.
pub fn mean_of_last(values: &[f64], k: usize) -> Result<f64> {
    if k == 0 {
        return Err(Error::value("number of epochs to average", "at least 1", 0));
    }
    Ok(MeanStd::of(&values[values.len().saturating_sub(k)..])?.mean)
}
