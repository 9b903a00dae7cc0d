//! JSON Lines → a table with its label and id columns taken out.

use super::columns::{ColumnKind, LeftOut, Values, label_position};
use super::rows::TablePart;
use crate::error::{DataError, Place, Result};
use crate::format::jsonl;
use crate::io::Input;
use std::collections::HashMap;

/// Reads a file; which column holds the labels may only be known at its end, so `open` may be called again.
///
/// # Errors
/// A line that is no JSON object; no label column where one is needed; a label or id column of lists.
pub(crate) fn from_jsonl(
    open: &dyn Fn() -> Result<Input>,
    label: Option<&str>,
    id: Option<&str>,
    label_needed: bool,
    known: &HashMap<String, ColumnKind>,
) -> Result<TablePart> {
    let mut table = jsonl::read(open()?, &label.into_iter().chain(id).collect::<Vec<_>>())?;
    let unusable = |column: &LeftOut| {
        let problem = format!("column \"{}\" {}, so it can be neither label nor id", column.name, column.why);
        DataError::format(&table.path, Place::File, problem)
    };
    if let Some(nested) = table.left_out.iter().find(|column| [label, id].contains(&Some(column.name.as_str()))) {
        return Err(unusable(nested));
    }
    let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let label = match label_position(&names, label, true) {
        Ok(position) => Some((names[position].to_owned(), position)),
        Err(error) if label_needed => {
            let called = |column: &&LeftOut| label_position(&[&column.name], None, true).is_ok();
            let nested = table.left_out.iter().find(called);
            return Err(nested.map_or_else(|| DataError::content(&table.path, error), unusable));
        }
        Err(_) => None,
    };
    let id = id.filter(|id| label_needed || names.contains(id)).map(str::to_owned);
    // Which column is the label is only known when all keys are. Numbers are read again, with every digit, and texts if some of
    // them were taken for missing values.
    let values = label.as_ref().map(|(_, position)| &table.columns[*position].values);
    if let Some((name, _)) = &label
        && values.is_some_and(|values| matches!(values, Values::Numbers(_)) || values.missing() > 0)
    {
        table = jsonl::read(open()?, &[Some(name.as_str()), id.as_deref()].into_iter().flatten().collect::<Vec<_>>())?;
    }
    TablePart::of(table, label.map(|(name, _)| name), id, known)
}
