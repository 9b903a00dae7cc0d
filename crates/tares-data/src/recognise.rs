//! Path → format, by content (magic numbers, record sizes, file names inside a folder) before extension.

use crate::cifar;
use crate::error::{DataError, Place, Result};
use crate::idx;
use crate::load::LoadOptions;
use crate::open::Input;
use crate::origin::Origin;
use crate::source::Builtin;
use std::path::{Path, PathBuf};

/// The format of a file or folder with labelled rows.
///
/// # Errors
/// Nothing there; content of no known format.
pub fn recognise(path: &Path, _options: &LoadOptions) -> Result<Origin> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::io(path, "open", source))?;
    if metadata.is_dir() { folder(path) } else { file(path) }
}

/// The files of a built-in data set in its folder.
///
/// # Errors
/// The folder does not hold it.
pub(crate) fn builtin(builtin: Builtin, folder: &Path) -> Result<Origin> {
    let found = match builtin {
        Builtin::Digits => Some(Origin::Digits),
        Builtin::Mnist | Builtin::FashionMnist => idx::find(folder).map(Origin::Idx),
        Builtin::Cifar10 | Builtin::Cifar100 => cifar::find(folder).map(Origin::Cifar),
        Builtin::TinyImageNet => None,
    };
    found.ok_or_else(|| DataError::format(folder, Place::File, format!("does not hold {builtin}")))
}

fn folder(path: &Path) -> Result<Origin> {
    if let Some(files) = idx::find(path) {
        return Ok(Origin::Idx(files));
    }
    if let Some(files) = cifar::find(path) {
        return Ok(Origin::Cifar(files));
    }
    if let Some(train) = one_of(path, &["train.csv", "train.csv.gz", "train.tsv", "train.tsv.gz"]) {
        let test = one_of(path, &["test.csv", "test.csv.gz", "test.tsv", "test.tsv.gz", "val.csv", "val.tsv"]);
        return Ok(Origin::Csv { train, test });
    }
    Err(DataError::format(path, Place::File, "holds nothing this program can read"))
}

fn one_of(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn file(path: &Path) -> Result<Origin> {
    let mut input = Input::open(path)?;
    let head = input.peek()?;
    if head.is_empty() {
        return Err(DataError::format(path, Place::File, "is empty"));
    }
    if head.starts_with(&[0, 0, 8]) && head.get(3).is_some_and(|sizes| (1..=4).contains(sizes)) {
        let Some(train) = idx::partner(path) else {
            let problem = "is IDX, but the file that belongs to it (…images… / …labels…) is not next to it";
            return Err(DataError::format(path, Place::File, problem));
        };
        return Ok(Origin::Idx(idx::Files { train, test: None }));
    }
    if is_text(head) {
        return Ok(Origin::Csv { train: path.into(), test: None });
    }
    if let Some(layout) = cifar::layout_of(path) {
        return Ok(Origin::Cifar(cifar::Files { layout, train: vec![path.into()], test: None }));
    }
    let problem = "is of no format this program knows (IDX, CIFAR, CSV, TSV, Parquet, NPY, NPZ, pictures)";
    Err(DataError::format(path, Place::File, problem))
}

/// Text has no control characters besides tabs and line ends.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|&byte| byte >= 32 || matches!(byte, b'\t' | b'\n' | b'\r' | 12))
}
