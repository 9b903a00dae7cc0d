//! The options that say how data is read, the same for every command.

use crate::run::load::Load;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, plain, work_bar};
use clap::Args;
use std::path::PathBuf;
use tares_data::{LoadOptions, Loaded, Progress, Stage};

/// How the data is read.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Reading")]
pub struct Reading {
    /// Where built-in data sets are looked for first (then TARES_DATA, then the cache)
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The label column of a table, by name or as #3; the label array of an NPZ
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,
    /// The column of a table that names the rows
    #[arg(long, value_name = "COLUMN")]
    id_column: Option<String>,
    /// Labels in a file of their own, for features in an NPY file
    #[arg(long, value_name = "FILE")]
    labels: Option<PathBuf>,
    /// Data to test on; otherwise a part is kept for testing
    #[arg(long, value_name = "PATH")]
    test: Option<PathBuf>,
    /// The part of every class kept for testing when there is no test data [default: 0.2]
    #[arg(long, value_name = "PART")]
    test_fraction: Option<f64>,
    /// Height and width pictures of a folder are resized to, as in 64x64
    #[arg(long, value_name = "HxW", value_parser = size)]
    image_size: Option<(usize, usize)>,
    /// Leave out files that cannot be read instead of failing
    #[arg(long)]
    skip_unreadable: bool,
    /// CIFAR-100: the 20 groups instead of the 100 classes
    #[arg(long)]
    coarse: bool,
}

impl Reading {
    /// As it goes into a spec.
    pub fn spec(&self) -> Load {
        let default = Load::default();
        Load {
            data_dir: self.data_dir.clone(),
            label: self.label.clone(),
            id_column: self.id_column.clone(),
            labels: self.labels.clone(),
            test: self.test.clone(),
            test_fraction: self.test_fraction.unwrap_or(default.test_fraction),
            image_size: self.image_size,
            skip_unreadable: self.skip_unreadable,
            coarse: self.coarse,
            ..default
        }
    }

    /// The options that change which labels a row has, as they were typed: for a command that must read the data alike.
    pub fn arguments(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let size = |(height, width): (usize, usize)| format!("{height}x{width}");
        let options = [
            ("--data-dir", self.data_dir.as_ref().map(path)),
            ("--label", self.label.clone()),
            ("--id-column", self.id_column.clone()),
            ("--labels", self.labels.as_ref().map(path)),
            ("--image-size", self.image_size.map(size)),
        ];
        let typed = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten();
        let switches = [("--skip-unreadable", self.skip_unreadable), ("--coarse", self.coarse)];
        typed.chain(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned())).collect()
    }

    /// As `tares-data` takes it.
    pub fn options(&self) -> LoadOptions {
        self.spec().options()
    }

    /// The same, with no row set aside for testing unless that was asked for.
    pub fn whole(&self) -> LoadOptions {
        LoadOptions { test_fraction: self.test_fraction.unwrap_or(0.0), ..self.options() }
    }
}

/// Reads data with a progress line for what takes long, and says what was found.
///
/// # Errors
/// The data cannot be read.
pub fn load(source: &str, options: &LoadOptions, screen: &Screen) -> Outcome<Loaded> {
    let bars = screen.bars();
    let mut bar = None;
    let loaded = tares_data::load(source, options, &mut |progress| {
        let bar = bar.get_or_insert_with(|| work_bar(&bars, source));
        bar.set_message(progress_text(&progress));
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let loaded = loaded.map_err(|error| reading_failure(source, error))?;
    if !loaded.found.skipped.is_empty() {
        screen.warning(format!(
            "{}: {} files could not be read and were left out",
            plain(source),
            loaded.found.skipped.len()
        ));
    }
    Ok(loaded)
}

/// An error of reading, with the way out when a name was mistyped.
pub fn reading_failure(source: &str, error: tares_data::DataError) -> Failure {
    let missing = error.is_missing_file();
    let failure = Failure::from(error);
    if !missing {
        return failure;
    }
    let names: Vec<&str> = tares_data::Builtin::ALL.iter().map(|builtin| builtin.name()).collect();
    let unknown = tares_core::Error::unknown("data", source, &names);
    match &unknown {
        tares_core::Error::Unknown { suggestion: Some(name), .. } => {
            failure.way_out(format!("did you mean the built-in data set {name}?"))
        }
        _ => failure.way_out(format!("data is a path that exists or one of {}", names.join(", "))),
    }
}

/// Progress in words.
pub fn progress_text(progress: &Progress) -> String {
    let (word, unit) = match progress.stage {
        Stage::Download => ("downloading", 1e6),
        Stage::Unpack => ("unpacking", 1e6),
        _ => ("reading pictures", 1.0),
    };
    let shown = |count: u64| match unit {
        1.0 => count.to_string(),
        _ => format!("{:.1} MB", count as f64 / unit),
    };
    match progress.total {
        Some(total) => format!("{word} {} of {}", shown(progress.done), shown(total)),
        None => format!("{word} {}", shown(progress.done)),
    }
}

fn size(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("size must be written as in 64x64, got '{text}'");
    let (height, width) = text.split_once('x').ok_or_else(wrong)?;
    match (height.parse(), width.parse()) {
        (Ok(height), Ok(width)) if height > 0 && width > 0 => Ok((height, width)),
        _ => Err(wrong()),
    }
}
