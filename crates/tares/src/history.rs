//! What a run remembers: [`Epoch`], one line per epoch, and [`History`], one line per sample.

mod epoch;

pub use epoch::Epoch;
pub(crate) use epoch::{load_epochs, save_epochs};

use crate::batches::Batch;
use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::loss::Doubt;
use tares_core::Label;

/// What the run saw of every training row. Every list has one entry per row of the training data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    margins: Vec<f64>,
    seen: Vec<u32>,
    kept: Vec<u32>,
    losses: Vec<f32>,
    predictions: Vec<Label>,
    soft_labels: Option<Vec<f32>>,
    doubt: Option<Doubt>,
}

impl History {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            margins: vec![0.0; rows],
            seen: vec![0; rows],
            kept: vec![0; rows],
            losses: vec![f32::NAN; rows],
            predictions: vec![0; rows],
            soft_labels: None,
            doubt: None,
        }
    }

    /// The mean over all looks of the margin `t_y − max_{i≠y} t_i` of the given label (the "area under the margin"):
    /// low where the label is likely wrong. NaN for a row that was never seen.
    pub fn mean_margins(&self) -> Vec<f64> {
        self.margins.iter().zip(&self.seen).map(|(&sum, &seen)| sum / f64::from(seen)).collect()
    }

    /// How often a network saw the row.
    pub fn times_seen(&self) -> &[u32] {
        &self.seen
    }

    /// How often the row was part of an update.
    pub fn times_kept(&self) -> &[u32] {
        &self.kept
    }

    /// The cross-entropy of the given label at the last look; NaN for a row that was never seen.
    pub fn last_losses(&self) -> &[f32] {
        &self.losses
    }

    /// The answer at the last look; 0 for a row that was never seen.
    pub fn last_predictions(&self) -> &[Label] {
        &self.predictions
    }

    /// What the method believes about the true class of every row at the end of the run: `[N][K]`, one row after the other. `None`
    /// for methods that don't say.
    pub fn soft_labels(&self) -> Option<&[f32]> {
        self.soft_labels.as_deref()
    }

    /// The method's last word on every row. Not part of a checkpoint: it follows from the method's own state.
    pub(crate) fn believe(&mut self, soft_labels: Vec<f32>) {
        self.soft_labels = Some(soft_labels);
    }

    /// Why the method `tares` corrected no label, if it corrected none.
    pub fn why_uncorrected(&self) -> Option<Doubt> {
        self.doubt
    }

    /// Also the method's last word.
    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        self.doubt = Some(doubt);
    }

    pub(crate) fn save(&self, checkpoint: &mut Checkpoint) {
        checkpoint.put_f64s("history/margins", &self.margins);
        checkpoint.put_u32s("history/seen", &self.seen);
        checkpoint.put_u32s("history/kept", &self.kept);
        checkpoint.put_f32s("history/losses", &self.losses);
        checkpoint.put_u32s("history/predictions", &self.predictions);
    }

    pub(crate) fn load(checkpoint: &Checkpoint, rows: usize, classes: usize) -> Result<Self> {
        let history = Self {
            margins: checkpoint.f64s("history/margins")?,
            seen: checkpoint.u32s("history/seen")?,
            kept: checkpoint.u32s("history/kept")?,
            losses: checkpoint.f32s("history/losses")?,
            predictions: checkpoint.u32s("history/predictions")?,
            soft_labels: None,
            doubt: None,
        };
        let lengths = [history.seen.len(), history.kept.len(), history.losses.len(), history.predictions.len()];
        if history.margins.len() != rows || lengths.iter().any(|&length| length != rows) {
            return Err(Error::Checkpoint(format!("its history is not of {rows} rows")));
        }
        if let Some(label) = history.predictions.iter().find(|&&label| label as usize >= classes) {
            return Err(Error::Checkpoint(format!("its predictions must be below {classes}, got {label}")));
        }
        Ok(history)
    }
}

/// A network's output for a batch, on the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// `[m][K]`, one row after the other.
    pub logits: Vec<f32>,
    /// Cross-entropy of the given labels.
    pub losses: Vec<f32>,
    /// Answers: the first of the largest logits.
    pub predictions: Vec<Label>,
}

impl Seen {
    /// Works out losses and answers from `[m][K]` logits and the given labels.
    pub fn new(logits: Vec<f32>, given: &[Label]) -> Self {
        let classes = logits.len() / given.len().max(1);
        let mut losses = Vec::with_capacity(given.len());
        let mut predictions = Vec::with_capacity(given.len());
        for (row, &label) in logits.chunks_exact(classes).zip(given) {
            let (best, largest) = argmax(row);
            let sum: f32 = row.iter().map(|logit| (logit - largest).exp()).sum();
            losses.push(largest - row[label as usize] + sum.ln());
            predictions.push(best);
        }
        Self { logits, losses, predictions }
    }

    /// The softmax of every row, `[m][K]`.
    pub fn probabilities(&self) -> Vec<f32> {
        let classes = self.logits.len() / self.predictions.len().max(1);
        let mut out = self.logits.clone();
        out.chunks_exact_mut(classes).for_each(softmax);
        out
    }
}

/// The first position of the largest value, and that value.
pub(crate) fn argmax(row: &[f32]) -> (Label, f32) {
    let mut best = (0, row[0]);
    for (position, &value) in row.iter().enumerate().skip(1) {
        if value > best.1 {
            best = (position, value);
        }
    }
    (best.0 as Label, best.1)
}

/// Logits to probabilities, in place.
pub(crate) fn softmax(row: &mut [f32]) {
    let (_, largest) = argmax(row);
    row.iter_mut().for_each(|value| *value = (*value - largest).exp());
    let sum: f32 = row.iter().sum();
    row.iter_mut().for_each(|value| *value /= sum);
}

/// The running sums of the current epoch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    losses: f64,
    steps: usize,
    starved: usize,
    looks: usize,
    right: usize,
    clean_looks: usize,
    kept: usize,
    clean_kept: usize,
    /// Samples whose bound is known, and the sums over them.
    bounded: usize,
    bounds: f64,
    plain_bounds: f64,
    estimated_rate: Option<f64>,
}

impl Tally {
    /// A network saw a batch.
    pub fn see(&mut self, batch: &Batch, seen: &Seen, clean: Option<&[bool]>, history: &mut History) {
        let classes = seen.logits.len() / batch.len();
        self.looks += batch.len();
        for (position, &index) in batch.indices.iter().enumerate() {
            let (index, label) = (index as usize, batch.given[position]);
            let row = &seen.logits[position * classes..(position + 1) * classes];
            history.margins[index] += f64::from(margin(row, label));
            history.seen[index] = history.seen[index].saturating_add(1);
            history.losses[index] = seen.losses[position];
            history.predictions[index] = seen.predictions[position];
            self.right += usize::from(seen.predictions[position] == label);
            self.clean_looks += usize::from(clean.is_some_and(|clean| clean[index]));
        }
    }

    /// The rows at these positions of the batch count in an update.
    pub fn keep(&mut self, batch: &Batch, kept: &[u32], clean: Option<&[bool]>, history: &mut History) {
        self.kept += kept.len();
        for &position in kept {
            let index = batch.indices[position as usize] as usize;
            history.kept[index] = history.kept[index].saturating_add(1);
            self.clean_kept += usize::from(clean.is_some_and(|clean| clean[index]));
        }
    }

    /// The curriculum's objective on a batch of `samples`, and the sum of their ranking losses.
    pub fn bound(&mut self, samples: usize, objective: f64, plain: f64) {
        self.bounded += samples;
        self.bounds += objective;
        self.plain_bounds += plain;
    }

    /// The share of wrong labels that the method believes in.
    pub fn estimated_rate(&mut self, rate: f64) {
        self.estimated_rate = Some(rate);
    }

    /// Adds a step with this objective; `starved` if it had no gradient.
    pub fn step(&mut self, loss: f64, starved: bool) {
        self.losses += loss;
        self.steps += 1;
        self.starved += usize::from(starved);
    }

    pub fn epoch(&self, epoch: usize, learning_rate: f64, truth_known: bool) -> Epoch {
        let part = |some: usize, all: usize| (all > 0).then(|| some as f64 / all as f64);
        Epoch {
            epoch,
            train_loss: self.losses / self.steps.max(1) as f64,
            train_accuracy: part(self.right, self.looks).unwrap_or(0.0),
            test_accuracy: None,
            kept: self.kept,
            kept_fraction: part(self.kept, self.looks).unwrap_or(0.0),
            label_precision: part(self.clean_kept, self.kept).filter(|_| truth_known),
            label_recall: part(self.clean_kept, self.clean_looks).filter(|_| truth_known),
            learning_rate,
            starved_steps: self.starved,
            steps: self.steps,
            bound: (self.bounded > 0).then(|| self.bounds / self.bounded as f64),
            plain_bound: (self.bounded > 0).then(|| self.plain_bounds / self.bounded as f64),
            estimated_rate: self.estimated_rate,
            seconds: 0.0,
        }
    }
}

/// `t_y − max_{i≠y} t_i`.
fn margin(row: &[f32], label: Label) -> f32 {
    let others = row.iter().enumerate().filter(|(class, _)| *class != label as usize);
    row[label as usize] - others.fold(f32::NEG_INFINITY, |largest, (_, &logit)| largest.max(logit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, Tensor};

    fn batch(indices: Vec<u32>, given: Vec<Label>) -> Batch {
        let device = Device::flex();
        let m = indices.len();
        Batch { indices, given, inputs: Tensor::zeros([m, 1, 1, 1], &device), targets: Tensor::zeros([m], &device) }
    }

    #[test]
    fn losses_and_answers_from_logits() {
        let seen = Seen::new(vec![0.0, 0.0, 2.0, 1.0, 1.0, 1.0, 1e4, -1e4, 0.0], &[2, 0, 1]);
        let expected = [(1.0 + 2.0 * (-2.0f32).exp()).ln(), 3.0f32.ln(), 2e4];
        for (loss, expected) in seen.losses.iter().zip(expected) {
            assert!((loss - expected).abs() <= 1e-6 * expected.max(1.0), "{loss} against {expected}");
        }
        assert_eq!(seen.predictions, [2, 0, 0]);
        let probabilities = seen.probabilities();
        assert!((probabilities[3] - 1.0 / 3.0).abs() < 1e-7);
        assert_eq!(probabilities[6..], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn counts_what_was_kept_and_how_much_of_it_was_clean() {
        let clean = [true, true, false, false, true];
        let mut history = History::new(5);
        let mut tally = Tally::default();
        let batch = batch(vec![4, 2, 0], vec![0, 1, 1]);
        let seen = Seen::new(vec![3.0, 1.0, 0.0, 2.0, 5.0, 1.0], &batch.given);
        tally.see(&batch, &seen, Some(&clean), &mut history);
        tally.keep(&batch, &[0, 1], Some(&clean), &mut history);
        tally.step(0.5, false);
        assert_eq!(tally.epoch(7, 0.1, true).bound, None);
        tally.bound(3, 1.5, 4.5);
        let epoch = tally.epoch(7, 0.1, true);
        assert_eq!((epoch.bound, epoch.plain_bound), (Some(0.5), Some(1.5)));
        assert_eq!((epoch.kept, epoch.steps, epoch.train_loss), (2, 1, 0.5));
        assert_eq!((epoch.label_precision, epoch.label_recall), (Some(0.5), Some(0.5)));
        assert_eq!((epoch.kept_fraction, epoch.train_accuracy), (2.0 / 3.0, 2.0 / 3.0));
        assert_eq!(history.times_kept(), [0, 0, 1, 0, 1]);
        assert_eq!(history.times_seen(), [1, 0, 1, 0, 1]);
        assert_eq!((history.mean_margins()[4], history.mean_margins()[0]), (2.0, -4.0));
        assert!(history.mean_margins()[1].is_nan() && history.last_losses()[1].is_nan());
        assert_eq!(history.last_predictions()[0], 0);
        assert_eq!(tally.epoch(7, 0.1, false).label_precision, None);
    }

    #[test]
    fn epochs_and_history_survive_a_checkpoint() {
        let mut history = History::new(3);
        history.margins[1] = 0.1 + 0.2;
        let second = Epoch { test_accuracy: Some(0.1), bound: Some(0.3), plain_bound: Some(1.5), ..history_epoch() };
        let epochs = [Tally::default().epoch(0, 1e-3, true), second];
        let mut checkpoint = Checkpoint::default();
        history.save(&mut checkpoint);
        save_epochs(&epochs, &mut checkpoint);
        checkpoint.put_u64("epochs done", 2);
        assert_eq!(load_epochs(&checkpoint).unwrap(), epochs);
        let again = History::load(&checkpoint, 3, 2).unwrap();
        assert_eq!((again.margins, again.seen), (history.margins, history.seen));
        assert!(History::load(&checkpoint, 4, 2).is_err());
    }

    #[test]
    fn epochs_and_predictions_that_cannot_be_are_refused() {
        let mut checkpoint = Checkpoint::default();
        History { predictions: vec![0, 2], ..History::new(2) }.save(&mut checkpoint);
        let error = History::load(&checkpoint, 2, 2).unwrap_err().to_string();
        assert!(error.contains("predictions must be below 2, got 2"), "{error}");
        let epoch = |epoch| Tally::default().epoch(epoch, 1e-3, false);
        for (epochs, done, say) in [
            (vec![epoch(0)], 2, "as many as were done, got 1"),
            (vec![epoch(1)], 1, "no epoch 0"),
            (vec![epoch(0), Epoch { train_loss: f64::NAN, ..epoch(1) }], 2, "no epoch 1"),
            (vec![epoch(0)], u64::MAX, "at most 2^53"),
        ] {
            save_epochs(&epochs, &mut checkpoint);
            checkpoint.put_u64("epochs done", done);
            let error = load_epochs(&checkpoint).unwrap_err().to_string();
            assert!(error.contains(say), "{error}");
        }
    }

    fn history_epoch() -> Epoch {
        Tally { losses: 0.3, steps: 3, ..Tally::default() }.epoch(1, 0.7, false)
    }
}
