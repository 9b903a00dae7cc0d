//! `audit.html`: a page on which people review the suspects one by one, and read what is known about the noise.
//!
//! It is one file. The browser stores the decisions and exports them as a CSV file for `tares apply-labels`.

use super::heat_map::{HeatMap, describe};
use super::page::{document, render};
use crate::audit::files::{AuditSummary, TransitionRecord, digits_apart};
use crate::record::Card;
use crate::ui::failure::{Failure, Outcome};
use minijinja::context;
use minijinja::value::Value;

/// The labels of the matrix's rows and columns.
const ROWS: &str = "true class";
const COLUMNS: &str = "given label";

/// The page of an audit. `apply` is the command that writes reviewed labels into the data; `key` is the name under which the
/// browser stores the decisions.
///
/// # Errors
/// The template is broken or the heat map cannot be drawn.
pub fn audit_page(summary: &AuditSummary, cards: &[Card], apply: Option<&str>, key: &str) -> Outcome<String> {
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
    let (low, high) = summary.noise_rate_interval;
    let digits = digits_apart(100.0 * low, 100.0 * high, 1);
    let wide_percent = |value: f64| format!("{:.digits$}", 100.0 * value);
    let data = serde_json::json!({ "key": key, "classes": summary.classes, "suspects": cards });
    // In a script element, `<` is the only character that could end the script.
    let data = serde_json::to_string(&data).map_err(Failure::new)?.replace('<', "\\u003c");
    let body = render(
        "audit.html",
        include_str!("../../templates/audit.html"),
        context! {
            rows => summary.rows,
            suspects => summary.suspects,
            shown => cards.len(),
            rate_unknown => summary.rate_is_unknown(),
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
            labels_missing => summary.labels_missing,
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
        concat!(include_str!("../../templates/review.js"), include_str!("../../templates/audit.js")),
    )
}
