//! Where built-in data sets are looked for: `data_dir`, then `TARES_DATA`, then the user's cache folder, then the system's
//! data packages. In each, the files may be plain or gzipped, directly inside or in a folder with one of the usual names.

use crate::error::{DataError, Result};
use crate::source::{Builtin, recognise};
use std::env;
use std::path::{Path, PathBuf};

/// The folder that holds a built-in data set, if one of the places has it. `digits` needs none.
///
/// # Errors
/// `data_dir` is given and does not exist.
pub fn locate(builtin: Builtin, data_dir: Option<&Path>) -> Result<Option<PathBuf>> {
    if let Some(folder) = data_dir
        && !folder.exists()
    {
        let source = std::io::Error::from(std::io::ErrorKind::NotFound);
        return Err(DataError::io(folder, "open the data folder", source));
    }
    Ok(places(builtin, data_dir).into_iter().find(|folder| recognise::builtin(builtin, folder).is_ok()))
}

/// Every folder that is looked at, in order.
pub fn places(builtin: Builtin, data_dir: Option<&Path>) -> Vec<PathBuf> {
    let inside = |root: PathBuf| builtin.folders().iter().map(move |name| root.join(name)).collect::<Vec<_>>();
    data_roots(data_dir).into_iter().flat_map(inside).collect()
}

/// The directories whose folders are looked at, in order.
pub fn data_roots(data_dir: Option<&Path>) -> Vec<PathBuf> {
    let roots = [
        data_dir.map(Path::to_owned),
        env::var_os("TARES_DATA").filter(|value| !value.is_empty()).map(PathBuf::from),
        cache_dir(),
        Some(PathBuf::from("/usr/share/datasets")),
    ];
    roots.into_iter().flatten().collect()
}

/// The folder downloads go to: `TARES_CACHE`, or `tares` in the user's cache folder. `None` if the user has no home.
pub fn cache_dir() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(cache) = folder("TARES_CACHE") {
        return Some(cache);
    }
    let user = if cfg!(windows) {
        folder("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        folder("HOME").map(|home| home.join("Library/Caches"))
    } else {
        folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
    };
    Some(user?.join("tares"))
}

/// The Tiny-ImageNet folder or archive inside a folder.
pub(crate) fn tiny_imagenet(folder: &Path) -> Option<PathBuf> {
    let unpacked = [folder.to_owned(), folder.join("tiny-imagenet-200")];
    if let Some(folder) = unpacked.into_iter().find(|folder| folder.join("wnids.txt").is_file()) {
        return Some(folder);
    }
    let mut archives: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("tiny-imagenet-200")
                && [".zip", ".tar", ".tar.gz", ".tgz"].iter().any(|end| name.ends_with(end))
        })
        .collect();
    archives.sort();
    archives.into_iter().next()
}
