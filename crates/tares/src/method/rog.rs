//! RoG (Lee et al., 2019): a robust Gaussian head on the features of a network that was trained by another method.
//!
//! For every hidden layer: a random 70 % of each class gives its mean and a covariance shared by all classes; the 70 % of
//! each class closest to its mean in Mahalanobis distance give both again (a step of the minimum covariance
//! determinant). The layer then answers by linear discriminant analysis,
//! ```text
//! p(c | x) ∝ exp( μ_cᵀ Σ⁻¹ x − ½ μ_cᵀ Σ⁻¹ μ_c + log prior_c )
//! ```
//! and the head is the mixture `Σ_l w_l p_l(c | x)` whose weights maximise the likelihood of the likelier half of a small
//! part of the training rows. Those rows are set aside before training: a network memorises the wrong labels of the
//! rows it sees. Their labels are as noisy as all others.
//!
//! `rog:published` is the authors' own procedure instead ([`published`]).

mod gaussian;
mod pseudo_inverse;
mod published;

use super::{Method, within};
use crate::batches::Batches;
use crate::error::Result;
use crate::evaluate;
use crate::input_transform::InputTransform;
use crate::network::Classifier;
use crate::run::to_host;
use burn::tensor::Device;
use gaussian::{Discriminant, Features, Gaussian, part};
use published::{RobustLayer, trained_weights};
use serde::{Deserialize, Serialize};
use tares_core::{Dataset, Error, Label, stream};

/// The parameters of RoG.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Rog {
    /// The authors' own procedure, with nothing to set but the method under it.
    pub published: bool,
    /// The method that trains the network.
    pub on: Box<Method>,
    /// The part of each class that is kept, in (0, 1].
    pub keep: f64,
    /// How often the closest rows are chosen again, at most 1000.
    pub rounds: usize,
    /// The part of the training rows set aside to weigh the layers, in (0, 1).
    pub aside: f64,
    /// Shrinkage: this multiple of the mean variance is added to the diagonal of the covariance, at least 0. Without
    /// it a layer with about as many features as rows per class overfits: on digits (256 features, 380 rows per class,
    /// half of the labels wrong) 0.0001 gave 84.5 % and 1 gave 92.6 %.
    pub shrink: f64,
}

impl Default for Rog {
    fn default() -> Self {
        Self { published: false, on: Box::new(Method::Standard), keep: 0.7, rounds: 2, aside: 0.1, shrink: 1.0 }
    }
}

/// The head: for every layer a discriminant per class, and the layer's weight. What is read from a file is checked.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(try_from = "StoredHead")]
pub struct RogHead {
    layers: Vec<Discriminant>,
    weights: Vec<f64>,
    classes: usize,
    /// Whether its layers are the network's late ones, as the authors choose them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    late: bool,
}

/// A [`RogHead`] as a file holds it, not yet checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredHead {
    layers: Vec<Discriminant>,
    weights: Vec<f64>,
    classes: usize,
    #[serde(default)]
    late: bool,
}

impl TryFrom<StoredHead> for RogHead {
    type Error = crate::Error;

    fn try_from(StoredHead { layers, weights, classes, late }: StoredHead) -> Result<Self> {
        if classes < 2 {
            return Err(Error::value("classes of the rog head", "at least 2", classes).into());
        }
        if layers.is_empty() || layers.len() != weights.len() {
            return Err(
                Error::length("layers of the rog head, one per weight,", weights.len().max(1), layers.len()).into()
            );
        }
        for (number, layer) in layers.iter().enumerate() {
            if layer.offsets.len() != classes {
                return Err(Error::length(format!("offsets of layer {number}"), classes, layer.offsets.len()).into());
            }
            let numbers = layer.directions.len();
            if numbers == 0 || !numbers.is_multiple_of(classes) {
                let allowed = format!("a multiple of {classes}, the number of classes");
                return Err(Error::value(format!("numbers in directions of layer {number}"), allowed, numbers).into());
            }
            if let Some(value) = layer.directions.iter().chain(&layer.offsets).find(|value| !value.is_finite()) {
                return Err(Error::value(format!("number in layer {number}"), "finite", value).into());
            }
        }
        if let Some(weight) = weights.iter().find(|weight| !(0.0..=1.0).contains(*weight)) {
            return Err(Error::value("weight of a layer", "in [0, 1]", weight).into());
        }
        Ok(Self { layers, weights, classes, late })
    }
}

impl Rog {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("published", "exactly the authors' procedure; short: rog:published"),
        ("keep", "the part of each class that is kept, in (0, 1]"),
        ("rounds", "how often the closest rows are chosen again"),
        ("aside", "the part of the training rows set aside to weigh the layers, in (0, 1)"),
        ("shrink", "this multiple of the mean variance is added to the diagonal of the covariance"),
        ("on", "the method that trains the network; comes last, with its own parameters"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        if matches!(*self.on, Method::Rog(_)) {
            return Err(Error::value("method under rog", "one that trains a network", "rog").into());
        }
        let set = Self { published: false, on: Box::default(), ..self.clone() } != Self::default();
        if self.published && set {
            return Err(Error::value("rog:published", "without other parameters than on", "others").into());
        }
        within("keep of rog", "a fraction in (0, 1]", self.keep, self.keep > 0.0 && self.keep <= 1.0)?;
        within("aside of rog", "a fraction in (0, 1)", self.aside, self.aside > 0.0 && self.aside < 1.0)?;
        within("shrink of rog", "at least 0", self.shrink, self.shrink >= 0.0 && self.shrink.is_finite())?;
        within("rounds of rog", "at most 1000", self.rounds as f64, self.rounds <= 1000)?;
        self.on.check()
    }

    /// The rows set aside to weigh the layers: a random part of every class, ascending.
    pub fn aside(&self, train: &Dataset, seed: u64) -> Vec<usize> {
        let mut draws = stream(seed, "rog/aside");
        let mut rows = Vec::new();
        for mut class in members(train.given(), train.classes()) {
            draws.shuffle(&mut class);
            // At least one row of every class stays with the network.
            let wanted = match self.published {
                // A small class keeps most of its rows for the network.
                true => (published::ASIDE / train.classes()).clamp(1, (class.len() / 4).max(1)),
                false => (self.aside * class.len() as f64).round() as usize,
            };
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
        if self.published {
            return published_head(network, transform, &rest, &aside, seed, device);
        }
        let classes = train.classes();
        let mut layers = Vec::new();
        for (layer, features) in layer_features(network, transform, &rest, false, device)?.into_iter().enumerate() {
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
        let mut head = RogHead { weights: vec![1.0; layers.len()], layers, classes, late: false };
        let likelihoods = head.layer_likelihoods(network, transform, &aside, device)?;
        head.weights = mixture_weights(&likelier_half(likelihoods, head.layers.len()), head.layers.len());
        Ok(head)
    }
}

/// The head by the authors' procedure.
fn published_head<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    train: &Dataset,
    aside: &Dataset,
    seed: u64,
    device: &Device,
) -> Result<RogHead> {
    let members = members(train.given(), train.classes());
    let features = layer_features(network, transform, train, true, device)?;
    let fit = |(layer, features): (usize, &Features)| {
        RobustLayer::fit(features, &members, &mut stream(seed, &format!("rog/{layer}")))
    };
    let fitted: Vec<RobustLayer> = features.iter().enumerate().map(fit).collect();
    let layers: Vec<Discriminant> = fitted.iter().map(RobustLayer::discriminant).collect();
    let count = layers.len();
    let features = layer_features(network, transform, aside, true, device)?;
    // The likelier half, by the last layer.
    let (last, last_features) = (&fitted[count - 1], &features[count - 1]);
    let mut rows: Vec<(f64, usize)> = aside
        .given()
        .iter()
        .enumerate()
        .map(|(row, &label)| (last.distance_from(last_features.row(row), label), row))
        .collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    rows.truncate(rows.len() / 2);
    let likelihood =
        |row: usize, layer: usize| layers[layer].probabilities(features[layer].row(row))[aside.given()[row] as usize];
    let likelihoods: Vec<f64> =
        rows.iter().flat_map(|&(_, row)| (0..count).map(|layer| likelihood(row, layer)).collect::<Vec<_>>()).collect();
    let weights = trained_weights(&likelihoods, count, &mut stream(seed, "rog/weights"));
    Ok(RogHead { layers, weights, classes: train.classes(), late: true })
}

impl RogHead {
    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

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
        let features = layer_features(network, transform, data, self.late, device)?;
        if features.len() != self.layers.len() {
            return Err(Error::length("hidden layers for this head", self.layers.len(), features.len()).into());
        }
        for (number, (layer, features)) in self.layers.iter().zip(&features).enumerate() {
            let width = layer.directions.len() / self.classes;
            if width != features.width {
                return Err(Error::length(format!("features of layer {number}"), width, features.width).into());
            }
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
        let features = layer_features(network, transform, data, self.late, device)?;
        let mut out = vec![0.0; data.len() * self.layers.len()];
        for (position, (layer, features)) in self.layers.iter().zip(&features).enumerate() {
            for (row, x) in features.rows().enumerate() {
                out[row * self.layers.len() + position] = layer.probabilities(x)[data.given()[row] as usize];
            }
        }
        Ok(out)
    }
}

fn layer_features<N: Classifier>(
    network: &N,
    transform: &InputTransform,
    data: &Dataset,
    late: bool,
    device: &Device,
) -> Result<Vec<Features>> {
    transform.check(data)?;
    let mut all: Vec<Features> = Vec::new();
    for batch in Batches::in_order(data, transform, evaluate::batch_size(transform), device) {
        let layers = match late {
            true => network.late_features(batch.inputs),
            false => network.features(batch.inputs).0,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_sizes_that_do_not_fit_is_refused() {
        let good = r#"{"layers":[{"directions":[1.0,2.0,3.0,4.0],"offsets":[0.5,0.5]}],"weights":[1.0],"classes":2}"#;
        let read = |text: String| serde_json::from_str::<RogHead>(&text).map_err(|error| error.to_string());
        let head = read(good.into()).unwrap();
        assert_eq!(read(serde_json::to_string(&head).unwrap()).unwrap(), head);
        for (from, to) in [
            ("\"classes\":2", "\"classes\":0"),
            ("\"classes\":2", "\"classes\":3"),
            ("\"classes\":2", "\"classes\":18446744073709551615"),
            ("3.0,4.0", "3.0"),
            ("1.0,2.0,3.0,4.0", ""),
            ("[0.5,0.5]", "[0.5]"),
            ("\"weights\":[1.0]", "\"weights\":[]"),
            ("\"weights\":[1.0]", "\"weights\":[-1.0]"),
            ("\"weights\":[1.0]", "\"weights\":[0.5,0.5]"),
        ] {
            assert!(read(good.replace(from, to)).is_err(), "{from} → {to}");
        }
        // A head of another network: as many layers, but of another width.
        let shape = tares_core::Shape::Flat(3);
        let data = Dataset::new(vec![0.0f32; 6], shape, vec![0, 1], ["a", "b"]).unwrap();
        let transform = InputTransform::new(&data, &Default::default(), &Default::default()).unwrap();
        let network = "mlp:5".parse::<crate::Network>().unwrap().init(shape, 2, 1, &Device::flex()).unwrap();
        let error = head.probabilities(&network, &transform, &data, &Device::flex()).unwrap_err().to_string();
        assert!(error.contains("features of layer 0 must have 2 entries, got 5"), "{error}");
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
