//! [`MemoryLoss`]: cross-entropy against what a memory of the network's own answers says about the labels.

use super::cross_entropy::soft_cross_entropy;
use crate::history::softmax;
use crate::run::to_host;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tares_core::memory::{Memory, Mistakes};
use tares_core::{Error, Label, Result, stream};

/// The burn-in ends when this part of what was learnt about the visible labels is not known about the hidden ones ...
const MEMORISED: f64 = 0.25;
/// ... and the difference exceeds this many standard errors.
const ERRORS: f64 = 3.0;

/// The settings of a [`MemoryLoss`].
///
/// ```text
/// epochs    0 … end of the burn-in             … + rise           … all
/// belief    the label   γ rises from 1 to sharpness   γ = sharpness
/// ```
/// The burn-in ends when the network has memorised labels, at the latest after `burn_in` of the epochs. Until then, the labels of some
/// rows are hidden from the network: these rows tell what is memorised, and how often labels are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MemoryLossConfig {
    /// How many epochs will be trained.
    pub epochs: usize,
    /// Which rows are hidden in the burn-in.
    pub seed: u64,
    /// β, in [0, 1): how long answers are remembered.
    pub beta: f64,
    /// γ at the end, at least 1: how much a remembered answer counts against a label.
    pub sharpness: f64,
    /// In (0, 1]: the part of the rows of each class, the surest first, on which mistakes are counted.
    pub surest: f64,
    /// In [0, 1): the part of the rows, rounded down, that is not learnt from in the burn-in. 0: the burn-in has a fixed length.
    pub hidden: f64,
    /// In [0, 1]: the part of the epochs after which the burn-in ends at the latest; at least one epoch.
    pub burn_in: f64,
    /// In [0, 1]: the part of the epochs, after the burn-in, in which γ rises from 1 to `sharpness`; at least one epoch.
    pub rise: f64,
}

/// How a burn-in ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurnIn {
    /// The epochs in which all labels were believed.
    pub epochs: usize,
    /// How often sure answers to hidden rows differed from their labels; 0 if no row was hidden.
    pub disagreement: f64,
}

impl MemoryLossConfig {
    /// The settings of the method `tares` for a training of this many epochs.
    pub fn new(epochs: usize) -> Self {
        Self { epochs, seed: 1, beta: 0.7, sharpness: 2.0, surest: 0.5, hidden: 0.1, burn_in: 0.3, rise: 0.3 }
    }

    /// The epochs in which all labels are believed, at most.
    fn burn_in_epochs(&self) -> usize {
        ((self.burn_in * self.epochs as f64).round() as usize).max(1)
    }

    /// γ this many epochs after the end of the burn-in.
    fn sharpness_after(&self, epochs: usize) -> f64 {
        let risen = epochs as f64 / (self.rise * self.epochs as f64).max(1.0);
        1.0 + (self.sharpness - 1.0) * risen.min(1.0)
    }

    /// The rows that are not learnt from in the burn-in.
    fn hidden_rows(&self, rows: usize) -> Vec<bool> {
        let mut hidden = vec![false; rows];
        let order = stream(self.seed, "hidden labels").permutation(rows);
        order[..(self.hidden * rows as f64) as usize].iter().for_each(|&row| hidden[row] = true);
        hidden
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
        within("hidden of a memory", "a fraction in [0, 1)", self.hidden, (0.0..1.0).contains(&self.hidden))?;
        for (what, part) in [("burn-in of a memory", self.burn_in), ("rise of a memory", self.rise)] {
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
            hidden: self.hidden_rows(given.len()),
            burn_in: None,
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
/// plain cross-entropy; rows whose label is given up are taught the remembered answer. In the burn-in q is the label, and p itself
/// (nothing is learnt) for the hidden rows.
///
/// Call [`begin_epoch`](Self::begin_epoch) before every epoch. The state is [`memory`](Self::memory), N × K numbers, and
/// [`burn_in`](Self::burn_in).
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
    /// The rows that are not learnt from in the burn-in.
    hidden: Vec<bool>,
    /// `None` in the burn-in.
    burn_in: Option<BurnIn>,
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

    /// How the burn-in ended, for a checkpoint; `None` before that.
    pub fn burn_in(&self) -> Option<BurnIn> {
        self.burn_in
    }

    /// Continues with the state of a checkpoint; call [`begin_epoch`](Self::begin_epoch) next.
    ///
    /// # Errors
    /// A memory of other rows or classes; a disagreement outside [0, 1].
    pub fn with_state(mut self, sums: Vec<f32>, burn_in: Option<BurnIn>) -> Result<Self> {
        if let Some(BurnIn { disagreement, .. }) = burn_in
            && !(0.0..=1.0).contains(&disagreement)
        {
            return Err(Error::value("disagreement of a burn-in", "in [0, 1]", disagreement));
        }
        self.memory = Memory::from_sums(sums, self.given.len(), self.memory.classes())?;
        self.burn_in = burn_in;
        Ok(self)
    }

    /// Ends the burn-in if it is time (epochs count from 0), and counts anew how labels are mistaken.
    ///
    /// # Errors
    /// None that checked labels could cause.
    pub fn begin_epoch(&mut self, epoch: usize) -> Result<()> {
        if self.burn_in.is_none() && epoch > 0 && (epoch >= self.config.burn_in_epochs() || self.memorises()?) {
            let hidden = (0..self.given.len()).filter(|&row| self.hidden[row]);
            let disagreement = match self.hidden.contains(&true) {
                true => self.memory.disagreement(&self.given, hidden, self.config.surest)?,
                false => 0.0,
            };
            self.burn_in = Some(BurnIn { epochs: epoch, disagreement });
        }
        let Some(BurnIn { epochs, disagreement }) = self.burn_in else {
            self.mistakes = None;
            return Ok(());
        };
        self.sharpness = self.config.sharpness_after(epoch.saturating_sub(epochs));
        let (all, surest) = (0..self.given.len(), self.config.surest);
        let factor = disagreement / self.memory.disagreement(&self.given, all, surest)?;
        self.mistakes = Some(self.memory.mistakes(&self.given, surest)?.more_often(factor));
        Ok(())
    }

    /// Whether labels are memorised by now.
    fn memorises(&self) -> Result<bool> {
        let memorised = self.memory.memorised(&self.given, &self.hidden)?;
        Ok(memorised.share > MEMORISED && memorised.errors > ERRORS)
    }

    /// Whether this row is not learnt from at present.
    pub fn hides(&self, row: usize) -> bool {
        self.burn_in.is_none() && self.hidden[row]
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

    /// Remembers the `[m][K]` answers to the rows `indices` and turns them into what these rows are trained on.
    pub(crate) fn learn(&mut self, mut answers: Vec<f32>, indices: &[u32]) -> Vec<f32> {
        let beta = self.config.beta as f32;
        for (answer, &index) in answers.chunks_exact_mut(self.memory.classes()).zip(indices) {
            self.memory.remember(index as usize, answer, beta);
            if !self.hides(index as usize) {
                self.belief(index as usize, answer); // q = p has no gradient
            }
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
        assert_eq!(config.burn_in_epochs(), 6);
        assert_eq!([0, 3, 6, 13].map(|epochs| config.sharpness_after(epochs)), [1.0, 1.5, 2.0, 2.0]);
        assert_eq!([1, 2, 10, 60].map(|epochs| MemoryLossConfig::new(epochs).burn_in_epochs()), [1, 1, 3, 18]);
        assert!((0..3).all(|epochs| MemoryLossConfig::new(1).sharpness_after(epochs).is_finite()));
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
        let again = MemoryLossConfig::new(4).init(&given, 2).unwrap();
        let mut again = again.with_state(loss.memory().sums().to_vec(), loss.burn_in()).unwrap();
        again.begin_epoch(4).unwrap();
        loss.begin_epoch(4).unwrap();
        assert_eq!(again, loss);
    }

    #[test]
    fn hidden_rows_have_no_gradient_in_the_burn_in_and_end_it_once_labels_are_memorised() {
        let device = Device::flex().autodiff();
        let given: Vec<Label> = (0..200).map(|row| row % 2).collect();
        let all: Vec<u32> = (0..200).collect();
        let mut loss = MemoryLossConfig::new(20).init(&given, 2).unwrap();
        assert_eq!(loss.hidden.iter().filter(|&&hidden| hidden).count(), 20);
        // Visible labels are repeated, hidden ones are answered with class 0.
        let rows: Vec<f32> =
            (0..200).flat_map(|row| if loss.hidden[row] || row % 2 == 0 { [2.0, 0.0] } else { [0.0, 2.0] }).collect();
        loss.begin_epoch(0).unwrap();
        let logits = Tensor::<2>::from_data(TensorData::new(rows, [200, 2]), &device).require_grad();
        let value = loss.forward(logits.clone(), &all);
        let slopes = to_host(logits.grad(&value.backward()).unwrap());
        for (row, slope) in slopes.chunks_exact(2).enumerate() {
            assert_eq!(slope[0].abs() < 1e-7, loss.hidden[row], "row {row}: {slope:?}");
            assert!(loss.believes(row));
        }
        loss.begin_epoch(1).unwrap();
        let wrong = (0..200).filter(|&row| loss.hidden[row] && row % 2 == 1).count().min(10) as f64;
        let burn_in = loss.burn_in().expect("memorised");
        assert!(burn_in.epochs == 1 && burn_in.disagreement <= (wrong + 0.5) / 11.0, "{burn_in:?}");
        assert!((0..200).all(|row| !loss.hides(row)));
        // The mistakes are scaled to what the hidden rows showed: the visible ones alone show none.
        let fixed = MemoryLossConfig { hidden: 0.0, ..MemoryLossConfig::new(20) }.init(&given, 2).unwrap();
        let mut fixed = fixed.with_state(loss.memory().sums().to_vec(), None).unwrap();
        fixed.begin_epoch(1).unwrap();
        assert_eq!(fixed.burn_in(), None, "without hidden rows its length is fixed");
        fixed.begin_epoch(6).unwrap();
        assert_eq!(fixed.burn_in(), Some(BurnIn { epochs: 6, disagreement: 0.0 }));
        let off = |loss: &MemoryLoss| loss.mistakes.as_ref().unwrap().at(0, 1);
        assert!(off(&loss) > off(&fixed), "{} against {}", off(&loss), off(&fixed));
    }

    #[test]
    fn refuses_what_is_outside_its_domain() {
        let said = |config: MemoryLossConfig| config.init(&[0, 1], 2).unwrap_err().to_string();
        let fine = MemoryLossConfig::new(10);
        assert_eq!(said(MemoryLossConfig { beta: 1.0, ..fine }), "beta of a memory must be in [0, 1), got 1");
        assert!(said(MemoryLossConfig { sharpness: 0.5, ..fine }).contains("at least 1, got 0.5"));
        assert!(said(MemoryLossConfig { surest: 0.0, ..fine }).contains("in (0, 1], got 0"));
        assert!(said(MemoryLossConfig { burn_in: 1.5, ..fine }).contains("burn-in of a memory"));
        assert!(said(MemoryLossConfig { rise: f64::NAN, ..fine }).contains("rise of a memory"));
        assert!(said(MemoryLossConfig { hidden: 1.0, ..fine }).contains("hidden of a memory"));
        assert!(fine.init(&[0, 2], 2).unwrap_err().to_string().contains("label must be below 2, got 2"));
        let loss = || fine.init(&[0, 1], 2).unwrap();
        assert!(loss().with_state(vec![0.0; 3], None).is_err());
        let burn_in = Some(BurnIn { epochs: 1, disagreement: 2.0 });
        assert!(loss().with_state(vec![0.0; 4], burn_in).unwrap_err().to_string().contains("in [0, 1], got 2"));
    }
}
