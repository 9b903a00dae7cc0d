//! [`MemoryLoss`]: cross-entropy against what a memory of the network's own answers says about the labels.

use super::cross_entropy::soft_cross_entropy;
use crate::history::softmax;
use crate::run::to_host;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::memory::{Memory, Mistakes};
use tares_core::{Error, Label, Result};

/// The settings of a [`MemoryLoss`].
///
/// ```text
/// epochs    0 … burn-in          … sharp-from                    … all
/// belief    the label   γ rises from 1 to sharpness   γ = sharpness
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryLossConfig {
    /// How many epochs will be trained.
    pub epochs: usize,
    /// β, in [0, 1): how long answers are remembered.
    pub beta: f64,
    /// γ at the end, at least 1: how much a remembered answer counts against a label.
    pub sharpness: f64,
    /// In (0, 1]: the part of the rows of each class, the surest first, on which mistakes are counted.
    pub surest: f64,
    /// In [0, 1]: the part of the epochs in which all labels are believed; at least one epoch.
    pub burn_in: f64,
    /// In [0, 1]: after which part of the epochs γ has reached `sharpness`.
    pub sharp_from: f64,
}

impl MemoryLossConfig {
    /// The settings of the method `tares` for a training of this many epochs.
    pub fn new(epochs: usize) -> Self {
        Self { epochs, beta: 0.7, sharpness: 2.0, surest: 0.5, burn_in: 0.2, sharp_from: 0.6 }
    }

    /// The epochs in which all labels are believed.
    fn burn_in_epochs(&self) -> usize {
        ((self.burn_in * self.epochs as f64).round() as usize).max(1)
    }

    /// γ in an epoch (from 0) after the burn-in.
    fn sharpness_in(&self, epoch: usize) -> f64 {
        let (start, end) = (self.burn_in_epochs() as f64, self.sharp_from * self.epochs as f64);
        let risen = ((epoch as f64 - start) / (end - start).max(1.0)).clamp(0.0, 1.0);
        1.0 + (self.sharpness - 1.0) * risen
    }

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
        within("surest of a memory", "in (0, 1]", self.surest, self.surest > 0.0 && self.surest <= 1.0)?;
        for (what, part) in [("burn-in of a memory", self.burn_in), ("sharp-from of a memory", self.sharp_from)] {
            within(what, "a fraction in [0, 1]", part, (0.0..=1.0).contains(&part))?;
        }
        Ok(())
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
            sharpness: 1.0,
        })
    }
}

/// Cross-entropy against beliefs instead of labels: a loss for any Burn loop that knows which rows are in a batch.
///
/// ```text
/// loss = mean_i −Σ_c q_i(c) log p_i(c)        q_i(c) ∝ t_i(c)^γ T[c][y_i]
/// ```
/// t_i is the moving average of the network's answers to row i and T counts how labels are mistaken where it is sure
/// ([`tares_core::memory`]). The noise rate need not be known: with right labels q stays at the labels and the loss is
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
/// let mut loss = MemoryLossConfig::new(3).init(&given, 2)?; // the first of three epochs is the burn-in
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
    /// γ in this epoch.
    sharpness: f64,
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

    /// Counts again how labels are mistaken, unless this epoch (from 0) belongs to the burn-in.
    ///
    /// # Errors
    /// None that checked labels could cause.
    pub fn begin_epoch(&mut self, epoch: usize) -> Result<()> {
        let counts = epoch >= self.config.burn_in_epochs();
        self.sharpness = self.config.sharpness_in(epoch);
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
                mistakes.believe(out, given, self.sharpness as f32);
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

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::Device;

    #[test]
    fn sharpness_rises_from_one_after_the_burn_in() {
        let config = MemoryLossConfig::new(20);
        assert_eq!(config.burn_in_epochs(), 4);
        assert_eq!([4, 8, 12, 19, 20].map(|epoch| config.sharpness_in(epoch)), [1.0, 1.5, 2.0, 2.0, 2.0]);
        assert_eq!([1, 2, 10, 60].map(|epochs| MemoryLossConfig::new(epochs).burn_in_epochs()), [1, 1, 2, 12]);
        assert!((0..3).all(|epoch| MemoryLossConfig::new(1).sharpness_in(epoch).is_finite()));
    }

    #[test]
    fn the_burn_in_is_plain_cross_entropy_and_afterwards_the_gradient_is_p_minus_q() {
        let device = Device::flex().autodiff();
        let given = [0, 0, 0, 1, 1, 1, 1];
        let rows: [[f32; 2]; 7] = [[3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [3.0, 0.0], [0.0, 3.0], [0.0, 3.0], [0.0, 3.0]];
        let mut loss = MemoryLossConfig::new(4).init(&given, 2).unwrap();
        for epoch in 0..4 {
            loss.begin_epoch(epoch).unwrap();
            let logits = Tensor::<2>::from_floats(rows, &device).require_grad();
            let value = loss.forward(logits.clone(), &[0, 1, 2, 3, 4, 5, 6]);
            let slopes = to_host(logits.grad(&value.backward()).unwrap());
            let beliefs = loss.beliefs();
            for (place, slope) in slopes.iter().enumerate() {
                let odds = (rows[place / 2][1 - place % 2] - rows[place / 2][place % 2]).exp();
                let expected = (1.0 / (1.0 + odds) - beliefs[place]) / 7.0;
                assert!((slope - expected).abs() < 1e-6, "epoch {epoch}, {place}: {slope} against {expected}");
            }
            assert_eq!(loss.rate() == 0.0, epoch == 0, "epoch {epoch}");
        }
        assert!(!loss.believes(3) && loss.believes(2) && (loss.rate() - 1.0 / 7.0).abs() < 0.1, "{}", loss.rate());
        let again = MemoryLossConfig::new(4).init(&given, 2).unwrap().with_memory(loss.memory().sums().to_vec());
        let mut again = again.unwrap();
        again.begin_epoch(4).unwrap();
        loss.begin_epoch(4).unwrap();
        assert_eq!(again, loss);
    }

    #[test]
    fn refuses_what_is_outside_its_domain() {
        let said = |config: MemoryLossConfig| config.init(&[0, 1], 2).unwrap_err().to_string();
        let fine = MemoryLossConfig::new(10);
        assert_eq!(said(MemoryLossConfig { beta: 1.0, ..fine }), "beta of a memory must be in [0, 1), got 1");
        assert!(said(MemoryLossConfig { sharpness: 0.5, ..fine }).contains("at least 1, got 0.5"));
        assert!(said(MemoryLossConfig { surest: 0.0, ..fine }).contains("in (0, 1], got 0"));
        assert!(said(MemoryLossConfig { burn_in: 1.5, ..fine }).contains("burn-in of a memory"));
        assert!(said(MemoryLossConfig { sharp_from: f64::NAN, ..fine }).contains("sharp-from of a memory"));
        assert!(fine.init(&[0, 2], 2).unwrap_err().to_string().contains("label must be below 2, got 2"));
        assert!(fine.init(&[0, 1], 2).unwrap().with_memory(vec![0.0; 3]).is_err());
    }
}
