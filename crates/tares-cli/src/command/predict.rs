//! `tares predict`: classes and probabilities of new data, from a trained run.

use super::Exit;
use super::source::{say_notes, unreadable};
use crate::backbone::described::load_new;
use crate::backbone::options::FeatureSource;
use crate::run::model::Model;
use crate::ui::failure::Outcome;
use crate::ui::terminal::{Screen, json_path, plain, print};
use clap::Args;
use std::path::{Path, PathBuf};
use tares::evaluate::answers;
use tares_core::Dataset;
use tares_data::{LoadOptions, OutTable, TableFormat, npy, write_file};

/// Use a trained model on new data
///
/// New rows are read and prepared exactly like the training rows. If they have labels, the accuracy is printed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares predict runs/flowers-npcl new.csv                      prints a table
  tares predict runs/flowers-npcl new.csv --out answers.csv    writes it; .parquet works too
  tares predict runs/photos new-photos/ --out p.npy            probabilities only, rows x classes")]
pub struct Predict {
    /// A directory that `tares train` wrote
    run: PathBuf,
    /// A built-in name or a path
    data: String,
    /// The file to write: .csv, .parquet or .npy [default: CSV on stdout]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where to look for built-in data sets first
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Labels in a file of their own, for features in an NPY file
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Leave out files that cannot be read instead of failing
    #[arg(long)]
    skip_unreadable: bool,
    /// Where the backbone of the model is now, if it was moved
    #[arg(long, value_name = "FILE")]
    backbone: Option<PathBuf>,
    /// For a model that was trained with --features: those of the new rows
    #[arg(long, value_name = "FILE", conflicts_with = "backbone")]
    features: Option<PathBuf>,
    /// The device to compute on
    #[arg(long, default_value = "cpu")]
    device: String,
}

impl Predict {
    /// Predicts, and prints or writes the table.
    ///
    /// # Errors
    /// The run has no model, the data cannot be read or has another shape, or the output cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        // Check the extension before doing any work.
        let format = self.out.as_deref().map(TableFormat::of).transpose()?;
        let model = Model::read(&self.run)?;
        let options = LoadOptions::default().with(|options| {
            options.data_dir.clone_from(&self.data_dir);
            options.labels_file.clone_from(&self.labels);
            options.skip_unreadable = self.skip_unreadable;
        });
        let elsewhere = FeatureSource { backbone: self.backbone, features: self.features, ..FeatureSource::default() };
        let rows = load_new(&self.data, &model.reading, model.backbone.as_ref(), &elsewhere, &options, screen)?;
        say_notes(&rows.notes, &self.data, screen);
        if !rows.skipped.is_empty() {
            screen.warning(unreadable(rows.skipped.len()));
        }
        let probabilities = model.probabilities(&self.run, &rows.data, &self.device)?;
        let predicted = answers(&probabilities, model.classes.len());
        let labelled = rows.labels.iter().flatten().count();
        let accuracy = (labelled > 0).then(|| {
            let right = predicted.iter().zip(&rows.labels).filter(|(answer, label)| Some(**answer) == **label).count();
            right as f64 / labelled as f64
        });
        if let Some(accuracy) = accuracy {
            let (rows_or_row, have) = if labelled == 1 { ("row", "has") } else { ("rows", "have") };
            let all = if labelled < rows.data.len() { format!(" that {have} a label") } else { String::new() };
            screen.note(format!("accuracy {:.2} % on {labelled} {rows_or_row}{all}", 100.0 * accuracy));
        }
        match (&self.out, format) {
            (Some(path), Some(TableFormat::Npy)) => write_npy(path, &probabilities, model.classes.len())?,
            (Some(path), _) => {
                table(&rows.data, &model.classes, &predicted, &probabilities, str::to_owned)?.write(path, true)?;
            }
            (None, _) if screen.json => {}
            (None, _) => {
                let mut bytes = Vec::new();
                // For the terminal, control characters in names are made visible. Files contain the names unchanged.
                let visible = |name: &str| plain(name).into_owned();
                let table = table(&rows.data, &model.classes, &predicted, &probabilities, visible)?;
                table.write_csv(&mut bytes, true)?;
                print(&bytes)?;
            }
        }
        if let Some(path) = &self.out {
            screen.line(format!("wrote {}", plain(&path.display().to_string())))?;
        }
        let names: Vec<&String> = predicted.iter().map(|&label| &model.classes[label as usize]).collect();
        let shown = if self.out.is_some() { None } else { Some(names) };
        screen.result(|| {
            serde_json::json!({
                "rows": rows.data.len(),
                "classes": model.classes,
                "accuracy": accuracy,
                "out": self.out.as_deref().map(json_path),
                "predicted": shown,
            })
        })?;
        Ok(Exit::Fine)
    }
}

/// A table of ids, predicted classes, and a column of probabilities per class. `shown` is applied to all names.
fn table(
    data: &Dataset,
    classes: &[String],
    predicted: &[u32],
    probabilities: &[f32],
    shown: fn(&str) -> String,
) -> Outcome<OutTable> {
    let k = classes.len();
    let names: Vec<String> = classes.iter().map(|name| shown(name)).collect();
    let mut table = OutTable::new()
        .column("id", (0..data.len()).map(|index| shown(&data.id(index))).collect::<Vec<_>>())?
        .column("predicted", predicted.iter().map(|&label| names[label as usize].clone()).collect::<Vec<_>>())?;
    for (class, name) in names.iter().enumerate() {
        let column: Vec<f32> = probabilities.chunks_exact(k).map(|row| row[class]).collect();
        table = table.column(&format!("p:{name}"), column)?;
    }
    Ok(table)
}

/// Probabilities as a plain rows × classes array of 32-bit floats.
fn write_npy(path: &Path, probabilities: &[f32], classes: usize) -> Outcome<()> {
    let header = npy::encode("'<f4'", &[probabilities.len() / classes.max(1), classes], &[]);
    Ok(write_file(path, |out| {
        out.write_all(&header)?;
        probabilities.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
    })?)
}
