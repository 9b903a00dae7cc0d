//! `tares corrupt`: right labels → wrong ones, with the truth beside them.

use super::Exit;
use super::source::load;
use crate::files::create_directory;
use crate::record::NoiseRecord;
use crate::run::label_noise::LabelNoise;
use crate::run::load::Load;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Realised};
use tares_data::{Format, Loaded, OutTable};

/// The file of true labels.
const TRUTH: &str = "truth.csv";

/// Put noise into labels
///
/// Writes the training part in its own format, with wrong labels, and truth.csv: what every label was before.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares corrupt mnist --noise pair:0.35 --out noisy
  tares corrupt flowers.csv --label species --noise symmetric:0.2 --out noisy --seed 7
  tares corrupt cifar-10 --noise open-set:cifar-100:0.4 --out noisy

Kinds of noise:
  symmetric:RATE        another class, all equally likely
  pair:RATE             the next class
  uniform-all:RATE      redrawn over all classes, the right one included
  exact:RATE            exactly this part of all rows
  exact-per-class:RATE  exactly this part of every class
  instance:RATE         depending on the sample itself
  matrix:FILE           a CSV of probabilities, one line per true class
  open-set:DATA:RATE    pictures replaced by pictures of other data
  semantic:NETWORK      labels of a network trained on a tenth of the data")]
pub struct Corrupt {
    /// A built-in name or a path
    data: String,
    /// The noise
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
                format!("{}: is called like the file of true labels that would be written beside it", file.display());
            return Err(Failure::new(problem).way_out(format!("give the data another name than {TRUTH}")));
        }
        let noisy = self.noise.corrupt(&loaded.train, self.seed, &options)?;
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

/// The data in its own format; where the labels are the folders, or the pictures are new, in a format that can hold it.
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

/// index, id, given, truth, foreign: by name.
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
        screen.line(format!("{} rows belong to no class", realised.foreign))?;
    }
    let classes = noisy.classes();
    if classes > 20 {
        return screen.line(format!("(the {classes} x {classes} matrix is in the JSON output: --json)"));
    }
    screen.line("in %, rows true, columns given:")?;
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
