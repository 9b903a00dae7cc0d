//! The one way in which commands read data: with a progress line, and with a printed sentence for every guess.

use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, plain, work_bar};
use std::time::{Duration, Instant};
use tares_data::{LoadOptions, Loaded, ReadProgress, Stage};

/// This many notes about columns are printed; the others are only counted.
const MOST_NOTES: usize = 10;

/// Reads data as [`read`] does, and prints a note for every column that was changed or left out.
///
/// # Errors
/// The data cannot be read.
pub fn load(source: &str, options: &LoadOptions, screen: &Screen) -> Outcome<Loaded> {
    let mut loaded = read(source, options, screen)?;
    say_notes(&loaded.found.column_notes, source, screen);
    let skipped = loaded.found.skipped.len();
    if skipped > 0 {
        // The warning was printed; the files of a run and an audit say it, too.
        loaded.found.column_notes.push(unreadable(skipped));
    }
    Ok(loaded)
}

/// Prints a note for every column that was changed or left out, up to `MOST_NOTES`.
pub fn say_notes(notes: &[String], source: &str, screen: &Screen) {
    notes.iter().take(MOST_NOTES).for_each(|note| screen.note(plain(note)));
    if notes.len() > MOST_NOTES {
        let more = notes.len() - MOST_NOTES;
        screen.note(format!("… and {more} more notes about columns: tares data inspect {} lists them", plain(source)));
    }
}

/// Reads data, with a progress line while it downloads, unpacks or decodes; warns about files that were left out.
///
/// # Errors
/// The data cannot be read.
pub fn read(source: &str, options: &LoadOptions, screen: &Screen) -> Outcome<Loaded> {
    let loaded = watched(source, screen, |hear| tares_data::load(source, options, hear));
    let loaded = loaded.map_err(|error| reading_failure(source, error))?;
    if !loaded.found.skipped.is_empty() {
        screen.warning(format!("{}: {}", plain(source), unreadable(loaded.found.skipped.len())));
    }
    Ok(loaded)
}

/// The sentence about files that were left out.
pub fn unreadable(files: usize) -> String {
    match files {
        1 => "1 file could not be read and was left out".to_owned(),
        files => format!("{files} files could not be read and were left out"),
    }
}

/// Does something that takes long, with a progress line that says how far it is and how long it will take.
pub fn watched<T>(source: &str, screen: &Screen, work: impl FnOnce(&mut dyn FnMut(ReadProgress)) -> T) -> T {
    let bars = screen.bars();
    let (mut bar, mut said) = (None, Instant::now());
    let mut clock = TimeLeft::default();
    let done = work(&mut |progress| {
        let bar = bar.get_or_insert_with(|| work_bar(&bars, source));
        let text = format!("{}{}", progress_text(&progress), clock.words(&progress));
        // A log gets a line from time to time.
        if !screen.live && progress.stage == Stage::Describe && said.elapsed() >= Duration::from_secs(30) {
            screen.note(&text);
            said = Instant::now();
        }
        bar.set_message(text);
    });
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    done
}

/// How long the rest will take, by the speed since the first report.
#[derive(Default)]
struct TimeLeft(Option<(Instant, u64)>);

impl TimeLeft {
    fn words(&mut self, progress: &ReadProgress) -> String {
        let (Stage::Describe, Some(total)) = (progress.stage, progress.total) else { return String::new() };
        let (start, first) = *self.0.get_or_insert((Instant::now(), progress.done));
        let (done, left) = (progress.done.saturating_sub(first), total.saturating_sub(progress.done));
        let seconds = start.elapsed().as_secs_f64() * left as f64 / done as f64;
        match (done, seconds) {
            (0, _) => String::new(),
            (_, ..90.0) => format!(", about {seconds:.0} s left"),
            _ => format!(", about {:.0} min left", seconds / 60.0),
        }
    }
}

/// Turns a reading error into a message. If no file has this name, it suggests the built-in set that was probably meant.
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

/// What the progress line says: `downloading 1.2 MB of 9.9 MB`.
pub fn progress_text(progress: &ReadProgress) -> String {
    let (word, unit) = match progress.stage {
        Stage::Download => ("downloading", 1e6),
        Stage::Unpack => ("unpacking", 1e6),
        Stage::Describe => ("features of pictures", 1.0),
        Stage::Look => ("looking at pictures", 1.0),
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
