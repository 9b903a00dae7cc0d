//! The files that an audit writes: `suspects.csv`, `labels-suggested.csv`, `summary.json`.

use crate::files::{remove, write_whole};
use crate::json::to_json;
pub use crate::record::suspects::{RowNames, write_suspects};
use crate::ui::failure::Outcome;
use crate::ui::terminal::plain;
use serde::Serialize;
use std::path::Path;
use tares_core::audit::Suspect;
use tares_core::estimate::Caution;
use tares_core::{Dataset, Label, Transition, TransitionRow};
use tares_data::cell::{cell, guarded, push_line};
use tares_data::suspects;
use tares_judges::JudgeScore;

/// With more rows than this, all labels are written as an NPY array: nobody reads a table of that length.
pub const MOST_TABLE_ROWS: usize = 5_000_000;

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AuditSummary {
    /// Number of rows.
    pub rows: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How wrong labels were found.
    pub method: String,
    /// Where the probabilities came from.
    pub probabilities: String,
    /// The judges that gave the probabilities, if judges were trained for this audit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<JudgeSummary>,
    /// The estimated fraction of wrong labels.
    pub noise_rate: f64,
    /// The interval in which it most likely lies.
    pub noise_rate_interval: (f64, f64),
    /// The estimated transition matrix: the key `transition`, or `transition_sparse` with very many classes.
    #[serde(flatten)]
    pub matrix: TransitionRecord,
    /// Number of rows in `suspects.csv`.
    pub suspects: usize,
    /// Rows that were left out, because they lack a label or a probability.
    #[serde(skip_serializing_if = "is_none")]
    pub missing_rows: usize,
    /// Rows without a label for which `labels-missing.csv` suggests one.
    #[serde(skip_serializing_if = "is_none")]
    pub labels_missing: usize,
    /// Counts for each class.
    pub per_class: Vec<ClassSummary>,
    /// Reasons not to trust the numbers.
    pub warnings: Vec<String>,
    /// One sentence for each column that was changed or left out when the data was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data_notes: Vec<String>,
    /// The noise rate estimated from nearest neighbours, if features were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<NeighbourSummary>,
    /// Compared with the truth, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_truth: Option<AgainstTruth>,
}

impl AuditSummary {
    /// The interval of a rate that nothing is known about.
    pub const UNKNOWN: (f64, f64) = (0.0, 1.0);

    /// Whether no rate could be estimated; a warning says why. The rate is then the share of the suspects.
    pub fn rate_is_unknown(&self) -> bool {
        self.noise_rate_interval == Self::UNKNOWN
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The transition matrix in `summary.json`, rounded to six digits: estimates are less precise than that.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum TransitionRecord {
    /// The whole matrix, `[true][given]`, for up to `MOST_DENSE` classes.
    #[serde(rename = "transition")]
    Dense(Vec<Vec<f64>>),
    /// For more classes: some entries are listed, and all others of a row share one value.
    #[serde(rename = "transition_sparse")]
    Sparse {
        /// For each true class, the value of every entry that is not listed.
        others: Vec<f64>,
        /// `[true, given, value]`, ordered by true class, then by given label.
        listed: Vec<(Label, Label, f64)>,
    },
}

impl TransitionRecord {
    /// Rounds the matrix and chooses its form.
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

    /// The entries that are written one by one: (true, given, value).
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

/// Up to this many classes, the whole matrix is written.
const MOST_DENSE: usize = 1000;

/// How well a judge predicted given labels that it was not trained on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JudgeSummary {
    /// The judge's name.
    pub judge: String,
    /// The fraction of given labels that it predicted.
    pub agreement: f64,
    /// Log-loss: the mean of −ln p(given label).
    pub log_loss: f64,
    /// Its share in the blend.
    pub weight: f64,
    /// The temperature of its calibration: above 1 its probabilities were flattened, below 1 sharpened.
    pub temperature: f64,
    /// The setting that was chosen for it on held-out rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Duration in seconds. It is only printed, so that the same audit always writes the same file.
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

/// What an audit counted for one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassSummary {
    /// The name of the class.
    pub class: String,
    /// Rows with this label.
    pub rows: usize,
    /// Suspects among them.
    pub suspects: usize,
    /// Suspects with another label for which this class is suggested.
    pub missing: usize,
}

/// The noise rate, estimated from the labels of each row's nearest neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NeighbourSummary {
    /// Number of rows whose neighbours were compared.
    pub rows: usize,
    /// The estimated fraction of wrong labels, assuming that nearest neighbours have the same true class.
    pub noise_rate: f64,
    /// The interval in which it most likely lies.
    pub noise_rate_interval: (f64, f64),
}

/// How good the audit is, compared with the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstTruth {
    /// Number of labels that are wrong according to the truth.
    pub wrong: usize,
    /// The same as a fraction of all rows.
    pub noise_rate: f64,
    /// Of the suspects, the fraction whose label is wrong.
    pub precision: Option<f64>,
    /// Of the wrong labels, the fraction that is suspected.
    pub recall: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub f1: Option<f64>,
    /// Area under the ROC curve: the probability that a wrong label has a lower score than a right one.
    pub auroc: Option<f64>,
    /// Average precision of the same ranking.
    pub average_precision: Option<f64>,
    /// Of the wrong labels that were found, the fraction whose suggestion is the truth.
    pub right_suggestions: Option<f64>,
}

/// How many decimals to print, at least `least`, so that the ends of an interval do not look equal.
pub fn digits_apart(low: f64, high: f64, least: usize) -> usize {
    let apart = |digits: &usize| format!("{low:.digits$}") != format!("{high:.digits$}");
    (least..=12).find(apart).unwrap_or(12)
}

/// The cautions as sentences that name the classes.
pub fn sentences(cautions: &[Caution], names: RowNames<'_>) -> Vec<String> {
    cautions.iter().map(|caution| caution.sentence(|class| plain(&names.class(class as Label)).into_owned())).collect()
}

/// Writes a label for every row: the suggestion for suspects, the given label for the others. The file is
/// `labels-suggested.csv`, or an NPY array if there are very many rows. Returns its name.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(
    directory: &Path,
    names: RowNames<'_>,
    given: &[Label],
    suspects: &[Suspect],
) -> Outcome<&'static str> {
    if given.len() > MOST_TABLE_ROWS {
        let changes = suspects.iter().map(|suspect| (suspect.index, suspect.suggested)).collect();
        tares_data::npy::write_labels(&directory.join("labels-suggested.npy"), given, changes)?;
        return Ok("labels-suggested.npy");
    }
    let mut suggested = given.to_vec();
    suspects.iter().for_each(|suspect| suggested[suspect.index] = suspect.suggested);
    let classes: Vec<String> = names.all().iter().map(|name| cell(name)).collect();
    let id = |index: usize| cell(&names.row(index));
    let id: Option<&(dyn Fn(usize) -> String + Sync)> = if names.has_ids() { Some(&id) } else { None };
    suspects::write_labels(&directory.join("labels-suggested.csv"), &classes, given, &suggested, id)?;
    Ok("labels-suggested.csv")
}

/// Writes `labels-missing.csv`: suggested labels for the rows without one. Nothing is written if there are none.
///
/// # Errors
/// The file cannot be written.
pub fn write_missing(directory: &Path, rows: &Dataset, answers: &[(Label, f64)]) -> Outcome<()> {
    let path = directory.join("labels-missing.csv");
    if answers.is_empty() {
        return remove(&path);
    }
    let mut text = String::new();
    push_line(&mut text, ["id", "suggested", "probability"]);
    for (row, (label, probability)) in answers.iter().enumerate() {
        let class = &rows.class_names()[*label as usize];
        let cells = [guarded(&rows.id(row)).into_owned(), guarded(class).into_owned(), format!("{probability:.4}")];
        push_line(&mut text, cells);
    }
    write_whole(&path, text.as_bytes())
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
