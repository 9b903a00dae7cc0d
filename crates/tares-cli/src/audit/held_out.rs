//! Audits a finished run of a model of columns: by what its judges answered about rows they were not trained on. The list is that of
//! `tares audit` for the same rows.
//!
//! The history of such a run is no evidence: it has one entry per row, the margin of those same answers.

use super::findings::Findings;
use super::rows::AuditRows;
use crate::judges::panel::refine;
use crate::learner::learnt::{HELD_OUT_FILE, PANEL_FILE};
use crate::run::model::Model;
use crate::run::spec::Spec;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;
use tares_core::audit::{Score, audit};
use tares_core::estimate::{Detector, ProbabilityMatrix};
use tares_data::npy::Stored;

/// Whether a run trained a model of columns.
pub fn is_of_columns(run: &Path) -> bool {
    run.join(PANEL_FILE).is_file()
}

/// The audit of the run's training rows.
///
/// # Errors
/// The run was written before the answers were kept; they do not fit its rows.
pub fn audit_run(run: &Path, rows: &AuditRows) -> Outcome<Findings> {
    let path = run.join(HELD_OUT_FILE);
    if !path.is_file() {
        let spec: Spec = spec_file::read(&run.join("spec.toml"))?;
        let problem = "this run does not hold what its judges said about rows they were not trained on";
        return Err(Failure::new(format!("{}: {problem}", run.display())).way_out(format!(
            "audit the data: tares audit {} (with the options that say how to read it), or train again: tares train --spec \
             {1}/spec.toml --out {1} --overwrite",
            spec.data,
            run.display()
        )));
    }
    let model = Model::read(run)?;
    let (given, classes) = (&rows.given, rows.classes.len());
    let stored = Stored::open(&path)?;
    if stored.header().shape != [given.len(), classes] {
        let shape = stored.header().shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        return Err(Failure::new(format!(
            "{}: must be probabilities of {} rows in {classes} classes, got an array of {shape}",
            path.display(),
            given.len()
        )));
    }
    let mut probs = vec![0f64; given.len() * classes];
    stored.read_rows(0, &mut probs)?;
    let table = ProbabilityMatrix::new(&probs, classes).map_err(|error| Failure::from(error).within(path.display()))?;
    let mut audited = audit(&table, given, Detector::default())?;
    let data = rows.data.as_ref().map(|(data, _)| data);
    refine(&mut audited, &probs, given, data, &model.reading, Detector::default())?;
    let origin =
        format!("the judges of {} ({}), each judging rows it was not trained on", run.display(), model.network);
    let mut findings = Findings::of(&audited, rows.names(classes), Detector::default(), origin);
    if let Some(truth) = &rows.truth {
        findings.compare(given, truth, audited.scores(&table, given, Score::default())?)?;
    }
    Ok(findings)
}
