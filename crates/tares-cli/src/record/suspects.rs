//! `suspects.csv`, of a run or of an audit: the rows whose label looks wrong, worst first.

use crate::files::write_whole;
use crate::ui::failure::Outcome;
use crate::ui::terminal::plain;
use std::path::Path;
use tares_core::audit::{Evidence, Suspect};
use tares_core::{Dataset, Label};
use tares_data::cell::{cell, guarded, push_line};
use tares_data::label_tables;

/// What the rows are called.
#[derive(Clone, Copy, Debug)]
pub struct RowNames<'a> {
    /// The data, if it is known.
    pub data: Option<&'a Dataset>,
    /// Names of the classes where there is no data; empty if they are only numbered.
    pub listed: &'a [String],
    /// K.
    pub classes: usize,
}

impl RowNames<'_> {
    /// The name of a class; its number when there are no names.
    pub fn class(&self, label: Label) -> String {
        match self.data {
            Some(data) => data.class_names()[label as usize].clone(),
            None => self.listed.get(label as usize).cloned().unwrap_or_else(|| label.to_string()),
        }
    }

    /// Row id or file path; the row's number when there is none.
    pub fn row(&self, index: usize) -> String {
        self.data.map_or_else(|| index.to_string(), |data| data.id(index))
    }

    /// Whether rows have names of their own.
    pub fn has_ids(&self) -> bool {
        self.data.is_some_and(Dataset::has_ids)
    }

    /// Why a label is suspected, in words that are safe for a terminal.
    pub fn reason(&self, suspect: &Suspect) -> String {
        suspect.reason(|label| plain(&self.class(label)).into_owned())
    }

    /// All class names.
    pub fn all(&self) -> Vec<String> {
        (0..self.classes as Label).map(|label| self.class(label)).collect()
    }
}

/// Writes `suspects.csv`, worst first.
///
/// # Errors
/// The file cannot be written.
pub fn write_suspects(path: &Path, names: RowNames<'_>, suspects: &[Suspect]) -> Outcome<()> {
    let id = |index: usize| cell(&names.row(index));
    let id: Option<&(dyn Fn(usize) -> String + Sync)> = if names.has_ids() { Some(&id) } else { None };
    let classes = names.all();
    // Names that need care, and reasons of another kind, go the long way.
    let simple = classes.iter().all(|name| cell(name) == *name && plain(name) == *name);
    if simple && suspects.iter().all(|suspect| matches!(suspect.evidence, Evidence::Probabilities { .. })) {
        return Ok(label_tables::write_suspects(path, &classes, suspects, id)?);
    }
    let mut text = String::new();
    push_line(&mut text, ["index", "id", "given", "suggested", "score", "reason"]);
    for suspect in suspects {
        push_line(
            &mut text,
            [
                suspect.index.to_string(),
                guarded(&names.row(suspect.index)).into_owned(),
                guarded(&names.class(suspect.given)).into_owned(),
                guarded(&names.class(suspect.suggested)).into_owned(),
                format!("{:.6}", suspect.score),
                names.reason(suspect),
            ],
        );
    }
    write_whole(path, text.as_bytes())
}
