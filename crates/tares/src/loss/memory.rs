//! [`MemoryLoss`]: cross-entropy against what a memory of the network's own answers says about the labels.

mod config;
mod doubt;

pub use config::MemoryLossConfig;
pub use doubt::Doubt;

use super::cross_entropy::soft_cross_entropy;
use crate::history::softmax;
use crate::run::to_host;
use burn::tensor::{Tensor, TensorData};
use tares_core::memory::{Memory, Mistakes};
use tares_core::{Error, Label, Result};

/// Labels are memorised when more than this part, times 1 − 1/K, of what was learnt about the visible labels is not known about the hidden
/// ones: 0.3 with two classes, 0.54 with ten. The more classes there are, the more wrong labels a poor network can see in its own mistakes
/// (with two, a label that says nothing is still right in half of the rows), so the more reason it needs to correct any ...
const MEMORISED: f64 = 0.6;
/// ... and the difference exceeds this many standard errors.
const ERRORS: f64 = 3.0;
/// Unless labels are memorised, none is corrected by a network that knows less than this (0: chance, 1: all) about its unsure rows.
const LEAST: f64 = 0.25;

/// How a burn-in ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurnIn {
    /// The epochs in which all labels were believed.
    pub epochs: usize,
    /// How often sure answers to hidden rows differed from their labels; 0 if no row was hidden.
    pub disagreement: f64,
}

/// Cross-entropy against beliefs instead of labels: a loss for any Burn loop that knows which rows are in a batch.
///
/// ```text
/// loss = mean_i −Σ_c q_i(c) log p_i(c)        q_i(c) ∝ t_i(c)^γ T[c][y_i]
/// ```
/// t_i is the moving average of the network's answers to row i and T counts how labels are mistaken where it is sure
/// ([`tares_core::memory`]). The noise rate need not be known: with right labels q stays at the labels and the loss is
/// plain cross-entropy; rows whose label is given up are taught the remembered answer. In the burn-in q is the label, and p itself
/// (nothing is learnt) for the hidden rows. [`MemoryLossConfig`] tells when it ends; without a reason to end it, labels are believed
/// to the end.
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
/// // Seven rows are too few to hide some: of three epochs, the first is the burn-in.
/// let mut loss = MemoryLossConfig { hidden: 0.0, ..MemoryLossConfig::new(3) }.init(&given, 2)?;
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
    /// Whether the burn-in can still end; then hidden rows are not learnt from.
    undecided: bool,
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

    /// Why no label is corrected so far; `None` once labels are.
    pub fn doubt(&self) -> Option<Doubt> {
        let measured = self.config.hidden == 0.0 || self.hidden.contains(&true);
        match self.burn_in {
            Some(_) => None,
            None if measured => Some(Doubt::KnowsTooLittle),
            None => Some(Doubt::FewRows),
        }
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

    /// Ends the burn-in if there is a reason (epochs count from 0), and counts anew how labels are mistaken.
    ///
    /// # Errors
    /// None that checked labels could cause.
    pub fn begin_epoch(&mut self, epoch: usize) -> Result<()> {
        let last = self.config.decisive_epoch();
        if self.burn_in.is_none()
            && epoch > 0
            && let Some(disagreement) = self.reason(epoch)?
        {
            self.burn_in = Some(BurnIn { epochs: epoch, disagreement });
        }
        self.undecided = self.burn_in.is_none() && epoch < last;
        let Some(BurnIn { epochs, disagreement }) = self.burn_in else {
            self.mistakes = None;
            return Ok(());
        };
        self.sharpness = self.config.sharpness_after(epoch.saturating_sub(epochs));
        let (all, surest) = (0..self.given.len(), self.config.surest);
        let mistakes = self.memory.mistakes(&self.given, surest)?;
        let factor = match disagreement {
            0.0 => 1.0, // no row was hidden
            rate => rate / self.memory.disagreement(&self.given, all, surest)?,
        };
        self.mistakes = Some(mistakes.times(factor));
        Ok(())
    }

    /// If there is a reason to correct labels from this epoch on: how often they are wrong, as far as hidden rows tell (0 if there are none).
    fn reason(&self, epoch: usize) -> Result<Option<f64>> {
        let burnt_in = self.config.burn_in_epochs();
        if self.config.hidden == 0.0 {
            return Ok((epoch >= burnt_in).then_some(0.0));
        }
        if epoch > self.config.decisive_epoch() || !self.hidden.contains(&true) {
            return Ok(None);
        }
        if self.memorises()? {
            let hidden = (0..self.given.len()).filter(|&row| self.hidden[row]);
            return Ok(Some(self.memory.disagreement(&self.given, hidden, self.config.surest)?));
        }
        if epoch == burnt_in && self.knows()? {
            return Ok(Some(self.memory.least_disagreement(&self.given, &self.hidden, self.config.surest)?));
        }
        Ok(None)
    }

    /// Whether labels are memorised by now: plain training does harm.
    fn memorises(&self) -> Result<bool> {
        let memorised = self.memory.memorised(&self.given, &self.hidden)?;
        let enough = MEMORISED * (1.0 - 1.0 / self.memory.classes() as f64);
        Ok(memorised.share > enough && memorised.errors > ERRORS)
    }

    /// Whether disagreement with labels means wrong labels, and not rows that are too hard for the network.
    fn knows(&self) -> Result<bool> {
        let known = self.memory.known(&self.given, &self.hidden)?;
        Ok(known.unsure >= LEAST && known.at_least(self.config.known, 1.0))
    }

    /// Whether this row is not learnt from at present.
    pub fn hides(&self, row: usize) -> bool {
        self.undecided && self.hidden[row]
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
mod tests;
