//! `audit.html`: the suspects to look at and to decide on, with the keyboard if one likes, and what is known about the noise.
//!
//! One file. Decisions are kept in the browser and leave it as a CSV file for `tares apply-labels`.

use super::heat_map::{HeatMap, describe};
use super::page::{document, render};
use crate::audit::files::{AuditSummary, TransitionRecord, digits_apart};
use crate::ui::failure::{Failure, Outcome};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;

/// What the rows and columns of the matrix are.
const ROWS: &str = "true class";
const COLUMNS: &str = "given label";

/// One suspect on the page.
#[derive(Clone, Debug, Serialize)]
pub struct Shown {
    /// Row of the data.
    pub index: usize,
    /// Row id or file path.
    pub id: String,
    /// Number of the given class.
    pub given: u32,
    /// Number of the suggested class.
    pub suggested: u32,
    /// Quality of the given label.
    pub score: f64,
    /// Why, in words.
    pub reason: String,
    /// A PNG file in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    /// Column and value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, String)>,
}

/// The page of an audit. `key` tells audits apart in the browser's memory; `apply` is the command that puts reviewed labels back.
///
/// # Errors
/// The template is broken or the heat map cannot be drawn.
pub fn audit_page(summary: &AuditSummary, shown: &[Shown], apply: Option<&str>, key: &str) -> Outcome<String> {
    let words = describe(ROWS, COLUMNS, &summary.classes, summary.matrix.entries());
    let drawn = match &summary.matrix {
        TransitionRecord::Dense(values) if values.len() <= HeatMap::MOST_CLASSES => {
            let map = HeatMap {
                title: "Estimated noise".to_owned(),
                row_label: ROWS.to_owned(),
                column_label: COLUMNS.to_owned(),
                classes: summary.classes.clone(),
                values: values.clone(),
            };
            Some(Value::from_safe_string(map.svg()?))
        }
        _ => None,
    };
    let percent = |value: f64| format!("{:.1}", 100.0 * value);
    let mut per_class: Vec<_> = summary.per_class.iter().filter(|class| class.rows > 0).collect();
    per_class.sort_by(|a, b| {
        let bad = |class: &crate::audit::files::ClassSummary| class.suspects as f64 / class.rows as f64;
        bad(b).total_cmp(&bad(a)).then(a.class.cmp(&b.class))
    });
    let classes: Vec<Value> = per_class
        .iter()
        .take(200)
        .map(|class| {
            let good = 1.0 - class.suspects as f64 / class.rows as f64;
            context! {
                name => &class.class, rows => class.rows, suspects => class.suspects, missing => class.missing,
                percent => percent(good), emptied => 2 * class.suspects > class.rows,
            }
        })
        .collect();
    let (low, high) = summary.noise_rate_band;
    let digits = digits_apart(100.0 * low, 100.0 * high, 1);
    let wide_percent = |value: f64| format!("{:.digits$}", 100.0 * value);
    let data = serde_json::json!({ "key": key, "classes": summary.classes, "suspects": shown });
    // Inside a script element only `<` could end it.
    let data = serde_json::to_string(&data).map_err(Failure::new)?.replace('<', "\\u003c");
    let body = render(
        "audit.html",
        include_str!("../../templates/audit.html"),
        context! {
            rows => summary.rows,
            suspects => summary.suspects,
            shown => shown.len(),
            rate => wide_percent(summary.noise_rate),
            low => wide_percent(low),
            high => wide_percent(high),
            method => &summary.method,
            probabilities => &summary.probabilities,
            judges => summary.judges.iter().map(|judge| context! {
                name => &judge.judge, agreement => percent(judge.agreement), log_loss => format!("{:.4}", judge.log_loss),
                weight => percent(judge.weight), setting => &judge.setting,
            }).collect::<Vec<Value>>(),
            warnings => &summary.warnings,
            data_notes => &summary.data_notes,
            apply => apply,
            map => drawn,
            words => words,
            classes => classes,
            truth => summary.against_truth.as_ref().map(|truth| context! {
                precision => truth.precision.map(percent), recall => truth.recall.map(percent),
                f1 => truth.f1.map(percent), wrong => truth.wrong,
            }),
            data => Value::from_safe_string(data),
        },
    )?;
    document(
        "Audit of labels",
        &body,
        include_str!("../../templates/audit.css"),
        include_str!("../../templates/audit.js"),
    )
}
