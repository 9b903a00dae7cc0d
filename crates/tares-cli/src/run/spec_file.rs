//! Spec files: TOML with a version number. An unknown key is an error with line and column.

use crate::files::read_text;
use crate::ui::failure::{Failure, Outcome};
use serde::{Deserialize, Serialize};
use std::path::Path;
use tares_core::Error;

/// The version of spec files. It is raised whenever an old file would change its meaning.
pub const VERSION: u32 = 1;

/// Reads a TOML file into a [`Spec`](super::spec::Spec) or an [`Experiment`](super::experiment::Experiment).
///
/// # Errors
/// The file cannot be read; a wrong or unknown key, with line and column; a version this program does not know.
pub fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Outcome<T> {
    parse(&read_text(path)?).map_err(|failure| failure.within(path.display()))
}

/// Reads TOML text.
///
/// # Errors
/// A wrong or unknown key, with line and column; a version this program does not know.
pub fn parse<T: for<'de> Deserialize<'de>>(text: &str) -> Outcome<T> {
    // Check the version first: in a file of another version, errors about keys would mislead.
    if let Ok(table) = text.parse::<toml::Table>() {
        match table.get("version") {
            Some(toml::Value::Integer(version)) => check_version(u32::try_from(*version).unwrap_or(u32::MAX))?,
            Some(other) => return Err(Error::value("version", VERSION.to_string(), other).into()),
            None => {
                return Err(Failure::new(format!("version must be {VERSION}, got none"))
                    .way_out(format!("add `version = {VERSION}` at the top of the file")));
            }
        }
    }
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start.min(text.len()));
        let line = text[..start].matches('\n').count() + 1;
        let column = text[..start].rsplit('\n').next().map_or(0, |before| before.chars().count()) + 1;
        Failure::new(format!("line {line}, column {column}: {}", error.message().replace('\n', " ")))
    })
}

/// As TOML text.
///
/// # Errors
/// A value TOML cannot hold.
pub fn to_toml(value: &impl Serialize) -> Outcome<String> {
    toml::to_string(value).map_err(|error| Failure::new(format!("this cannot be written as TOML: {error}")))
}

/// Refuses files of other versions, and says what to do.
///
/// # Errors
/// Another version.
pub fn check_version(version: u32) -> Outcome<()> {
    match version {
        VERSION => Ok(()),
        newer if newer > VERSION => {
            Err(Failure::new(format!("version must be {VERSION}, got {newer}: the file is from a newer tares"))
                .way_out("update tares"))
        }
        older => Err(Failure::new(format!("version must be {VERSION}, got {older}"))
            .way_out(format!("change it to `version = {VERSION}`; version {older} files had the same keys"))),
    }
}
