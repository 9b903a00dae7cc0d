//! `consensus.html`: the rows that are least sure, with what everybody said about them; the annotators; how often they agree.
//!
//! It is one file. The browser stores decisions and exports them as a CSV file for `tares apply-labels`.

use super::heat_map::{HeatMap, describe};
use super::page::{document, render};
use crate::consensus::cards::RowCard;
use crate::consensus::summary::ConsensusSummary;
use crate::ui::failure::{Failure, Outcome};
use minijinja::context;
use minijinja::value::Value;

/// The table of annotators shows this many; all are in annotators.csv.
const MOST_ANNOTATORS: usize = 300;

/// The page of a consensus. `key` is the name under which the browser stores the decisions.
///
/// # Errors
/// The template is broken, or a heat map cannot be drawn.
pub fn consensus_page(summary: &ConsensusSummary, cards: &[RowCard], key: &str) -> Outcome<String> {
    let percent = |part: f64| format!("{:.1}", 100.0 * part);
    let data = serde_json::json!({ "key": key, "classes": summary.classes, "rows": cards });
    // In a script element, `<` is the only character that could end the script.
    let data = serde_json::to_string(&data).map_err(Failure::new)?.replace('<', "\\u003c");
    let annotators: Vec<Value> = summary
        .annotator_quality
        .iter()
        .take(MOST_ANNOTATORS)
        .map(|one| {
            let (low, high) = one.interval;
            context! {
                name => &one.annotator, answers => one.answers, quality => percent(one.quality), low => percent(low),
                high => percent(high), agreement => one.agreement.map(percent),
                mistake => one.mistake.as_ref().map(|(truth, answered, share)| {
                    format!("{truth} as {answered} ({} %)", percent(*share))
                }),
            }
        })
        .collect();
    let entries = summary
        .confusion
        .iter()
        .enumerate()
        .flat_map(|(truth, row)| row.iter().enumerate().map(move |(answered, &part)| (truth, answered, part)));
    let (row_label, column_label) = ("probable class", "answer");
    let words = describe(row_label, column_label, &summary.classes, entries);
    let body = render(
        "consensus.html",
        include_str!("../../templates/consensus.html"),
        context! {
            rows => summary.rows, answers => summary.answers, people => summary.annotators, shown => cards.len(),
            confidence => percent(summary.confidence), agreement => summary.pair_agreement.map(percent),
            against => summary.against_majority, worth => summary.worth_asking, doubtful => summary.doubtful_answers,
            unanswered => summary.rows_without_answers, method => &summary.method,
            probabilities => &summary.probabilities, notes => &summary.notes, annotators => annotators,
            rounds => summary.rounds.iter().map(|round| round.changed.to_string()).collect::<Vec<_>>().join(", "),
            agreement_map => agreement_map(summary)?.map(Value::from_safe_string),
            agreement_words => agreement_words(summary),
            confusion_map => confusion_map(summary, row_label, column_label)?.map(Value::from_safe_string),
            confusion_words => words,
            truth => summary.against_truth.as_ref().map(|truth| context! {
                consensus => format!("{:.2}", 100.0 * truth.accuracy),
                majority => format!("{:.2}", 100.0 * truth.majority_accuracy),
                answers => format!("{:.2}", 100.0 * truth.answer_accuracy),
            }),
            data => Value::from_safe_string(data),
        },
    )?;
    document(
        "Consensus of labels",
        &body,
        concat!(include_str!("../../templates/audit.css"), include_str!("../../templates/consensus.css")),
        concat!(include_str!("../../templates/review.js"), include_str!("../../templates/consensus.js")),
    )
}

fn confusion_map(summary: &ConsensusSummary, rows: &str, columns: &str) -> Outcome<Option<String>> {
    if summary.classes.len() > HeatMap::MOST_CLASSES {
        return Ok(None);
    }
    let map = HeatMap {
        title: "Answers of annotators for each true class".to_owned(),
        row_label: rows.to_owned(),
        column_label: columns.to_owned(),
        classes: summary.classes.clone(),
        values: summary.confusion.clone(),
    };
    Ok(Some(map.svg()?))
}

/// Who agrees with whom. Pairs without a common row are empty.
fn agreement_map(summary: &ConsensusSummary) -> Outcome<Option<String>> {
    let count = summary.agreement_of.len();
    if count < 2 {
        return Ok(None);
    }
    let mut values = vec![vec![0.0; count]; count];
    (0..count).for_each(|who| values[who][who] = 1.0);
    for &(one, other, common, same) in &summary.agreement {
        values[one][other] = same as f64 / common as f64;
        values[other][one] = values[one][other];
    }
    let map = HeatMap {
        title: "Agreement of annotators".to_owned(),
        row_label: "annotator".to_owned(),
        column_label: "same label".to_owned(),
        classes: summary.agreement_of.clone(),
        values,
    };
    Ok(Some(map.svg()?))
}

fn agreement_words(summary: &ConsensusSummary) -> String {
    let mut pairs = summary.agreement.clone();
    let share = |pair: &(usize, usize, usize, usize)| pair.3 as f64 / pair.2 as f64;
    pairs.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let name = |pair: &(usize, usize, usize, usize)| {
        let (one, other) = (&summary.agreement_of[pair.0], &summary.agreement_of[pair.1]);
        format!("{one} and {other} on {:.1} % of {} common rows", 100.0 * share(pair), pair.2)
    };
    match (pairs.first(), pairs.last()) {
        (Some(first), Some(last)) if pairs.len() > 1 => {
            format!("{} agree most, {} least.", name(first), name(last))
        }
        (Some(only), _) => format!("{} agree.", name(only)),
        _ => "No two annotators share a row.".to_owned(),
    }
}
