//! Long tables: a line per answer, with columns for row, annotator and label.

use super::cells::Cells;
use super::{ANNOTATOR_NAMES, ANSWER_NAMES, CrowdAnswer, CrowdOptions, CrowdTable, ROW_NAMES, sorted};
use crate::error::{DataError, Result};
use crate::table::columns::MISSING;

pub(super) fn answers(cells: Cells, options: &CrowdOptions) -> Result<CrowdTable> {
    let [row, annotator, label] = columns(&cells, options)?;
    let (row_codes, rows) = cells.text(row);
    let (who_codes, people) = cells.text(annotator);
    let (label_codes, labels) = cells.text(label);
    let (people, people_order) = sorted(people);
    let (labels, label_order) = sorted(labels);
    let mut answers = Vec::with_capacity(cells.len());
    let mut empty = 0usize;
    for line in 0..cells.len() {
        let (row, who, label) = (row_codes[line], who_codes[line], label_codes[line]);
        if label == MISSING {
            empty += 1;
            continue;
        }
        let (who, label) = match (row, who) {
            (MISSING, _) => return Err(without(&cells, line, &labels[label_order[label as usize] as usize], "row")),
            (_, MISSING) => {
                return Err(without(&cells, line, &labels[label_order[label as usize] as usize], "annotator"));
            }
            (_, who) => (people_order[who as usize], label_order[label as usize]),
        };
        answers.push(CrowdAnswer { row, annotator: who, label });
    }
    let notes = (empty > 0).then(|| format!("{empty} lines without a label are no answers")).into_iter().collect();
    Ok(CrowdTable {
        path: cells.path,
        rows,
        named: true,
        annotators: people,
        labels,
        answers,
        truth: None,
        classes: None,
        notes,
    })
}

fn without(cells: &Cells, line: usize, label: &str, what: &str) -> DataError {
    cells.at(line, format!("the answer '{label}' has no {what}"))
}

/// The positions of row, annotator and label.
fn columns(cells: &Cells, options: &CrowdOptions) -> Result<[usize; 3]> {
    let asked = [&options.row, &options.annotator, &options.label];
    if !cells.header && asked.iter().all(|name| name.is_none()) && cells.names().len() == 3 {
        return Ok([0, 1, 2]);
    }
    let usual = [&ROW_NAMES[..], &ANNOTATOR_NAMES, &ANSWER_NAMES];
    let mut found = [0; 3];
    for (place, (wanted, usual)) in asked.into_iter().zip(usual).enumerate() {
        let what = ["row", "annotator", "label"][place];
        found[place] = cells.find(wanted.as_deref(), usual)?.ok_or_else(|| {
            let names: Vec<&str> = cells.names().into_iter().take(12).collect();
            cells.whole(format!(
                "no {what} column among {}: name it with --{what}, or the columns of all annotators with --wide",
                names.join(", ")
            ))
        })?;
        if found[..place].contains(&found[place]) {
            return Err(cells.whole(format!(
                "row, annotator and label must be three columns, but '{}' would be two of them",
                cells.names()[found[place]]
            )));
        }
    }
    Ok(found)
}
