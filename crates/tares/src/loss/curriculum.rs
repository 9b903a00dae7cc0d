//! [`CurriculumLoss`]: the paper's loss as a plug-in for any Burn training loop.

mod config;

pub use config::CurriculumLossConfig;

use super::name::SampleLoss;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{Int, Tensor, TensorData};
use tares_core::margin::margin;
use tares_core::{Curriculum, Error, Extra, Label, Result, Selector, Surrogate};

/// The mean training loss over the samples Algorithm 1 keeps: a loss for any Burn loop, and like Burn's own losses a
/// [`Module`] (without parameters) that a model may hold.
///
/// ```text
/// kept = prefix of the batch by ranking loss l: keep the i-th smallest iff  L_i ≤ C + 1 − i     (L_i: prefix sums)
/// loss = mean over kept of the training loss
/// ```
///
/// C follows from the batch size m, the number e of misclassified samples and the noise rate r by [`Threshold`](tares_core::Threshold). The
/// samples that are not kept get exactly zero gradient. The logits are read back to the host once; base losses (hinge,
/// soft hinge, ...) are ranked, trained and differentiated there by [`tares_core`], any other training loss by Burn.
///
/// * T = 0 (nothing is kept) gives the value 0 with zero gradient, and [`Kept::positions`] is empty.
/// * Starvation (every kept sample has margin ≥ 1, so nothing is learnt) is reported as [`Kept::starved`].
/// * Logits that are not numbers give a loss that is not a number, as every Burn loss does, and nothing is kept.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use tares::loss::CurriculumLossConfig;
/// use tares_core::Threshold;
///
/// let device = Device::flex().autodiff();
/// let loss = CurriculumLossConfig::new(Threshold::Npcl { rate: 0.25 }).init()?;
/// let logits = Tensor::<2>::from_floats([[3.0, 0.0], [0.0, 0.5], [0.2, 0.1], [4.0, 0.0]], &device).require_grad();
/// let targets = Tensor::<1, Int>::from_ints([0, 1, 0, 1], &device); // the last label is wrong
/// let (value, kept) = loss.forward_kept(logits.clone(), targets);
/// assert_eq!(kept.positions, [0, 1, 2]);
/// let gradient = logits.grad(&value.backward()).unwrap().to_data().try_to_vec::<f32>().unwrap();
/// assert_eq!(gradient[6..], [0.0, 0.0]);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Module, Debug, PartialEq)]
#[module(custom_display)]
pub struct CurriculumLoss {
    #[module(skip)]
    config: CurriculumLossConfig,
    selects: bool,
}

impl ModuleDisplay for CurriculumLoss {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        DisplaySettings::new().with_new_line_after_attribute(false).optional()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        let CurriculumLossConfig { threshold, ranking, training, .. } = &self.config;
        content
            .add("threshold", &threshold.to_string())
            .add("ranking", &ranking.to_string())
            .add("training", &training.to_string())
            .optional()
    }
}

/// What a [`CurriculumLoss`] kept of one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Positions in the batch, ascending; with the extra one if there is one.
    pub positions: Vec<u32>,
    /// T: how many Algorithm 1 keeps (without the extra one); all in the burn-in.
    pub count: usize,
    /// Whether the T+1 rule added one (in the balanced form: to any class).
    pub extra: bool,
    /// e: how many of the batch are misclassified (margin below 0).
    pub misclassified: usize,
    /// `L_T`: the sum of the ranking losses of the T kept samples.
    pub sum: f64,
    /// The sum of the ranking losses of all samples, kept or not: the paper's Ĵ.
    pub total: f64,
    /// `max(L_T, C − T)`: the bound of the number of misclassified samples; in the burn-in the plain sum of ranking
    /// losses.
    pub objective: f64,
    /// True if the batch teaches nothing: nothing is kept, or the base loss trained has exactly zero gradient on all of it.
    pub starved: bool,
}

impl CurriculumLoss {
    /// What it was made from.
    pub fn config(&self) -> &CurriculumLossConfig {
        &self.config
    }

    /// The loss in this epoch (from 0): without selection in the burn-in, with selection afterwards. A pure function.
    #[must_use]
    pub fn at_epoch(&self, epoch: usize) -> Self {
        Self { config: self.config, selects: epoch >= self.config.burn_in }
    }

    /// The same loss with another noise rate, for rates that rise over the epochs or are estimated on the way.
    ///
    /// # Errors
    /// A rate outside [0, 1].
    pub fn with_rate(&self, rate: f64) -> Result<Self> {
        let threshold = self.config.threshold.with_rate(rate).check()?;
        Ok(Self { config: CurriculumLossConfig { threshold, ..self.config }, selects: self.selects })
    }

    /// Whether samples are left out: false in the burn-in.
    pub fn selects(&self) -> bool {
        self.selects
    }

    /// The loss that is trained now.
    pub fn trained(&self) -> SampleLoss {
        self.config.burn_in_training.filter(|_| !self.selects).unwrap_or(self.config.training)
    }

    /// The loss of a batch.
    ///
    /// # Shapes
    /// logits `[batch, K]`, targets `[batch]` in 0..K → `[1]`.
    ///
    /// # Panics
    /// If the shapes don't fit or a target is not in 0..K.
    pub fn forward(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
        self.forward_kept(logits, targets).0
    }

    /// The loss of a batch, and what was kept of it.
    ///
    /// # Shapes
    /// As [`forward`](Self::forward).
    ///
    /// # Panics
    /// If the shapes don't fit or a target is not in 0..K.
    pub fn forward_kept(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> (Tensor<1>, Kept) {
        self.forward_with(&mut Selector::new(), logits, targets)
    }

    /// [`forward_kept`](Self::forward_kept) with scratch space of the caller's, for loops that count microseconds.
    ///
    /// # Panics
    /// If the shapes don't fit or a target is not in 0..K.
    pub fn forward_with(
        &self,
        selector: &mut Selector,
        logits: Tensor<2>,
        targets: Tensor<1, Int>,
    ) -> (Tensor<1>, Kept) {
        let [batch, classes] = logits.dims();
        assert_eq!(targets.dims(), [batch], "targets must be as many as rows of logits ([{batch}, {classes}])");
        let host = HostBatch::new(&logits, &targets);
        let Ok(mut kept) = host.rank(&self.config.ranking, &logits, &targets).and_then(|losses| {
            self.select(selector, &host, &losses) // an error here is a loss that is not a number
        }) else {
            // Hand it on, as a loss that does not select would.
            return (self.trained().forward(logits, targets).mean(), host.nothing());
        };
        if kept.positions.is_empty() {
            kept.starved = true;
            return (zero(logits), kept);
        }
        let Some(base) = self.trained().surrogate().filter(|_| host.finite) else {
            return (self.train_recorded(logits, targets, &kept), kept);
        };
        let (value, slopes) = host.value_and_slopes(base, &kept.positions);
        kept.starved = slopes.iter().all(|&slope| slope == 0.0);
        (with_slopes(value, slopes, logits), kept)
    }

    /// Keeps by Algorithm 1, or all in the burn-in.
    fn select(&self, selector: &mut Selector, host: &HostBatch, losses: &[f64]) -> Result<Kept> {
        let wrong: Vec<bool> = host.margins.iter().map(|&margin| margin < 0.0).collect();
        let misclassified = wrong.iter().filter(|wrong| **wrong).count();
        if !self.selects {
            let sum = losses.iter().sum();
            let positions = (0..losses.len() as u32).collect();
            let count = losses.len();
            return Ok(Kept {
                positions,
                count,
                extra: false,
                misclassified,
                sum,
                total: sum,
                objective: sum,
                starved: false,
            });
        }
        let extra = if self.config.extra { Extra::WhenSlack } else { Extra::Never };
        let curriculum = Curriculum { threshold: self.config.threshold, extra, balanced: self.config.balanced };
        let chosen = curriculum.select(selector, losses, &wrong, &host.labels, host.classes)?;
        Ok(Kept {
            positions: chosen.kept.to_vec(),
            count: chosen.count,
            extra: chosen.extra,
            misclassified,
            sum: chosen.sum,
            total: losses.iter().sum(),
            objective: chosen.objective,
            starved: false,
        })
    }

    /// The mean training loss over the kept, differentiated by Burn.
    fn train_recorded(&self, logits: Tensor<2>, targets: Tensor<1, Int>, kept: &Kept) -> Tensor<1> {
        let losses = self.trained().forward(logits, targets);
        if kept.positions.len() == losses.dims()[0] {
            return losses.mean();
        }
        let positions: Vec<i32> = kept.positions.iter().map(|&position| position as i32).collect();
        let positions = TensorData::new(positions, [kept.positions.len()]);
        losses.clone().select(0, Tensor::<1, Int>::from_data(positions, &losses.device())).mean()
    }
}

/// One batch on the host: read back once.
struct HostBatch {
    logits: Vec<f64>,
    labels: Vec<Label>,
    classes: usize,
    margins: Vec<f64>,
    finite: bool,
}

impl HostBatch {
    fn new(logits: &Tensor<2>, targets: &Tensor<1, Int>) -> Self {
        let [_, classes] = logits.dims();
        let labels = targets.clone().without_autodiff().into_data_as::<i64>().try_to_vec::<i64>();
        let labels: Vec<Label> = labels.unwrap_or_default().into_iter().map(|label| label as Label).collect();
        if let Some(label) = labels.iter().find(|&&label| label as usize >= classes) {
            panic!("targets must be in 0..{classes}, got {label}");
        }
        let logits: Vec<f64> = to_floats(logits.clone().without_autodiff()).into_iter().map(f64::from).collect();
        let finite = logits.iter().all(|logit| logit.is_finite());
        let margins = logits.chunks_exact(classes).zip(&labels).map(|(row, &label)| margin(row, label)).collect();
        Self { logits, labels, classes, margins, finite }
    }

    /// The ranking losses; those the core does not know come from the device.
    fn rank(&self, ranking: &SampleLoss, logits: &Tensor<2>, targets: &Tensor<1, Int>) -> Result<Vec<f64>> {
        if let Some(row) = self.logits.iter().position(|logit| logit.is_nan()) {
            return Err(Error::value("logit", "a number", f64::NAN).at(format!("row {}", row / self.classes)));
        }
        Ok(match ranking.surrogate() {
            Some(base) => self.rows().map(|(row, label)| base.value(row, label)).collect(),
            None => {
                let losses = ranking.forward(logits.clone().without_autodiff(), targets.clone().without_autodiff());
                to_floats(losses).into_iter().map(f64::from).collect()
            }
        })
    }

    /// The mean base loss over the kept, and its derivative by every logit.
    ///
    /// Computed here because everything is here already: a recorded soft hinge costs twice what cross-entropy does.
    fn value_and_slopes(&self, base: Surrogate, kept: &[u32]) -> (f64, Vec<f32>) {
        let mut slopes = vec![0.0; self.logits.len()];
        let mut row_slopes = vec![0.0; self.classes];
        let (mut sum, share) = (0.0, 1.0 / kept.len() as f64);
        for &position in kept {
            let start = position as usize * self.classes;
            let (row, label) = (&self.logits[start..][..self.classes], self.labels[position as usize]);
            sum += base.value_and_gradient(row, label, &mut row_slopes);
            let out = &mut slopes[start..][..self.classes];
            out.iter_mut().zip(&row_slopes).for_each(|(out, slope)| *out = (slope * share) as f32);
        }
        (sum * share, slopes)
    }

    fn rows(&self) -> impl Iterator<Item = (&[f64], Label)> {
        self.logits.chunks_exact(self.classes).zip(self.labels.iter().copied())
    }

    fn nothing(&self) -> Kept {
        Kept {
            positions: Vec::new(),
            count: 0,
            extra: false,
            misclassified: self.margins.iter().filter(|&&margin| margin < 0.0).count(),
            sum: 0.0,
            total: f64::NAN,
            objective: f64::NAN,
            starved: false,
        }
    }
}

/// `value`, with `slopes` as its derivative by the logits (all finite): adds `Σ logits·slopes` minus itself, exactly 0.
fn with_slopes(value: f64, slopes: Vec<f32>, logits: Tensor<2>) -> Tensor<1> {
    let slopes = Tensor::<2>::from_data(TensorData::new(slopes, logits.shape()), &logits.device());
    let line = (logits * slopes).sum();
    let level = line.clone().detach();
    line - level + value
}

/// 0 with zero gradient, even where logits are infinite (0 · ∞ is not 0).
fn zero(logits: Tensor<2>) -> Tensor<1> {
    let everywhere = Tensor::<2, Int>::zeros(logits.dims(), &logits.device()).equal_scalar(0);
    logits.mask_fill(everywhere, 0.0).sum()
}

/// The numbers of a small tensor, whatever float type the device computes in.
fn to_floats<const D: usize>(values: Tensor<D>) -> Vec<f32> {
    values.into_data_as::<f32>().try_to_vec::<f32>().unwrap_or_default()
}

#[cfg(test)]
mod tests;
