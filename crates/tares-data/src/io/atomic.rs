//! The one way files and folders are written: whole, or not at all.
//!
//! The content goes to `.tares-….part` in the same folder, is brought to disk, and is renamed into place; then the folder is
//! brought to disk too. So a reader sees the old content or the new, even after a power loss.
//!
//! A part is locked while somebody writes to it, and the operating system releases the lock of a killed process. A part that
//! can be locked was therefore left behind: the next process that writes into the same folder removes it.

use crate::error::{DataError, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::{NamedTempFile, TempDir};

/// How the name of a part begins and ends.
const PREFIX: &str = ".tares-";
const SUFFIX: &str = ".part";

/// Writes a file. No reader ever sees half of it; an error leaves the old file unchanged. A name that ends in `.gz` is gzipped.
///
/// A new file gets the permissions the user's umask allows, an old one keeps its own. The target of a link is replaced, not
/// the link. A pipe or a device cannot be replaced: it takes the bytes as they come.
///
/// # Errors
/// The operating system's: no such folder, no permission, no space.
pub fn write(path: &Path, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    let gzipped = path.extension().is_some_and(|end| end == "gz");
    replace(path, |file| {
        let mut writer = BufWriter::with_capacity(1 << 16, file);
        if gzipped {
            let mut encoder = GzEncoder::new(&mut writer, Compression::default());
            content(&mut encoder)?;
            encoder.finish()?;
        } else {
            content(&mut writer)?;
        }
        writer.flush()
    })
}

/// Copies a file byte for byte, whatever its name ends with.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let mut source = File::open(from).map_err(|source| DataError::io(from, "open", source))?;
    replace(to, |file| io::copy(&mut source, file).map(drop))
}

/// A folder that is being filled.
pub(crate) struct NewFolder<'a> {
    /// Where it is now, and where it will be.
    part: &'a Path,
    path: &'a Path,
}

impl NewFolder<'_> {
    /// Writes a file into it; folders on the way are made.
    pub fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.make(name, |path| fs::write(path, bytes))
    }

    /// Copies a file into it, byte for byte.
    pub fn copy(&self, from: &Path, name: &str) -> Result<()> {
        self.make(name, |path| fs::copy(from, path).map(drop))
    }

    fn make(&self, name: &str, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
        let path = self.part.join(name);
        let made = fs::create_dir_all(folder_of(&path)).and_then(|()| write(&path));
        made.map_err(|source| DataError::io(self.path.join(name), "write", source))
    }
}

/// Writes a folder: `fill` gets an empty one beside `path`, which takes the place of `path` when everything in it is on disk.
/// What was at `path` before is gone then, so the caller decides first whether it may go.
pub(crate) fn write_folder(path: &Path, fill: impl FnOnce(&NewFolder<'_>) -> Result<()>) -> Result<()> {
    let failed = |source| DataError::io(path, "write", source);
    let around = folder_of(path);
    make_ready(around)?;
    let part = part_folder(around).map_err(failed)?;
    fill(&NewFolder { part: part.path(), path })?;
    sync_tree(part.path()).map_err(failed)?;
    // The old folder is a part from here on: it is removed now, or by the next process if this one is killed.
    let old = match fs::symlink_metadata(path) {
        Ok(_) => {
            let old = part_folder(around).map_err(failed)?;
            fs::rename(path, old.path()).map_err(failed)?;
            Some(old)
        }
        Err(_) => None,
    };
    if let Err(source) = fs::rename(part.path(), path) {
        if let Some(old) = old {
            // Back to where it was.
            let _ = fs::rename(old.path(), path);
        }
        return Err(failed(source));
    }
    // The guard would otherwise look for a folder that is not there any more.
    let _ = part.keep();
    sync_folder(around).map_err(failed)
}

fn replace(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let failed = |source| DataError::io(path, "write", source);
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file() && !old.is_dir()) {
        let mut file = OpenOptions::new().write(true).open(path).map_err(failed)?;
        return content(&mut file).map_err(failed);
    }
    let target = match old.is_some() && path.is_symlink() {
        true => fs::canonicalize(path).map_err(failed)?,
        false => path.to_owned(),
    };
    let folder = folder_of(&target);
    make_ready(folder)?;
    let mut part = part_file(folder).map_err(failed)?;
    content(part.as_file_mut()).map_err(failed)?;
    if let Some(old) = old {
        part.as_file().set_permissions(old.permissions()).map_err(failed)?;
    }
    part.as_file().sync_all().map_err(failed)?;
    part.persist(&target).map_err(|error| failed(error.error))?;
    sync_folder(folder).map_err(failed)
}

/// Brings the name of a file that was renamed into place to disk.
pub(crate) fn sync_folder_of(path: &Path) -> Result<()> {
    sync_folder(folder_of(path)).map_err(|source| DataError::io(path, "write", source))
}

/// The folder a path lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder if need be, and removes what killed processes left in it, once per process.
fn make_ready(folder: &Path) -> Result<()> {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    fs::create_dir_all(folder).map_err(|source| DataError::io(folder, "create", source))?;
    let place = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    if SWEPT.lock().unwrap_or_else(PoisonError::into_inner).insert(place) {
        sweep(folder);
    }
    Ok(())
}

/// Removes the parts in a folder that nobody writes to. Nothing depends on it, so what cannot be removed stays.
fn sweep(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if !is_part(&entry.file_name()) || !(kind.is_file() || kind.is_dir()) {
            continue;
        }
        // Held until the part is gone, so that a process that has just made it sees that and makes another.
        if let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = if kind.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        }
    }
}

fn is_part(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

/// A new, locked file under a part's name.
fn part_file(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        // As any new file: what the user's umask allows.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    loop {
        let part = builder.tempfile_in(folder)?;
        // Some network file systems have no locks. Then leftovers cannot be removed either.
        let _ = part.as_file().lock();
        if part.path().exists() {
            return Ok(part);
        }
    }
}

/// A folder under a part's name. Its lock ends with the value.
struct PartFolder {
    folder: TempDir,
    _lock: Option<File>,
}

impl PartFolder {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// No longer a part.
    fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

fn part_folder(around: &Path) -> io::Result<PartFolder> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o777));
    }
    loop {
        let folder = builder.tempdir_in(around)?;
        let lock = File::open(folder.path()).ok().filter(|file| file.lock().is_ok());
        if folder.path().exists() {
            return Ok(PartFolder { folder, _lock: lock });
        }
    }
}

/// Brings the files and folders below a folder to disk.
fn sync_tree(folder: &Path) -> io::Result<()> {
    let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.into_par_iter().try_for_each(|entry| match entry.file_type()?.is_dir() {
        true => sync_tree(&entry.path()),
        false => File::open(entry.path())?.sync_all(),
    })?;
    sync_folder(folder)
}

/// Brings the names in a folder to disk.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    // A folder may be open to writers and closed to readers.
    let Ok(folder) = File::open(folder) else { return Ok(()) };
    match folder.sync_all() {
        // Not every file system can.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        outcome => outcome,
    }
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn an_error_leaves_the_old_file_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, |out| out.write_all(b"old")).unwrap();
        let error = write(&path, |out| {
            out.write_all(b"new")?;
            Err(io::Error::from(io::ErrorKind::StorageFull))
        });
        assert!(error.unwrap_err().to_string().contains("a.csv: cannot write: "));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[cfg(unix)]
    #[test]
    fn an_old_file_keeps_its_permissions_and_a_new_one_gets_those_of_any_new_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
        fs::write(folder.path().join("plain"), b"").unwrap();
        write(&folder.path().join("new"), |out| out.write_all(b"x")).unwrap();
        assert_eq!(mode("new"), mode("plain"));
        for private in [0o600, 0o640] {
            fs::set_permissions(folder.path().join("new"), fs::Permissions::from_mode(private)).unwrap();
            write(&folder.path().join("new"), |out| out.write_all(b"y")).unwrap();
            assert_eq!(mode("new"), private);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_a_pipe_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("deep/real.csv"), folder.path().join("link.csv"));
        write(&real, |out| out.write_all(b"old")).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write(&link, |out| out.write_all(b"new")).unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&real).unwrap(), b"new");
        write(Path::new("/dev/null"), |out| out.write_all(b"gone")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        fs::write(file(".tares-abc123.part"), b"half").unwrap();
        fs::create_dir_all(file(".tares-def456.part/cat")).unwrap();
        fs::write(file(".tares-def456.part/cat/1.png"), b"half").unwrap();
        // Not ours, or not a part.
        fs::write(file(".tares-notes"), b"mine").unwrap();
        fs::write(file("other.part"), b"mine").unwrap();
        let (busy, busy_folder) = (part_file(folder.path()).unwrap(), part_folder(folder.path()).unwrap());
        write(&file("a.csv"), |out| out.write_all(b"new")).unwrap();
        let mut left = [".tares-notes", "a.csv", "other.part"].map(str::to_owned).to_vec();
        for path in [busy.path(), busy_folder.path()] {
            left.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
        left.sort();
        assert_eq!(names(folder.path()), left);
    }

    #[test]
    fn a_folder_takes_the_place_of_the_old_one_only_when_it_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("out");
        write_folder(&out, |folder| folder.write("one", b"x")).unwrap();
        assert_eq!(names(&out), ["one"]);
        let failed = write_folder(&out, |folder| {
            folder.write("cat/half", b"x")?;
            Err(DataError::io(&out, "write", io::ErrorKind::StorageFull.into()))
        });
        assert!(failed.is_err());
        assert_eq!(names(&out), ["one"]);
        write_folder(&out, |folder| folder.copy(&out.join("one"), "two")).unwrap();
        assert_eq!(names(&out), ["two"]);
        assert_eq!(names(place.path()), ["out"]);
    }

    #[test]
    fn copies_are_not_gzipped_once_more() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("a.gz"), folder.path().join("b.gz"));
        write(&from, |out| out.write_all(b"text")).unwrap();
        copy(&from, &to).unwrap();
        let bytes = fs::read(&from).unwrap();
        assert!(bytes.starts_with(&[0x1f, 0x8b]));
        assert_eq!(fs::read(&to).unwrap(), bytes);
    }
}
