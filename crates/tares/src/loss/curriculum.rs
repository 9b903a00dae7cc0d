//! [`CurriculumLoss`]: the paper's loss as a plug-in for any Burn training loop.

use super::margin::margin;
use super::name::SampleLoss;
use burn::tensor::{Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::{Curriculum, Error, Extra, Label, Result, Selector, Surrogate, Threshold};

/// What a [`CurriculumLoss`] is made from.
///
/// ```
/// use tares::loss::{CurriculumLossConfig, SampleLoss};
/// use tares_core::Threshold;
/// let loss = CurriculumLossConfig::new(Threshold::Prune { rate: 0.3 })
///     .with_training(SampleLoss::Weighted { beta: 0.5 })
///     .with_balanced(true)
///     .with_burn_in(10)
///     .init()?;
/// assert!(!loss.at_epoch(9).selects() && loss.at_epoch(10).selects());
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CurriculumLossConfig {
    /// Where the selection threshold C comes from: E, Q (= CL), NPCL fixed or adaptive, a prior of your own.
    pub threshold: Threshold,
    /// The loss samples are ranked by; the hard hinge unless said otherwise.
    #[serde(default = "hard")]
    pub ranking: SampleLoss,
    /// The loss whose mean over the kept samples is trained; the soft hinge unless said otherwise.
    #[serde(default = "soft")]
    pub training: SampleLoss,
    /// Keep one more sample when `L_T ≤ C − T` (the T+1 rule); true unless said otherwise.
    #[serde(default = "yes")]
    pub extra: bool,
    /// One threshold per class, so that no class is pruned away; false unless said otherwise.
    #[serde(default)]
    pub balanced: bool,
    /// Epochs at the start without selection; 0 unless said otherwise (the paper: 5 on MNIST, 10 on CIFAR).
    #[serde(default)]
    pub burn_in: usize,
}

fn hard() -> SampleLoss {
    SampleLoss::Hinge
}

fn soft() -> SampleLoss {
    SampleLoss::SoftHinge
}

fn yes() -> bool {
    true
}

impl CurriculumLossConfig {
    /// As the authors train: rank by hard hinge, train the soft hinge, T+1 rule, no burn-in.
    pub fn new(threshold: Threshold) -> Self {
        Self { threshold, ranking: hard(), training: soft(), extra: true, balanced: false, burn_in: 0 }
    }

    /// Ranks by another loss.
    #[must_use]
    pub fn with_ranking(mut self, ranking: SampleLoss) -> Self {
        self.ranking = ranking;
        self
    }

    /// Trains another loss.
    #[must_use]
    pub fn with_training(mut self, training: SampleLoss) -> Self {
        self.training = training;
        self
    }

    /// Switches the T+1 rule.
    #[must_use]
    pub fn with_extra(mut self, extra: bool) -> Self {
        self.extra = extra;
        self
    }

    /// Switches selection class by class.
    #[must_use]
    pub fn with_balanced(mut self, balanced: bool) -> Self {
        self.balanced = balanced;
        self
    }

    /// Sets the number of epochs without selection.
    #[must_use]
    pub fn with_burn_in(mut self, epochs: usize) -> Self {
        self.burn_in = epochs;
        self
    }

    /// Checks the numbers and makes the loss.
    ///
    /// # Errors
    /// A rate, custom threshold or number of a loss outside its domain.
    pub fn init(&self) -> Result<CurriculumLoss> {
        self.threshold.check()?;
        self.ranking.check()?;
        self.training.check()?;
        Ok(CurriculumLoss { config: *self, selects: true })
    }
}

/// The mean training loss over the samples Algorithm 1 keeps: a loss for any Burn loop, like Burn's own.
///
/// ```text
/// kept = prefix of the batch by ranking loss l: keep the i-th smallest iff  L_i ≤ C + 1 − i     (L_i: prefix sums)
/// loss = mean over kept of the training loss
/// ```
///
/// C follows from the batch size m, the number e of misclassified samples and the noise rate r by [`Threshold`]. The
/// samples that are not kept get exactly zero gradient. Ranking reads the batch back to the host once (m numbers).
///
/// * T = 0 (nothing is kept) gives the value 0 with zero gradient, and [`Kept::positions`] is empty.
/// * Starvation (every kept sample has zero loss, so nothing is learnt) is reported as [`Kept::starved`].
/// * Logits that are not numbers give a loss that is not a number, as every Burn loss does, and nothing is kept.
///
/// ```
/// use burn::tensor::{Device, Int, Tensor};
/// use tares::loss::CurriculumLossConfig;
/// use tares_core::Threshold;
///
/// let device = Device::flex().autodiff();
/// let loss = CurriculumLossConfig::new(Threshold::Prune { rate: 0.25 }).init()?;
/// let logits = Tensor::<2>::from_floats([[3.0, 0.0], [0.0, 0.5], [0.2, 0.1], [4.0, 0.0]], &device).require_grad();
/// let targets = Tensor::<1, Int>::from_ints([0, 1, 0, 1], &device); // the last label is wrong
/// let (value, kept) = loss.forward_kept(logits.clone(), targets);
/// assert_eq!(kept.positions, [0, 1, 2]);
/// let gradient = logits.grad(&value.backward()).unwrap().to_data().try_to_vec::<f32>().unwrap();
/// assert_eq!(gradient[6..], [0.0, 0.0]);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurriculumLoss {
    config: CurriculumLossConfig,
    selects: bool,
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
    /// `max(L_T, C − T)`: the bound of the number of misclassified samples; in the burn-in the plain sum of ranking
    /// losses.
    pub objective: f64,
    /// True if the batch teaches nothing: nothing is kept, or every kept sample's training loss is exactly zero.
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
        Self { selects: epoch >= self.config.burn_in, ..*self }
    }

    /// The same loss with another noise rate, for rates that rise over the epochs or are estimated on the way.
    ///
    /// # Errors
    /// A rate outside [0, 1].
    pub fn with_rate(&self, rate: f64) -> Result<Self> {
        let threshold = self.config.threshold.with_rate(rate).check()?;
        Ok(Self { config: CurriculumLossConfig { threshold, ..self.config }, ..*self })
    }

    /// Whether samples are left out: false in the burn-in.
    pub fn selects(&self) -> bool {
        self.selects
    }

    /// The loss of a batch.
    ///
    /// # Shapes
    /// logits `[batch, K]`, targets `[batch]` in 0..K → `[1]`.
    ///
    /// # Panics
    /// If the shapes don't fit.
    pub fn forward(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> Tensor<1> {
        self.forward_kept(logits, targets).0
    }

    /// The loss of a batch, and what was kept of it.
    ///
    /// # Shapes
    /// As [`forward`](Self::forward).
    ///
    /// # Panics
    /// If the shapes don't fit.
    pub fn forward_kept(&self, logits: Tensor<2>, targets: Tensor<1, Int>) -> (Tensor<1>, Kept) {
        self.forward_with(&mut Selector::new(), logits, targets)
    }

    /// [`forward_kept`](Self::forward_kept) with scratch space of the caller's, for loops that count microseconds.
    ///
    /// # Panics
    /// If the shapes don't fit.
    pub fn forward_with(
        &self,
        selector: &mut Selector,
        logits: Tensor<2>,
        targets: Tensor<1, Int>,
    ) -> (Tensor<1>, Kept) {
        let [batch, classes] = logits.dims();
        assert_eq!(targets.dims(), [batch], "targets must be as many as rows of logits ([{batch}, {classes}])");
        // One margin serves ranking and training.
        let margins = margin(logits.clone(), targets.clone());
        let ranked = self.rank(&margins, &logits, &targets);
        let Ok(kept) = self.select(selector, &ranked, classes) else {
            // Only losses that are not numbers get here: hand them on, as a loss that does not select would.
            return (self.config.training.forward_from(margins, logits, targets).mean(), ranked.nothing());
        };
        if kept.positions.is_empty() {
            return (zero(logits), kept);
        }
        let losses = self.config.training.forward_from(margins, logits, targets);
        if kept.positions.len() == batch {
            return (losses.mean(), kept);
        }
        let positions: Vec<i32> = kept.positions.iter().map(|&position| position as i32).collect();
        let positions = TensorData::new(positions, [kept.positions.len()]);
        let positions = Tensor::<1, Int>::from_data(positions, &losses.device());
        (losses.select(0, positions).mean(), kept)
    }

    /// Reads back, once, what the selection needs.
    fn rank(&self, margins: &Tensor<1>, logits: &Tensor<2>, targets: &Tensor<1, Int>) -> Ranked {
        let [batch, _] = logits.dims();
        let targets = targets.clone().without_autodiff();
        let mut columns = vec![margins.clone().without_autodiff()];
        // A base loss of the margin alone is computed here from the margin; any other travels beside it.
        let by_margin = self.config.ranking.of_margin_alone();
        if by_margin.is_none() {
            columns.push(self.config.ranking.forward(logits.clone().without_autodiff(), targets.clone()));
        }
        if self.config.balanced {
            columns.push(targets.float());
        }
        let mut numbers = to_floats(if columns.len() == 1 { columns.remove(0) } else { Tensor::cat(columns, 0) });
        let labels = match self.config.balanced {
            true => numbers.split_off(numbers.len() - batch).into_iter().map(|label| label as Label).collect(),
            false => Vec::new(),
        };
        let losses = match by_margin {
            Some(loss) => numbers.iter().map(|&margin| loss.of_margin(f64::from(margin))).collect(),
            None => numbers.split_off(batch).into_iter().map(f64::from).collect(),
        };
        Ranked { margins: numbers, losses, labels }
    }

    /// Keeps by Algorithm 1, or all in the burn-in.
    fn select(&self, selector: &mut Selector, ranked: &Ranked, classes: usize) -> Result<Kept> {
        let wrong: Vec<bool> = ranked.margins.iter().map(|&margin| margin < 0.0).collect();
        let misclassified = wrong.iter().filter(|wrong| **wrong).count();
        if let Some(row) = ranked.margins.iter().position(|margin| margin.is_nan()) {
            return Err(Error::value("margin", "a number", f64::NAN).at(format!("row {row}")));
        }
        let mut kept = if self.selects {
            let extra = if self.config.extra { Extra::WhenSlack } else { Extra::Never };
            let curriculum = Curriculum { threshold: self.config.threshold, extra, balanced: self.config.balanced };
            let chosen = curriculum.select(selector, &ranked.losses, &wrong, &ranked.labels, classes)?;
            Kept {
                positions: chosen.kept.to_vec(),
                count: chosen.count,
                extra: chosen.extra,
                misclassified,
                sum: chosen.sum,
                objective: chosen.objective,
                starved: false,
            }
        } else {
            let sum = ranked.losses.iter().sum();
            let count = ranked.losses.len();
            let positions = (0..count as u32).collect();
            Kept { positions, count, extra: false, misclassified, sum, objective: sum, starved: false }
        };
        kept.starved = !kept.positions.iter().any(|&position| self.teaches(ranked.margins[position as usize]));
        Ok(kept)
    }

    /// Whether a sample of this margin has a gradient under the training loss.
    fn teaches(&self, margin: f32) -> bool {
        match self.config.training {
            SampleLoss::Hinge | SampleLoss::SoftHinge | SampleLoss::Weighted { .. } | SampleLoss::SquaredHinge => {
                margin < 1.0
            }
            SampleLoss::TruncatedHinge { cap } => margin < 1.0 && 1.0 - f64::from(margin) < cap,
            _ => true,
        }
    }
}

/// One batch as the selection sees it.
struct Ranked {
    margins: Vec<f32>,
    losses: Vec<f64>,
    labels: Vec<Label>,
}

impl Ranked {
    fn nothing(&self) -> Kept {
        Kept {
            positions: Vec::new(),
            count: 0,
            extra: false,
            misclassified: self.margins.iter().filter(|&&margin| margin < 0.0).count(),
            sum: 0.0,
            objective: f64::NAN,
            starved: false,
        }
    }
}

impl SampleLoss {
    /// The base loss of the core this is, if it depends on the logits only through the margin.
    fn of_margin_alone(&self) -> Option<Surrogate> {
        match self.surrogate() {
            Some(Surrogate::SoftHinge | Surrogate::Weighted { .. }) => None,
            other => other,
        }
    }
}

/// 0 with zero gradient, even where logits are infinite (0 · ∞ is not 0).
fn zero(logits: Tensor<2>) -> Tensor<1> {
    let everywhere = Tensor::<2, Int>::zeros(logits.dims(), &logits.device()).equal_scalar(0);
    logits.mask_fill(everywhere, 0.0).sum()
}

/// The numbers of a small tensor, whatever float type the device computes in.
fn to_floats(values: Tensor<1>) -> Vec<f32> {
    values.into_data_as::<f32>().try_to_vec::<f32>().unwrap_or_default()
}

#[cfg(test)]
mod tests;
