//! The report of runs: one HTML file with everything inside, made for phones, dark mode and screen readers too.
//! [`document`] is its frame.

use super::curves::Curves;
use super::gallery;
use super::heat_map::HeatMap;
use super::quantity::{QUANTITIES, curves, heads, judged_by, left_out, starvation, uncorrected};
use super::summary::{Summary, accuracy_table, precision_table};
use super::table::{Cell, ReportTable};
use crate::record::burn_in::never_selected;
use crate::record::{RateRecord, RunRecord, TrueAccuracyRecord, in_order};
use crate::ui::failure::Outcome;
use crate::ui::terminal::plain;
use minijinja::context;
use minijinja::value::Value;

pub use super::document::{STYLE, document, render};

/// The report of some runs, as one HTML file.
///
/// # Errors
/// A picture cannot be drawn.
pub fn page(title: &str, runs: &[RunRecord]) -> Outcome<String> {
    let rows: Vec<Summary> = runs.iter().filter_map(Summary::of).collect();
    let body = render(
        "report.html",
        include_str!("../../templates/report.html"),
        context! {
            title => title,
            lead => lead(runs),
            tables => tables(&rows),
            table_note => table_note(&rows),
            noisy_test => noisy_test_note(runs),
            starved => [never_selected(runs), heads(runs), starvation(runs)].concat(),
            curve_sections => curve_sections(runs)?,
            maps => maps(runs)?,
            per_class => per_class(runs),
            galleries => galleries(runs),
            judged_by => Value::from_safe_string(judged_by(runs)),
            facts => facts(runs),
        },
    )?;
    document(title, &body, "", "")
}

/// What pages and tables say where no noise was added.
const AS_GIVEN: &str = "labels as given";

/// The noise as it was typed, `symmetric:0.5`, or "labels as given".
pub fn noise_name(run: &RunRecord) -> String {
    run.manifest.noise.as_ref().map_or(AS_GIVEN, |noise| &noise.name).to_owned()
}

/// The [`noise_name`] of runs whose noise was typed like this: recipes and commands say `none` where no noise is added.
pub fn name_of_typed(noise: &str) -> &str {
    if noise == "none" { AS_GIVEN } else { noise }
}

/// The first run of every method and noise. Matrices and galleries of the other seeds would look the same.
pub fn representatives(runs: &[RunRecord]) -> Vec<&RunRecord> {
    let mut seen = Vec::new();
    runs.iter()
        .filter(|run| {
            let key = (run.manifest.method.clone(), noise_name(run));
            let new = !seen.contains(&key);
            seen.push(key);
            new
        })
        .collect()
}

/// The matrices of a run: the confusion on test rows, and the noise that was put in.
pub fn matrices(run: &RunRecord) -> Vec<(&'static str, HeatMap)> {
    let classes = &run.manifest.data.classes;
    let mut maps = Vec::new();
    if let Some(result) = run.manifest.result.as_ref().filter(|result| !result.confusion.is_empty()) {
        let title = format!("Confusion: {}, {}", run.manifest.method, noise_name(run));
        maps.push(("confusion", HeatMap::from_counts(title, "true class", "predicted", classes, &result.confusion)));
    }
    if let Some(noise) = run.manifest.noise.as_ref().filter(|noise| !noise.matrix.is_empty()) {
        let title = format!("Noise put in: {}", noise_name(run));
        maps.push(("transition", HeatMap::from_counts(title, "true class", "given label", classes, &noise.matrix)));
    }
    maps
}

fn lead(runs: &[RunRecord]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let data = in_order(runs.iter().map(|run| run.manifest.data.source.clone())).join(", ");
    let methods = in_order(runs.iter().map(|run| run.manifest.method.clone())).len();
    let mut text = format!(
        "{data}: {} training samples in {} classes. {} of {}, {} of training in all.",
        first.manifest.data.train_rows,
        first.manifest.data.classes.len(),
        counted(runs.len(), "run"),
        counted(methods, "method"),
        duration(runs.iter().flat_map(|run| &run.epochs).map(|epoch| epoch.seconds).sum()),
    );
    if let Some(noise) = first.manifest.noise.as_ref().filter(|_| in_order(runs.iter().map(noise_name)).len() == 1) {
        text.push_str(&format!(" {:.1} % of the training labels are wrong.", 100.0 * noise.realised));
    }
    text
}

fn tables(rows: &[Summary]) -> Vec<Value> {
    let mut tables = vec![accuracy_table(rows)];
    if rows.iter().any(|row| row.label_precision_last10.is_some()) {
        tables.push(precision_table(rows));
    }
    tables.iter().map(|table| table_value(table, true)).collect()
}

/// A table for the template; `marked` says whether the best of each column is highlighted.
fn table_value(table: &ReportTable, marked: bool) -> Value {
    let cells = |r: usize, cells: &[Option<Cell>]| -> Vec<Option<Value>> {
        let shown = |(c, cell): (usize, &Option<Cell>)| {
            cell.map(|cell| {
                context! {
                    mean => format!("{:.2}", cell.mean),
                    std => cell.std.map(|std| format!("{std:.2}")),
                    best => marked && table.is_best(r, c),
                }
            })
        };
        cells.iter().enumerate().map(shown).collect()
    };
    let rows: Vec<Value> = (table.rows.iter().enumerate())
        .map(|(r, (name, row))| context! { name => name, cells => cells(r, row) })
        .collect();
    context! { title => &table.title, corner => &table.corner, columns => &table.columns, rows => rows }
}

/// Says that accuracies on noisy test labels are too low, and what each method's accuracy on true labels is.
pub fn noisy_test_note(runs: &[RunRecord]) -> Option<String> {
    let shown = representatives(runs);
    let found: Vec<_> =
        shown.iter().filter_map(|run| Some((run, run.manifest.result.as_ref()?.true_accuracy.as_ref()?))).collect();
    match found.as_slice() {
        [] => None,
        [(_, only)] => Some(sentence_case(&only.sentence())),
        several => {
            let percent = |value: f64| format!("{:.1} %", 100.0 * value);
            let one = |(run, found): &(&&RunRecord, &TrueAccuracyRecord)| match found.warning {
                Some(_) => format!("{} cannot be estimated", plain(&run.manifest.method)),
                None => {
                    let (low, high) = found.interval;
                    let method = plain(&run.manifest.method);
                    format!("{method} {} ({} to {})", percent(found.accuracy), percent(low), percent(high))
                }
            };
            let each: Vec<String> = several.iter().map(one).collect();
            Some(format!(
                "The test labels are as noisy as the training labels, so the test accuracies are too low. Estimated accuracy on \
                 true labels (first seed): {}.",
                each.join(", ")
            ))
        }
    }
}

/// Capitalises the first letter and adds a full stop.
fn sentence_case(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).chain(['.']).collect())
}

fn table_note(rows: &[Summary]) -> String {
    let seeds = in_order(rows.iter().map(|row| row.seed)).len();
    match seeds {
        0 | 1 => "One seed; the best of a column is green.".to_owned(),
        n => format!("Mean ± standard deviation over {n} seeds; the best of a column is green."),
    }
}

fn curve_sections(runs: &[RunRecord]) -> Outcome<Vec<Value>> {
    let mut sections = Vec::new();
    // A model that is fitted once (a panel) would be a single dot.
    if runs.iter().all(|run| run.epochs.len() < 2) {
        return Ok(sections);
    }
    for quantity in &QUANTITIES {
        let pictures = curves(runs, quantity);
        let several = pictures.len() > 1;
        let mut figures = Vec::new();
        for (noise, picture) in &pictures {
            figures.push(context! {
                caption => several.then_some(noise),
                wide => Value::from_safe_string(picture.svg(Curves::WIDE)?),
                narrow => Value::from_safe_string(picture.svg(Curves::NARROW)?),
                words => picture.description(),
            });
        }
        if !figures.is_empty() {
            sections.push(context! { title => quantity.title, note => quantity.note, figures => figures });
        }
    }
    Ok(sections)
}

fn maps(runs: &[RunRecord]) -> Outcome<Vec<Value>> {
    let mut maps: Vec<_> = representatives(runs).into_iter().flat_map(matrices).collect();
    // Each noise matrix comes first, and once, because it is the same for all methods.
    maps.sort_by_key(|(kind, _)| *kind != "transition");
    let mut values = Vec::new();
    let mut drawn = Vec::new();
    for (_, map) in maps {
        if drawn.contains(&map.title) {
            continue;
        }
        drawn.push(map.title.clone());
        values.push(context! {
            title => &map.title,
            svg => if map.is_visible() { Some(Value::from_safe_string(map.svg()?)) } else { None },
            words => map.description(),
        });
    }
    Ok(values)
}

/// For each noise, the accuracy of every class: a row per class, a column per method.
fn per_class(runs: &[RunRecord]) -> Vec<Value> {
    in_order(runs.iter().map(noise_name))
        .iter()
        .filter_map(|noise| per_class_table(runs, noise))
        .map(|t| table_value(&t, false))
        .collect()
}

fn per_class_table(runs: &[RunRecord], noise: &str) -> Option<ReportTable> {
    let here: Vec<&RunRecord> = runs.iter().filter(|run| noise_name(run) == noise).collect();
    let methods = in_order(here.iter().map(|run| run.manifest.method.clone()));
    let accuracy = |run: &RunRecord, class: usize| -> Option<f64> {
        let row = run.manifest.result.as_ref()?.confusion.get(class)?;
        let total: f64 = row.iter().map(|&count| count as f64).sum();
        (total > 0.0).then(|| 100.0 * row[class] as f64 / total)
    };
    let row = |(class, name): (usize, &String)| {
        let cell = |method: &String| {
            let same = here.iter().filter(|run| run.manifest.method == *method);
            Cell::over(&same.filter_map(|run| accuracy(run, class)).collect::<Vec<_>>())
        };
        (name.clone(), methods.iter().map(cell).collect::<Vec<_>>())
    };
    let rows: Vec<_> = here.first()?.manifest.data.classes.iter().enumerate().map(row).collect();
    rows.iter().any(|(_, cells)| cells.iter().any(Option::is_some)).then(|| ReportTable {
        title: noise.to_owned(),
        corner: "class".to_owned(),
        columns: methods,
        rows,
    })
}

/// The suspects of each run. Those of the most accurate method for each noise are shown first; the others are folded up.
fn galleries(runs: &[RunRecord]) -> Vec<Value> {
    let level = |run: &RunRecord| run.manifest.result.as_ref().and_then(|result| result.test_accuracy_last10);
    let shown = representatives(runs);
    let best = |noise: &str| {
        let here = shown.iter().filter(|run| noise_name(run) == noise);
        here.filter_map(|run| level(run)).reduce(f64::max)
    };
    let value = |run: &&RunRecord| {
        let noise = noise_name(run);
        context! {
            title => format!("{}, {noise}", run.manifest.method),
            open => level(run) == best(&noise),
            cards => Value::from_safe_string(gallery::cards(&run.gallery[..run.gallery.len().min(24)])),
        }
    };
    let mut filled: Vec<&RunRecord> = shown.iter().copied().filter(|run| !run.gallery.is_empty()).collect();
    filled.sort_by_key(|run| level(run) != best(&noise_name(run)));
    filled.iter().map(value).collect()
}

fn facts(runs: &[RunRecord]) -> Vec<(String, String)> {
    let all =
        |name: &str, of: &dyn Fn(&RunRecord) -> String| (name.to_owned(), in_order(runs.iter().map(of)).join(", "));
    let notes = in_order(runs.iter().flat_map(|run| run.manifest.data.notes.iter().cloned()));
    let columns = (!notes.is_empty()).then(|| ("columns".to_owned(), notes.join("; ")));
    let missing = in_order(runs.iter().flat_map(|run| run.manifest.data.missing_files.iter().cloned()));
    let missing = (!missing.is_empty()).then(|| ("files that were missing".to_owned(), missing.join("; ")));
    let left_out = in_order(runs.iter().filter_map(left_out));
    let left_out = (!left_out.is_empty()).then(|| ("rows left out".to_owned(), left_out.join("; ")));
    let uncorrected = in_order(runs.iter().filter_map(uncorrected));
    let uncorrected = (!uncorrected.is_empty()).then(|| ("labels corrected".to_owned(), uncorrected.join("; ")));
    let results = runs.iter().filter_map(|run| run.manifest.result.as_ref());
    let cautions = in_order(results.flat_map(|result| result.warnings.iter().cloned()));
    let cautions = (!cautions.is_empty()).then(|| ("cautions about the suspects".to_owned(), cautions.join("; ")));
    let facts = vec![
        all("data", &|run| format!("{} (hash {})", run.manifest.data.source, run.manifest.data.hash)),
        all("network", &|run| format!("{} ({} parameters)", run.manifest.network, run.manifest.parameters)),
        all("epochs", &|run| run.manifest.epochs.to_string()),
        all("seeds", &|run| run.manifest.seed.to_string()),
        all("noise rate told to the method", &|run| match &run.manifest.rate {
            Some(RateRecord { value, source, warning: Some(warning), .. }) => {
                format!("{value:.3} ({source}). Warning: {warning}")
            }
            Some(rate) => format!("{:.3} ({})", rate.value, rate.source),
            None => "none".to_owned(),
        }),
        all("noise found in the labels", &|run| match &run.manifest.noise {
            Some(noise) => format!("{:.3}", noise.realised),
            None => "unknown".to_owned(),
        }),
        all("machine", &|run| {
            let machine = &run.manifest.machine;
            format!("{}, {}, device {}", machine.system, counted(machine.cores, "core"), machine.device)
        }),
        all("tares", &|run| run.manifest.version.clone()),
        all("begun", &|run| run.manifest.started.clone()),
    ];
    facts.into_iter().chain(columns).chain(missing).chain(left_out).chain(uncorrected).chain(cautions).collect()
}

fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// A number of seconds as text: `3 min 20 s`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{} min {:.0} s", (s / 60.0).floor(), (s % 60.0).floor()),
        s => format!("{} h {:.0} min", (s / 3600.0).floor(), ((s % 3600.0) / 60.0).floor()),
    }
}
