//! Judges are trained on the consensus and refine it, until it hardly changes.
//!
//! Every judge predicts rows it was not trained on, so that it adds information to the answers instead of repeating them.
//! Rows that nobody labelled are not trained on; judges of columns predict them at the end.

use super::crowd::Crowd;
use crate::audit::files::JudgeSummary;
use crate::judges::folds::remove_folds;
use crate::judges::panel::{Judges, JudgesProgress};
use crate::ui::failure::{Failure, Outcome};
use serde::Serialize;
use std::path::{Path, PathBuf};
use tares_core::annotate::{Answer, Answers, Consensus, Pooling, consensus, consensus_with};
use tares_core::estimate::ProbabilityMatrix;
use tares_core::{Dataset, Label};
use tares_data::Reading;

/// Rounds end when one of them changes less than this fraction of the rows.
const STILL: f64 = 0.001;

/// What a round changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundSummary {
    /// Rows whose consensus changed.
    pub changed: usize,
    /// How well the judges predicted the consensus.
    pub judges: Vec<JudgeSummary>,
}

/// The refined consensus.
pub struct Refined {
    /// The consensus of all rows.
    pub found: Consensus,
    /// What each round changed.
    pub rounds: Vec<RoundSummary>,
}

/// Trains judges on the consensus and asks them, at most `most` times. `folds` keeps their answers until the end.
///
/// # Errors
/// A judge cannot be trained; a file cannot be read or written; Ctrl-C.
pub fn refine(
    crowd: &Crowd,
    (data, reading): (&Dataset, &Reading),
    judges: &Judges,
    most: usize,
    folds: &Path,
    hear: &(dyn Fn(usize, JudgesProgress) + Sync),
) -> Outcome<Refined> {
    let answered: Vec<usize> = (0..data.len()).filter(|&row| !crowd.answers.of_row(row).is_empty()).collect();
    let answers = of_rows(&crowd.answers, &answered)?;
    let mut found = consensus(&answers, Pooling::Posterior)?;
    let rows = data.subset(&answered)?;
    let mut rounds = Vec::new();
    let mut last = None;
    for round in 1..=most {
        let labelled = rows.clone().relabel(found.labels.clone())?;
        check(&labelled)?;
        let place = round_place(folds, round);
        let judgement = judges.ask(&labelled, reading, &place, &|progress| hear(round, progress))?;
        let table = ProbabilityMatrix::new(&judgement.probs, labelled.classes())?;
        let next = consensus_with(&answers, &table)?;
        let changed = next.labels.iter().zip(&found.labels).filter(|(new, old)| new != old).count();
        found = next;
        rounds.push(RoundSummary { changed, judges: judgement.scores.iter().map(JudgeSummary::from).collect() });
        last = Some((labelled, judgement));
        if (changed as f64) < STILL * answered.len() as f64 {
            break;
        }
    }
    if answered.len() < data.len() {
        let unanswered: Vec<usize> = (0..data.len()).filter(|&row| crowd.answers.of_row(row).is_empty()).collect();
        let said = match &last {
            Some((labelled, judgement)) => judges.label(labelled, reading, judgement, &data.subset(&unanswered)?)?,
            None => Vec::new(),
        };
        found = found.with_unanswered(&crowd.answers, &answered, &unanswered, &said);
    }
    Ok(Refined { found, rounds })
}

/// Judges need two rows of at least two classes.
fn check(labelled: &Dataset) -> Outcome<()> {
    let used = labelled.class_counts().iter().filter(|&&count| count > 0).count();
    match used {
        0 | 1 => Err(Failure::new("the consensus is the same class for all rows, so no judge can be trained on it")
            .way_out("leave --data out")),
        _ => Ok(()),
    }
}

/// The answers to some rows, which are renumbered from 0.
fn of_rows(answers: &Answers, rows: &[usize]) -> Outcome<Answers> {
    let own = |(place, &row): (usize, &usize)| {
        answers.of_row(row).iter().map(move |answer| Answer { row: place, ..*answer }).collect::<Vec<_>>()
    };
    let own: Vec<Answer> = rows.iter().enumerate().flat_map(own).collect();
    Ok(Answers::new(rows.len(), answers.annotators(), answers.classes(), &own)?)
}

fn round_place(folds: &Path, round: usize) -> PathBuf {
    folds.join(format!("round-{round}"))
}

/// Removes the files of the judges of all rounds.
///
/// # Errors
/// A file cannot be removed.
pub fn remove_rounds(folds: &Path) -> Outcome<()> {
    let Ok(entries) = std::fs::read_dir(folds) else { return Ok(()) };
    for entry in entries.filter_map(Result::ok) {
        if entry.file_name().to_string_lossy().starts_with("round-") {
            remove_folds(&entry.path())?;
        }
    }
    let _ = std::fs::remove_dir(folds);
    Ok(())
}

/// Each row's most frequent label. Ties are broken by the class frequencies over all answers, as are rows without answers.
///
/// # Errors
/// None that a checked table of answers could cause.
pub fn majority(answers: &Answers) -> Outcome<Vec<Label>> {
    Ok(consensus(answers, Pooling::Majority)?.labels)
}

/// Whether another label has more answers to a row than this one. A tie outvotes nobody.
pub fn outvoted(answers: &Answers, row: usize, label: Label) -> bool {
    let votes = |label| answers.of_row(row).iter().filter(|answer| answer.label == label).count();
    answers.of_row(row).iter().any(|answer| votes(answer.label) > votes(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_label_with_fewer_answers_is_outvoted() {
        let said =
            |row, labels: [Label; 3]| (0..3).map(move |annotator| Answer { row, annotator, label: labels[annotator] });
        let all: Vec<Answer> = said(0, [9, 0, 1]).chain(said(1, [2, 2, 7])).collect();
        let answers = Answers::new(3, 3, 10, &all).unwrap();
        assert!([9, 0, 1].iter().all(|&label| !outvoted(&answers, 0, label)), "three answers, three labels");
        assert!(outvoted(&answers, 0, 4), "nobody gave this label");
        assert!(outvoted(&answers, 1, 7) && !outvoted(&answers, 1, 2));
        assert!(!outvoted(&answers, 2, 5), "no answer, no majority");
    }
}
