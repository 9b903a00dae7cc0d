//! What `tares consensus` prints.

use super::summary::ConsensusSummary;
use crate::ui::failure::Outcome;
use crate::ui::terminal::{Screen, json_path, plain};
use std::path::Path;

/// Annotators that are printed at either end of the list.
const SHOWN: usize = 3;

/// Prints the summary and the paths of the files.
///
/// # Errors
/// Stdout cannot be written.
pub fn print(summary: &ConsensusSummary, out: &Path, files: &[&str], screen: &Screen) -> Outcome<()> {
    let percent = |part: f64| format!("{:.1} %", 100.0 * part);
    screen.line(format!(
        "answers     {} to {} rows by {} annotators, {} classes",
        summary.answers,
        summary.rows,
        summary.annotators,
        summary.classes.len()
    ))?;
    if let Some(agreement) = summary.pair_agreement {
        screen.line(format!("agreement   {} of the pairs of answers to one row are the same", percent(agreement)))?;
    }
    for (number, round) in summary.rounds.iter().enumerate() {
        let judges: Vec<String> = round
            .judges
            .iter()
            .map(|judge| format!("{} agrees with {}", plain(&judge.judge), percent(judge.agreement)))
            .collect();
        screen.line(format!("round {:<5} {} labels changed ({})", number + 1, round.changed, judges.join(", ")))?;
    }
    screen.line(format!("consensus   {} sure on average ({})", percent(summary.confidence), summary.method))?;
    screen.line(format!("            {} rows have another label than the majority vote", summary.against_majority))?;
    screen.line(format!("            {} rows are worth one more label", summary.worth_asking))?;
    screen.line(format!("            {} answers are probably wrong", summary.doubtful_answers))?;
    let people = &summary.annotator_quality;
    let ends: Vec<usize> = match people.len() {
        count if count <= 2 * SHOWN => (0..count).collect(),
        count => (0..SHOWN).chain(count - SHOWN..count).collect(),
    };
    let width = ends.iter().map(|&at| plain(&people[at].annotator).chars().count()).max().unwrap_or(0);
    for (position, &at) in ends.iter().enumerate() {
        let title = if position == 0 { "annotators" } else { "" };
        if position > 0 && at > ends[position - 1] + 1 {
            screen.line(format!("{:<11} … {} more", "", at - ends[position - 1] - 1))?;
        }
        let (one, (low, high)) = (&people[at], people[at].interval);
        screen.line(format!(
            "{title:<11} {:<width$}  {} right ({:.1} to {:.1}), {} answers",
            plain(&one.annotator),
            percent(one.quality),
            100.0 * low,
            100.0 * high,
            one.answers
        ))?;
    }
    if let Some(truth) = &summary.against_truth {
        screen.line(format!(
            "truth       consensus {:.2} % right, majority {:.2} %, single answers {:.2} %",
            100.0 * truth.accuracy,
            100.0 * truth.majority_accuracy,
            100.0 * truth.answer_accuracy
        ))?;
    }
    for file in files {
        screen.line(plain(&out.join(file).display().to_string()))?;
    }
    screen.result(|| serde_json::json!({ "out": json_path(out), "summary": summary }))
}
