//! [`Judges`]: trains the judges of a data set one after the other and blends their probabilities.

use super::folds::{out_of_fold, remove_network_folds};
use super::inputs::{columns, new_columns, telling_column};
use super::kept;
use super::name::{JudgeName, check_names};
use crate::files::{create_directory, file_name};
use crate::run::directory::same_run::hash;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::interrupt;
use crate::ui::terminal::plain;
use std::cell::OnceCell;
use std::path::Path;
use std::time::Instant;
use tares::{CrossValidation, Method, Network, Plan};
use tares_core::audit::Audited;
use tares_core::estimate::{Caution, Detector};
use tares_core::{Copies, Dataset, Error, Label};
use tares_data::{Reading, RowShape};
use tares_judges::fold::repeats_for;
use tares_judges::panel::{ask, cuts};
use tares_judges::{Caller, Judge, JudgeAnswer, Judgement, Labelled, Matrix, Panel, PanelOptions};

/// The default number of folds for judges of columns.
pub const COLUMN_FOLDS: usize = 5;

/// The judges, and how those that are networks are trained.
#[derive(Clone, Debug)]
pub struct Judges {
    /// The judges, in the order in which they are trained.
    pub names: Vec<JudgeName>,
    /// Number of folds for judges of columns. Small data is split into folds several times, and the results are averaged.
    pub folds: usize,
    /// Number of folds for networks.
    pub network_folds: usize,
    /// The method that trains networks.
    pub method: Method,
    /// Epochs, batches and optimiser of networks; its seed is used by all judges.
    pub plan: Plan,
    /// The device that networks are trained on.
    pub device: String,
}

/// How far the judges have come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgesProgress {
    /// The judge that is being trained.
    pub judge: String,
    /// Its number, from 1.
    pub number: usize,
    /// How many judges there are.
    pub judges: usize,
    /// Steps that this judge has done.
    pub done: u64,
    /// The most steps it will need.
    pub total: u64,
    /// Whether it is finished.
    pub finished: bool,
}

impl Judges {
    /// The blended probabilities of every row, from judges that were not trained on it. Judges that finished earlier are read
    /// from `place`, so the result has the bits of an uninterrupted panel.
    ///
    /// # Errors
    /// A judge cannot be trained on this data; a file belongs to other settings or other data, or cannot be read or written;
    /// Ctrl-C: some of the judges would give another result.
    pub fn ask(
        &self,
        data: &Dataset,
        reading: &Reading,
        place: &Path,
        hear: &(dyn Fn(JudgesProgress) + Sync),
    ) -> Outcome<Judgement> {
        check_names(&self.names)?;
        self.names.iter().try_for_each(|name| name.check(data))?;
        // Nothing is written before everything that was typed has been checked.
        if self.names.iter().any(|name| !name.is_network()) {
            cuts(data.given(), None, &self.options())?;
        }
        if self.names.iter().any(JudgeName::is_network) && self.network_folds < 2 {
            return Err(Error::value("number of folds", "at least 2", self.network_folds).into());
        }
        interrupt::watch();
        create_directory(place)?;
        let copies = data.copies();
        let matrix = OnceCell::new();
        let mut answers = Vec::with_capacity(self.names.len());
        for (position, name) in self.names.iter().enumerate() {
            let says = |done: u64, total: u64, finished: bool| {
                let (judge, number, judges) = (name.to_string(), position + 1, self.names.len());
                hear(JudgesProgress { judge, number, judges, done, total, finished });
            };
            let path = place.join(format!("judge-{}.bin", file_name(&name.to_string())));
            let question = self.question(name, data, copies.as_ref())?;
            let answer = match (kept::read(&path, &question)?, name) {
                (Some(answer), _) => answer,
                (None, JudgeName::Columns(judge)) => {
                    if matrix.get().is_none() {
                        // Built on demand: only judges of columns need this copy of the rows.
                        let _ = matrix.set(columns(data, reading)?);
                    }
                    let matrix: &Matrix = matrix.get().ok_or_else(|| Failure::new("no columns"))?;
                    let progress = |step: tares_judges::JudgeProgress| says(step.done as u64, step.total as u64, false);
                    let interrupt = interrupt::flag();
                    let caller = Caller { progress: &progress, interrupt: &interrupt };
                    self.ask_columns(*judge, data, matrix, copies.as_ref(), caller)?
                }
                (None, JudgeName::Network(network)) => self.ask_network(network, data, place, &says)?,
            };
            kept::write(&path, &question, &answer)?;
            // The answer is stored, so the network's fold files are no longer needed. The next network uses the same names.
            remove_network_folds(place)?;
            says(1, 1, true);
            answers.push(answer);
        }
        Ok(Judgement::of(answers, data.given(), data.classes(), None)?)
    }

    /// The options for judges of columns.
    pub fn options(&self) -> PanelOptions {
        PanelOptions { folds: self.folds, seed: self.plan.seed, ..PanelOptions::default() }
    }

    /// Labels for rows that have none, with their probability: predicted by judges of columns, which are fitted to all labelled rows
    /// with the settings that were chosen out-of-fold. Empty if there is no such judge.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn label(
        &self,
        data: &Dataset,
        reading: &Reading,
        judgement: &Judgement,
        unlabelled: &Dataset,
    ) -> Outcome<Vec<(Label, f64)>> {
        if judgement.scores.iter().all(|score| score.setting.is_none()) {
            return Ok(Vec::new());
        }
        let inputs = columns(data, reading)?;
        let sure = data.certainty();
        let rows = Labelled { weights: sure.as_deref(), ..Labelled::new(&inputs, data.given(), data.classes()) };
        let interrupt = interrupt::flag();
        let caller = Caller { progress: &|_| {}, interrupt: &interrupt };
        let panel = Panel::fit(&rows, &judgement.scores, &self.options(), caller)?;
        let probs = panel.probs(&new_columns(unlabelled, reading)?)?;
        let best =
            |row: &[f64]| (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best });
        let answer = |row: &[f64]| (best(row) as Label, row[best(row)]);
        Ok(probs.chunks_exact(data.classes()).map(answer).collect())
    }

    fn ask_columns(
        &self,
        judge: Judge,
        data: &Dataset,
        matrix: &Matrix,
        copies: Option<&Copies>,
        caller: Caller<'_>,
    ) -> Outcome<JudgeAnswer> {
        let sure = data.certainty();
        let rows = Labelled::new(matrix, data.given(), data.classes());
        let rows = Labelled { weights: sure.as_deref(), groups: copies.map(Copies::group_of), ..rows };
        Ok(ask(judge, &rows, &self.options(), caller)?)
    }

    fn ask_network(
        &self,
        network: &Network,
        data: &Dataset,
        place: &Path,
        says: &dyn Fn(u64, u64, bool),
    ) -> Outcome<JudgeAnswer> {
        let start = Instant::now();
        let device = tares::device::by_name(&self.device)?;
        let folds = CrossValidation::new(data, self.network_folds, network, &self.method, &self.plan, &device)?;
        let probs = out_of_fold(&folds, place, &mut |progress| says(progress.done(), progress.total(), false))?;
        let log_probs = probs.iter().map(|&p| f64::from(p.max(f32::MIN_POSITIVE)).ln()).collect();
        Ok(JudgeAnswer { judge: network.to_string(), log_probs, setting: None, seconds: start.elapsed().as_secs_f64() })
    }

    /// Everything that a judge's answer depends on, as text: an answer is only reused for the same question.
    fn question(&self, name: &JudgeName, data: &Dataset, copies: Option<&Copies>) -> Outcome<String> {
        let together = copies.map_or(String::new(), |copies| format!(", {} copies held out together", copies.rows));
        let rows = format!("seed {}, rows {}{together}", self.plan.seed, hash(data, None));
        Ok(match name {
            JudgeName::Columns(judge) => {
                let repeats = repeats_for(data.len());
                format!("{judge}, {} folds cut {repeats} times, {rows}", self.folds)
            }
            JudgeName::Network(network) => {
                let (method, plan) = (&self.method, serde_json::to_string(&self.plan).map_err(Failure::new)?);
                format!("{network}, {method}, {} folds, {plan}, {rows}", self.network_folds)
            }
        })
    }

    /// Says where the probabilities come from.
    pub fn origin(&self) -> String {
        let names: Vec<String> = self.names.iter().map(ToString::to_string).collect();
        let networks = match self.names.iter().any(JudgeName::is_network) {
            true => format!(" ({} on {} folds)", self.method, self.network_folds),
            false => String::new(),
        };
        let judges = if names.len() == 1 { "judge" } else { "judges" };
        format!("the {judges} {}{networks}, each judging rows it was not trained on", names.join(", "))
    }
}

/// Tells an audit what is known about `probs`, our own judges' answers: rows were held out, copies of a row with it; a single column may
/// tell the labels (both need `data`, the rows themselves); and the hard rows of a table look like wrong
/// labels, so its rate and its suspects are limited to what the surest rows confirm (default detector only).
///
/// # Errors
/// Probabilities that are not those of the audit.
pub fn refine(
    audited: &mut Audited,
    probs: &[f64],
    given: &[Label],
    data: Option<&Dataset>,
    reading: &Reading,
    detector: Detector,
) -> Outcome<()> {
    audited.out_of_fold = true;
    audited.about_rows = data.map_or(Vec::new(), |data| about_rows(data, reading));
    if is_table(reading) && detector == Detector::Posterior {
        audited.refine(probs, given)?;
    }
    Ok(())
}

/// What a person should know of the rows before trusting what judges say about their labels.
fn about_rows(data: &Dataset, reading: &Reading) -> Vec<Caution> {
    let copies = data.copies().map(|found| Caution::Copies { rows: found.rows, contradictions: found.contradictions });
    let column = telling_column(data, reading).map(|(column, agreement)| {
        let column = plain(&column).into_owned();
        Caution::GivenAway { column, agreement }
    });
    copies.into_iter().chain(column).collect()
}

/// Whether rows are those of a table, not pictures or features that a network computed. With such features classes hardly overlap, and
/// people err on hard rows, which must stay suspects: limited to the surest rows, the rate of CIFAR-10N's worst labels (41 % wrong,
/// EfficientNet-Lite0's features) would fall from 39 to 28 %, and F1 from .83 to .76.
pub fn is_table(reading: &Reading) -> bool {
    reading.features.is_none() && matches!(reading.row, RowShape::Flat(_))
}
