//! Judges a table or texts given as JSON on standard input and prints the panel's predictions as JSON: the Rust side of
//! `compare/own-data/run`. On the 5,404 rows of `phoneme` it takes about two seconds on two cores.
//!
//! ```text
//! {"columns": [{"numbers": [1.5, null]}, {"codes": [0, 1], "levels": 2}], "texts": ["…", "…"], "labels": [0, 1], "classes": 2,
//!  "new": {"columns": […], "texts": […]}, "judges": ["linear", "trees"], "seed": 0, "curriculum": "npcl:0.2"}
//! ```
//!
//! With `"fit_rounds": 100`, it only fits 100 rounds of trees to all rows, to measure their time.

use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use std::io::Read;
use std::time::Instant;
use tares_core::audit::audit;
use tares_core::estimate::{Detector, ProbabilityMatrix};
use tares_judges::matrix::MISSING;
use tares_judges::panel::{fit, judge};
use tares_judges::{
    Caller, InputColumn, Judge, Labelled, Matrix, PanelOptions, TextCounts, TextOptions, TreeCurriculum, TreeOptions,
    Trees,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    #[serde(default)]
    columns: Vec<ColumnJson>,
    #[serde(default)]
    texts: Vec<String>,
    labels: Vec<u32>,
    classes: usize,
    new: Option<NewRows>,
    #[serde(default)]
    judges: Vec<Judge>,
    #[serde(default)]
    seed: u64,
    curriculum: Option<tares_core::Threshold>,
    #[serde(default)]
    trees: Option<TreeOptions>,
    repeats: Option<usize>,
    fit_rounds: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRows {
    #[serde(default)]
    columns: Vec<ColumnJson>,
    #[serde(default)]
    texts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ColumnJson {
    Numbers { numbers: Vec<Option<f32>> },
    Categories { codes: Vec<Option<u32>>, levels: u32 },
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let question: Question = serde_json::from_str(&text)?;
    let inputs = matrix(&question.columns, &question.texts)?;
    let data = Labelled::new(&inputs, &question.labels, question.classes);
    let mut options = PanelOptions {
        judges: question.judges,
        seed: question.seed,
        repeats: question.repeats,
        trees: question.trees.unwrap_or_default(),
        ..PanelOptions::default()
    };
    options.trees.curriculum = question.curriculum.map(TreeCurriculum::new).or(options.trees.curriculum);
    if let (Some(rounds), Some(new)) = (question.fit_rounds, &question.new) {
        let new = matrix(&new.columns, &new.texts)?;
        let (start, used) = (Instant::now(), cpu_seconds());
        let model = Trees::fit(&data, TreeOptions { rounds, ..options.trees }, Caller::none())?;
        let (fitted, used) = (start.elapsed().as_secs_f64(), cpu_seconds() - used);
        let probs: Vec<f64> = model.log_probs(&new)?.into_iter().map(f64::exp).collect();
        println!("{}", json!({"fit_seconds": fitted, "fit_cpu_seconds": used, "new": probs}));
        return Ok(());
    }
    let start = Instant::now();
    let (found, new) = match &question.new {
        None => (judge(&data, &options, Caller::none())?, None),
        Some(rows) => {
            let (panel, found) = fit(&data, &options, Caller::none())?;
            let new = panel.probs(&matrix(&rows.columns, &rows.texts)?)?;
            (found, Some(new))
        }
    };
    let judged = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let table = ProbabilityMatrix::new(&found.probs, question.classes)?;
    let result = audit(&table, &question.labels, Detector::default())?;
    let suspects: Vec<usize> = result.suspects.iter().map(|suspect| suspect.index).collect();
    let scores: Vec<_> = found
        .scores
        .iter()
        .map(|s| {
            json!({"judge": s.judge, "log_loss": s.log_loss, "agreement": s.agreement, "temperature": s.temperature,
                   "weight": s.weight, "setting": s.setting.map(|setting| setting.to_string()), "seconds": s.seconds})
        })
        .collect();
    println!(
        "{}",
        json!({"scores": scores, "log_loss": found.log_loss, "agreement": found.agreement, 
               "probs": found.probs, "suspects": suspects, "rate": result.estimate.rate, "new": new,
               "judge_seconds": judged, "audit_seconds": start.elapsed().as_secs_f64()})
    );
    Ok(())
}

/// Processor time of all threads so far, in steps of 10 ms; 0 where Linux's `/proc` is not there.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may hold spaces: fields 14 and 15 are the 12th and 13th after it.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn matrix(columns: &[ColumnJson], texts: &[String]) -> tares_judges::Result<Matrix> {
    let columns: Vec<InputColumn> = columns
        .iter()
        .map(|column| match column {
            ColumnJson::Numbers { numbers } => {
                InputColumn::Numbers(numbers.iter().map(|number| number.unwrap_or(f32::NAN)).collect())
            }
            ColumnJson::Categories { codes, levels } => InputColumn::Categories {
                codes: codes.iter().map(|code| code.unwrap_or(MISSING)).collect(),
                levels: *levels,
            },
        })
        .collect();
    match texts.is_empty() {
        true => Matrix::new(columns),
        false => Matrix::mixed(columns, vec![TextCounts::of(texts, TextOptions::default())?]),
    }
}
