//! `tares data`: lists the built-in data sets, inspects data, downloads data sets.

use super::Exit;
use super::source::{progress_text, read, reading_failure};
use crate::run::load::Load;
use crate::ui::failure::Outcome;
use crate::ui::terminal::{FAINT, Screen, TITLE, json_path, plain, work_bar};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use tares_data::Builtin;

/// List, inspect and download data sets
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tares data list
  tares data inspect flowers.csv --label species
  tares data fetch mnist")]
pub struct Data {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in data sets and where they are
    List {
        /// Where to look for built-in data sets first
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
    /// Show how DATA is read: format, rows, classes, columns
    Inspect {
        /// A built-in name or a path
        data: String,
        #[command(flatten)]
        reading: Box<Load>,
    },
    /// Download a built-in data set
    Fetch {
        /// Its name
        name: Builtin,
        /// Where to put it [default: the user's cache directory]
        #[arg(long, value_name = "DIR")]
        data_dir: Option<PathBuf>,
    },
}

impl Data {
    /// Runs the chosen action.
    ///
    /// # Errors
    /// The data cannot be read or downloaded.
    pub fn run(self, screen: &Screen) -> Outcome<Exit> {
        match self.action {
            Action::List { data_dir } => list(data_dir, screen)?,
            Action::Inspect { data, reading } => inspect(&data, &reading, screen)?,
            Action::Fetch { name, data_dir } => fetch(name, data_dir, screen)?,
        }
        Ok(Exit::Fine)
    }
}

fn list(data_dir: Option<PathBuf>, screen: &Screen) -> Outcome<()> {
    let mut sets = Vec::new();
    for builtin in Builtin::ALL {
        let place = match builtin {
            Builtin::Digits => Some("inside the program".to_owned()),
            other => tares_data::locate(other, data_dir.as_deref())?.map(|folder| folder.display().to_string()),
        };
        let state = match &place {
            Some(place) => plain(place).into_owned(),
            None => format!("not here; `tares data fetch {builtin}` downloads it"),
        };
        screen.line(format!(
            "{:<14} {}",
            screen.paint(&format!("{:<14}", builtin.name()), TITLE).trim_end(),
            builtin.description()
        ))?;
        screen.line(screen.paint(&format!("{:<14} {state}", ""), FAINT))?;
        sets.push(serde_json::json!({
            "name": builtin.name(), "description": builtin.description(), "licence": builtin.licence(), "place": place,
        }));
    }
    screen.result(|| &sets)
}

fn inspect(data: &str, reading: &Load, screen: &Screen) -> Outcome<()> {
    let found = read(data, &reading.options(), screen)?.found;
    screen.line(format!("format   {}", found.format))?;
    screen.line(format!("rows     {} to train on, {} to test on", found.train_rows, found.test_rows.unwrap_or(0)))?;
    screen.line(format!("shape    {}", found.shape))?;
    screen.line(format!("classes  {}", found.classes.len()))?;
    let width = found.classes.iter().map(|class| plain(&class.name).chars().count()).max().unwrap_or(0).min(40);
    for class in &found.classes {
        screen.line(format!("  {:<width$}  {:>8} {:>8}", plain(&class.name), class.train, class.test))?;
    }
    if !found.columns.is_empty() {
        screen.line(format!("columns  {}", found.columns.len()))?;
        let width = found.columns.iter().map(|column| plain(&column.name).chars().count()).max().unwrap_or(0).min(40);
        for column in &found.columns {
            let missing = if column.missing > 0 { format!(", {} missing", column.missing) } else { String::new() };
            screen.line(format!("  {:<width$}  {}{missing}", plain(&column.name), plain(&column.role)))?;
        }
    }
    for note in found.column_notes.iter().chain(&found.notes) {
        screen.line(format!("note     {}", plain(note)))?;
    }
    for (path, reason) in &found.skipped {
        screen.line(format!("skipped  {}: {}", plain(&path.display().to_string()), plain(reason)))?;
    }
    screen.result(|| &found)
}

fn fetch(name: Builtin, data_dir: Option<PathBuf>, screen: &Screen) -> Outcome<()> {
    if name == Builtin::Digits {
        screen.line("digits is inside the program")?;
        return screen.result(|| serde_json::json!({ "name": "digits", "place": null }));
    }
    let bars = screen.bars();
    let bar = work_bar(&bars, name.name());
    let folder =
        tares_data::fetch(name, data_dir.as_deref(), &mut |progress| bar.set_message(progress_text(&progress)));
    bar.finish_and_clear();
    let folder = folder.map_err(|error| reading_failure(name.name(), error))?;
    screen.line(format!("{name} is in {}", plain(&folder.display().to_string())))?;
    screen.result(|| serde_json::json!({ "name": name.name(), "place": json_path(&folder) }))
}
