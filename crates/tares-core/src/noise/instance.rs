//! Instance-dependent noise: samples that look alike are mislabelled alike.
//!
//! The recipe in common use (Xia et al. 2020, "Part-dependent label noise"). Each sample i draws its own flip rate
//! `q_i` from a normal distribution with mean `rate` and standard deviation 0.1, cut to [0, 1]. Each class y has a
//! random matrix `W_y` (features × K, standard normal); a flip goes to class j ≠ y with probability proportional to
//! `exp(x_i · W_y[j])`. Features are scaled to unit variance over the data set, so that the size of a picture doesn't
//! decide how concentrated flips are.

use crate::dataset::{Dataset, Row};
use crate::error::{Error, Result, unit_interval};
use crate::stream::Stream;

/// N rows of K probabilities: the distribution of each sample's given label.
///
/// # Errors
/// A rate outside [0, 1]; rows of texts alone.
pub fn probabilities(data: &Dataset, rate: f64, draws: &mut Stream) -> Result<Vec<f64>> {
    unit_interval("noise rate", rate)?;
    let (classes, size) = (data.classes(), data.shape().size());
    if size == 0 {
        return Err(Error::value("instance-dependent noise", "of rows with numbers", "rows of texts alone"));
    }
    let weights: Vec<f64> = (0..classes * classes * size).map(|_| draws.normal()).collect();
    let scale = Scale::of(data);
    let mut features = vec![0.0; size];
    let mut rows = Vec::with_capacity(data.len() * classes);
    for index in 0..data.len() {
        scale.apply(data.row(index), &mut features);
        let own = data.given()[index] as usize;
        let flip = flip_rate(rate, draws);
        let score = |other: usize| -> f64 {
            let column = &weights[(own * classes + other) * size..][..size];
            features.iter().zip(column).map(|(x, w)| x * w).sum()
        };
        let scores: Vec<f64> = (0..classes).map(|k| if k == own { f64::NEG_INFINITY } else { score(k) }).collect();
        let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = scores.iter().map(|score| (score - top).exp()).sum();
        rows.extend((0..classes).map(|k| if k == own { 1.0 - flip } else { flip * (scores[k] - top).exp() / total }));
    }
    Ok(rows)
}

/// Normal around `rate`, cut to [0, 1]; no spread at the ends, so that rate 0 flips nothing and rate 1 everything.
fn flip_rate(rate: f64, draws: &mut Stream) -> f64 {
    let spread = f64::min(0.1, f64::min(rate, 1.0 - rate));
    loop {
        let flip = rate + spread * draws.normal();
        if (0.0..=1.0).contains(&flip) {
            return flip;
        }
    }
}

/// Centres features and divides by √size · their overall standard deviation: scores become about standard normal.
struct Scale {
    mean: f64,
    factor: f64,
}

impl Scale {
    fn of(data: &Dataset) -> Self {
        let (mut sum, mut squares, mut number) = (0.0, 0.0, 0.0);
        for index in 0..data.len() {
            let mut see = |x: f64| {
                sum += x;
                squares += x * x;
                number += 1.0;
            };
            match data.row(index) {
                Row::Bytes(row) => row.iter().for_each(|&x| see(f64::from(x))),
                Row::Floats(row) => row.iter().for_each(|&x| see(f64::from(x))),
            }
        }
        let mean = sum / number;
        let deviation = (squares / number - mean * mean).max(0.0).sqrt();
        let size = data.shape().size() as f64;
        Self { mean, factor: if deviation > 0.0 { 1.0 / (deviation * size.sqrt()) } else { 0.0 } }
    }

    fn apply(&self, row: Row<'_>, out: &mut [f64]) {
        let scaled = |x: f64| (x - self.mean) * self.factor;
        match row {
            Row::Bytes(row) => out.iter_mut().zip(row).for_each(|(out, &x)| *out = scaled(f64::from(x))),
            Row::Floats(row) => out.iter_mut().zip(row).for_each(|(out, &x)| *out = scaled(f64::from(x))),
        }
    }
}
