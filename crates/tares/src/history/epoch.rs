//! [`Epoch`]: what one epoch did, and how a checkpoint holds it.

use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Numbers per epoch in a checkpoint, and which of them may be absent.
const NUMBERS: usize = 15;
const OPTIONAL: [usize; 6] = [3, 6, 7, 12, 13, 14];

/// What one epoch did.
///
/// Counts are of *looks*: one look is one sample seen by one network in one step. A method with two networks has two
/// looks per sample and epoch.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Epoch {
    /// From 0.
    pub epoch: usize,
    /// Mean of the method's objective over the steps.
    pub train_loss: f64,
    /// The share of looks in which the network's answer was the given label.
    pub train_accuracy: f64,
    /// Accuracy of the first network on the test set, against its given labels.
    pub test_accuracy: Option<f64>,
    /// Looks that were part of an update.
    pub kept: usize,
    /// The share of looks that were kept.
    pub kept_fraction: f64,
    /// Of the kept looks, those with the right label; `None` without truth, or with nothing kept.
    pub label_precision: Option<f64>,
    /// Of the looks with the right label, those kept; `None` without truth.
    pub label_recall: Option<f64>,
    /// The learning rate of this epoch.
    pub learning_rate: f64,
    /// Steps without any gradient: nothing kept, or every kept sample beyond the loss's margin.
    pub starved_steps: usize,
    /// Steps made.
    pub steps: usize,
    /// The curriculum losses only: their objective `max(L_T, C − T)` per sample, a bound of the share of misclassified samples
    /// (NPCL: of those it does not prune). In the burn-in it is `plain_bound`.
    pub bound: Option<f64>,
    /// The curriculum losses only: the mean ranking loss of all samples, the paper's Ĵ. `bound` of CL is never above it.
    pub plain_bound: Option<f64>,
    /// Methods that estimate it on the way only: the share of labels they believe to be wrong after this epoch.
    pub estimated_rate: Option<f64>,
    /// Wall-clock seconds, evaluation included.
    pub seconds: f64,
}

impl Epoch {
    /// The same with the time set to 0: two equal runs differ in nothing else.
    #[must_use]
    pub fn timeless(&self) -> Self {
        Self { seconds: 0.0, ..self.clone() }
    }

    /// All fields as numbers, `None` as NaN.
    fn numbers(&self) -> [f64; NUMBERS] {
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        [
            self.epoch as f64,
            self.train_loss,
            self.train_accuracy,
            or_nan(self.test_accuracy),
            self.kept as f64,
            self.kept_fraction,
            or_nan(self.label_precision),
            or_nan(self.label_recall),
            self.learning_rate,
            self.starved_steps as f64,
            self.steps as f64,
            self.seconds,
            or_nan(self.bound),
            or_nan(self.plain_bound),
            or_nan(self.estimated_rate),
        ]
    }

    fn from_numbers(numbers: &[f64]) -> Self {
        let or_none = |value: f64| (!value.is_nan()).then_some(value);
        Self {
            epoch: numbers[0] as usize,
            train_loss: numbers[1],
            train_accuracy: numbers[2],
            test_accuracy: or_none(numbers[3]),
            kept: numbers[4] as usize,
            kept_fraction: numbers[5],
            label_precision: or_none(numbers[6]),
            label_recall: or_none(numbers[7]),
            learning_rate: numbers[8],
            starved_steps: numbers[9] as usize,
            steps: numbers[10] as usize,
            seconds: numbers[11],
            bound: or_none(numbers[12]),
            plain_bound: or_none(numbers[13]),
            estimated_rate: or_none(numbers[14]),
        }
    }
}

pub(crate) fn save_epochs(epochs: &[Epoch], checkpoint: &mut Checkpoint) {
    checkpoint.put_f64s("epochs", &epochs.iter().flat_map(Epoch::numbers).collect::<Vec<_>>());
}

pub(crate) fn load_epochs(checkpoint: &Checkpoint) -> Result<Vec<Epoch>> {
    let numbers = checkpoint.f64s("epochs")?;
    if numbers.len() % NUMBERS != 0 {
        return Err(Error::Checkpoint("'epochs' is not a list of epochs".into()));
    }
    let epochs: Vec<Epoch> = numbers.chunks_exact(NUMBERS).map(Epoch::from_numbers).collect();
    if checkpoint.count("epochs done")? != epochs.len() as u64 {
        return Err(Error::Checkpoint(format!("'epochs' must be as many as were done, got {}", epochs.len())));
    }
    for (position, (epoch, numbers)) in epochs.iter().zip(numbers.chunks_exact(NUMBERS)).enumerate() {
        let fine = |field: usize| numbers[field].is_finite() || numbers[field].is_nan() && OPTIONAL.contains(&field);
        let absent = !(0..NUMBERS).all(fine);
        if epoch.epoch != position || absent {
            return Err(Error::Checkpoint(format!("'epochs' holds no epoch {position}")));
        }
    }
    Ok(epochs)
}
