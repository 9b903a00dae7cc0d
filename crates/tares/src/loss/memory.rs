//! [`MemoryLoss`]: cross-entropy against what a memory of the network's own answers says about the labels.

use super::cross_entropy::soft_cross_entropy;
use crate::history::softmax;
use crate::run::to_host;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::memory::{Memory, Mistakes};
use tares_core::{Error, Label, Result};

/// The settings of a [`MemoryLoss`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryLossConfig {
    /// β, in [0, 1): how long answers are remembered.
    pub beta: f64,
    /// γ, at least 1: how much a remembered answer counts against a label.
    pub sharpness: f64,
    /// In (0, 1]: the part of the rows of each class, the surest first, on which mistakes are counted.
    pub surest: f64,
    /// Epochs at the start in which all labels are believed.
    pub burn_in: usize,
}

impl Default for MemoryLossConfig {
    fn default() -> Self {
        Self { beta: 0.7, sharpness: 2.0, surest: 0.5, burn_in: 4 }
    }
}

impl MemoryLossConfig {
    /// Refuses values outside their domain.
    ///
    /// # Errors
    /// The first value that is outside, by name.
    pub fn check(&self) -> Result<()> {
        let within = |what: &str, allowed: &str, value: f64, fine: bool| {
            if fine { Ok(()) } else { Err(Error::value(what, allowed, value)) }
        };
        within("beta of a memory", "in [0, 1)", self.beta, (0.0..1.0).contains(&self.beta))?;
        let sharp = self.sharpness >= 1.0 && self.sharpness.is_finite();
        within("sharpness of a memory", "at least 1", self.sharpness, sharp)?;
        within("surest of a memory", "in (0, 1]", self.surest, self.surest > 0.0 && self.surest <= 1.0)
    }

    /// The loss for training rows with these labels.
    ///
    /// # Errors
    /// As [`check`](Self::check); labels outside 0..K, or fewer than two classes.
    pub fn init(&self, given: &[Label], classes: usize) -> Result<MemoryLoss> {
        self.check()?;
        if classes < 2 {
            return Err(Error::value("classes of a memory", "at least 2", classes));
        }
        if let Some(row) = given.iter().position(|&label| label as usize >= classes) {
            return Err(Error::value("label", format!("below {classes}"), given[row]).at(format!("row {row}")));
        }
        Ok(MemoryLoss {
            config: *self,
            memory: Memory::new(given.len(), classes),
            given: given.to_vec(),
            mistakes: None,
        })
    }
}

/// Cross-entropy against beliefs instead of labels: a loss for any Burn loop that knows which rows are in a batch.
///
/// ```text
/// loss = mean_i −Σ_c q_i(c) log p_i(c)        q_i(c) ∝ t_i(c)^γ T[c][y_i]
/// ```
/// t_i is the moving average of the network's answers to row i and T counts how labels are mistaken where it is sure
/// ([`tares_core::memory`]). Nothing has to be told about the noise: with right labels q stays at the labels and the loss is
/// plain cross-entropy; rows whose label is given up are taught the remembered answer.
///
/// Call [`begin_epoch`](Self::begin_epoch) before every epoch. The state is [`memory`](Self::memory), N × K numbers.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use tares::loss::MemoryLossConfig;
///
/// let device = Device::flex().autodiff();
/// let given = [0, 0, 0, 1, 1, 1, 1]; // the label of row 3 is wrong: its picture looks like those of class 0
/// let mut loss = MemoryLossConfig { burn_in: 1, ..Default::default() }.init(&given, 2)?;
/// let (zero, one) = ([3.0, 0.0], [0.0, 3.0]);
/// let logits = Tensor::<2>::from_floats([zero, zero, zero, zero, one, one, one], &device);
/// for epoch in 0..3 {
///     loss.begin_epoch(epoch)?;
///     loss.forward(logits.clone(), &[0, 1, 2, 3, 4, 5, 6]);
/// }
/// let kept: Vec<bool> = (0..7).map(|row| loss.believes(row)).collect();
/// assert_eq!(kept, [true, true, true, false, true, true, true]);
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryLoss {
    config: MemoryLossConfig,
    memory: Memory,
    given: Vec<Label>,
    /// `None` in the burn-in.
    mistakes: Option<Mistakes>,
}

impl MemoryLoss {
    /// What is remembered, for a checkpoint.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Continues with the memory of a checkpoint; call [`begin_epoch`](Self::begin_epoch) next.
    ///
    /// # Errors
    /// A memory of other rows or classes.
    pub fn with_memory(mut self, sums: Vec<f32>) -> Result<Self> {
        self.memory = Memory::from_sums(sums, self.given.len(), self.memory.classes())?;
        Ok(self)
    }

    /// Counts anew how labels are mistaken, unless this epoch (from 0) belongs to the burn-in.
    ///
    /// # Errors
    /// None that checked labels could cause.
    pub fn begin_epoch(&mut self, epoch: usize) -> Result<()> {
        let counts = epoch >= self.config.burn_in;
        self.mistakes = counts.then(|| self.memory.mistakes(&self.given, self.config.surest)).transpose()?;
        Ok(())
    }

    /// The loss of a batch of the training rows `indices`; remembers the answers.
    ///
    /// # Shapes
    /// logits `[batch, K]` → `[1]`.
    ///
    /// # Panics
    /// If the shapes don't fit or an index is not in 0..N.
    pub fn forward(&mut self, logits: Tensor<2>, indices: &[u32]) -> Tensor<1> {
        let classes = self.memory.classes();
        assert_eq!(logits.dims(), [indices.len(), classes], "a row of logits per index, a column per class");
        let mut answers = to_host(logits.clone());
        answers.chunks_exact_mut(classes).for_each(softmax);
        let beliefs = self.learn(answers, indices);
        let beliefs = Tensor::<2>::from_data(TensorData::new(beliefs, [indices.len(), classes]), &logits.device());
        soft_cross_entropy(logits, beliefs).mean()
    }

    /// Remembers the `[m][K]` answers to the rows `indices` and turns them into what is believed about these rows.
    pub(crate) fn learn(&mut self, mut answers: Vec<f32>, indices: &[u32]) -> Vec<f32> {
        let beta = self.config.beta as f32;
        for (answer, &index) in answers.chunks_exact_mut(self.memory.classes()).zip(indices) {
            self.memory.remember(index as usize, answer, beta);
            self.belief(index as usize, answer);
        }
        answers
    }

    /// q: what is believed about the true class of a row. In the burn-in, its label.
    ///
    /// # Panics
    /// If the row or the number of classes doesn't fit.
    pub fn belief(&self, row: usize, out: &mut [f32]) {
        let given = self.given[row];
        match &self.mistakes {
            Some(mistakes) => {
                self.memory.answer(row, out);
                mistakes.believe(out, given, self.config.sharpness as f32);
            }
            None => {
                out.fill(0.0);
                out[given as usize] = 1.0;
            }
        }
    }

    /// What is believed about all rows: `[N][K]`.
    pub fn beliefs(&self) -> Vec<f32> {
        let classes = self.memory.classes();
        let mut all = vec![0.0; self.given.len() * classes];
        all.chunks_exact_mut(classes).enumerate().for_each(|(row, belief)| self.belief(row, belief));
        all
    }

    /// Whether the label of a row is believed: at least as likely to be right as to be wrong.
    pub fn believes(&self, row: usize) -> bool {
        let mut belief = vec![0.0; self.memory.classes()];
        self.belief(row, &mut belief);
        belief[self.given[row] as usize] >= 0.5
    }

    /// The estimated noise rate: the mean belief that a label is wrong.
    pub fn rate(&self) -> f64 {
        let classes = self.memory.classes();
        let mut belief = vec![0.0; classes];
        let right: f64 = (0..self.given.len())
            .map(|row| {
                self.belief(row, &mut belief);
                f64::from(belief[self.given[row] as usize])
            })
            .sum();
        1.0 - right / self.given.len().max(1) as f64
    }
}
