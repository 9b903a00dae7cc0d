//! What an audit leaves behind for people and programs: `suspects.csv`, `labels-suggested.csv`, `summary.json`.

use crate::files::write_whole;
use crate::json::to_json;
pub use crate::record::suspects::{RowNames, write_suspects};
use crate::ui::failure::Outcome;
use crate::ui::terminal::plain;
use serde::Serialize;
use std::path::Path;
use tares_core::audit::Suspect;
use tares_core::estimate::Caution;
use tares_core::{Label, Transition, TransitionRow};
use tares_data::cell::cell;
use tares_data::label_tables;
use tares_judges::JudgeScore;

/// Above this many rows the full list of labels is an NPY array: a table of them would be read by nobody.
const MOST_TABLE_ROWS: usize = 5_000_000;

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSummary {
    /// N.
    pub rows: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How wrong labels were found.
    pub method: String,
    /// Where the probabilities came from.
    pub probabilities: String,
    /// The judges whose probabilities they are, if they were trained for this audit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeSummary>,
    /// The estimated part of wrong labels.
    pub noise_rate: f64,
    /// Where it lies.
    pub noise_rate_band: (f64, f64),
    /// Which classes are mistaken for which: `transition`, or `transition_sparse` with very many classes.
    #[serde(flatten)]
    pub matrix: TransitionRecord,
    /// Rows listed in `suspects.csv`.
    pub suspects: usize,
    /// Per class: rows given it, suspects among them, rows that should probably have it.
    pub per_class: Vec<ClassSummary>,
    /// What should be read before the numbers are trusted.
    pub warnings: Vec<String>,
    /// A sentence for every column of the data that is not used as it stands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_notes: Vec<String>,
    /// The noise rate by the labels of nearest rows, if features were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourSummary>,
    /// Compared with the truth, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_truth: Option<AgainstTruth>,
}

/// The transition matrix in `summary.json`, to six places: more nobody can estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum TransitionRecord {
    /// All of it, `[true][given]`, up to `MOST_DENSE` classes.
    #[serde(rename = "transition")]
    Dense(Vec<Vec<f64>>),
    /// With more classes: what is listed, and what every other entry of a row is.
    #[serde(rename = "transition_sparse")]
    Sparse {
        /// Per true class: every entry of its row that is not listed.
        others: Vec<f64>,
        /// `[true, given, entry]`, by true class, then by given label.
        listed: Vec<(Label, Label, f64)>,
    },
}

impl TransitionRecord {
    /// The matrix as it is written.
    pub fn of(transition: &Transition) -> Self {
        let rounded = |part: f64| (1e6 * part).round() / 1e6;
        if transition.classes() <= MOST_DENSE {
            let row = |row: Vec<f64>| row.into_iter().map(rounded).collect();
            return Self::Dense(transition.to_dense().into_iter().map(row).collect());
        }
        let others: Vec<f64> = transition.rows().iter().map(|row| rounded(row.others())).collect();
        let of_class = |(class, row): (Label, &TransitionRow)| {
            let others = rounded(row.others());
            let entry = |&(given, part): &(Label, f64)| (class, given, rounded(part));
            row.listed().iter().map(entry).filter(|entry| entry.2 != others).collect::<Vec<_>>()
        };
        Self::Sparse { listed: (0..).zip(transition.rows()).flat_map(of_class).collect(), others }
    }

    /// The entries that are written one by one: (true, given, entry).
    pub fn entries(&self) -> Box<dyn Iterator<Item = (usize, usize, f64)> + '_> {
        match self {
            Self::Dense(rows) => Box::new(
                rows.iter()
                    .enumerate()
                    .flat_map(|(class, row)| row.iter().enumerate().map(move |(given, &part)| (class, given, part))),
            ),
            Self::Sparse { listed, .. } => {
                Box::new(listed.iter().map(|&(class, given, part)| (class as usize, given as usize, part)))
            }
        }
    }
}

/// Up to this many classes the matrix is written as a whole.
const MOST_DENSE: usize = 1000;

/// How well a judge predicted given labels that it was not trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeSummary {
    /// Its name.
    pub judge: String,
    /// The part of given labels that were its first choice.
    pub agreement: f64,
    /// Mean of −ln p(given label).
    pub log_loss: f64,
    /// Its share in the blend.
    pub weight: f64,
    /// What its probabilities were flattened (above 1) or sharpened by.
    pub temperature: f64,
    /// What was chosen for it on held-out rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Seconds it took: for the terminal alone, so that the same audit gives the same file.
    #[serde(skip)]
    pub seconds: f64,
}

impl From<&JudgeScore> for JudgeSummary {
    fn from(score: &JudgeScore) -> Self {
        Self {
            judge: score.judge.clone(),
            agreement: score.agreement,
            log_loss: score.log_loss,
            weight: score.weight,
            temperature: score.temperature,
            setting: score.setting.map(|setting| setting.to_string()),
            seconds: score.seconds,
        }
    }
}

/// One class of an audit.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// Its name.
    pub class: String,
    /// Rows with this label.
    pub rows: usize,
    /// Suspects among them.
    pub suspects: usize,
    /// Suspects with another label that should probably have this one.
    pub missing: usize,
}

/// The noise rate by the labels of nearest rows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NeighbourSummary {
    /// Rows whose neighbours were looked for.
    pub rows: usize,
    /// The part of wrong labels, if rows side by side are of one class.
    pub noise_rate: f64,
    /// Where it lies.
    pub noise_rate_band: (f64, f64),
}

/// How good the suspects were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstTruth {
    /// Labels that really are wrong.
    pub wrong: usize,
    /// The part of them among all rows.
    pub noise_rate: f64,
    /// Wrong ones among the suspects.
    pub precision: Option<f64>,
    /// Suspects among the wrong ones.
    pub recall: Option<f64>,
    /// 2 PR / (P + R).
    pub f1: Option<f64>,
    /// How well the score ranks wrong labels below right ones.
    pub auroc: Option<f64>,
    /// Average precision of the same ranking.
    pub average_precision: Option<f64>,
    /// Suggestions that are the truth, among the wrong labels found.
    pub right_suggestions: Option<f64>,
}

/// Digits after the point, at least `least`, that show an interval as wide as it is and not as empty.
pub fn digits_apart(low: f64, high: f64, least: usize) -> usize {
    let apart = |digits: &usize| format!("{low:.digits$}") != format!("{high:.digits$}");
    (least..=12).find(apart).unwrap_or(12)
}

/// The cautions in words, with the names of the classes.
pub fn sentences(cautions: &[Caution], names: RowNames<'_>) -> Vec<String> {
    cautions.iter().map(|caution| caution.sentence(|class| plain(&names.class(class as Label)).into_owned())).collect()
}

/// Writes the label of every row, suspects with their suggestion: `labels-suggested.csv`, or an NPY array when there are
/// very many rows. Returns the file's name.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(
    directory: &Path,
    names: RowNames<'_>,
    given: &[Label],
    suspects: &[Suspect],
) -> Outcome<&'static str> {
    let mut suggested = given.to_vec();
    suspects.iter().for_each(|suspect| suggested[suspect.index] = suspect.suggested);
    if given.len() > MOST_TABLE_ROWS {
        tares_data::npy::write_labels(&directory.join("labels-suggested.npy"), &suggested)?;
        return Ok("labels-suggested.npy");
    }
    let classes: Vec<String> = names.all().iter().map(|name| cell(name)).collect();
    let id = |index: usize| cell(&names.row(index));
    let id: Option<&(dyn Fn(usize) -> String + Sync)> = if names.has_ids() { Some(&id) } else { None };
    label_tables::write_labels(&directory.join("labels-suggested.csv"), &classes, given, &suggested, id)?;
    Ok("labels-suggested.csv")
}

/// Writes `summary.json`.
///
/// # Errors
/// The file cannot be written.
pub fn write_summary(path: &Path, summary: &AuditSummary) -> Outcome<()> {
    write_whole(path, &to_json(summary)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_never_shown_as_empty() {
        assert_eq!(digits_apart(0.1, 0.2, 4), 4);
        assert_eq!(digits_apart(0.0, 4e-6, 4), 6);
        assert_eq!(digits_apart(0.0, 0.04, 1), 2);
    }

    #[test]
    fn the_matrix_of_very_many_classes_is_written_as_its_listed_entries() {
        let few = TransitionRecord::of(&Transition::pair(3, 0.25).unwrap());
        let text = String::from_utf8(to_json(&few).unwrap()).unwrap();
        assert!(text.contains("\"transition\": [\n    [0.75, 0.25, 0.0],"), "{text}");
        let many = TransitionRecord::of(&Transition::symmetric(1001, 0.2).unwrap());
        let TransitionRecord::Sparse { others, listed } = &many else { panic!("{many:?}") };
        assert_eq!((others.len(), others[7]), (1001, 0.0002));
        assert_eq!((listed.len(), listed[7]), (1001, (7, 7, 0.8)));
        let text = String::from_utf8(to_json(&many).unwrap()).unwrap();
        assert!(text.starts_with("{\n  \"transition_sparse\": {") && text.contains("\n      [7, 7, 0.8],"), "{text}");
        assert!(text.len() < 60_000);
    }
}
