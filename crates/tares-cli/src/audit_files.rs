//! What an audit leaves behind for people and programs: `suspects.csv`, `labels-suggested.csv`, `summary.json`.

use crate::failure::{Failure, Outcome};
use crate::files::write_whole;
use crate::report::escape::csv_text;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use tares_core::{Dataset, Label};

/// Above this many rows the full list of labels is an NPY array: a table of them would be read by nobody.
const MOST_TABLE_ROWS: usize = 5_000_000;

/// What the rows are called.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The data, if it is known.
    pub data: Option<&'a Dataset>,
    /// K.
    pub classes: usize,
}

impl Names<'_> {
    /// The name of a class; its number when there are no names.
    pub fn class(&self, label: Label) -> String {
        match self.data {
            Some(data) => data.class_names()[label as usize].clone(),
            None => label.to_string(),
        }
    }

    /// Row id or file path; the row's number when there is none.
    pub fn row(&self, index: usize) -> String {
        self.data.map_or_else(|| index.to_string(), |data| data.id(index))
    }

    /// All class names.
    pub fn all(&self) -> Vec<String> {
        (0..self.classes as Label).map(|label| self.class(label)).collect()
    }
}

/// A suspect with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// Row of the data.
    pub index: usize,
    /// Its label.
    pub given: Label,
    /// What it should probably be.
    pub suggested: Label,
    /// Quality of the given label, 0 (certainly wrong) to 1.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
}

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// N.
    pub rows: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How wrong labels were found.
    pub method: String,
    /// Where the probabilities came from.
    pub probabilities: String,
    /// The estimated part of wrong labels.
    pub noise_rate: f64,
    /// Where it lies.
    pub noise_rate_band: (f64, f64),
    /// `[true][given]`.
    pub transition: Vec<Vec<f64>>,
    /// Rows listed in `suspects.csv`.
    pub suspects: usize,
    /// Per class: rows given it, suspects among them, rows that should probably have it.
    pub per_class: Vec<ClassSummary>,
    /// What should be read before the numbers are trusted.
    pub warnings: Vec<String>,
    /// Compared with the truth, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_truth: Option<AgainstTruth>,
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

/// Writes `suspects.csv`, worst first.
///
/// # Errors
/// The file cannot be written.
pub fn write_suspects(path: &Path, names: Names<'_>, findings: &[Finding]) -> Outcome<()> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |fields: [&str; 6]| writer.write_record(fields).map_err(Failure::new);
    write(["index", "id", "given", "suggested", "score", "reason"])?;
    for finding in findings {
        write([
            &finding.index.to_string(),
            &csv_text(&names.row(finding.index)),
            &csv_text(&names.class(finding.given)),
            &csv_text(&names.class(finding.suggested)),
            &format!("{:.6}", finding.score),
            &finding.reason,
        ])?;
    }
    write_whole(path, &writer.into_inner().map_err(Failure::new)?)
}

/// Writes the label of every row, suspects with their suggestion: `labels-suggested.csv`, or an NPY array when there are
/// very many rows. Returns the file's name.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(
    directory: &Path,
    names: Names<'_>,
    given: &[Label],
    findings: &[Finding],
) -> Outcome<&'static str> {
    let mut suggested = given.to_vec();
    findings.iter().for_each(|finding| suggested[finding.index] = finding.suggested);
    if given.len() > MOST_TABLE_ROWS {
        let bytes: Vec<u8> = suggested.iter().flat_map(|label| label.to_le_bytes()).collect();
        let file = tares_data::npy::encode("'<u4'", &[suggested.len()], &bytes);
        write_whole(&directory.join("labels-suggested.npy"), &file)?;
        return Ok("labels-suggested.npy");
    }
    let classes: Vec<String> = names.all().iter().map(|name| cell(name)).collect();
    let mut text = Vec::with_capacity(given.len() * 12);
    text.extend_from_slice(b"index,id,given,suggested\n");
    let named = names.data.is_some_and(Dataset::has_ids);
    for (index, (old, new)) in given.iter().zip(&suggested).enumerate() {
        number(&mut text, index);
        text.push(b',');
        match named {
            true => text.extend_from_slice(cell(&names.row(index)).as_bytes()),
            false => number(&mut text, index),
        }
        for label in [old, new] {
            text.push(b',');
            text.extend_from_slice(classes[*label as usize].as_bytes());
        }
        text.push(b'\n');
    }
    write_whole(&directory.join("labels-suggested.csv"), &text)?;
    Ok("labels-suggested.csv")
}

/// A cell of a CSV file, quoted where it must be.
fn cell(text: &str) -> String {
    let text = csv_text(text);
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

/// Appends a number; the formatting machinery would take most of the time of a table of a million rows.
fn number(text: &mut Vec<u8>, value: usize) {
    if value < 10 {
        text.push(b'0' + value as u8);
        return;
    }
    let mut digits = [0u8; 20];
    let (mut at, mut rest) = (digits.len(), value);
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.extend_from_slice(&digits[at..]);
}

/// Writes `summary.json`.
///
/// # Errors
/// The file cannot be written.
pub fn write_summary(path: &Path, summary: &Summary) -> Outcome<()> {
    let mut bytes = serde_json::to_vec_pretty(summary).map_err(Failure::new)?;
    writeln!(bytes).map_err(Failure::from)?;
    write_whole(path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for value in [0, 7, 10, 1234567890, usize::MAX] {
            let mut text = Vec::new();
            number(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
    }

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("plain"), "plain");
    }
}
