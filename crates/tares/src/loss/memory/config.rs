//! The settings of a [`MemoryLoss`].

use super::MemoryLoss;
use serde::{Deserialize, Serialize};
use tares_core::memory::Memory;
use tares_core::{Error, Label, Result, stream};

/// Fewer hidden rows per class than these tell nothing.
const FEWEST: usize = 10;

/// The settings of a [`MemoryLoss`].
///
/// ```text
/// epochs    0 … end of the burn-in             … + rise           … all
/// belief    the label   γ rises from 1 to sharpness   γ = sharpness
/// ```
/// In the burn-in the labels of some rows are hidden from the network. They tell when it has to end: as soon as other labels are
/// memorised; or after `burn_in` of the epochs, if the network then knows its unsure rows, and nearly as well as its sure ones, so that it
/// can be trusted to correct labels. If neither has been seen after `decide` of the epochs, or if there are fewer than ten hidden rows per class,
/// nothing is ever corrected and this is plain cross-entropy.
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
    /// In [0, 1): the part of the rows, rounded down, that is not learnt from in the burn-in. 0: the burn-in lasts for `burn_in` of the
    /// epochs, whatever is known.
    pub hidden: f64,
    /// In [0, 1]: the part of the epochs after which the burn-in ends if the network knows enough; at least one epoch.
    pub burn_in: f64,
    /// In [0, 1]: the part of what the network knows, above chance, about its surer rows that it must know about the others.
    pub known: f64,
    /// In [0, 1]: the part of the epochs after which a burn-in that has not ended lasts to the end, and hidden rows are learnt from.
    pub decide: f64,
    /// In [0, 1]: the part of the epochs, after the burn-in, in which γ rises from 1 to `sharpness`; at least one epoch.
    pub rise: f64,
}

impl MemoryLossConfig {
    /// The settings of the method `tares` for a training of this many epochs.
    pub fn new(epochs: usize) -> Self {
        Self {
            epochs,
            seed: 1,
            beta: 0.7,
            sharpness: 2.0,
            surest: 0.5,
            hidden: 0.1,
            burn_in: 0.3,
            known: 0.5,
            decide: 0.6,
            rise: 0.3,
        }
    }

    /// The epochs after which the burn-in ends if the network knows enough.
    pub(super) fn burn_in_epochs(&self) -> usize {
        ((self.burn_in * self.epochs as f64).round() as usize).max(1)
    }

    /// The last epoch before which the burn-in can end.
    pub(super) fn decisive_epoch(&self) -> usize {
        ((self.decide * self.epochs as f64).round() as usize).max(1)
    }

    /// γ this many epochs after the end of the burn-in.
    pub(super) fn sharpness_after(&self, epochs: usize) -> f64 {
        let risen = epochs as f64 / (self.rise * self.epochs as f64).max(1.0);
        1.0 + (self.sharpness - 1.0) * risen.min(1.0)
    }

    /// The rows that are not learnt from in the burn-in; none if they would be too few to tell anything.
    fn hidden_rows(&self, rows: usize, classes: usize) -> Vec<bool> {
        let mut hidden = vec![false; rows];
        let count = (self.hidden * rows as f64) as usize;
        if count >= FEWEST * classes {
            let order = stream(self.seed, "hidden labels").permutation(rows);
            order[..count].iter().for_each(|&row| hidden[row] = true);
        }
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
        let parts = [("burn-in", self.burn_in), ("known", self.known), ("decide", self.decide), ("rise", self.rise)];
        for (what, part) in parts {
            within(&format!("{what} of a memory"), "a fraction in [0, 1]", part, (0.0..=1.0).contains(&part))?;
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
            hidden: self.hidden_rows(given.len(), classes),
            undecided: true,
            burn_in: None,
            mistakes: None,
            sharpness: 1.0,
        })
    }
}
