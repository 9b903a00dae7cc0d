//! Path → format, by content (magic numbers, record sizes, file names inside a folder) before extension.

use crate::error::{DataError, Place, Result};
use crate::format::cifar::Layout;
use crate::format::npz::Npz;
use crate::format::parquet::{ParquetFile, pictures};
use crate::format::picture_list::PictureList;
use crate::format::{arrays, cifar, idx, image, jsonl, npy};
use crate::io::{Input, utf16};
use crate::load::LoadOptions;
use crate::source::Builtin;
use crate::source::Origin;
use crate::source::locate;
use std::path::{Path, PathBuf};

/// The format of a file or folder with labelled rows.
///
/// # Errors
/// Nothing there; content of no known format.
pub fn recognise(path: &Path, options: &LoadOptions) -> Result<Origin> {
    find(path, options, true)
}

/// The same for rows to predict, which need no labels.
pub(crate) fn new_rows(path: &Path, options: &LoadOptions) -> Result<Origin> {
    find(path, options, false)
}

fn find(path: &Path, options: &LoadOptions, labelled: bool) -> Result<Origin> {
    let metadata = std::fs::metadata(path).map_err(|source| DataError::io(path, "open", source))?;
    if metadata.is_dir() { folder(path) } else { file(path, options, labelled) }
}

/// The files of a built-in data set in its folder.
///
/// # Errors
/// The folder does not hold it.
pub(crate) fn builtin(builtin: Builtin, folder: &Path) -> Result<Origin> {
    let found = match builtin {
        Builtin::Digits => Some(Origin::Digits),
        Builtin::Mnist | Builtin::FashionMnist => idx::find(folder).map(Origin::Idx),
        Builtin::Cifar10 | Builtin::Cifar100 => {
            let ten = builtin == Builtin::Cifar10;
            cifar::find(folder).filter(|files| (files.layout == Layout::Ten) == ten).map(Origin::Cifar)
        }
        Builtin::TinyImageNet => locate::tiny_imagenet(folder).map(|root| Origin::Folder { root, tiny: true }),
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
    if let Some(train) = one_of(path, &["train.jsonl", "train.jsonl.gz"]) {
        let test = one_of(path, &["test.jsonl", "test.jsonl.gz", "val.jsonl", "val.jsonl.gz"]);
        return Ok(Origin::Jsonl { train, test });
    }
    if let Some(root) = locate::tiny_imagenet(path) {
        return Ok(Origin::Folder { root, tiny: true });
    }
    if let Some(files) = arrays::find(path) {
        let pictures = arrays::is_pictures(npy::Stored::open(&files.train.0)?.header());
        return Ok(Origin::Npy { files, pictures });
    }
    if let Some((train, test)) = parquet_shards(path) {
        let pictures = pictures::picture_columns(&ParquetFile::open(&train[0])?).is_some();
        return Ok(Origin::Parquet { train, test, pictures });
    }
    Ok(Origin::Folder { root: path.into(), tiny: false })
}

/// Parquet files of a folder (or of its `data/`), those named after a test split apart.
fn parquet_shards(folder: &Path) -> Option<(Vec<PathBuf>, Vec<PathBuf>)> {
    let list = |folder: &Path| {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "parquet") && path.is_file());
        files.sort();
        files
    };
    let files =
        [folder.to_owned(), folder.join("data")].iter().map(|folder| list(folder)).find(|files| !files.is_empty())?;
    let starts = |path: &PathBuf, names: &[&str]| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        names.iter().any(|start| name.starts_with(start))
    };
    let (test, train): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| starts(path, &["test"]));
    let (val, train): (Vec<_>, Vec<_>) = train.into_iter().partition(|path| starts(path, &["val"]));
    match (train.is_empty(), test.is_empty()) {
        (true, _) => None,
        (_, true) => Some((train, val)),
        _ => Some((train, test)),
    }
}

fn one_of(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    names.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn file(path: &Path, options: &LoadOptions, labelled: bool) -> Result<Origin> {
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
        return Ok(Origin::Idx(idx::IdxFiles { train, test: None }));
    }
    if head.starts_with(b"\x93NUMPY") {
        let header = npy::read_header(&mut input)?.0;
        let labels = options.labels_file.clone().or_else(|| arrays::labels_of(path));
        if labelled && labels.is_none() {
            let problem = "holds features; say where their labels are with --labels";
            return Err(DataError::format(path, Place::File, problem));
        }
        let files = arrays::ArrayFiles { train: (path.into(), labels), test: None };
        return Ok(Origin::Npy { files, pictures: arrays::is_pictures(&header) });
    }
    if head.starts_with(b"PK") {
        return zipped(path, options, labelled);
    }
    if head.starts_with(b"PAR1") {
        let pictures = pictures::picture_columns(&ParquetFile::open(path)?).is_some();
        return Ok(Origin::Parquet { train: vec![path.into()], test: Vec::new(), pictures });
    }
    if head.get(257..262) == Some(b"ustar") {
        return Ok(archive(path));
    }
    if !labelled && image::header(head).is_ok() {
        return Ok(Origin::Picture(path.into()));
    }
    if utf16::byte_order(head).is_some() || is_text(head) {
        return text(path, input, options.label.as_deref());
    }
    if let Some(layout) = cifar::layout_of(path) {
        return Ok(Origin::Cifar(cifar::CifarFiles { layout, train: vec![path.into()], test: None }));
    }
    let problem = "is of no format this program knows (IDX, CIFAR, CSV, TSV, JSON Lines, Parquet, NPY, NPZ, pictures)";
    Err(DataError::format(path, Place::File, problem))
}

/// Text is JSON Lines if its first line is an object, else CSV: a list of pictures or a table.
fn text(path: &Path, input: Input, label: Option<&str>) -> Result<Origin> {
    let mut input = input.text()?;
    let head = input.peek()?;
    if jsonl::is_jsonl(head) {
        return Ok(Origin::Jsonl { train: path.into(), test: None });
    }
    if jsonl::is_other_json(head) {
        let problem = "is JSON, but not one object per line: save it as JSON Lines \
                       (pandas: to_json(path, orient=\"records\", lines=True))";
        return Err(DataError::format(path, Place::File, problem));
    }
    let whole = head.len() as u64 >= std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
    Ok(match PictureList::recognise(path, head, whole, label) {
        Some(list) => Origin::PictureList(list),
        None => Origin::Csv { train: path.into(), test: None },
    })
}

/// A zip archive is NPZ if it holds arrays, else pictures.
fn zipped(path: &Path, options: &LoadOptions, labelled: bool) -> Result<Origin> {
    let mut npz = Npz::open(path)?;
    if npz.names().is_empty() {
        return Ok(archive(path));
    }
    let names = npz.find(options.label.as_deref(), labelled)?;
    let pictures = arrays::is_pictures(&npz.header(&names.train.0)?);
    Ok(Origin::Npz { path: path.into(), names, pictures })
}

fn archive(path: &Path) -> Origin {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    Origin::Folder { root: path.into(), tiny: name.starts_with("tiny-imagenet") }
}

/// Text has no control characters besides tabs and line ends.
fn is_text(head: &[u8]) -> bool {
    head.iter().all(|&byte| byte >= 32 || matches!(byte, b'\t' | b'\n' | b'\r' | 12))
}
