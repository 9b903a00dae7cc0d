//! `tares report`: makes tables, pictures and a page from runs.

use super::Exit;
use crate::record::RunRecord;
use crate::report::told_apart::told_apart;
use crate::report::{self, summary};
use crate::run::experiment::Experiment;
use crate::run::runs::RunProgress;
use crate::run::spec_file;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, json_path, plain};
use clap::Args;
use std::path::{Path, PathBuf};

/// Make tables, curves and a page from runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares report runs/a                     one run
  tares report runs/a runs/b              two runs side by side
  tares report runs/table --out paper     all runs below a directory, e.g. of `tares compare`

Of a comparison that is not finished, it joins what is there and says what is missing.
Writes report.html, summary.csv, the tables as .txt, .md, .tex and .csv, and every picture as .svg and .png.")]
pub struct Report {
    /// Run directories, or directories that contain them
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Where to write [default: the directory `report` in the first RUN]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The page's title
    #[arg(long)]
    title: Option<String>,
}

impl Report {
    /// Reads the runs and writes the report.
    ///
    /// # Errors
    /// There is no run, a record is damaged, or the output cannot be written.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let expected = expected(&self.runs)?;
        let runs = read_runs(&self.runs)?;
        let out = self.out.unwrap_or_else(|| self.runs[0].join("report"));
        let title = self.title.unwrap_or_else(|| report::title(&runs));
        let rows = report::write_all(&out, &title, &runs)?;
        screen.line(summary::accuracy_table(&rows).text(screen))?;
        say_missing(&expected, screen)?;
        screen.line(format!("{}", out.join("report.html").display()))?;
        let missing: Vec<&RunProgress> = expected.iter().filter(|run| !run.finished).collect();
        screen.result(
            || serde_json::json!({ "page": json_path(&out.join("report.html")), "runs": rows, "missing": missing }),
        )?;
        Ok(Exit::Fine)
    }
}

/// The progress of all runs of the comparisons in these directories; other directories are skipped.
fn expected(places: &[PathBuf]) -> Outcome<Vec<RunProgress>> {
    let mut found = Vec::new();
    for place in places.iter().filter(|place| place.join("experiment.toml").is_file()) {
        let experiment: Experiment = spec_file::read(&place.join("experiment.toml"))?;
        found.extend(experiment.runs()?.iter().map(|spec| RunProgress::of(place, spec)));
    }
    Ok(found)
}

/// Prints which runs are missing, and who is at work on them.
fn say_missing(expected: &[RunProgress], screen: &Screen) -> Outcome<()> {
    let missing: Vec<&RunProgress> = expected.iter().filter(|run| !run.finished).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (finished, all) = (expected.len() - missing.len(), expected.len());
    screen.line(format!("{finished} of {all} runs are finished; missing:"))?;
    for run in missing.iter().take(SHOWN) {
        screen.line(format!("  {}: {}", plain(&run.run), run.sentence()))?;
    }
    if missing.len() > SHOWN {
        screen.line(format!("  and {} more", missing.len() - SHOWN))?;
    }
    Ok(())
}

/// At most this many missing runs are listed.
const SHOWN: usize = 40;

/// Reads the runs in and below the given directories that have at least one epoch, ordered by path.
///
/// # Errors
/// There is no such run, or one is damaged.
pub fn read_runs(places: &[PathBuf]) -> Outcome<Vec<RunRecord>> {
    let mut found = Vec::new();
    for place in places {
        if !place.is_dir() {
            return Err(Failure::new(format!("{}: no such directory", place.display()))
                .way_out("name a directory that `tares train` or `tares compare` wrote"));
        }
        collect(place, 4, &mut found)?;
    }
    let mut runs = Vec::new();
    for path in &found {
        runs.push(RunRecord::read(path)?);
    }
    runs.retain(|run| !run.epochs.is_empty());
    if runs.is_empty() {
        let names: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        return Err(Failure::new(format!("{}: found no run with at least one epoch", names.join(", ")))
            .way_out("name a directory that `tares train` or `tares compare` wrote"));
    }
    Ok(told_apart(runs))
}

/// Looks for run directories, a few levels deep.
fn collect(place: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Outcome<()> {
    if place.join("manifest.json").is_file() {
        found.push(place.to_owned());
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = std::fs::read_dir(place).map_err(|error| Failure::file(place, "read", &error))?;
    let mut children: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    children.sort();
    children.iter().try_for_each(|child| collect(child, depth - 1, found))
}
