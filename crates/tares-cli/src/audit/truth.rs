//! The true labels of an audit's rows (`--truth`): found by the names of the rows where the file has them, otherwise in order.

use super::rows::AuditRows;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::plain;
use std::collections::HashMap;
use std::path::Path;
use tares_core::Label;
use tares_data::cell::guarded;
use tares_data::probabilities::{in_classes, read_truth, row_names};

/// Columns that name rows, besides the id column of the data.
const NAME_COLUMNS: [&str; 3] = ["id", "path", "file"];

/// The true label of every row.
///
/// # Errors
/// Labels outside the classes; another number of rows; names that are not those of the data.
pub fn truth_of(path: &Path, rows: &AuditRows) -> Outcome<Vec<Label>> {
    let truth = in_classes(read_truth(path)?, path, &rows.classes)?;
    if let Some(found) = by_name(path, rows, &truth)? {
        return Ok(found);
    }
    // A file may have a truth for every row of the data, also for those without a label.
    let truth = match rows.data.as_ref().filter(|(data, _)| truth.len() == data.stored_rows()) {
        Some((data, _)) => (0..data.len()).map(|row| truth[data.stored(row)]).collect(),
        None => truth,
    };
    match truth.len() == rows.given.len() {
        true => Ok(truth),
        false => Err(Failure::new(format!(
            "{}: must have a true label for each of the {} rows, got {}",
            path.display(),
            rows.given.len(),
            truth.len()
        ))),
    }
}

/// The labels in the order of the data, if both name their rows.
fn by_name(path: &Path, rows: &AuditRows, truth: &[Label]) -> Outcome<Option<Vec<Label>>> {
    let data = rows.data.as_ref();
    let own = data.and_then(|(_, reading)| reading.table.as_ref()?.id.as_deref());
    let usual: Vec<&str> = own.into_iter().chain(NAME_COLUMNS).collect();
    let Some((column, names)) = row_names(path, &usual)? else { return Ok(None) };
    let (ours, have_names) = match (data, &rows.named) {
        // Rows without names are called by their numbers.
        (Some((data, _)), _) => ((0..data.len()).map(|row| data.id(row)).collect::<Vec<_>>(), data.has_ids()),
        (None, Some(named)) => {
            let ours = (0..rows.given.len()).map(|row| named.name(row).unwrap_or_default().to_owned());
            (ours.collect(), true)
        }
        (None, None) => return Ok(None),
    };
    if names == ours {
        return Ok(Some(truth.to_vec()));
    }
    let mut known: HashMap<&str, Label> = HashMap::with_capacity(names.len());
    for (name, &label) in names.iter().zip(truth) {
        if known.insert(name, label).is_some_and(|before| before != label) && have_names {
            return Err(Failure::new(format!(
                "{}: column \"{column}\" has '{}' twice, with different labels",
                path.display(),
                plain(name)
            )));
        }
    }
    // Our tables write names like `=cat` as `'=cat`.
    let label = |name: &String| known.get(name.as_str()).or_else(|| known.get(&*guarded(name))).copied();
    let found: Vec<Option<Label>> = ours.iter().map(label).collect();
    let unknown = found.iter().filter(|label| label.is_none()).count();
    match found.iter().position(Option::is_none) {
        None => Ok(Some(found.into_iter().flatten().collect())),
        Some(row) if have_names => Err(Failure::new(format!(
            "{}: column \"{column}\" names no row '{}' ({unknown} of the {} rows of the data are not there)",
            path.display(),
            plain(&ours[row]),
            ours.len()
        ))
        .way_out(format!(
            "give every row its true label under the name it has in the data, or leave out column \"{column}\" to match rows in order"
        ))),
        Some(_) => Ok(None),
    }
}
