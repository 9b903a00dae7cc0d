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

/// How many of a run's last epochs its final figures average: ten, as in the paper, but at most a quarter of the run, so
/// that the first epochs of a short run don't count.
///
/// ```
/// use tares_core::metric::last_epochs;
/// assert_eq!([1, 3, 10, 20, 40, 200].map(last_epochs), [1, 1, 2, 5, 10, 10]);
/// ```
pub fn last_epochs(epochs: usize) -> usize {
    (epochs / 4).clamp(1, 10)
}

/// The mean of a figure over the [`last_epochs`] of a run. There is one entry per epoch; epochs without the figure are left
/// out. `None` if none of the last epochs has it.
///
/// ```
/// use tares_core::metric::mean_of_last;
/// let short = [Some(0.1), Some(0.4), Some(0.7), Some(0.9)];
/// assert_eq!(mean_of_last(&short), Some(0.9));
/// ```
pub fn mean_of_last(per_epoch: &[Option<f64>]) -> Option<f64> {
    let start = per_epoch.len().saturating_sub(last_epochs(per_epoch.len()));
    let last: Vec<f64> = per_epoch[start..].iter().copied().flatten().collect();
    MeanStd::of(&last).ok().map(|over| over.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_epochs_of_a_short_run_do_not_count() {
        // Ten epochs that start at chance: the mean of all ten would be 0.64.
        let rising: Vec<Option<f64>> = (0..10).map(|epoch| Some(0.1 + 0.8 * f64::from(epoch.min(3)) / 3.0)).collect();
        assert!((mean_of_last(&rising).unwrap() - 0.9).abs() < 1e-12);
        let long: Vec<Option<f64>> = (0..200).map(|epoch| Some(f64::from(epoch))).collect();
        assert_eq!(mean_of_last(&long), Some(194.5), "ten epochs of a long run");
        assert_eq!(mean_of_last(&[]), None);
        assert_eq!(mean_of_last(&[Some(1.0), Some(1.0), Some(1.0), None]), None);
    }
}
