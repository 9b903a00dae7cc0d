//! One row per run, and the table of means over seeds.

use super::table::{Cell, ReportTable};
use crate::record::{RunRecord, in_order};
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use tares_core::metric::{last_epochs, mean_of_last};

/// One run: the columns of `summary.csv`, in this order. Accuracies are fractions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The training method.
    pub method: String,
    /// The kind of label noise, or `none`.
    pub noise: String,
    /// The rate of the noise.
    pub rate: f64,
    /// The seed.
    pub seed: u64,
    /// Number of epochs.
    pub epochs: usize,
    /// Test accuracy, averaged over the last ten epochs, or over the last quarter of a short run. For RoG: that of its head,
    /// after training.
    pub test_accuracy_last10: f64,
    /// The best test accuracy of any epoch.
    pub test_accuracy_best: f64,
    /// Label precision, averaged over the same epochs; only if the truth is known.
    pub label_precision_last10: Option<f64>,
    /// Duration of training.
    pub seconds: f64,
    /// The noise as it was typed, for headings: `symmetric:0.5`.
    #[serde(skip)]
    pub noise_name: String,
}

impl Summary {
    /// The row of a run; `None` if it has no test accuracy yet.
    pub fn of(run: &RunRecord) -> Option<Self> {
        let accuracies: Vec<Option<f64>> = run.epochs.iter().map(|epoch| epoch.test_accuracy).collect();
        let precisions: Vec<Option<f64>> = run.epochs.iter().map(|epoch| epoch.label_precision).collect();
        let (noise, rate) = match &run.manifest.noise {
            Some(noise) => (noise.kind.clone(), noise.rate),
            None => ("none".to_owned(), 0.0),
        };
        let noise_name = super::page::noise_name(run);
        // RoG's head predicts instead of its network, but the epochs are the network's.
        let head = run.manifest.result.as_ref().filter(|result| result.network_accuracy_last10.is_some());
        let head = head.and_then(|result| result.test_accuracy_last10);
        Some(Self {
            method: run.manifest.method.clone(),
            noise,
            rate,
            seed: run.manifest.seed,
            epochs: run.epochs.len(),
            test_accuracy_last10: head.or_else(|| mean_of_last(&accuracies))?,
            test_accuracy_best: head.unwrap_or_else(|| accuracies.iter().copied().flatten().fold(f64::MIN, f64::max)),
            label_precision_last10: mean_of_last(&precisions),
            seconds: run.epochs.iter().map(|epoch| epoch.seconds).sum(),
            noise_name,
        })
    }
}

/// The content of `summary.csv`.
///
/// # Errors
/// A row cannot be written as CSV.
pub fn csv(rows: &[Summary]) -> Outcome<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .serialize(Summary { method: crate::files::cell::guarded(&row.method).into_owned(), ..row.clone() })
            .map_err(Failure::new)?;
    }
    String::from_utf8(writer.into_inner().map_err(Failure::new)?).map_err(Failure::new)
}

/// The final test accuracy in per cent, mean ± sample standard deviation over seeds: a row per method, a column per noise.
pub fn accuracy_table(rows: &[Summary]) -> ReportTable {
    grid(rows, &format!("Test accuracy (%), {}", averaged(rows)), |row| Some(100.0 * row.test_accuracy_last10))
}

/// The same for label precision.
pub fn precision_table(rows: &[Summary]) -> ReportTable {
    let title = format!("Label precision (%), {}", averaged(rows));
    grid(rows, &title, |row| row.label_precision_last10.map(|part| 100.0 * part))
}

/// Says over which epochs the numbers of these runs are averaged.
fn averaged(rows: &[Summary]) -> String {
    match in_order(rows.iter().map(|row| last_epochs(row.epochs))).as_slice() {
        [one] => mean_of_last_words(*one),
        _ => "mean of the last epochs (10, or a quarter of a short run)".to_owned(),
    }
}

/// `mean of the last 10 epochs`, for a number of epochs from [`last_epochs`].
pub fn mean_of_last_words(count: usize) -> String {
    match count {
        1 => "last epoch".to_owned(),
        count => format!("mean of the last {count} epochs"),
    }
}

fn grid(rows: &[Summary], title: &str, value: impl Fn(&Summary) -> Option<f64>) -> ReportTable {
    let methods = in_order(rows.iter().map(|row| row.method.clone()));
    let noises = in_order(rows.iter().map(|row| row.noise_name.clone()));
    let cells = methods
        .iter()
        .map(|method| {
            let cell = |noise: &String| {
                let chosen = rows.iter().filter(|row| row.method == *method && row.noise_name == *noise);
                Cell::over(&chosen.filter_map(&value).collect::<Vec<_>>())
            };
            (method.clone(), noises.iter().map(cell).collect())
        })
        .collect();
    ReportTable { title: title.to_owned(), corner: "method".to_owned(), columns: noises, rows: cells }
}
