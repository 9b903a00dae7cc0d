//! One Gaussian per class with a covariance they share, fitted to the features of one layer.

use serde::{Deserialize, Serialize};

/// The features of one layer, `[N][width]`.
pub(super) struct Features {
    pub(super) values: Vec<f32>,
    pub(super) width: usize,
}

impl Features {
    pub(super) fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width)
    }
}

/// Linear discriminants `[K][width]` and their offsets `[K]`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub(super) struct Discriminant {
    pub(super) directions: Vec<f64>,
    pub(super) offsets: Vec<f64>,
}

/// ⌈part · n⌉, at least 1.
pub(super) fn part(fraction: f64, n: usize) -> usize {
    ((fraction * n as f64).ceil() as usize).clamp(1, n.max(1))
}

/// A mean per class and the Cholesky factor of the covariance they share.
pub(super) struct Gaussian {
    means: Vec<Vec<f64>>,
    /// Lower triangle, `[width][width]`.
    factor: Vec<f64>,
    width: usize,
}

impl Gaussian {
    pub(super) fn new(features: &Features, kept: &[Vec<usize>], shrink: f64) -> Self {
        let width = features.width;
        let mean = |rows: &Vec<usize>| {
            let mut mean = vec![0.0; width];
            rows.iter().for_each(|&row| add(&mut mean, features.row(row)));
            mean.iter_mut().for_each(|value| *value /= rows.len().max(1) as f64);
            mean
        };
        let means: Vec<Vec<f64>> = kept.iter().map(mean).collect();
        let mut covariance = vec![0.0; width * width];
        let mut difference = vec![0.0; width];
        for (rows, mean) in kept.iter().zip(&means) {
            for &row in rows {
                for ((out, &x), m) in difference.iter_mut().zip(features.row(row)).zip(mean) {
                    *out = f64::from(x) - m;
                }
                for i in (0..width).filter(|&i| difference[i] != 0.0) {
                    let scale = difference[i];
                    let line = &mut covariance[i * width..i * width + i + 1];
                    line.iter_mut().zip(&difference).for_each(|(out, d)| *out += scale * d);
                }
            }
        }
        let count = kept.iter().map(Vec::len).sum::<usize>().max(1) as f64;
        covariance.iter_mut().for_each(|value| *value /= count);
        // At least a little, always: dead and repeated features make the covariance singular.
        let trace: f64 = (0..width).map(|i| covariance[i * width + i]).sum();
        let ridge = (shrink.max(1e-6) * trace / width as f64).max(1e-12);
        (0..width).for_each(|i| covariance[i * width + i] += ridge);
        cholesky(&mut covariance, width);
        Self { means, factor: covariance, width }
    }

    /// The fraction `keep` of each class closest to its mean.
    pub(super) fn closest(&self, features: &Features, members: &[Vec<usize>], keep: f64) -> Vec<Vec<usize>> {
        let class = |(rows, mean): (&Vec<usize>, &Vec<f64>)| {
            let mut ranked: Vec<(f64, usize)> =
                rows.iter().map(|&row| (self.distance(features.row(row), mean), row)).collect();
            ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ranked.truncate(part(keep, rows.len()));
            ranked.into_iter().map(|(_, row)| row).collect()
        };
        members.iter().zip(&self.means).map(class).collect()
    }

    /// Squared Mahalanobis distance: ‖L⁻¹ (x − μ)‖².
    fn distance(&self, x: &[f32], mean: &[f64]) -> f64 {
        let mut difference: Vec<f64> = x.iter().zip(mean).map(|(&x, m)| f64::from(x) - m).collect();
        forward(&self.factor, self.width, &mut difference);
        difference.iter().map(|d| d * d).sum()
    }

    pub(super) fn discriminant(&self, counts: &[usize]) -> Discriminant {
        let total: usize = counts.iter().sum();
        let (mut directions, mut offsets) = (Vec::new(), Vec::new());
        for (mean, &count) in self.means.iter().zip(counts) {
            let mut direction = mean.clone(); // Σ⁻¹ μ
            forward(&self.factor, self.width, &mut direction);
            backward(&self.factor, self.width, &mut direction);
            let half: f64 = direction.iter().zip(mean).map(|(d, m)| d * m).sum::<f64>() / 2.0;
            offsets.push((count as f64 / total as f64).ln() - half);
            directions.extend(direction);
        }
        Discriminant { directions, offsets }
    }
}

impl Discriminant {
    pub(super) fn probabilities(&self, x: &[f32]) -> Vec<f64> {
        let lines = self.directions.chunks_exact(x.len()).zip(&self.offsets);
        let mut scores: Vec<f64> = lines
            .map(|(direction, offset)| offset + direction.iter().zip(x).map(|(d, &x)| d * f64::from(x)).sum::<f64>())
            .collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        scores.iter_mut().for_each(|score| *score = (*score - largest).exp());
        let sum: f64 = scores.iter().sum();
        scores.iter_mut().for_each(|score| *score /= sum);
        scores
    }
}

fn add(sum: &mut [f64], values: &[f32]) {
    sum.iter_mut().zip(values).for_each(|(sum, &value)| *sum += f64::from(value));
}

/// Replaces the lower triangle of a positive definite matrix by its Cholesky factor.
fn cholesky(matrix: &mut [f64], n: usize) {
    for j in 0..n {
        let (above, rest) = matrix.split_at_mut(j * n);
        let line = &mut rest[..n];
        for k in 0..j {
            let upper = &above[k * n..k * n + k];
            let sum: f64 = line[..k].iter().zip(upper).map(|(a, b)| a * b).sum();
            line[k] = (line[k] - sum) / above[k * n + k];
        }
        let sum: f64 = line[..j].iter().map(|a| a * a).sum();
        line[j] = (line[j] - sum).max(f64::MIN_POSITIVE).sqrt();
    }
}

/// Solves L x = b in place.
fn forward(factor: &[f64], n: usize, x: &mut [f64]) {
    for i in 0..n {
        let sum: f64 = factor[i * n..i * n + i].iter().zip(&x[..i]).map(|(l, x)| l * x).sum();
        x[i] = (x[i] - sum) / factor[i * n + i];
    }
}

/// Solves Lᵀ x = b in place.
fn backward(factor: &[f64], n: usize, x: &mut [f64]) {
    for i in (0..n).rev() {
        x[i] /= factor[i * n + i];
        let value = x[i];
        x[..i].iter_mut().zip(&factor[i * n..i * n + i]).for_each(|(x, l)| *x -= l * value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robust_mean_by_hand() {
        // One dimension, one class at 0 … 6 and three rows far away: 70 % of the ten rows are the seven near ones,
        // whose mean is 3. Starting from all ten (mean 32.1), the closest seven are found in one round.
        let values: Vec<f32> = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0, 100.0, 100.0];
        let features = Features { values, width: 1 };
        let all = vec![(0..10).collect::<Vec<_>>()];
        let plain = Gaussian::new(&features, &all, 0.0);
        assert!((plain.means[0][0] - 32.1).abs() < 1e-12);
        let kept = plain.closest(&features, &all, 0.7);
        let mut rows = kept[0].clone();
        rows.sort_unstable();
        assert_eq!(rows, (0..7).collect::<Vec<_>>());
        let robust = Gaussian::new(&features, &kept, 0.0);
        assert_eq!(robust.means[0][0], 3.0);
        // Variance of 0 … 6 is 4, so the distance of 7 is (7 − 3)² / 4 .
        assert!((robust.distance(&[7.0], &robust.means[0]) - 4.0).abs() < 1e-3);
    }

    #[test]
    fn the_factor_solves_the_system() {
        let matrix = [4.0, 2.0, 0.6, 2.0, 5.0, 1.0, 0.6, 1.0, 3.0];
        let mut factor = matrix;
        cholesky(&mut factor, 3);
        let mut x = [1.0, -2.0, 0.5];
        forward(&factor, 3, &mut x);
        backward(&factor, 3, &mut x);
        for i in 0..3 {
            let product: f64 = (0..3).map(|j| matrix[3 * i + j] * x[j]).sum();
            assert!((product - [1.0, -2.0, 0.5][i]).abs() < 1e-12);
        }
    }

    #[test]
    fn discriminants_are_those_of_two_gaussians() {
        // Means −1 and 1 with variance 1 and equal priors: p(1 | x) = 1 / (1 + exp(−2x)).
        let values: Vec<f32> = vec![-2.0, 0.0, 0.0, 2.0];
        let gaussian = Gaussian::new(&Features { values, width: 1 }, &[vec![0, 1], vec![2, 3]], 0.0);
        let p = gaussian.discriminant(&[5, 5]).probabilities(&[0.3])[1];
        assert!((p - 1.0 / (1.0 + (-0.6f64).exp())).abs() < 1e-4, "{p}");
    }
}
