//! Files that are either complete or not there: written under another name in the same folder, then renamed.

use crate::error::{DataError, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Writes a file. Nobody ever sees half of it; an error leaves what was there before. A name that ends in `.gz` is gzipped.
///
/// # Errors
/// The operating system's: no such folder, no permission, no space.
pub fn write(path: &Path, content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>) -> Result<()> {
    let failed = |source| DataError::io(path, "write", source);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder).map_err(|source| DataError::io(folder, "create", source))?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tares-").suffix(".part");
    #[cfg(unix)]
    {
        // As any new file: what the user's umask allows.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder).map_err(failed)?;
    let gzipped = path.extension().is_some_and(|end| end == "gz");
    let run = || {
        let mut writer = BufWriter::with_capacity(1 << 16, file.as_file_mut());
        if gzipped {
            let mut encoder = GzEncoder::new(&mut writer, Compression::default());
            content(&mut encoder)?;
            encoder.finish()?;
        } else {
            content(&mut writer)?;
        }
        writer.flush()
    };
    run().map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
