//! Data is read in the same way by every command: with a progress line, and with a sentence for everything that was guessed.

use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, plain, work_bar};
use tares_data::{LoadOptions, Loaded, ReadProgress, Stage};

/// More notes about columns than this are counted, not printed.
const MOST_NOTES: usize = 10;

/// Reads data with a progress line for what takes long, and names every column that is not used as it stands.
///
/// # Errors
/// The data cannot be read.
pub fn load(source: &str, options: &LoadOptions, screen: &Screen) -> Outcome<Loaded> {
    let loaded = read(source, options, screen)?;
    say_notes(&loaded.found.column_notes, source, screen);
    Ok(loaded)
}

/// Prints what is known about columns that are not used as they stand.
pub fn say_notes(notes: &[String], source: &str, screen: &Screen) {
    notes.iter().take(MOST_NOTES).for_each(|note| screen.note(plain(note)));
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        screen.note(format!("… and {more} more notes about columns: tares data inspect {} lists them", plain(source)));
    }
}

/// Reads data with a progress line for what takes long.
///
/// # Errors
/// The data cannot be read.
pub fn read(source: &str, options: &LoadOptions, screen: &Screen) -> Outcome<Loaded> {
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
pub fn progress_text(progress: &ReadProgress) -> String {
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
