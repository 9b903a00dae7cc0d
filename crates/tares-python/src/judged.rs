//! `audit_rows`: an audit of data alone. The program's own judges are trained on folds of it, each judging rows it has not seen.

use crate::array::labels;
use crate::audit::{against, parse};
use crate::call::{Told, run_watched};
use crate::found::{ArrayAudit, Judged};
use crate::table::PyRows;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use tares::{Network, Plan};
use tares_cli::audit::rows::AuditRows;
use tares_cli::judges::inputs::text_note;
use tares_cli::judges::name::{JudgeName, varied};
use tares_cli::judges::panel::{COLUMN_FOLDS, Judges, JudgesProgress, refine};
use tares_core::Label;
use tares_core::audit::audit_ranked;
use tares_core::estimate::ProbabilityMatrix;

/// Number of folds for judges that are networks: fewer, because they take longer. (As in the program.)
const NETWORK_FOLDS: usize = 4;

/// The judges and their options.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct JudgeSettings {
    /// Empty: those that suit the rows.
    judges: Vec<String>,
    folds: Option<usize>,
    epochs: usize,
    seed: u64,
    method: String,
    score: String,
    /// Columns that are read by their words.
    texts: Vec<String>,
}

/// Audits rows and their labels. `folds` is a directory for the judges' answers until all are trained.
#[pyfunction]
#[pyo3(signature = (rows, given, classes, ids, settings, folds, truth=None, progress=None))]
#[allow(clippy::too_many_arguments)]
pub fn audit_rows(
    py: Python<'_>,
    rows: PyRows<'_>,
    given: PyReadonlyArray1<'_, Label>,
    classes: Vec<String>,
    ids: Option<Vec<String>>,
    settings: JudgeSettings,
    folds: PathBuf,
    truth: Option<PyReadonlyArray1<'_, Label>>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<ArrayAudit> {
    let (detector, score) = parse(&settings.method, &settings.score)?;
    let read = rows.read(py, &given, classes, ids, &settings.texts)?;
    let data = &read.train;
    let truth = truth.as_ref().map(labels).transpose()?;
    let truth: Option<Vec<Label>> = truth.map(|truth| (0..data.len()).map(|row| truth[data.stored(row)]).collect());
    run_watched(py, progress.as_ref(), |tell| {
        let network = Network::suggest(data.shape());
        let named = settings.judges.iter().map(|name| name.parse()).collect::<Result<Vec<JudgeName>, _>>()?;
        let judges = Judges {
            names: if named.is_empty() { JudgeName::portfolio(data, &read.reading, &network) } else { named },
            folds: settings.folds.unwrap_or(COLUMN_FOLDS),
            network_folds: settings.folds.unwrap_or(NETWORK_FOLDS),
            method: "gce".parse()?,
            plan: Plan { epochs: settings.epochs, seed: settings.seed, augment: varied(data), ..Plan::default() },
            device: "cpu".to_owned(),
        };
        let judgement = judges.ask(data, &read.reading, &folds, &|step| tell_step(tell, &step))?;
        let probs = ProbabilityMatrix::new(&judgement.probs, data.classes())?;
        let mut audited = audit_ranked(&probs, data.given(), detector, score)?;
        refine(&mut audited, &judgement.probs, data.given(), Some(data), &read.reading, detector)?;
        let against = |truth: Vec<Label>| against(&audited, &probs, data.given(), &truth, detector, score);
        let against_truth = truth.map(against).transpose()?;
        let missing = match &read.unlabelled {
            Some(unlabelled) => judges.label(data, &read.reading, &judgement, unlabelled)?,
            None => Vec::new(),
        };
        let left_out = JudgeName::left_out(data, &read.reading).filter(|_| settings.judges.is_empty());
        let notes = read.notes.iter().cloned().chain(left_out).chain(text_note(data)).collect();
        let rows = AuditRows {
            given: data.given().to_vec(),
            classes: data.class_names().to_vec(),
            data: Some((data.clone(), read.reading.clone())),
            notes,
            unlabelled: read.unlabelled.clone(),
            missing,
            ..AuditRows::default()
        };
        let summaries = judgement.scores.iter().map(Into::into).collect();
        Ok(ArrayAudit {
            against_truth,
            judged: Some(Judged { rows, judges: summaries, probs: judgement.probs.clone() }),
            ..ArrayAudit::new(audited, detector, judges.origin())
        })
    })
}

fn tell_step(tell: &(dyn Fn(Told) + Sync), step: &JudgesProgress) {
    let (done, total) = if step.finished { (step.total, step.total) } else { (step.done, step.total) };
    tell((format!("judging, {} ({} of {})", step.judge, step.number, step.judges), done, total.max(1)));
}
