//! Trains a model of columns.
//!
//! 1. Judges predict rows they were not trained on. These predictions choose settings (penalty, rounds, size of trees) and weights.
//! 2. NPCL leaves out the rows whose labels these predictions doubt most (95 % and more), at most as many as the noise rate says. Trees
//!    select by themselves instead: Algorithm 1 on all rows, in every round.
//! 3. The final models are fitted to the rows that are left.
//! 4. The suspects are those that `tares audit` lists for the same rows: by the predictions of the first step.
//!
//! Every step is a function of the data and the seed. The answers of finished judges are kept on disk, so an interrupted run
//! ends with the same bits.

use super::ColumnLearner;
use super::learnt::{HeldOut, Learnt, PANEL_FILE};
use crate::judges::inputs::{columns, new_columns};
use crate::judges::name::JudgeName;
use crate::judges::panel::{COLUMN_FOLDS, Judges, JudgesProgress, refine};
use crate::record::{EpochRecord, RateRecord};
use crate::run::spec::Spec;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use std::path::Path;
use std::time::Instant;
use tares::Method;
use tares::loss::{CurriculumLossConfig, SampleLoss};
use tares_core::audit::{Suspect, audit};
use tares_core::estimate::{Detector, ProbabilityMatrix};
use tares_core::margin::margins;
use tares_core::{Copies, Dataset, Label, Surrogate};
use tares_data::Reading;
use tares_judges::panel::fit;
use tares_judges::stored;
use tares_judges::{
    Boosting, Caller, JudgeProgress, Judgement, Labelled, Matrix, Panel, PanelOptions, Scorer, Setting, TreeCurriculum,
    TreeOptions,
};

/// A row is left out if its label is wrong with at least this probability. A right label that is left out is a hard row, which a
/// small table needs more than a wrong label harms a panel: leaving out as many suspects as the noise rate says cost 1 to 7 points of
/// accuracy on glass and sonar, with wrong labels and without.
const SURE: f64 = 0.95;

/// Everything that a model of columns is trained with.
pub struct ColumnTraining<'a> {
    /// Which model.
    pub learner: ColumnLearner,
    /// How it is trained, with its rate.
    pub method: &'a Method,
    /// The settings of the run.
    pub spec: &'a Spec,
    /// The training rows.
    pub train: &'a Dataset,
    /// The test rows.
    pub test: Option<&'a Dataset>,
    /// How the data was read.
    pub reading: &'a Reading,
    /// The noise rate, if the method needs one.
    pub rate: Option<&'a RateRecord>,
}

impl ColumnTraining<'_> {
    /// Trains. Answers of judges are kept in `folds`; `hear_judge` is told how far they are, `hear_epoch` about every round.
    ///
    /// # Errors
    /// Data that cannot be learnt from; a file that cannot be read or written; Ctrl-C.
    pub fn run(
        &self,
        folds: &Path,
        hear_judge: &(dyn Fn(JudgesProgress) + Sync),
        hear_epoch: &dyn Fn(&EpochRecord),
    ) -> Outcome<Learnt> {
        let judges = Judges {
            names: self.learner.judges(self.train, self.reading).into_iter().map(JudgeName::Columns).collect(),
            folds: COLUMN_FOLDS,
            network_folds: COLUMN_FOLDS,
            method: Method::Standard,
            plan: self.spec.plan.clone(),
            device: self.spec.device.clone(),
        };
        let judgement = judges.ask(self.train, self.reading, folds, hear_judge)?;
        let (given, classes) = (self.train.given(), self.train.classes());
        let mut audited = audit(&ProbabilityMatrix::new(&judgement.probs, classes)?, given, Detector::default())?;
        let inputs = columns(self.train, self.reading)?;
        let test = self.test.map(|test| new_columns(test, self.reading)).transpose()?;
        let start = Instant::now();
        let progress = |step: JudgeProgress| {
            hear_judge(JudgesProgress {
                judge: format!("{}, on all rows", step.judge),
                number: judgement.scores.len(),
                judges: judgement.scores.len(),
                done: step.done as u64,
                total: step.total as u64,
                finished: false,
            });
        };
        let interrupt = interrupt::flag();
        let caller = Caller { progress: &progress, interrupt: &interrupt };
        let options = judges.options();
        let (panel, epochs, times_kept) = match self.learner {
            ColumnLearner::Trees => self.trees(&judgement, &inputs, test.as_ref(), &options, hear_epoch)?,
            ColumnLearner::Linear | ColumnLearner::Panel | ColumnLearner::Forest => {
                let kept = self.kept(&audited.suspects);
                let panel = self.panel(&judgement, &inputs, &kept, options, caller)?;
                let probs = test.as_ref().map(|test| panel.probs(test)).transpose()?;
                let seen = Seen { loss: judgement.log_loss, accuracy: judgement.agreement };
                let epoch = self.record(1, seen, probs.as_deref(), &kept, start);
                hear_epoch(&epoch);
                (panel, vec![epoch], kept.iter().map(|&kept| u32::from(kept)).collect())
            }
        };
        let log_probs: Vec<f64> = judgement.probs.iter().map(|p| p.max(f64::MIN_POSITIVE).ln()).collect();
        refine(&mut audited, &judgement.probs, given, Some(self.train), self.reading, Detector::default())?;
        let own = log_probs.chunks_exact(classes).zip(given).map(|(row, &label)| -row[label as usize] as f32);
        let narrow = |probs: Vec<f64>| probs.into_iter().map(|p| p as f32).collect::<Vec<f32>>();
        Ok(Learnt {
            train: judgement.probs.iter().map(|&p| p as f32).collect(),
            soft_labels: None,
            doubt: None,
            test: test.as_ref().map(|test| panel.probs(test)).transpose()?.map(narrow),
            mean_margins: margins(&log_probs, given, classes)?,
            times_seen: vec![epochs.len() as u32; given.len()],
            times_kept,
            last_losses: own.collect(),
            parameters: panel.parameters() as u64,
            weights: (PANEL_FILE, stored::write(&panel)),
            inputs: None,
            head: None,
            epochs,
            held_out: Some(HeldOut { probs: judgement.probs, audited }),
        })
    }

    /// The rows that a panel is fitted to: for NPCL without those whose labels its judges doubt most, at most as many
    /// as the noise rate says.
    fn kept(&self, suspects: &[Suspect]) -> Vec<bool> {
        let mut kept = vec![true; self.train.len()];
        if let (Method::Npcl(_), Some(rate)) = (self.method, self.rate) {
            let count = (rate.value * self.train.len() as f64).round() as usize;
            let surely_wrong = suspects.iter().take(count).filter(|suspect| suspect.score <= 1.0 - SURE);
            surely_wrong.for_each(|suspect| kept[suspect.index] = false);
        }
        kept
    }

    /// The judges fitted to the kept rows. If some are left out, settings and weights are chosen anew without them.
    fn panel(
        &self,
        judgement: &Judgement,
        inputs: &Matrix,
        kept: &[bool],
        options: PanelOptions,
        caller: Caller<'_>,
    ) -> Outcome<Panel> {
        let (given, classes) = (self.train.given(), self.train.classes());
        let sure = self.train.certainty();
        let copies = self.train.copies();
        if kept.iter().all(|&kept| kept) {
            let groups = copies.as_ref().map(Copies::group_of);
            let rows = Labelled { weights: sure.as_deref(), groups, ..Labelled::new(inputs, given, classes) };
            return Ok(Panel::fit(&rows, &judgement.scores, &options, caller)?);
        }
        let rows: Vec<usize> = (0..kept.len()).filter(|&row| kept[row]).collect();
        let labels: Vec<Label> = rows.iter().map(|&row| given[row]).collect();
        let inputs = inputs.select(&rows);
        let weights = sure.map(|sure| rows.iter().map(|&row| sure[row]).collect::<Vec<f64>>());
        let groups = copies.map(|copies| copies.group_of_some(&rows));
        let kept = Labelled {
            weights: weights.as_deref(),
            groups: groups.as_deref(),
            ..Labelled::new(&inputs, &labels, classes)
        };
        let judges = self.learner.judges(self.train, self.reading);
        Ok(fit(&kept, &PanelOptions { judges, ..options }, caller)?.0)
    }

    /// Trains trees round by round. With a curriculum, all rows are used for the number of rounds that held-out rows chose; then
    /// Algorithm 1 selects rows for the same number of rounds again.
    fn trees(
        &self,
        judgement: &Judgement,
        inputs: &Matrix,
        test: Option<&Matrix>,
        options: &PanelOptions,
        hear_epoch: &dyn Fn(&EpochRecord),
    ) -> Outcome<(Panel, Vec<EpochRecord>, Vec<u32>)> {
        let Some(Setting::Trees { rounds, leaves }) = judgement.scores[0].setting else {
            return Err(Failure::new("trees have no setting"));
        };
        let chosen = rounds.max(1);
        let curriculum = match self.method {
            Method::Cl(cl) => Some(tree_curriculum(&cl.loss(), chosen)),
            Method::Npcl(npcl) => Some(tree_curriculum(&npcl.loss(), chosen)),
            _ => None,
        };
        let rounds = if curriculum.is_some() { 2 * chosen } else { chosen };
        let shape = TreeOptions { rounds, curriculum, ..options.tree_shape(leaves) };
        let sure = self.train.certainty();
        let rows =
            Labelled { weights: sure.as_deref(), ..Labelled::new(inputs, self.train.given(), self.train.classes()) };
        let mut boosting = Boosting::new(&rows, shape)?;
        let mut scorer = test.map(|test| Scorer::new(boosting.model(), test)).transpose()?;
        let mut epochs = Vec::with_capacity(rounds);
        for round in 1..=rounds {
            if interrupt::asked() {
                return Err(Failure::Interrupted { way_out: String::new() });
            }
            let start = Instant::now();
            let before = boosting.times_kept().to_vec();
            boosting.step()?;
            let kept: Vec<bool> = before.iter().zip(boosting.times_kept()).map(|(old, new)| new > old).collect();
            let own = boosting.log_probs();
            let of_rows = own.chunks_exact(rows.classes).zip(rows.labels);
            let loss = of_rows.map(|(row, &label)| -row[label as usize]).sum::<f64>() / rows.rows() as f64;
            let seen = Seen { loss, accuracy: accuracy(&own, self.train) };
            let probs = scorer.as_mut().map(|scorer| scorer.log_probs(boosting.model()));
            let epoch = self.record(round, seen, probs.as_deref(), &kept, start);
            hear_epoch(&epoch);
            epochs.push(epoch);
        }
        let times_kept = boosting.times_kept().to_vec();
        Ok((Panel::from(boosting.into_model()), epochs, times_kept))
    }

    /// One line of `epochs.jsonl`; `test` holds probabilities of the test rows or their logarithms.
    fn record(&self, epoch: usize, seen: Seen, test: Option<&[f64]>, kept: &[bool], start: Instant) -> EpochRecord {
        let count = kept.iter().filter(|&&kept| kept).count();
        let clean = self.train.clean();
        let right = |clean: &Vec<bool>| clean.iter().zip(kept).filter(|(clean, kept)| **clean && **kept).count();
        let part = |count: usize, of: usize| (of > 0).then(|| count as f64 / of as f64);
        EpochRecord {
            epoch,
            train_loss: seen.loss,
            train_accuracy: Some(seen.accuracy),
            test_accuracy: test.zip(self.test).map(|(said, test)| accuracy(said, test)),
            kept: count as u64,
            kept_fraction: count as f64 / kept.len() as f64,
            label_precision: clean.as_ref().and_then(|clean| part(right(clean), count)),
            label_recall: clean
                .as_ref()
                .and_then(|clean| part(right(clean), clean.iter().filter(|&&clean| clean).count())),
            // Models that are fitted in one go have no learning rate.
            learning_rate: if self.learner == ColumnLearner::Trees { TreeOptions::default().rate } else { 0.0 },
            steps: 1,
            starved_steps: u64::from(count == 0),
            bound: None,
            plain_bound: None,
            estimated_rate: None,
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

/// Loss and accuracy on the training rows and their given labels: of trees that were trained on them, or out-of-fold.
struct Seen {
    loss: f64,
    accuracy: f64,
}

/// A method's curriculum on trees. Trees are boosted by the log-loss of the rows that are kept; the base loss ranks them.
fn tree_curriculum(loss: &CurriculumLossConfig, burn_in: usize) -> TreeCurriculum {
    let base = match loss.ranking {
        SampleLoss::Surrogate(base) => base,
        _ => Surrogate::Hinge,
    };
    TreeCurriculum { base, extra: loss.extra, balanced: loss.balanced, burn_in, ..TreeCurriculum::new(loss.threshold) }
}

fn accuracy(said: &[f64], test: &Dataset) -> f64 {
    let best = |row: &[f64]| (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best });
    let rows = said.chunks_exact(test.classes()).zip(test.given());
    rows.filter(|(row, given)| best(row) == **given as usize).count() as f64 / test.len() as f64
}
