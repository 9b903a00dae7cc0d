//! RoG (Lee et al., 2019): a robust Gaussian head on the features of a network that was trained by another method.
//!
//! For every hidden layer: a random 70 % of each class gives its mean and a covariance shared by all classes; the 70 % of
//! each class closest to its mean in Mahalanobis distance give both again (a step of the minimum covariance
//! determinant). The layer then answers by linear discriminant analysis,
//! ```text
//! p(c | x) ∝ exp( μ_cᵀ Σ⁻¹ x − ½ μ_cᵀ Σ⁻¹ μ_c + log prior_c )
//! ```
//! and the head is the mixture `Σ_l w_l p_l(c | x)` whose weights maximise the likelihood of the likelier half of a small
//! part of the training rows that was set aside: the network never sees them (it would know their wrong labels by heart),
//! and their labels are as noisy as the others'.

use super::{Method, within};
use crate::batches::Batches;
use crate::error::Result;
use crate::evaluate;
use crate::input_transform::InputTransform;
use crate::network::Classifier;
use crate::run::to_host;
use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use tares_core::{Dataset, Error, Label, stream};

/// The parameters of RoG.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Rog {
    /// The method that trains the network.
    pub on: Box<Method>,
    /// The part of each class that is kept, in (0, 1].
    pub keep: f64,
    /// How often the closest part is chosen again.
    pub rounds: usize,
    /// The part of the training rows set aside to weigh the layers, in (0, 1).
    pub aside: f64,
    /// How many times the mean variance is added to the diagonal of the covariance, at least 0. Without it a layer
    /// as wide as its classes have rows is fitted to their noise: on digits (256 wide, 380 rows per class, half of the
    /// labels wrong) 0.0001 gave 84.5 % and 1 gave 92.6 %.
    pub shrink: f64,
}

impl Default for Rog {
    fn default() -> Self {
        Self { on: Box::new(Method::Standard), keep: 0.7, rounds: 2, aside: 0.1, shrink: 1.0 }
    }
}

/// The head: for every layer a discriminant per class, and the layer's weight.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RogHead {
    layers: Vec<Discriminant>,
    weights: Vec<f64>,
    classes: usize,
}

/// Linear discriminants `[K][width]` and their offsets `[K]`.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Discriminant {
    directions: Vec<f64>,
    offsets: Vec<f64>,
}

impl Rog {
    pub(crate) fn check(&self) -> Result<()> {
        if matches!(*self.on, Method::Rog(_)) {
            return Err(Error::value("method under rog", "one that trains a network", "rog").into());
        }
        within("keep of rog", "a fraction in (0, 1]", self.keep, self.keep > 0.0 && self.keep <= 1.0)?;
        within("aside of rog", "a fraction in (0, 1)", self.aside, self.aside > 0.0 && self.aside < 1.0)?;
        within("shrink of rog", "at least 0", self.shrink, self.shrink >= 0.0 && self.shrink.is_finite())?;
        self.on.check()
    }

    /// The rows set aside to weigh the layers: a random part of every class, ascending.
    pub fn aside(&self, train: &Dataset, seed: u64) -> Vec<usize> {
        let mut draws = stream(seed, "rog/aside");
        let mut rows = Vec::new();
        for mut class in members(train.given(), train.classes()) {
            draws.shuffle(&mut class);
            // At least one row of every class stays with the network.
            let wanted = (self.aside * class.len() as f64).round() as usize;
            class.truncate(wanted.min(class.len().saturating_sub(1)));
            rows.extend(class);
        }
        rows.sort_unstable();
        rows
    }

    /// The head for a trained network (without autodiff), from its training data and the rows that were set aside.
    ///
    /// # Errors
    /// A network without hidden features; too few rows to set any aside; a class without rows; data of another shape.
    pub fn fit<N: Classifier>(
        &self,
        network: &N,
        transform: &InputTransform,
        train: &Dataset,
        aside: &[usize],
        seed: u64,
        device: &Device,
    ) -> Result<RogHead> {
        if let Some(class) = train.class_counts().iter().position(|&count| count < 2) {
            let name = &train.class_names()[class];
            return Err(Error::value("rows of a class for rog", "at least 2", format!("fewer in '{name}'")).into());
        }
        let mut inside = vec![true; train.len()];
        aside.iter().for_each(|&row| inside[row] = false);
        let rest = train.subset(&(0..train.len()).filter(|&row| inside[row]).collect::<Vec<_>>())?;
        let aside = train.subset(aside)?;
        let classes = train.classes();
        let mut layers = Vec::new();
        for (layer, features) in layer_features(network, transform, &rest, device)?.into_iter().enumerate() {
            let mut draws = stream(seed, &format!("rog/{layer}"));
            let mut kept: Vec<Vec<usize>> = members(rest.given(), classes);
            kept.iter_mut().for_each(|rows| {
                draws.shuffle(rows);
                rows.truncate(part(self.keep, rows.len()));
            });
            let mut gaussian = Gaussian::new(&features, &kept, self.shrink);
            for _ in 0..self.rounds {
                kept = gaussian.closest(&features, &members(rest.given(), classes), self.keep);
                gaussian = Gaussian::new(&features, &kept, self.shrink);
            }
            layers.push(gaussian.discriminant(&rest.class_counts()));
        }
        let mut head = RogHead { weights: vec![1.0; layers.len()], layers, classes };
        let likelihoods = head.layer_likelihoods(network, transform, &aside, device)?;
        head.weights = mixture_weights(&likelier_half(likelihoods, head.layers.len()), head.layers.len());
        Ok(head)
    }
}

impl RogHead {
    /// The weight of every layer, from early to last; they sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The probability of every class for every row: `[N][K]`, one row after the other.
    ///
    /// # Errors
    /// Data of another shape; another network.
    pub fn probabilities<N: Classifier>(
        &self,
        network: &N,
        transform: &InputTransform,
        data: &Dataset,
        device: &Device,
    ) -> Result<Vec<f32>> {
        let features = layer_features(network, transform, data, device)?;
        if features.len() != self.layers.len() {
            return Err(Error::length("hidden layers for this head", self.layers.len(), features.len()).into());
        }
        let mut out = vec![0.0; data.len() * self.classes];
        for ((layer, features), &weight) in self.layers.iter().zip(&features).zip(&self.weights) {
            for (row, x) in out.chunks_exact_mut(self.classes).zip(features.rows()) {
                layer.probabilities(x).iter().zip(row).for_each(|(p, out)| *out += (weight * p) as f32);
            }
        }
        Ok(out)
    }

    /// The probability each layer gives to the given label of each row: `[N][layers]`.
    fn layer_likelihoods<N: Classifier>(
        &self,
        network: &N,
        transform: &InputTransform,
        data: &Dataset,
        device: &Device,
    ) -> Result<Vec<f64>> {
        let features = layer_features(network, transform, data, device)?;
        let mut out = vec![0.0; data.len() * self.layers.len()];
        for (position, (layer, features)) in self.layers.iter().zip(&features).enumerate() {
            for (row, x) in features.rows().enumerate() {
                out[row * self.layers.len() + position] = layer.probabilities(x)[data.given()[row] as usize];
            }
        }
        Ok(out)
    }
}

/// The features of one layer, `[N][width]`.
struct Features {
    values: Vec<f32>,
    width: usize,
}

impl Features {
    fn row(&self, index: usize) -> &[f32] {
        &self.values[index * self.width..(index + 1) * self.width]
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.values.chunks_exact(self.width)
    }
}

fn layer_features<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    device: &Device,
) -> Result<Vec<Features>> {
    transform.check(data)?;
    let mut all: Vec<Features> = Vec::new();
    for batch in Batches::in_order(data, transform, evaluate::batch_size(transform), device) {
        let (layers, _) = network.features(batch.inputs);
        if layers.is_empty() {
            return Err(Error::value("network for rog", "one with hidden features", "one without").into());
        }
        for (position, layer) in layers.into_iter().enumerate() {
            let [_, width] = layer.dims();
            if all.len() <= position {
                all.push(Features { values: Vec::with_capacity(data.len() * width), width });
            }
            all[position].values.extend(to_host(layer));
        }
    }
    Ok(all)
}

/// The rows of every class.
fn members(given: &[Label], classes: usize) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); classes];
    given.iter().enumerate().for_each(|(row, &class)| members[class as usize].push(row));
    members
}

/// ⌈part · n⌉, at least 1.
fn part(fraction: f64, n: usize) -> usize {
    ((fraction * n as f64).ceil() as usize).clamp(1, n.max(1))
}

/// A mean per class and the Cholesky factor of the covariance they share.
struct Gaussian {
    means: Vec<Vec<f64>>,
    /// Lower triangle, `[width][width]`.
    factor: Vec<f64>,
    width: usize,
}

impl Gaussian {
    fn new(features: &Features, kept: &[Vec<usize>], shrink: f64) -> Self {
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
        // Never less than a trace of it: dead and repeated features make it singular.
        let trace: f64 = (0..width).map(|i| covariance[i * width + i]).sum();
        let ridge = (shrink.max(1e-6) * trace / width as f64).max(1e-12);
        (0..width).for_each(|i| covariance[i * width + i] += ridge);
        cholesky(&mut covariance, width);
        Self { means, factor: covariance, width }
    }

    /// The fraction `keep` of each class closest to its mean.
    fn closest(&self, features: &Features, members: &[Vec<usize>], keep: f64) -> Vec<Vec<usize>> {
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

    fn discriminant(&self, counts: &[usize]) -> Discriminant {
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
    fn probabilities(&self, x: &[f32]) -> Vec<f64> {
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

/// The rows (of `[N][layers]`) with the larger mean likelihood over the layers.
fn likelier_half(likelihoods: Vec<f64>, layers: usize) -> Vec<f64> {
    let mut rows: Vec<(f64, usize)> =
        likelihoods.chunks_exact(layers).enumerate().map(|(row, values)| (values.iter().sum(), row)).collect();
    rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    rows.truncate(rows.len().div_ceil(2));
    rows.iter().flat_map(|(_, row)| likelihoods[row * layers..(row + 1) * layers].to_vec()).collect()
}

/// The weights of a mixture that maximise Σ_i log Σ_l w_l p_il, by expectation maximisation (the problem is concave).
fn mixture_weights(likelihoods: &[f64], layers: usize) -> Vec<f64> {
    let mut weights = vec![1.0 / layers as f64; layers];
    for _ in 0..200 {
        let mut next = vec![0.0; layers];
        for row in likelihoods.chunks_exact(layers) {
            let total: f64 = row.iter().zip(&weights).map(|(p, w)| p * w).sum();
            if total > 0.0 {
                next.iter_mut().zip(row).zip(&weights).for_each(|((next, p), w)| *next += p * w / total);
            }
        }
        let sum: f64 = next.iter().sum();
        if sum <= 0.0 {
            break;
        }
        next.iter_mut().for_each(|w| *w /= sum);
        weights = next;
    }
    weights
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

    #[test]
    fn the_mixture_prefers_the_layer_that_explains_more() {
        let likelihoods = [0.9, 0.1, 0.8, 0.3, 0.7, 0.2, 0.05, 0.04, 0.01, 0.02, 0.03, 0.01];
        let half = likelier_half(likelihoods.to_vec(), 2);
        assert_eq!(half, [0.8, 0.3, 0.9, 0.1, 0.7, 0.2]);
        let weights = mixture_weights(&half, 2);
        assert!(weights[0] > 0.99 && (weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{weights:?}");
        let even = mixture_weights(&[0.9, 0.1, 0.1, 0.9], 2);
        assert!((even[0] - 0.5).abs() < 1e-9);
    }
}
