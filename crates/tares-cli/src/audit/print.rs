//! What an audit prints.

use super::files::{AuditSummary, NeighbourSummary, digits_apart};
use crate::ui::failure::Outcome;
use crate::ui::terminal::{Screen, json_path, plain};
use std::path::Path;
use tares_data::probabilities::ClassColumns;

/// Prints how columns of probabilities were matched to classes, unless the file's names leave no doubt.
pub fn say_columns(columns: &ClassColumns, named: Option<&[String]>, classes: &[String], screen: &Screen) {
    let Some(named) = named else {
        return screen.note("the columns of the probabilities have no names, so column i is taken as class i");
    };
    let list = |places: &mut dyn Iterator<Item = (usize, &String)>| {
        let shown: Vec<String> =
            places.take(5).map(|(at, class)| format!("{} = {}", plain(&named[at]), plain(class))).collect();
        shown.join(", ")
    };
    if !columns.by_name && named != classes {
        let pairs = list(&mut columns.columns.iter().copied().zip(classes));
        let more = if classes.len() > 5 { ", ..." } else { "" };
        screen.note(format!("no column is named after a class, so column i is taken as class i ({pairs}{more})"));
    } else if columns.columns.windows(2).any(|pair| pair[0] > pair[1]) {
        screen.note("columns and classes are in different orders: columns are matched by name");
    }
    if !columns.unused.is_empty() {
        let unused: Vec<_> = columns.unused.iter().take(5).map(|&at| plain(&named[at])).collect();
        screen.note(format!("columns that name no class are not used: {}", unused.join(", ")));
    }
}

/// A rate and its interval. The closing bracket is missing: the caller first adds how the rate was estimated.
fn rate_text(rate: f64, (low, high): (f64, f64)) -> String {
    let digits = digits_apart(low, high, 4);
    format!("{rate:.digits$} (between {low:.digits$} and {high:.digits$}")
}

/// Prints the summary and the paths of the files.
///
/// # Errors
/// Stdout cannot be written.
pub fn print(summary: &AuditSummary, out: &Path, labels: &str, screen: &Screen) -> Outcome<()> {
    let share = summary.suspects as f64 / summary.rows as f64;
    screen.line(format!("rows        {} in {} classes", summary.rows, summary.classes.len()))?;
    let width = summary.judges.iter().map(|judge| judge.judge.len()).max().unwrap_or(0);
    for (position, judge) in summary.judges.iter().enumerate() {
        let title = if position == 0 { "judges" } else { "" };
        let setting = judge.setting.as_ref().map_or(String::new(), |setting| format!("{setting}, "));
        screen.line(format!(
            "{title:<11} {:<width$}  agrees with {:.1} % of the labels, log-loss {:.4}, weight {:.2} ({setting}{:.1} s)",
            judge.judge,
            100.0 * judge.agreement,
            judge.log_loss,
            judge.weight,
            judge.seconds
        ))?;
    }
    screen.line(match summary.rate_is_unknown() {
        true => format!("noise rate  unknown (the warning says why; {})", summary.method),
        false => {
            let rate = rate_text(summary.noise_rate, summary.noise_rate_interval);
            format!("noise rate  {rate}; {})", summary.method)
        }
    })?;
    if let Some(NeighbourSummary { noise_rate, noise_rate_interval, .. }) = summary.neighbours {
        let rate = rate_text(noise_rate, noise_rate_interval);
        screen.line(format!("neighbours  {rate}; labels of nearest neighbours)"))?;
    }
    screen.line(format!("suspects    {} ({:.2} %)", summary.suspects, 100.0 * share))?;
    if summary.missing_rows > 0 {
        screen.line(format!("left out    {} rows without a label or a probability", summary.missing_rows))?;
    }
    if let Some(truth) = &summary.against_truth {
        let show = |value: Option<f64>| value.map_or("undefined".to_owned(), |value| format!("{value:.4}"));
        screen.line(format!("truth       {} wrong labels ({:.4})", truth.wrong, truth.noise_rate))?;
        for (name, value) in [
            ("precision", truth.precision),
            ("recall", truth.recall),
            ("F1", truth.f1),
            ("AUROC", truth.auroc),
            ("avg. prec.", truth.average_precision),
        ] {
            screen.line(format!("{name:<11} {}", show(value)))?;
        }
    }
    if summary.labels_missing > 0 {
        screen
            .line(format!("no label    {} rows; labels-missing.csv suggests one for each", summary.labels_missing))?;
    }
    let missing = (summary.labels_missing > 0).then_some("labels-missing.csv");
    for file in ["suspects.csv", labels].into_iter().chain(missing).chain(["summary.json", "audit.html"]) {
        screen.line(plain(&out.join(file).display().to_string()))?;
    }
    screen.result(|| serde_json::json!({ "out": json_path(out), "summary": summary }))
}
