//! `tares corrupt`: makes labels wrong on purpose, and writes the truth beside them.

use super::Exit;
use super::source::load;
use crate::files::create_directory;
use crate::record::NoiseRecord;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::run::semantic_noise::NoiseProgress;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Realised};
use tares_data::{Format, Loaded, OutTable};

/// The name of the file of true labels.
const TRUTH: &str = "truth.csv";

/// Put noise into labels
///
/// Writes the training rows with wrong labels, in the format of the data, and truth.csv with the original labels.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares corrupt mnist --noise pair:0.35 --out noisy
  tares corrupt flowers.csv --label species --noise symmetric:0.2 --out noisy --seed 7
  tares corrupt cifar-10 --noise open-set:cifar-100:0.4 --out noisy

What happens to a label:
  symmetric:RATE        becomes one of the other classes, all equally likely
  pair:RATE             becomes the next class
  uniform-all:RATE      is redrawn from all classes, the right one included
  exact:RATE            as symmetric, for exactly this fraction of all rows
  exact-per-class:RATE  as symmetric, for exactly this fraction of every class
  instance:RATE         is changed with a probability that depends on the row itself
  matrix:FILE           is drawn from a transition matrix: a CSV file, one line per true class
  open-set:DATA:RATE    stays, but the picture is replaced by one of other data; A+B takes half from each
  semantic:NETWORK      is predicted by a network trained on a tenth of the data; its plan can be given:
                        semantic:vgg13:0.05:epochs=100:optimiser=sgd")]
pub struct Corrupt {
    /// A built-in name or a path
    data: String,
    /// The kind of noise
    #[arg(long, value_name = "KIND:RATE")]
    noise: LabelNoise,
    /// The directory to write to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The seed of the noise
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    reading: Load,
}

impl Corrupt {
    /// Puts noise into the labels and writes the result.
    ///
    /// # Errors
    /// The data cannot be read, the noise doesn't fit, or the output cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let options = self.reading.whole();
        let loaded = load(&self.data, &options, screen)?;
        if let Some(file) = loaded.origin.files().iter().find(|file| file.file_name().is_some_and(|name| name == TRUTH))
        {
            let problem =
                format!("{}: the file of true labels, which is written beside it, has the same name", file.display());
            return Err(Failure::new(problem).way_out(format!("give the data another name than {TRUTH}")));
        }
        let hear = |progress: NoiseProgress| {
            if progress.is_worth_a_line() {
                screen.note(progress.to_string());
            }
        };
        let noisy = self.noise.corrupt(&loaded.train, self.seed, &options, "cpu", &hear)?;
        let record = self.noise.record(&noisy)?;
        create_directory(&self.out)?;
        let files = write(&loaded, &noisy, &self.out)?;
        truth_table(&noisy)?.write(&self.out.join(TRUTH), true)?;
        print(&record, &noisy, screen)?;
        for file in files.iter().chain([&self.out.join(TRUTH)]) {
            screen.line(format!("wrote {}", plain(&file.display().to_string())))?;
        }
        screen.result(|| {
            serde_json::json!({
                "noise": record.name,
                "seed": self.seed,
                "rows": noisy.len(),
                "realised_rate": record.realised,
                "counts": record.matrix,
                "classes": noisy.class_names(),
                "files": files.iter().map(|file| json_path(file)).collect::<Vec<_>>(),
                "truth": json_path(&self.out.join(TRUTH)),
            })
        })?;
        Ok(Exit::Fine)
    }
}

/// Writes the data with its noisy labels in its own format. For class folders, writes a table of the labels instead of
/// copying every picture.
fn write(loaded: &Loaded, noisy: &Dataset, out: &Path) -> Outcome<Vec<PathBuf>> {
    match loaded.found.format {
        Format::Folder | Format::TinyImageNet => {
            let name = |label: &u32| noisy.class_names()[*label as usize].clone();
            let path = out.join("labels.csv");
            OutTable::new()
                .column("id", (0..noisy.len()).map(|index| noisy.id(index)).collect::<Vec<_>>())?
                .column("given", noisy.given().iter().map(name).collect::<Vec<_>>())?
                .write(&path, true)?;
            Ok(vec![path])
        }
        _ => Ok(tares_data::write_relabelled(loaded, noisy, out)?),
    }
}

/// The table of true labels, with class names.
fn truth_table(noisy: &Dataset) -> Outcome<OutTable> {
    let truth = noisy.truth().ok_or_else(|| Failure::new("the truth of corrupted data must be known, got none"))?;
    let name = |label: &u32| noisy.class_names()[*label as usize].clone();
    let mut table = OutTable::new()
        .column("index", (0..noisy.len() as u32).collect::<Vec<_>>())?
        .column("id", (0..noisy.len()).map(|index| noisy.id(index)).collect::<Vec<_>>())?
        .column("given", noisy.given().iter().map(name).collect::<Vec<_>>())?
        .column("truth", truth.iter().map(name).collect::<Vec<_>>())?;
    if let Some(foreign) = noisy.foreign() {
        table = table.column("foreign", foreign.to_vec())?;
    }
    Ok(table)
}

fn print(record: &NoiseRecord, noisy: &Dataset, screen: &Screen) -> Outcome<()> {
    let realised = Realised::of(noisy)?;
    screen.line(format!(
        "{}: {} of {} labels are wrong ({:.2} %)",
        plain(&record.name),
        realised.wrong,
        realised.rows,
        100.0 * record.realised
    ))?;
    if realised.foreign > 0 {
        screen.line(format!("{} rows now belong to none of the classes", realised.foreign))?;
    }
    let classes = noisy.classes();
    if classes > 20 {
        return screen.line(format!("(the {classes} x {classes} matrix is in the JSON output: --json)"));
    }
    screen.line("in %; rows are true classes, columns are given labels:")?;
    let names: Vec<String> = noisy.class_names().iter().map(|name| plain(name).chars().take(12).collect()).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0).max(5);
    let head: Vec<String> = names.iter().map(|name| format!("{name:>width$}")).collect();
    screen.line(format!("  {:width$} {}", "", head.join(" ")))?;
    for (name, row) in names.iter().zip(&record.matrix) {
        let total = row.iter().sum::<u64>().max(1) as f64;
        let cells: Vec<String> =
            row.iter().map(|&count| format!("{:>width$.1}", 100.0 * count as f64 / total)).collect();
        screen.line(format!("  {name:>width$} {}", cells.join(" ")))?;
    }
    Ok(())
}
