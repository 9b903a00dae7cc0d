//! Which labels are which columns, when nothing but the two files says so.

use super::label_list::{FALSE, TRUE, sort_classes};
use super::{ClassColumns, LabelList, ProbabilitySource};
use crate::error::{DataError, Place, Result};
use crate::table::columns::is_missing;
use std::path::Path;
use tares_core::Label;
use tares_core::estimate::NO_LABEL;

/// What gives a class its number in an audit: the classes, and the given label of every row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreed {
    /// Names of the classes, in the order of their numbers.
    pub classes: Vec<String>,
    /// The class of every row.
    pub given: Vec<Label>,
}

/// Brings labels and probability columns together when nothing else says what the classes are.
///
/// Labels that name columns, perhaps all with the same text around them, are those columns. Numbers 0..K−1 count the columns. Other
/// labels (`cat`, `-1`, 1..K) are classes in their usual order if there are as many of them as columns.
///
/// # Errors
/// Labels that fit the columns in none of these ways.
pub fn agree(labels: LabelList, labels_path: &Path, source: &ProbabilitySource) -> Result<Agreed> {
    source.check_rows(labels.len())?;
    agree_classes(labels, labels_path, source)
}

/// The same for labels that are not one per row of the probabilities.
///
/// # Errors
/// As [`agree`], but for the number of rows.
pub fn agree_classes(labels: LabelList, labels_path: &Path, source: &ProbabilitySource) -> Result<Agreed> {
    agree_names(labels, source.names(), source.width())
        .map_err(|problem| DataError::format(labels_path, Place::File, problem))
}

/// The same where only names and number of the columns are known.
pub(super) fn agree_names(
    labels: LabelList,
    names: Option<&[String]>,
    columns: usize,
) -> std::result::Result<Agreed, String> {
    let counted: Vec<String> = (0..columns).map(|class| class.to_string()).collect();
    let names: Option<Vec<String>> = names.map(|names| names.iter().map(|name| name.trim().to_owned()).collect());
    let mut labels = match &names {
        Some(names) => truths_as_columns(labels, names),
        None => labels,
    };
    let used = labels.names();
    if let Some(names) = names {
        // Named columns, all labels among them: the file says what the classes are, also those no row has.
        if used.iter().all(|label| names.contains(label)) {
            // In their usual order, so that the order of the columns changes nothing.
            let mut classes: Vec<String> = names.into_iter().filter(|name| !is_aside(name, &used)).collect();
            sort_classes(&mut classes);
            return labelled(labels, classes);
        }
        if used.len() >= 2
            && let Some(classes) = ClassColumns::classes_of_names(&names, &used)
        {
            return labelled(labels, classes);
        }
        let as_counted = ClassColumns::find(&names, &counted).is_ok_and(|found| found.by_name);
        match labels {
            LabelList::Numbers(given) if !as_counted && count_columns(&given, columns) => {
                return Ok(Agreed { classes: names, given });
            }
            other => labels = other,
        }
    }
    match labels {
        LabelList::Numbers(given) if count_columns(&given, columns) => return Ok(Agreed { classes: counted, given }),
        other => labels = other,
    }
    if used.len() != columns {
        let shown: Vec<String> = used.iter().take(8).map(|name| format!("'{name}'")).collect();
        let more = if used.len() > 8 { ", …" } else { "" };
        let word = used.iter().find(|label| is_missing(label));
        let hint = word.map_or(String::new(), |word| {
            format!("; '{word}' is a label too: where a label is missing, leave it empty")
        });
        return Err(format!(
            "{} different labels ({}{more}) do not fit {columns} columns of probabilities: labels must be 0..{columns} (the \
             columns in order), or name the columns, or be as many as there are columns{hint}",
            used.len(),
            shown.join(", "),
        ));
    }
    labelled(labels, used)
}

/// Labels that are true or false beside columns that are called 0 and 1: those are what they mean.
fn truths_as_columns(labels: LabelList, names: &[String]) -> LabelList {
    let by_name =
        |classes: [&str; 2]| ClassColumns::find(names, &classes.map(str::to_owned)).is_ok_and(|found| found.by_name);
    match labels {
        LabelList::Names { codes, levels }
            if levels.iter().all(|level| level == FALSE || level == TRUE)
                && by_name(["0", "1"])
                && !by_name([FALSE, TRUE]) =>
        {
            let number = |code: u32| levels.get(code as usize).map_or(NO_LABEL, |level| Label::from(level == TRUE));
            LabelList::Numbers(codes.into_iter().map(number).collect())
        }
        labels => labels,
    }
}

/// A column beside the probabilities that is no class: an index or a name of the row.
pub(super) fn is_aside(name: &str, used: &[String]) -> bool {
    let aside = ["", "index", "id", "row"].iter().any(|aside| name.eq_ignore_ascii_case(aside));
    aside && !used.iter().any(|label| label == name)
}

/// Whether all labels that are there are numbers of columns.
fn count_columns(given: &[Label], columns: usize) -> bool {
    given.iter().all(|&label| (label as usize) < columns || label == NO_LABEL)
}

fn labelled(labels: LabelList, classes: Vec<String>) -> std::result::Result<Agreed, String> {
    let given = labels.classes(&classes).map_err(|(row, problem)| format!("row {row}: {problem}"))?;
    Ok(Agreed { classes, given })
}

/// The class of every row; an error names file and row.
///
/// # Errors
/// A label that is no class.
pub fn in_classes(labels: LabelList, path: &Path, classes: &[String]) -> Result<Vec<Label>> {
    labels.classes(classes).map_err(|(row, problem)| DataError::format(path, Place::Row(row as u64), problem))
}
