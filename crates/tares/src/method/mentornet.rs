//! MentorNet proper (Jiang et al., 2018): a small network weighs the samples of the large one.
//!
//! What the mentor sees of a sample: its loss, its loss minus a moving percentile of the batches' losses (the 75th, or the
//! one the noise rate says; decay 0.5),
//! its given label, and how far the run is. Its answer is a weight in [0, 1]; the objective is the weighted mean
//! `Σ v l / Σ v`. The mentor is either fixed to a predefined curriculum or learnt from a small trusted part of
//! the training rows, for which it is known whether the given label is right.

use super::within;
use super::written::{RATE_MEANING, Rate};
use crate::batches::Batch;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::loss::cross_entropy;
use crate::network::{Classifier, Weights};
use crate::optimiser::{Adam, Optimiser};
use crate::run::{Learner, Run, to_host};
use burn::module::Module;
use burn::nn::Linear;
use burn::optim::GradientsParams;
use burn::tensor::activation::{sigmoid, softplus};
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::stream;

/// Decay of the moving percentile.
const DECAY: f64 = 0.5;
/// Width of the mentor's hidden layer, passes per epoch over what it learns from, and its learning rate.
const HIDDEN: usize = 20;
const PASSES: usize = 20;
const RATE: f64 = 0.01;

/// The parameters of MentorNet.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MentorNet {
    /// The noise rate, if it is told: the percentile is then 1 − rate.
    pub rate: Rate,
    /// The percentile of the losses that the mentor compares with when no rate is known, as a fraction.
    pub percentile: f64,
    /// Epochs at the start in which every sample has weight 1.
    #[serde(alias = "burn_in")]
    pub burn_in: usize,
    /// The predefined curriculum: `v = 1 − (loss − percentile) / softness`, cut to [0, 1]; with softness 0 the samples below
    /// the percentile.
    pub softness: f64,
    /// The part of the training rows whose truth must be known, and from which the mentor learns its weights; 0 is the
    /// predefined curriculum.
    pub trusted: f64,
}

impl Default for MentorNet {
    fn default() -> Self {
        Self { rate: Rate::Told, percentile: 0.75, burn_in: 5, softness: 0.0, trusted: 0.0 }
    }
}

impl MentorNet {
    pub(super) const MEANINGS: &[(&str, &str)] = &[
        ("rate", RATE_MEANING),
        ("percentile", "the part of the losses the mentor compares with when no rate is told, in (0, 1]"),
        ("burn-in", "epochs at the start in which every sample has weight 1"),
        ("softness", "over which difference of losses weights fall from 1 to 0; 0: at once"),
        ("trusted", "the part of the rows, of known truth, that the mentor learns from; 0: weights are predefined"),
    ];

    pub(crate) fn check(&self) -> Result<()> {
        let fine = self.percentile > 0.0 && self.percentile <= 1.0;
        within("percentile of mentornet", "a fraction in (0, 1]", self.percentile, fine)?;
        if let Some(rate) = self.rate.given() {
            within("noise rate", "in [0, 1)", rate, (0.0..1.0).contains(&rate))?;
        }
        let (softness, trusted) = (self.softness, self.trusted);
        within("trusted of mentornet", "a fraction in [0, 1]", trusted, (0.0..=1.0).contains(&trusted))?;
        within("softness of mentornet", "at least 0", softness, softness >= 0.0 && softness.is_finite())?;
        within("softness of a mentor that learns", "0", softness, softness == 0.0 || trusted == 0.0)
    }

    pub(crate) fn train<N: Classifier>(&self, run: &mut Run<'_, N>) -> Result<Vec<N>> {
        let mut learner = run.learner("weights")?;
        let mut mentor = Mentor::new(self, run)?;
        let mut moving = match &run.resume {
            Some(checkpoint) => checkpoint.f64s("mentornet/percentile")?.first().copied(),
            None => None,
        };
        let part = self.rate.given().map_or(self.percentile, |rate| 1.0 - rate);
        while let Some(epoch) = run.next_epoch() {
            let progress = epoch as f32 / run.plan.epochs as f32;
            for batch in run.batches(epoch) {
                run.begin_step();
                let logits = learner.network.logits(batch.inputs.clone()); // [m, K]
                let seen = run.see(&batch, &logits)?;
                let now = percentile(&seen.losses, part);
                let level = moving.map_or(now, |moving| DECAY * moving + (1.0 - DECAY) * now);
                moving = Some(level);
                let weights = mentor.weigh(&batch, &seen.losses, level as f32, progress);
                let weights = if epoch < self.burn_in { vec![1.0; batch.len()] } else { weights };
                let kept: Vec<u32> = (0..batch.len() as u32).filter(|&i| weights[i as usize] >= 0.5).collect();
                run.keep(&batch, &kept);
                let total: f32 = weights.iter().sum();
                if total < 1e-6 {
                    run.starve();
                    continue;
                }
                let weights = Tensor::<1>::from_data(TensorData::new(weights, [batch.len()]), &run.device);
                let loss = (cross_entropy(logits, batch.targets) * weights).sum() / f64::from(total);
                learner = run.step(learner, loss, "weighted cross-entropy")?;
            }
            mentor.learn(run.plan.seed, epoch)?;
            let state = |checkpoint: &mut Checkpoint| {
                checkpoint.put_f64s("mentornet/percentile", &moving.into_iter().collect::<Vec<_>>());
                mentor.learner.as_ref().map_or(Ok(()), |learner| learner.save(checkpoint))
            };
            run.end_epoch(&[&learner], &state)?;
        }
        Ok(vec![learner.network])
    }
}

/// The value below which the fraction `part` of the losses lies.
fn percentile(losses: &[f32], part: f64) -> f64 {
    let mut sorted = losses.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    // Linear between the two nearest ranks.
    let place = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    f64::from(low) + (f64::from(high) - f64::from(low)) * place.fract()
}

/// The weighting network, if it is learnt, and what it learns from in this epoch.
struct Mentor {
    learner: Option<Learner<Weigher>>,
    /// How gradually the weights fall, if they are predefined.
    softness: f32,
    /// For each row, whether its label is right, if it is trusted.
    trusted: Vec<Option<bool>>,
    /// What was seen of trusted rows in this epoch, and whether their labels are right.
    inputs: Vec<f32>,
    right: Vec<f32>,
    width: usize,
    device: burn::tensor::Device,
}

/// Two dense layers.
#[derive(Module, Debug)]
struct Weigher {
    hidden: Linear,
    output: Linear,
}

impl Weigher {
    /// `[m, width]` to the logit of each weight, `[m]`.
    fn forward(&self, inputs: Tensor<2>) -> Tensor<1> {
        let [m, _] = inputs.dims();
        self.output.forward(self.hidden.forward(inputs).tanh()).reshape([m])
    }
}

impl Mentor {
    fn new<N: Classifier>(method: &MentorNet, run: &Run<'_, N>) -> Result<Self> {
        let width = 3 + run.train.classes();
        let mut mentor = Self {
            learner: None,
            softness: method.softness as f32,
            trusted: vec![None; run.train.len()],
            inputs: Vec::new(),
            right: Vec::new(),
            width,
            device: run.device.clone(),
        };
        if method.trusted == 0.0 {
            return Ok(mentor);
        }
        let Some(clean) = run.train.clean() else {
            let allowed = "the predefined curriculum, unless the truth of some rows is known";
            return Err(tares_core::Error::value("mentornet", allowed, "a learnt one").into());
        };
        let mut rows = stream(run.plan.seed, "trusted").permutation(run.train.len());
        rows.truncate(((method.trusted * rows.len() as f64).round() as usize).max(1));
        rows.into_iter().for_each(|row| mentor.trusted[row] = Some(clean[row]));
        let mut weights = Weights::new(run.plan.seed, "mentor", &run.device);
        let weigher = Weigher { hidden: weights.linear(width, HIDDEN), output: weights.linear(HIDDEN, 1) };
        let rule = Optimiser::Adam(Adam { lr: RATE, ..Adam::default() });
        let learner = Learner::new("mentor", weigher, rule);
        mentor.learner = Some(match &run.resume {
            Some(checkpoint) => learner.load(checkpoint, &run.device)?,
            None => learner,
        });
        Ok(mentor)
    }

    /// The weight of every sample of the batch.
    fn weigh(&mut self, batch: &Batch, losses: &[f32], level: f32, progress: f32) -> Vec<f32> {
        let Some(learner) = &self.learner else {
            return losses.iter().map(|&loss| predefined(loss - level, self.softness)).collect();
        };
        let mut inputs = vec![0.0; batch.len() * self.width];
        for (position, row) in inputs.chunks_exact_mut(self.width).enumerate() {
            row[..3].copy_from_slice(&[losses[position], losses[position] - level, progress]);
            row[3 + batch.given[position] as usize] = 1.0;
            if let Some(right) = self.trusted[batch.indices[position] as usize] {
                self.inputs.extend_from_slice(row);
                self.right.push(f32::from(right));
            }
        }
        let inputs = TensorData::new(inputs, [batch.len(), self.width]);
        let inputs = Tensor::from_data(inputs, &self.device.clone().inner());
        to_host(sigmoid(learner.network.valid().forward(inputs)))
    }

    /// Learns from what was seen of trusted rows in this epoch.
    fn learn(&mut self, seed: u64, epoch: usize) -> Result<()> {
        let (inputs, right) = (std::mem::take(&mut self.inputs), std::mem::take(&mut self.right));
        if right.is_empty() {
            return Ok(());
        }
        let Some(mut learner) = self.learner.take() else { return Ok(()) };
        let mut order = stream(seed, &format!("mentor/{epoch}"));
        for _ in 0..PASSES {
            for rows in order.permutation(right.len()).chunks(128) {
                let m = rows.len();
                let picked = rows.iter().flat_map(|&r| inputs[r * self.width..(r + 1) * self.width].to_vec());
                let picked = TensorData::new(picked.collect::<Vec<_>>(), [m, self.width]);
                let picked = Tensor::from_data(picked, &self.device);
                let wanted = TensorData::new(rows.iter().map(|&r| right[r]).collect::<Vec<_>>(), [m]);
                let wanted = Tensor::<1>::from_data(wanted, &self.device);
                let logits = learner.network.forward(picked); // [m]
                // Binary cross-entropy from logits: softplus(z) − y z.
                let loss = (softplus(logits.clone(), 1.0) - logits * wanted).mean();
                let value = to_host(loss.clone())[0];
                if !value.is_finite() {
                    let loss = "mentor's cross-entropy".to_owned();
                    return Err(Error::Diverged { loss, value: value.into(), epoch, step: 0 });
                }
                let gradients = GradientsParams::from_grads(loss.backward(), &learner.network);
                learner = learner.update(gradients, RATE, 0.9);
            }
        }
        self.learner = Some(learner);
        Ok(())
    }
}

/// The weight of a sample whose loss is `above` the level.
fn predefined(above: f32, softness: f32) -> f32 {
    if softness == 0.0 { f32::from(above <= 0.0) } else { (1.0 - above / softness).clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_ranks() {
        assert_eq!(percentile(&[4.0, 1.0, 3.0, 2.0, 5.0], 0.75), 4.0);
        assert_eq!(percentile(&[0.0, 1.0], 0.75), 0.75);
        assert_eq!(percentile(&[7.0], 0.75), 7.0);
    }

    #[test]
    fn predefined_weights_fall_with_the_loss() {
        assert_eq!([-1.0, 0.0, 0.1].map(|above| predefined(above, 0.0)), [1.0, 1.0, 0.0]);
        assert_eq!([-1.0, 0.0, 0.5, 2.0].map(|above| predefined(above, 2.0)), [1.0, 1.0, 0.75, 0.0]);
    }
}
