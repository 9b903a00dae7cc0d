//! `tares report`: makes tables, pictures and a page from runs.

use super::Exit;
use crate::record::{RunRecord, State};
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

Of a comparison that is not finished, it joins the finished runs and says what is missing.
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
    /// There is no run, or the output cannot be written; or, when the report of the others is written, a record is damaged.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        let expected = expected(&self.runs)?;
        let Found { runs, left_out, damaged } = read_runs(&self.runs)?;
        damaged.iter().for_each(|problem| screen.warning(problem));
        if runs.is_empty() {
            say_missing(&expected, screen)?;
            return Err(nothing_to_report(&self.runs, left_out, &damaged));
        }
        let out = self.out.unwrap_or_else(|| self.runs[0].join("report"));
        let title = self.title.unwrap_or_else(|| report::title(&runs));
        let rows = report::write_all(&out, &title, &runs)?;
        screen.line(summary::accuracy_table(&rows).text(screen))?;
        let begun = runs.iter().filter(|run| run.manifest.state == State::Unfinished).count();
        if begun > 0 {
            screen.note(format!("unfinished runs, which count as far as they are: {begun} of {}", runs.len()));
        }
        if left_out > 0 {
            screen.note(format!("unfinished runs of the comparison, which are left out: {left_out}"));
        }
        say_missing(&expected, screen)?;
        screen.line(format!("{}", out.join("report.html").display()))?;
        let missing: Vec<&RunProgress> = expected.iter().filter(|run| !run.finished).collect();
        screen.result(|| {
            let page = json_path(&out.join("report.html"));
            serde_json::json!({ "page": page, "runs": rows, "missing": missing, "left_out": left_out, "damaged": damaged })
        })?;
        match damaged.len() {
            0 => Ok(Exit::Fine),
            count => Err(Failure::new(format!("runs that could not be read and are not in the report: {count}"))
                .way_out("train them again, or remove their directories")),
        }
    }
}

/// The progress of all runs of the comparisons in these directories; other directories are skipped.
fn expected(places: &[PathBuf]) -> Outcome<Vec<RunProgress>> {
    let mut found = Vec::new();
    for place in places.iter().filter(|place| is_comparison(place)) {
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

/// What there is to report.
struct Found {
    /// Runs with at least one epoch, ordered by path; of comparisons only finished ones, since means must not join both.
    runs: Vec<RunRecord>,
    /// How many unfinished runs of comparisons are left out.
    left_out: usize,
    /// What is wrong with runs that cannot be read.
    damaged: Vec<String>,
}

/// Reads the runs in and below the given directories.
fn read_runs(places: &[PathBuf]) -> Outcome<Found> {
    let mut found = Vec::new();
    for place in places {
        if !place.is_dir() {
            return Err(Failure::new(format!("{}: no such directory", place.display())).way_out(NAME_A_RUN));
        }
        collect(place, 4, false, &mut found)?;
    }
    let (mut runs, mut left_out, mut damaged) = (Vec::new(), 0, Vec::new());
    for (path, compared) in &found {
        match RunRecord::read(path) {
            Ok(run) if *compared && run.manifest.state == State::Unfinished => left_out += 1,
            Ok(run) => runs.push(run),
            Err(problem) => damaged.push(problem.to_string()),
        }
    }
    runs.retain(|run| !run.epochs.is_empty());
    Ok(Found { runs: told_apart(runs), left_out, damaged })
}

const NAME_A_RUN: &str = "name a directory that `tares train` or `tares compare` wrote";

/// Why there is no report.
fn nothing_to_report(places: &[PathBuf], left_out: usize, damaged: &[String]) -> Failure {
    let names: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
    let names = names.join(", ");
    match (places.iter().any(|place| is_comparison(place)) || left_out > 0, damaged.is_empty()) {
        (true, true) => Failure::new(format!("{names}: no run of the comparison is finished yet"))
            .way_out("wait until one is, or go on: type the same `tares compare` again"),
        (_, false) => {
            Failure::new(format!("{names}: no run to report; runs that could not be read: {}", damaged.len()))
                .way_out("train them again, or remove their directories")
        }
        (false, true) => Failure::new(format!("{names}: found no run with at least one epoch")).way_out(NAME_A_RUN),
    }
}

fn is_comparison(place: &Path) -> bool {
    place.join("experiment.toml").is_file()
}

/// Looks for run directories, a few levels deep, and whether they are below a comparison.
fn collect(place: &Path, depth: usize, compared: bool, found: &mut Vec<(PathBuf, bool)>) -> Outcome<()> {
    if place.join("manifest.json").is_file() {
        found.push((place.to_owned(), compared));
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let entries = std::fs::read_dir(place).map_err(|error| Failure::file(place, "read", &error))?;
    let mut children: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
    children.sort();
    let compared = compared || is_comparison(place);
    children.iter().try_for_each(|child| collect(child, depth - 1, compared, found))
}
