//! The files of a consensus: `consensus.csv`, `posterior.npy`, `annotators.csv`, `confusions.csv`, `suspects.csv`,
//! `worth-asking.csv`, `summary.json`.

use super::crowd::Crowd;
use super::summary::{ConsensusSummary, LEAST_GAIN};
use crate::files::write_whole;
use crate::json::to_json;
use crate::ui::failure::Outcome;
use std::fmt::Write;
use std::path::Path;
use tares_core::Label;
use tares_core::annotate::Consensus;
use tares_data::cell::cell;

/// The names of the files, as they are printed; the page comes last.
pub const FILES: [&str; 8] = [
    "consensus.csv",
    "posterior.npy",
    "annotators.csv",
    "confusions.csv",
    "suspects.csv",
    "worth-asking.csv",
    "summary.json",
    "consensus.html",
];

/// Writes all files but the page. `majority` is each row's most frequent label.
///
/// # Errors
/// A file cannot be written.
pub fn write_files(
    out: &Path,
    crowd: &Crowd,
    found: &Consensus,
    majority: &[Label],
    summary: &ConsensusSummary,
) -> Outcome<()> {
    let classes: Vec<String> = crowd.classes.iter().map(|name| cell(name)).collect();
    write_whole(&out.join("consensus.csv"), rows(crowd, found, majority, &classes).as_bytes())?;
    write_whole(&out.join("posterior.npy"), &posterior(found, crowd.classes.len()))?;
    write_whole(&out.join("annotators.csv"), annotators(crowd, found).as_bytes())?;
    write_whole(&out.join("confusions.csv"), confusions(crowd, found, &classes).as_bytes())?;
    write_whole(&out.join("suspects.csv"), suspects(crowd, found, &classes).as_bytes())?;
    write_whole(&out.join("worth-asking.csv"), worth_asking(crowd, found, &classes).as_bytes())?;
    write_whole(&out.join("summary.json"), &to_json(summary)?)
}

/// One line per row of the data: `tares apply-labels` reads `index` and `label`.
fn rows(crowd: &Crowd, found: &Consensus, majority: &[Label], classes: &[String]) -> String {
    let mut text = String::from("index,id,label,probability,answers,same,majority,gain\n");
    for (row, probability) in found.confidence().enumerate() {
        let answers = crowd.answers.of_row(row);
        let label = found.labels[row];
        let same = answers.iter().filter(|answer| answer.label == label).count();
        let most = if answers.is_empty() { "" } else { &classes[majority[row] as usize] };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{row},{},{},{probability:.6},{},{same},{most},{:.6}",
            cell(&crowd.row(row)),
            classes[label as usize],
            answers.len(),
            found.gain[row]
        );
    }
    text
}

/// The probability of each class, rows × classes: what `tares train --annotators` uses, for other programs.
fn posterior(found: &Consensus, classes: usize) -> Vec<u8> {
    let bytes: Vec<u8> = found.posterior.iter().flat_map(|&part| (part as f32).to_le_bytes()).collect();
    tares_data::npy::encode("'<f4'", &[found.posterior.len() / classes, classes], &bytes)
}

fn annotators(crowd: &Crowd, found: &Consensus) -> String {
    let mut text = String::from("annotator,answers,quality,low,high,agreement\n");
    let mut order: Vec<usize> = (0..found.annotators.len()).collect();
    order.sort_by(|&a, &b| found.annotators[b].quality.total_cmp(&found.annotators[a].quality));
    for who in order {
        let one = &found.annotators[who];
        let agreement = one.agreement.map_or(String::new(), |part| format!("{part:.6}"));
        let (low, high) = one.interval;
        let name = cell(&crowd.annotators[who]);
        let _ = writeln!(text, "{name},{},{:.6},{low:.6},{high:.6},{agreement}", one.answers, one.quality);
    }
    text
}

fn confusions(crowd: &Crowd, found: &Consensus, classes: &[String]) -> String {
    let mut text = String::from("annotator,true,answered,rows,share,low,high\n");
    let all = found.confusions(&crowd.answers);
    for who in 0..crowd.annotators.len() {
        let name = cell(&crowd.annotators[who]);
        for entry in all.entries(who) {
            let (truth, answered) = (&classes[entry.truth as usize], &classes[entry.answered as usize]);
            let (low, high) = entry.interval;
            let _ = writeln!(text, "{name},{truth},{answered},{:.2},{:.6},{low:.6},{high:.6}", entry.rows, entry.share);
        }
    }
    text
}

/// The answers that are probably wrong, worst first.
fn suspects(crowd: &Crowd, found: &Consensus, classes: &[String]) -> String {
    let mut text = String::from("index,id,annotator,answered,label,probability\n");
    for (answer, right) in found.doubtful(&crowd.answers) {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{right:.6}",
            answer.row,
            cell(&crowd.row(answer.row)),
            cell(&crowd.annotators[answer.annotator]),
            classes[answer.label as usize],
            classes[found.labels[answer.row] as usize]
        );
    }
    text
}

/// The rows that are worth one more label, the most useful first.
fn worth_asking(crowd: &Crowd, found: &Consensus, classes: &[String]) -> String {
    let mut text = String::from("index,id,label,probability,answers,gain\n");
    let confidence: Vec<f64> = found.confidence().collect();
    for row in by_gain(found) {
        let _ = writeln!(
            text,
            "{row},{},{},{:.6},{},{:.6}",
            cell(&crowd.row(row)),
            classes[found.labels[row] as usize],
            confidence[row],
            crowd.answers.of_row(row).len(),
            found.gain[row]
        );
    }
    text
}

/// The rows that are worth one more label, the most useful first.
pub fn by_gain(found: &Consensus) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..found.gain.len()).filter(|&row| found.gain[row] >= LEAST_GAIN).collect();
    rows.sort_by(|&a, &b| found.gain[b].total_cmp(&found.gain[a]));
    rows
}
