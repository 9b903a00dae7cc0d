//! D2L, dimensionality-driven learning (Ma et al., 2018).
//!
//! Before every epoch the local intrinsic dimension (LID) of the last hidden features is estimated over 1,280 rows, in
//! batches of 128 with 20 neighbours:
//! ```text
//! LID(x) = −k / Σ_{j≤k} log(d_j / d_k)        d_1 ≤ … ≤ d_k: distances to the nearest neighbours in the batch
//! ```
//! It falls while the network learns structure and rises when it starts to memorise. At the first rise of more than
//! two standard deviations over the last five epochs, the weights go back one epoch, and from then on the targets are
//! `α y + (1 − α) onehot(answer)` with `α = exp(−(e/E) · LID / min LID)`.

use super::within;
use crate::batches::Batches;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::loss::soft_cross_entropy;
use crate::network::Classifier;
use crate::run::{Run, to_host};
use crate::safetensors::{from_safetensors, to_safetensors};
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::{Label, stream};

/// Rows the LID is estimated over, and rows per batch of the estimate.
const ROWS: usize = 1280;
const BATCH: usize = 128;
/// Epochs the turning point is judged against.
const WINDOW: usize = 5;

/// The parameters of D2L.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct D2l {
    /// The turning point is looked for from this epoch + 5 on: 5 on MNIST, 40 on CIFAR-10, 60 on CIFAR-100.
    #[serde(alias = "init_epoch")]
    pub init_epoch: usize,
    /// Neighbours of the estimate.
    pub neighbours: usize,
}

impl Default for D2l {
    fn default() -> Self {
        Self { init_epoch: 5, neighbours: 20 }
    }
}

impl D2l {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("init-epoch", "the turning point is looked for from this epoch + 5 on: 5 MNIST, 40 CIFAR-10, 60 CIFAR-100"),
        ("neighbours", "neighbours of the estimate of the dimension"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        let fine = (2..BATCH).contains(&self.neighbours);
        within("neighbours of d2l", "from 2 to 127", self.neighbours as f64, fine)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        let mut pace = match &run.resume {
            Some(checkpoint) => Pace::load(checkpoint)?,
            None => Pace::default(),
        };
        let mut before: Option<Vec<u8>> = match &run.resume {
            Some(checkpoint) if checkpoint.has("d2l/before") => Some(checkpoint.bytes("d2l/before")?.to_vec()),
            _ => None,
        };
        let classes = run.train.classes();
        while let Some(epoch) = run.next_epoch() {
            let lid = self.dimension(run, &learner.network, epoch)?;
            let turned = pace.advance(lid, epoch, run.plan.epochs, self.init_epoch);
            if let (true, Some(bytes)) = (turned, before.take()) {
                // `valid` and `train` give running statistics of their own: those of a clone are shared.
                learner.network = from_safetensors(learner.network.valid().train(), &bytes)?;
            }
            if !pace.has_turned() {
                before = Some(to_safetensors(&learner.network)?);
            }
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                let seen = run.see(&batch, &logits)?;
                run.keep_all(&batch);
                let targets = mixed_targets(&batch.given, &seen.predictions, pace.alpha as f32, classes);
                let targets = Tensor::from_data(TensorData::new(targets, [batch.len(), classes]), &run.device);
                let loss = soft_cross_entropy(logits, targets).mean();
                learner = run.step(learner, loss, "cross-entropy of mixed targets")?;
            }
            let state = |checkpoint: &mut Checkpoint| {
                pace.save(checkpoint);
                if let Some(bytes) = &before {
                    checkpoint.put("d2l/before", bytes.clone());
                }
                Ok(())
            };
            run.end_epoch(&[&learner], &state)?;
        }
        Ok(vec![learner.network])
    }

    /// The mean LID of the last hidden features over random rows.
    fn dimension<N: Classifier>(&self, run: &Run<'_, N>, network: &N, epoch: usize) -> Result<f64> {
        let mut rows = stream(run.plan.seed, &format!("d2l/{epoch}")).permutation(run.train.len());
        rows.truncate(ROWS);
        let (network, device) = (network.valid(), run.device.clone().inner());
        let sample = run.train.subset(&rows)?;
        let mut dimensions = Vec::with_capacity(rows.len());
        for batch in Batches::in_order(&sample, &run.transform, BATCH, &device) {
            let (layers, _) = network.features(batch.inputs);
            let Some(last) = layers.into_iter().last() else {
                return Err(
                    tares_core::Error::value("network for d2l", "one with hidden features", "one without").into()
                );
            };
            let [m, width] = last.dims();
            if m > self.neighbours {
                dimensions.extend(local_dimension(&to_host(last), width, self.neighbours));
            }
        }
        if dimensions.is_empty() {
            let allowed = format!("at least {} rows that differ", self.neighbours + 1);
            return Err(tares_core::Error::value("data for d2l", allowed, run.train.len()).into());
        }
        Ok(dimensions.iter().sum::<f64>() / dimensions.len() as f64)
    }
}

/// The local intrinsic dimension at each of the points `[m][width]` from its `k` nearest neighbours among the others.
/// Points whose neighbours are all equally far, or not apart at all, have none and are left out.
///
/// ```
/// // Eight points on a line: the neighbours of the first are at 1, 2, 3, so LID = −3 / (ln 1/3 + ln 2/3 + ln 1).
/// let line: Vec<f32> = (0..8).map(|i| i as f32).collect();
/// let lid = tares::method::local_dimension(&line, 1, 3)[0];
/// assert!((lid - 3.0 / (3f64.ln() + 1.5f64.ln())).abs() < 1e-6);
/// ```
pub fn local_dimension(points: &[f32], width: usize, k: usize) -> Vec<f64> {
    let rows: Vec<&[f32]> = points.chunks_exact(width).collect();
    let mut out = Vec::with_capacity(rows.len());
    let mut squares: Vec<f64> = Vec::with_capacity(rows.len());
    for (i, a) in rows.iter().enumerate() {
        squares.clear();
        let others = rows.iter().enumerate().filter(|(j, _)| *j != i);
        squares.extend(others.map(|(_, b)| a.iter().zip(*b).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>()));
        if squares.len() < k {
            return Vec::new();
        }
        squares.select_nth_unstable_by(k - 1, f64::total_cmp);
        let farthest = squares[k - 1];
        // Half the logarithm, because these are squared distances. Duplicates of the point, at distance 0, are left out.
        let near = squares[..k].iter().filter(|square| **square > 0.0);
        let (count, sum) =
            near.fold((0, 0.0), |(count, sum), square| (count + 1, sum + 0.5 * (square / farthest).ln()));
        if sum < 0.0 {
            out.push(-f64::from(count) / sum);
        }
    }
    out
}

/// Where the run stands: the dimension so far, and how much the labels still count.
#[derive(Clone, Debug, PartialEq)]
struct Pace {
    dimensions: Vec<f64>,
    turning_epoch: Option<usize>,
    alpha: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { dimensions: Vec::new(), turning_epoch: None, alpha: 1.0 }
    }
}

impl Pace {
    fn has_turned(&self) -> bool {
        self.turning_epoch.is_some()
    }

    /// Takes the dimension before `epoch`; true if this is the turning point.
    fn advance(&mut self, dimension: f64, epoch: usize, epochs: usize, init_epoch: usize) -> bool {
        self.dimensions.push(dimension);
        let mut turned = false;
        if self.turning_epoch.is_none() && self.dimensions.len() > init_epoch.saturating_add(WINDOW) {
            let last = &self.dimensions[self.dimensions.len() - 1 - WINDOW..self.dimensions.len() - 1];
            let mean = last.iter().sum::<f64>() / WINDOW as f64;
            let std = (last.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / WINDOW as f64).sqrt();
            if dimension - mean > 2.0 * std {
                self.turning_epoch = Some(epoch);
                turned = true;
            }
        }
        if self.has_turned() {
            let smallest = self.dimensions.iter().copied().fold(f64::INFINITY, f64::min);
            self.alpha = (-(epoch as f64 / epochs as f64) * dimension / smallest).exp();
        }
        turned
    }

    fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.put_f64s("d2l/dimensions", &self.dimensions);
        checkpoint.put_f64s("d2l/alpha", &[self.alpha]);
        checkpoint.put_u64("d2l/turning epoch", self.turning_epoch.map_or(u64::MAX, |epoch| epoch as u64));
    }

    fn load(checkpoint: &Checkpoint) -> Result<Self> {
        let [alpha] = checkpoint.f64s("d2l/alpha")?[..] else {
            return Err(Error::Checkpoint("'d2l/alpha' is not one number".into()));
        };
        let turning_epoch = Some(checkpoint.u64("d2l/turning epoch")?).filter(|&e| e != u64::MAX).map(|e| e as usize);
        Ok(Self { dimensions: checkpoint.f64s("d2l/dimensions")?, turning_epoch, alpha })
    }
}

/// `α y + (1 − α) onehot(answer)` for every sample, `[m][K]`.
fn mixed_targets(given: &[Label], answers: &[Label], alpha: f32, classes: usize) -> Vec<f32> {
    let mut out = vec![0.0; given.len() * classes];
    for (row, (&label, &answer)) in out.chunks_exact_mut(classes).zip(given.iter().zip(answers)) {
        row[label as usize] += alpha;
        row[answer as usize] += 1.0 - alpha;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dimension_of_a_cube_is_about_the_number_of_its_axes() {
        let mut draws = stream(1, "cube");
        for axes in [1, 2, 5] {
            // Padded with constant coordinates: they add nothing.
            let points: Vec<f32> = (0..2000)
                .flat_map(|_| (0..8).map(|c| if c < axes { draws.unit() as f32 } else { 0.5 }).collect::<Vec<_>>())
                .collect();
            let lids = local_dimension(&points, 8, 20);
            let mean = lids.iter().sum::<f64>() / lids.len() as f64;
            assert!((mean - axes as f64).abs() < 0.25 * axes as f64, "{axes} axes gave {mean}");
        }
    }

    #[test]
    fn points_that_coincide_have_no_dimension() {
        assert!(local_dimension(&[1.0; 40], 2, 5).is_empty());
        assert!(local_dimension(&[1.0, 2.0], 1, 5).is_empty());
    }

    #[test]
    fn turns_at_the_first_clear_rise_and_then_trusts_labels_less() {
        let mut pace = Pace::default();
        let dimensions = [9.0, 8.0, 7.0, 6.0, 5.0, 4.1, 4.0, 3.9, 4.0, 4.1, 4.05, 6.0];
        let turned: Vec<bool> = dimensions.iter().enumerate().map(|(e, &d)| pace.advance(d, e, 20, 5)).collect();
        assert_eq!(turned.iter().position(|&t| t), Some(11));
        // α = exp(−11/20 · 6/3.9)
        assert!((pace.alpha - (-0.55f64 * 6.0 / 3.9).exp()).abs() < 1e-12);
        assert!(!pace.advance(9.0, 12, 20, 5));
        let mut checkpoint = Checkpoint::default();
        pace.save(&mut checkpoint);
        assert_eq!(Pace::load(&checkpoint).unwrap(), pace);
    }

    #[test]
    fn targets_by_hand() {
        assert_eq!(mixed_targets(&[0, 2], &[1, 2], 0.75, 3), [0.75, 0.25, 0.0, 0.0, 0.0, 1.0]);
    }
}
