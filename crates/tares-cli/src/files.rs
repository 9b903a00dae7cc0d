//! Reads and writes whole files, and turns system errors into the program's [`Failure`].

use crate::ui::failure::{Failure, Outcome};
use std::fs;
use std::path::Path;

pub use tares_data::cell;

/// Writes a file that nobody ever sees half written, by [`tares_data::write_file`].
///
/// # Errors
/// The directory cannot be written, or the disk is full. An old file of that name is then unchanged.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Outcome<()> {
    Ok(tares_data::write_file(path, |out| out.write_all(bytes))?)
}

/// Creates a directory and its parents.
///
/// # Errors
/// It cannot be created, or a file has its name.
pub fn create_directory(path: &Path) -> Outcome<()> {
    fs::create_dir_all(path).map_err(|error| Failure::file(path, "create the directory", &error))
}

/// Removes a file, if it is there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> Outcome<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::file(path, "remove", &error)),
        _ => Ok(()),
    }
}

/// Reads a text file.
///
/// # Errors
/// It cannot be read or is not UTF-8.
pub fn read_text(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|error| Failure::file(path, "read", &error))
}

/// Turns a name into part of a file name: only letters, digits, dots, dashes, `+`, and the `=` and `,` of parameters.
pub fn file_name(name: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || ['.', '=', ',', '+'].contains(&c);
    let safe: String = name.chars().map(|c| if safe(c) { c } else { '-' }).collect();
    safe.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_hold_nothing_but_letters_digits_and_the_signs_of_parameters() {
        assert_eq!(file_name("symmetric:0.5"), "symmetric-0.5");
        assert_eq!(file_name("npcl:rate=x0.5,train=hinge"), "npcl-rate=x0.5,train=hinge");
        assert_eq!(file_name("Co-teaching+"), "Co-teaching+");
        assert_eq!(file_name("../../etc/passwd"), "etc-passwd");
    }
}
