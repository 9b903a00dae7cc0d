//! Writing files so that a reader sees the old content or the new, never a part.

use crate::ui::failure::{Failure, Outcome};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes `bytes` to a temporary file beside `path`, flushes it to disk and renames it.
///
/// # Errors
/// The directory cannot be written, or the disk is full; the old file is then still whole.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Outcome<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let write = || {
        let mut file = tempfile::Builder::new().prefix(".tares-").tempfile_in(directory)?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        permit_like_created(&file)?;
        file.persist(path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error| Failure::file(path, "write", &error))
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

/// Temporary files are private; what we leave behind should be readable like any other file the user makes.
#[cfg(unix)]
fn permit_like_created(file: &tempfile::NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn permit_like_created(_: &tempfile::NamedTempFile) -> std::io::Result<()> {
    Ok(())
}
