//! RoG as its authors compute it (Lee et al., 2019, and their released code).
//!
//! 1. Layers near the output: see [`Classifier::late_features`](crate::network::Classifier::late_features).
//! 2. ⌊0.7 n⌋ random rows of each class give its mean and, with all other classes, one covariance.
//! 3. The ⌊0.7 n⌋ rows of each class closest to its mean in Mahalanobis distance give mean and covariance again, once; the shared
//!    covariance is the mean over the classes, weighted by their sizes.
//! 4. A linear discriminant with equal priors per layer.
//! 5. 500 rows that the network has not seen, with labels as noisy as all others. The half that is likeliest in the last layer
//!    trains the weights of the layers: softmax of one number per layer, Adam 0.02, 20 passes in batches of 50.
//!
//! Two differences that cannot be avoided or are accidents: the authors take the 500 rows from the test data and put noise into
//! their labels, here they are set aside from the training rows; and in step 2 their code divides the covariance inside the loop
//! over the classes, so that the last class counts most. Here it is the mean over all rows, as their paper says.

use super::gaussian::{Discriminant, Features};
use super::pseudo_inverse::pseudo_inverse;
use tares_core::{Label, Stream};

/// Rows that weigh the layers, shared out evenly over the classes: 50 of each class with 10, 5 with 100.
pub(super) const ASIDE: usize = 500;
/// The fraction of each class that is kept.
const KEEP: f64 = 0.7;
/// Eigenvalues below this part of the largest count as 0: scipy's `pinvh` on the single and double precision of steps 2 and 3.
const CUTS: [f64; 2] = [1.2e-4, 2.2e-10];

/// One layer: means `[K][width]` and the inverse of the covariance they share, `[width][width]`.
pub(super) struct RobustLayer {
    means: Vec<Vec<f64>>,
    precision: Vec<f64>,
}

impl RobustLayer {
    /// Fits the rows of each class, `members`.
    pub(super) fn fit(features: &Features, members: &[Vec<usize>], draws: &mut Stream) -> Self {
        let random = members.iter().map(|rows| {
            let mut rows = rows.clone();
            draws.shuffle(&mut rows);
            rows.truncate(kept(rows.len()));
            rows
        });
        let random: Vec<Vec<usize>> = random.collect();
        let counts: Vec<usize> = random.iter().map(Vec::len).collect();
        let first = Self::of(features, &random, &counts, CUTS[0]);
        let closest = members.iter().zip(&first.means).map(|(rows, mean)| {
            let mut ranked: Vec<(f64, usize)> =
                rows.iter().map(|&row| (first.distance(features.row(row), mean), row)).collect();
            ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            ranked.truncate(kept(rows.len()));
            ranked.into_iter().map(|(_, row)| row).collect()
        });
        let closest: Vec<Vec<usize>> = closest.collect();
        let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
        Self::of(features, &closest, &sizes, CUTS[1])
    }

    /// Mean and covariance of each class over its rows; the shared covariance weighs the classes by `sizes`.
    fn of(features: &Features, rows: &[Vec<usize>], sizes: &[usize], cut: f64) -> Self {
        let width = features.width;
        let total = sizes.iter().sum::<usize>().max(1) as f64;
        let mut covariance = vec![0.0; width * width];
        let mut means = Vec::with_capacity(rows.len());
        for (rows, &size) in rows.iter().zip(sizes) {
            let count = rows.len().max(1) as f64;
            let mut mean = vec![0.0; width];
            for &row in rows {
                mean.iter_mut().zip(features.row(row)).for_each(|(sum, &x)| *sum += f64::from(x) / count);
            }
            let share = size as f64 / total / count;
            let mut difference = vec![0.0; width];
            for &row in rows {
                for ((out, &x), m) in difference.iter_mut().zip(features.row(row)).zip(&mean) {
                    *out = f64::from(x) - m;
                }
                for (i, line) in covariance.chunks_exact_mut(width).enumerate() {
                    let scale = share * difference[i];
                    line.iter_mut().zip(&difference).for_each(|(out, d)| *out += scale * d);
                }
            }
            means.push(mean);
        }
        Self { means, precision: pseudo_inverse(&covariance, width, cut) }
    }

    /// Squared Mahalanobis distance of a row from the mean of a class.
    pub(super) fn distance_from(&self, x: &[f32], class: Label) -> f64 {
        self.distance(x, &self.means[class as usize])
    }

    fn distance(&self, x: &[f32], mean: &[f64]) -> f64 {
        let difference: Vec<f64> = x.iter().zip(mean).map(|(&x, m)| f64::from(x) - m).collect();
        let lines = self.precision.chunks_exact(difference.len()).zip(&difference);
        lines.map(|(line, d)| d * dot(line, &difference)).sum()
    }

    /// With equal priors.
    pub(super) fn discriminant(&self) -> Discriminant {
        let (mut directions, mut offsets) = (Vec::new(), Vec::new());
        for mean in &self.means {
            let direction: Vec<f64> = self.precision.chunks_exact(mean.len()).map(|line| dot(line, mean)).collect();
            offsets.push(-0.5 * dot(&direction, mean));
            directions.extend(direction);
        }
        Discriminant { directions, offsets }
    }
}

/// ⌊0.7 n⌋, but one row of a class that has one.
fn kept(n: usize) -> usize {
    ((KEEP * n as f64 + 1e-9) as usize).max(1).min(n)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Softmax weights of the layers that make the rows of `[N][layers]` likelihoods likely.
pub(super) fn trained_weights(likelihoods: &[f64], layers: usize, draws: &mut Stream) -> Vec<f64> {
    const BATCH: usize = 50;
    let rows: Vec<&[f64]> = likelihoods.chunks_exact(layers).collect();
    let mut weights = vec![1.0; layers];
    let (mut first, mut second, mut steps) = (vec![0.0; layers], vec![0.0; layers], 0);
    for _ in 0..20 {
        let order = draws.permutation(rows.len());
        // Whole batches only; fewer rows than one batch are one batch.
        for batch in order.chunks(BATCH).filter(|batch| batch.len() == BATCH.min(rows.len())) {
            let shares = softmax(&weights);
            let mut slopes = vec![0.0; layers]; // of −mean log Σ share · likelihood, by the shares
            for &row in batch {
                let total = dot(rows[row], &shares) + 1e-10;
                slopes.iter_mut().zip(rows[row]).for_each(|(slope, p)| *slope -= p / total / batch.len() as f64);
            }
            let mean = dot(&slopes, &shares);
            steps += 1;
            for layer in 0..layers {
                let slope = shares[layer] * (slopes[layer] - mean);
                first[layer] = 0.9 * first[layer] + 0.1 * slope;
                second[layer] = 0.999 * second[layer] + 0.001 * slope * slope;
                let (m, v) = (first[layer] / (1.0 - 0.9f64.powi(steps)), second[layer] / (1.0 - 0.999f64.powi(steps)));
                weights[layer] -= 0.02 * m / (v.sqrt() + 1e-8);
            }
        }
    }
    softmax(&weights)
}

fn softmax(values: &[f64]) -> Vec<f64> {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = values.iter().map(|value| (value - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::stream;

    #[test]
    fn rows_far_away_do_not_move_the_mean() {
        // Seven rows at 0 … 6, three far away: ⌊0.7 · 10⌋ = 7 are kept, whose mean is 3 and whose variance is 4.
        let values: Vec<f32> = vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 60.0, 60.0, 60.0];
        let features = Features { values, width: 1 };
        for seed in 0..20 {
            let layer = RobustLayer::fit(&features, &[(0..10).collect()], &mut stream(seed, "rows"));
            // A random start can hold all of the far rows, but the closest seven are then still the near ones.
            assert!((layer.means[0][0] - 3.0).abs() < 1e-12, "seed {seed}: {}", layer.means[0][0]);
            assert!((layer.distance_from(&[7.0], 0) - 4.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_large_class_does_not_win_by_its_size() {
        // Means −1 and 1, variance 1: p(1 | x) = 1 / (1 + exp(−2x)), whatever the sizes of the classes.
        let values: Vec<f32> = vec![-2.0, 0.0, -2.0, 0.0, -2.0, 0.0, 0.0, 2.0];
        let features = Features { values, width: 1 };
        let rows = [(0..6).collect::<Vec<_>>(), vec![6, 7]];
        let layer = RobustLayer::of(&features, &rows, &[6, 2], CUTS[1]);
        let p = layer.discriminant().probabilities(&[0.3])[1];
        // The value 0.3 is a 32-bit number, 1.2e-8 above itself.
        assert!((p - 1.0 / (1.0 + (-2.0 * f64::from(0.3f32)).exp())).abs() < 1e-9, "{p}");
    }

    #[test]
    fn a_dead_feature_changes_nothing() {
        let one: Vec<f32> = vec![-2.0, 0.0, 0.0, 2.0];
        let two = one.iter().flat_map(|&x| [x, 5.0]).collect();
        let rows = [vec![0, 1], vec![2, 3]];
        let plain = RobustLayer::of(&Features { values: one, width: 1 }, &rows, &[2, 2], CUTS[1]).discriminant();
        let dead = RobustLayer::of(&Features { values: two, width: 2 }, &rows, &[2, 2], CUTS[1]).discriminant();
        assert!((plain.probabilities(&[0.3])[1] - dead.probabilities(&[0.3, -900.0])[1]).abs() < 1e-9);
    }

    #[test]
    fn weights_move_towards_the_layer_that_explains_more() {
        let likelihoods: Vec<f64> = (0..200).flat_map(|_| [0.9, 0.2, 0.4]).collect();
        let weights = trained_weights(&likelihoods, 3, &mut stream(1, "weights"));
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // 80 steps of at most 0.02 each: the best layer gains, none disappears.
        assert!(weights[0] > 0.8 && weights[1] > 0.01 && weights[2] > 0.01, "{weights:?}");
        assert_eq!(trained_weights(&[], 2, &mut stream(1, "weights")), [0.5, 0.5]);
    }
}
