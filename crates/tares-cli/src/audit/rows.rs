//! [`AuditRows`]: the labels of an audit, their rows where these were read, and all files that an audit leaves behind.

use super::files::{RowNames, write_labels, write_missing, write_summary, write_suspects};
use super::findings::Findings;
use crate::files::{create_directory, write_whole};
use crate::record::Card;
use crate::record::card_text::mark_words;
use crate::report::audit_page::audit_page;
use crate::ui::failure::Outcome;
use std::path::Path;
use tares_core::audit::Suspect;
use tares_core::{Dataset, Fingerprint, Label};
use tares_data::Reading;
use tares_data::probabilities::NamedRows;

/// The rows of an audit: labels, and the data itself where it was read.
#[derive(Clone, Debug, Default)]
pub struct AuditRows {
    /// The rows that were judged, and how they were read.
    pub data: Option<(Dataset, Reading)>,
    /// The rows to show to people, where `data` holds features in their place.
    pub shown: Option<Dataset>,
    /// The label of every row.
    pub given: Vec<Label>,
    /// The true labels, where they are known.
    pub truth: Option<Vec<Label>>,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// Without data: names of the rows; empty if rows have only numbers.
    pub ids: Vec<String>,
    /// Without data: names of rows that were looked up, of all of them or, where there are too many, of the suspects.
    pub named: Option<NamedRows>,
    /// The command that writes reviewed labels into the data.
    pub apply: Option<String>,
    /// One sentence for each column that was changed or left out when the data was read.
    pub notes: Vec<String>,
    /// Rows without a label.
    pub unlabelled: Option<Dataset>,
    /// Suggested labels for these rows, with their probabilities; empty if no judge can predict them.
    pub missing: Vec<(Label, f64)>,
}

impl AuditRows {
    /// The names of rows and classes.
    pub fn names(&self, classes: usize) -> RowNames<'_> {
        RowNames {
            data: self.shown.as_ref().or(self.data.as_ref().map(|(data, _)| data)),
            listed: &self.classes,
            ids: &self.ids,
            named: self.named.as_ref(),
            classes,
        }
    }

    /// Writes everything that an audit found into a directory: lists, summary, the page with the first `gallery` suspects.
    /// Returns the name of the file of labels.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, out: &Path, findings: &Findings, gallery: usize) -> Outcome<&'static str> {
        create_directory(out)?;
        let names = self.names(findings.summary.classes.len());
        let tables = || {
            write_suspects(&out.join("suspects.csv"), names, &findings.suspects)?;
            if let Some(unlabelled) = &self.unlabelled {
                write_missing(out, unlabelled, &self.missing)?;
            }
            write_labels(out, names, &self.given, &findings.suspects)
        };
        let page = || {
            write_summary(&out.join("summary.json"), &findings.summary)?;
            let cards = self.cards(&findings.suspects, gallery)?;
            let key = key(&self.given, &findings.suspects);
            let page = audit_page(&findings.summary, &cards, self.apply.as_deref(), &key)?;
            write_whole(&out.join("audit.html"), page.as_bytes())
        };
        let (page, labels) = rayon::join(page, tables);
        page?;
        labels
    }

    /// The cards of the first suspects, without the truth: reviewers should not see it.
    fn cards(&self, suspects: &[Suspect], most: usize) -> Outcome<Vec<Card>> {
        let (names, reading) = (self.names(self.classes.len()), self.data.as_ref().map(|(_, reading)| reading));
        let card = |suspect: &Suspect| Card::of(suspect, names, None, reading);
        let mut cards = suspects.iter().take(most).map(card).collect::<Outcome<Vec<_>>>()?;
        if let Some((data, _)) = &self.data {
            mark_words(&mut cards, suspects, data)?;
        }
        Ok(cards)
    }
}

/// The name under which the browser stores review decisions: the same labels and suspects give the same key.
fn key(given: &[Label], suspects: &[Suspect]) -> String {
    let given = Fingerprint::default().with_labels(given);
    let all = suspects.iter().fold(given, |print, suspect| print.with(suspect.index as u64));
    format!("{:016x}", all.value())
}
