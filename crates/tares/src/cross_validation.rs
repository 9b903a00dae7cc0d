//! [`CrossValidation`]: probabilities for every row from a network that never saw it.
//!
//! The rows are dealt into k folds; k networks are trained, each on all folds but one, and each judges the fold it has not
//! seen. Probabilities of rows a network was trained on only repeat their labels, so this is what an audit needs.
//!
//! Copies of a row (equal inputs) are in its fold: a network that was trained on one has seen the row's label.
//!
//! **Early stopping and averaging.** The rows a network has not seen are judged after every epoch, and the judgements of neighbouring
//! epochs are averaged: the mean of a few networks along the way knows more than the last one. The last epoch that counts is the one with the
//! least log-loss of all held-out rows, one number for all folds, so no row's own label decides its prediction.
//!
//! A fold is the unit that can be kept: [`CrossValidation::fold`] trains one, its state is a [`Checkpoint`], and folds that
//! were stopped or kept on disk give the same bits as folds trained in one go.

use crate::checkpoint::Checkpoint;
use crate::error::{Error, Result};
use crate::fit::{Control, Fit, Progress};
use crate::identity::Identity;
use crate::method::Method;
use crate::network::Network;
use crate::plan::Plan;
use burn::tensor::Device;
use tares_core::{Dataset, stream};

/// The entry of a checkpoint that holds a finished fold's probabilities, `[epoch][row][class]`.
const HELD_OUT: &str = "held-out probabilities";
/// The part of the epochs that are averaged.
const AVERAGED: f64 = 0.2;
/// Probabilities that are recorded at most, of all folds and epochs together: 128 MB.
const MOST_RECORDED: usize = 1 << 25;

/// k networks to be, and the rows each of them judges.
pub struct CrossValidation<'a> {
    data: &'a Dataset,
    network: &'a Network,
    method: &'a Method,
    plan: &'a Plan,
    device: &'a Device,
    /// The fold of every row.
    fold_of: Vec<usize>,
    folds: usize,
    /// Whether copies are held out together.
    has_copies: bool,
}

impl<'a> CrossValidation<'a> {
    /// Deals the rows into `folds` folds, by the plan's seed.
    ///
    /// # Errors
    /// Fewer than 2 folds, or more than rows.
    pub fn new(
        data: &'a Dataset,
        folds: usize,
        network: &'a Network,
        method: &'a Method,
        plan: &'a Plan,
        device: &'a Device,
    ) -> Result<Self> {
        let copies = data.copies();
        let fold_of = data.folds(copies.as_ref(), folds, plan.seed)?;
        Ok(Self { data, network, method, plan, device, fold_of, folds, has_copies: copies.is_some() })
    }

    /// How many networks are trained.
    pub fn folds(&self) -> usize {
        self.folds
    }

    /// Whether a checkpoint is that of a finished fold.
    pub fn is_finished(kept: &Checkpoint) -> bool {
        kept.has(HELD_OUT)
    }

    /// Trains the network that must not see `fold`, from `kept` on if there is a checkpoint of it, and gives the finished
    /// fold; `None` if `on_epoch` stopped it before its last epoch (keep [`Progress::checkpoint`] to go on).
    ///
    /// # Errors
    /// As [`Fit::train_network`]; a checkpoint of another question.
    pub fn fold(
        &self,
        fold: usize,
        kept: Option<Checkpoint>,
        on_epoch: &mut dyn FnMut(&Progress<'_>) -> Control,
    ) -> Result<Option<Checkpoint>> {
        if let Some(kept) = kept.as_ref().filter(|kept| Self::is_finished(kept)) {
            self.held_out(fold, kept)?;
            return Ok(Some(kept.clone()));
        }
        let train = self.data.subset(&self.rows(|of| of != fold))?;
        let held = self.data.subset(&self.rows(|of| of == fold))?;
        let plan = self.plan_of(fold);
        let mut fit = Fit::new(&train, self.method, &plan).device(self.device).on_epoch(on_epoch);
        if self.watches() {
            fit = fit.watch(&held, self.every());
        }
        if let Some(checkpoint) = kept {
            fit = fit.resume(checkpoint);
        }
        let fitted = fit.train_network(self.network)?;
        if fitted.epochs.len() < plan.epochs {
            return Ok(None);
        }
        let mut finished = Checkpoint::default();
        self.identity(fold).save(&mut finished)?;
        match self.watches() {
            true => finished.put_f32s(HELD_OUT, &fitted.watched),
            false => finished.put_f32s(HELD_OUT, &fitted.probabilities(&held)?),
        }
        Ok(Some(finished))
    }

    /// Whether every epoch can be judged: RoG's head is only fitted after the last one.
    fn watches(&self) -> bool {
        !matches!(self.method, Method::Rog(_))
    }

    /// Every how many epochs the held-out rows are judged.
    fn every(&self) -> usize {
        let all = self.data.len().saturating_mul(self.data.classes()).saturating_mul(self.plan.epochs);
        all.div_ceil(MOST_RECORDED).clamp(1, self.plan.epochs.max(1))
    }

    /// How many times the held-out rows of a fold are judged.
    fn times(&self) -> usize {
        if self.watches() { self.plan.epochs.div_ceil(self.every()) } else { 1 }
    }

    /// Puts the finished folds together, first to last: `[N][K]`, in the order of the data. Of every row it is the mean over the epochs up
    /// to the one that predicts the labels of held-out rows best.
    ///
    /// # Errors
    /// A fold that is missing, unfinished or of another question.
    pub fn probabilities(&self, finished: &[Checkpoint]) -> Result<Vec<f32>> {
        if finished.len() != self.folds {
            return Err(tares_core::Error::length("finished folds", self.folds, finished.len()).into());
        }
        let (classes, times) = (self.data.classes(), self.times());
        let folds: Vec<Vec<f32>> =
            finished.iter().enumerate().map(|(fold, kept)| self.held_out(fold, kept)).collect::<Result<_>>()?;
        let averaged = ((AVERAGED * times as f64).round() as usize).max(1);
        let mut best: Option<(f64, Vec<f32>)> = None;
        for last in 0..times {
            let first = (last + 1).saturating_sub(averaged);
            let mut all = vec![0.0; self.data.len() * classes];
            for (fold, values) in folds.iter().enumerate() {
                let rows = self.rows(|of| of == fold);
                let size = rows.len() * classes;
                for (place, &row) in rows.iter().enumerate() {
                    let mean = &mut all[row * classes..][..classes];
                    for epoch in first..=last {
                        let values = &values[epoch * size + place * classes..][..classes];
                        mean.iter_mut().zip(values).for_each(|(mean, p)| *mean += p / (last + 1 - first) as f32);
                    }
                }
            }
            let given = all.chunks_exact(classes).zip(self.data.given()).map(|(row, &label)| row[label as usize]);
            let loss = given.map(|p| -f64::from(p.max(f32::MIN_POSITIVE)).ln()).sum::<f64>();
            if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                best = Some((loss, all));
            }
        }
        Ok(best.map(|(_, all)| all).unwrap_or_default())
    }

    /// The probabilities in a finished fold's checkpoint, once it is clear that they belong here.
    fn held_out(&self, fold: usize, finished: &Checkpoint) -> Result<Vec<f32>> {
        self.identity(fold).check(finished)?;
        let values = finished.f32s(HELD_OUT)?;
        let rows = self.fold_of.iter().filter(|&&of| of == fold).count();
        let wanted = self.times() * rows * self.data.classes();
        if values.len() != wanted {
            let text = format!("'{HELD_OUT}' must hold {wanted} numbers, got {}", values.len());
            return Err(Error::Checkpoint(text));
        }
        Ok(values)
    }

    fn identity(&self, fold: usize) -> Identity<'_> {
        Identity::new(&self.network.to_string(), self.method, &self.plan_of(fold), self.data)
    }

    fn plan_of(&self, fold: usize) -> Plan {
        // The name keeps folds apart that were dealt otherwise: a kept fold must be of these rows.
        let name = if self.has_copies { format!("fold {fold}, copies together") } else { format!("fold {fold}") };
        Plan { seed: stream(self.plan.seed, &name).bits(), ..self.plan.clone() }
    }

    fn rows(&self, chosen: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.data.len()).filter(|&row| chosen(self.fold_of[row])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::Shape;

    fn data() -> Dataset {
        let rows: Vec<f32> = (0..90).flat_map(|i| [(i % 3) as f32, (i % 7) as f32]).collect();
        Dataset::new(rows, Shape::Flat(2), (0..90).map(|i| i % 3).collect(), ["a", "b", "c"]).unwrap()
    }

    fn plan() -> Plan {
        Plan { epochs: 4, batch: 16, ..Plan::default() }
    }

    /// All folds without a stop.
    fn whole(judges: &CrossValidation<'_>) -> Vec<Checkpoint> {
        let fold = |fold| judges.fold(fold, None, &mut |_| Control::Continue).unwrap().unwrap();
        (0..judges.folds()).map(fold).collect()
    }

    #[test]
    fn a_fold_stopped_and_gone_on_with_gives_the_same_bits() {
        let (data, plan, network, device) = (data(), plan(), "mlp:8".parse().unwrap(), Device::flex());
        let judges = CrossValidation::new(&data, 3, &network, &Method::Standard, &plan, &device).unwrap();
        let mut finished = whole(&judges);
        let mut kept = None;
        let stopped = judges.fold(1, None, &mut |progress| {
            kept = Some(Checkpoint::from_bytes(&progress.checkpoint().unwrap().to_bytes()).unwrap());
            if progress.epochs.len() == 2 { Control::Stop } else { Control::Continue }
        });
        assert_eq!(stopped.unwrap(), None, "two of four epochs are no judge");
        let mut epochs = 0;
        let again = judges.fold(1, kept, &mut |_| {
            epochs += 1;
            Control::Continue
        });
        let before = judges.probabilities(&finished).unwrap();
        finished[1] = again.unwrap().unwrap();
        assert_eq!((epochs, judges.probabilities(&finished).unwrap()), (2, before));
    }

    #[test]
    fn copies_of_a_row_are_in_its_fold() {
        let once: Vec<f32> = (0..60).map(|row| row as f32).collect();
        let given: Vec<u32> = (0..120).map(|row| row % 60 % 2).collect();
        let data = Dataset::new([&once[..], &once[..]].concat(), Shape::Flat(1), given, ["a", "b"]).unwrap();
        let (plan, network, device) = (plan(), "mlp:8".parse().unwrap(), Device::flex());
        let judges = CrossValidation::new(&data, 3, &network, &Method::Standard, &plan, &device).unwrap();
        assert_eq!(judges.fold_of[..60], judges.fold_of[60..]);
        assert!((0..3).all(|fold| judges.rows(|of| of == fold).len() == 40));
    }

    #[test]
    fn a_stop_after_the_last_epoch_comes_too_late() {
        let (data, plan, network, device) = (data(), plan(), "mlp:8".parse().unwrap(), Device::flex());
        let judges = CrossValidation::new(&data, 2, &network, &Method::Standard, &plan, &device).unwrap();
        let last = |progress: &Progress<'_>| match progress.epochs.len() {
            4 => Control::Stop,
            _ => Control::Continue,
        };
        assert!(judges.fold(0, None, &mut { last }).unwrap().is_some());
    }

    #[test]
    fn folds_of_another_question_are_refused() {
        let (data, plan, network, device) = (data(), plan(), "mlp:8".parse().unwrap(), Device::flex());
        let judges = CrossValidation::new(&data, 2, &network, &Method::Standard, &plan, &device).unwrap();
        let finished = whole(&judges);
        let swapped = [finished[1].clone(), finished[0].clone()];
        assert!(judges.probabilities(&swapped).unwrap_err().to_string().contains("belongs to another run"));
        assert!(judges.probabilities(&finished[..1]).is_err());
        let longer = Plan { epochs: 5, ..plan.clone() };
        let other = CrossValidation::new(&data, 2, &network, &Method::Standard, &longer, &device).unwrap();
        assert!(other.probabilities(&finished).is_err());
        assert!(other.fold(0, Some(finished[0].clone()), &mut |_| Control::Continue).is_err());
    }

    #[test]
    fn the_epochs_that_predict_held_out_labels_best_are_averaged() {
        let (data, network, device) = (data(), "mlp:8".parse().unwrap(), Device::flex());
        let plan = Plan { epochs: 10, batch: 16, ..Plan::default() };
        let judges = CrossValidation::new(&data, 2, &network, &Method::Standard, &plan, &device).unwrap();
        // After epoch e the given label has the probability sure[e]: best around epochs 4 and 5, then memorised.
        let sure = [0.1, 0.3, 0.5, 0.6, 0.8, 0.9, 0.6, 0.3, 0.2, 0.1];
        let made = |fold: usize| {
            let rows = judges.rows(|of| of == fold);
            let row = |p: f32, row: &usize| {
                let mut row_of = [(1.0 - p) / 2.0; 3];
                row_of[data.given()[*row] as usize] = p;
                row_of
            };
            let values: Vec<f32> = sure.iter().flat_map(|&p| rows.iter().flat_map(move |at| row(p, at))).collect();
            let mut finished = Checkpoint::default();
            judges.identity(fold).save(&mut finished).unwrap();
            finished.put_f32s(HELD_OUT, &values);
            finished
        };
        let found = judges.probabilities(&[made(0), made(1)]).unwrap();
        for (row, &label) in found.chunks_exact(3).zip(data.given()) {
            assert!((row[label as usize] - 0.85).abs() < 1e-6, "{row:?}"); // the mean of two epochs of ten
        }
    }
}
