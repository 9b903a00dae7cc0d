//! `suspects.csv` of a run or an audit: the rows whose label looks wrong, worst first.

use crate::ui::failure::Outcome;
use crate::ui::terminal::plain;
use std::path::Path;
use tares_core::audit::{Evidence, Suspect};
use tares_core::{Dataset, Label};
use tares_data::cell::{cell, quoted};
use tares_data::probabilities::NamedRows;

/// The names of rows and classes, as people see them.
#[derive(Clone, Copy, Debug)]
pub struct RowNames<'a> {
    /// The data, if it was read.
    pub data: Option<&'a Dataset>,
    /// Without data: names of the classes; empty if classes have only numbers.
    pub listed: &'a [String],
    /// Without data: names of the rows; empty if rows have only numbers.
    pub ids: &'a [String],
    /// K, the number of classes.
    pub classes: usize,
    /// Without data, where not all names are held: those of the suspects.
    pub named: Option<&'a NamedRows>,
}

impl RowNames<'_> {
    /// The name of a class, or its number if it has none.
    pub fn class(&self, label: Label) -> String {
        match self.data {
            Some(data) => data.class_names()[label as usize].clone(),
            None => self.listed.get(label as usize).cloned().unwrap_or_else(|| label.to_string()),
        }
    }

    /// The row's id or file path, or its number if it has none.
    pub fn row(&self, index: usize) -> String {
        match (self.data, self.ids.get(index)) {
            (Some(data), _) => data.id(index),
            (None, Some(id)) => id.clone(),
            (None, None) => match self.named {
                Some(named) => named.name(index).unwrap_or_default().to_owned(),
                None => index.to_string(),
            },
        }
    }

    /// Whether rows have names other than their number: ids, or their place in a file that has other rows too.
    pub fn has_ids(&self) -> bool {
        let elsewhere = |data: &Dataset| (0..data.len()).any(|row| data.stored(row) != row);
        let listed = !self.ids.is_empty() || self.named.is_some();
        self.data.map_or(listed, |data| data.has_ids() || elsewhere(data))
    }

    /// Why a label is suspected, in one sentence without control characters.
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
    let reason = |suspect: &Suspect| quoted(&names.reason(suspect), b',').into_owned();
    // The writer's own, faster reasons need class names without quotes or control characters, and probabilities.
    let simple = classes.iter().all(|name| cell(name) == *name && plain(name) == *name)
        && suspects.iter().all(|suspect| matches!(suspect.evidence, Evidence::Probabilities { .. }));
    let reason: Option<&(dyn Fn(&Suspect) -> String + Sync)> = if simple { None } else { Some(&reason) };
    let classes: Vec<String> = classes.iter().map(|name| cell(name)).collect();
    Ok(tares_data::suspects::write_suspects(path, &classes, suspects, id, reason)?)
}
