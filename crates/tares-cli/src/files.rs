//! Whole files in and out, with failures in the program's words.

use crate::ui::failure::{Failure, Outcome};
use std::fs;
use std::path::Path;

pub use tares_data::cell;

/// Writes a file that a reader sees whole or not at all: [`tares_data::write_file`].
///
/// # Errors
/// The directory cannot be written, or the disk is full; the old file is then still whole.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Outcome<()> {
    Ok(tares_data::write_file(path, |out| out.write_all(bytes))?)
}

/// Creates a directory and its parents.
///
/// # Errors
/// It cannot be created, or a file is in the way.
pub fn create_directory(path: &Path) -> Outcome<()> {
    fs::create_dir_all(path).map_err(|error| Failure::file(path, "create the directory", &error))
}

/// A text file as a whole.
///
/// # Errors
/// It cannot be read or is not UTF-8.
pub fn read_text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error))
}
