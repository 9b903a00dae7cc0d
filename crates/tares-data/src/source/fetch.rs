//! The built-in data sets from their usual homes into the user's cache folder.

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::io::atomic;
use crate::load::{ReadProgress, Stage};
use crate::source::builtin::{Builtin, Published};
use crate::source::download::{Remote, download};
use crate::source::locate;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Downloads a built-in data set into `folder/<name>` (the user's cache folder if `None`) and returns that folder. Files that
/// are there already are checked and kept.
///
/// # Errors
/// As [`download`]; no cache folder is known.
pub fn fetch(builtin: Builtin, folder: Option<&Path>, progress: &mut dyn FnMut(ReadProgress)) -> Result<PathBuf> {
    let root = match folder.map(Path::to_owned).or_else(locate::cache_dir) {
        Some(root) => root,
        None => {
            return Err(DataError::NotFound {
                name: "the user's cache folder".into(),
                looked: Vec::new(),
                way: "set TARES_CACHE or HOME".into(),
            });
        }
    };
    let folder = root.join(builtin.name());
    for &Published { name, urls, bytes, sha256 } in builtin.files() {
        let path = folder.join(name);
        if unpacked(builtin, &folder) {
            continue;
        }
        download(Remote { urls, sha256, bytes }, &path, progress)?;
        if name.ends_with(".tar.gz") {
            unpack(&path, &folder, progress)?;
            std::fs::remove_file(&path).map_err(|source| DataError::io(&path, "remove", source))?;
        }
    }
    Ok(folder)
}

/// Whether an archive was downloaded, checked and unpacked before.
fn unpacked(builtin: Builtin, folder: &Path) -> bool {
    let names = builtin.unpacked();
    !names.is_empty() && names.iter().all(|name| folder.join(name).is_file())
}

/// Takes the files out of an archive into `folder`, without the folders inside; each is written whole or not at all.
pub(crate) fn unpack(archive: &Path, folder: &Path, progress: &mut dyn FnMut(ReadProgress)) -> Result<()> {
    let failed = |source| DataError::decode(archive, Place::File, "cannot be unpacked", source);
    let mut tar = tar::Archive::new(Input::open(archive)?);
    let mut done = 0;
    for entry in tar.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.file_name().map(|name| folder.join(name));
        // Only the last part of a member's name is used, so nothing can be written outside the folder.
        if let Some(path) = name.filter(|_| entry.header().entry_type().is_file()) {
            let size = entry.header().size().map_err(failed)?;
            atomic::write(&path, |out| io::copy(&mut entry.by_ref().take(size), out).map(drop))?;
            done += size;
            progress(ReadProgress { stage: Stage::Unpack, done, total: None });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_unpacked_flat_and_never_outside() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("a.tar");
        let mut bytes = Vec::new();
        for (name, content) in [("top/a.bin", "one"), ("../../evil.bin", "two")] {
            let mut header = tar::Header::new_gnu();
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(content.len() as u64);
            header.set_cksum();
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(content.as_bytes());
            bytes.resize(bytes.len().next_multiple_of(512), 0);
        }
        bytes.resize(bytes.len() + 1024, 0);
        std::fs::write(&archive, bytes).unwrap();
        let out = folder.path().join("x/y");
        unpack(&archive, &out, &mut |_| {}).unwrap();
        assert_eq!(std::fs::read(out.join("a.bin")).unwrap(), b"one");
        assert_eq!(std::fs::read(out.join("evil.bin")).unwrap(), b"two");
        assert!(!folder.path().join("evil.bin").exists());
    }
}
