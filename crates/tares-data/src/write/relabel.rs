//! A data set back into its own format with other labels. Everything but the labels stays as it was: pixels, columns, cells,
//! quotes, compression.
//!
//! The rows of the data set must be rows of what was loaded ([`Dataset::stored`] says which); rows that are not among them
//! keep their labels. Test files are copied.

use crate::error::{DataError, Place, Result};
use crate::format::npz::Npz;
use crate::format::parquet::ParquetFile;
use crate::format::picture_list::PictureList;
use crate::format::{cifar, idx, npy};
use crate::io::Input;
use crate::io::atomic;
use crate::load::Loaded;
use crate::source::Origin;
use crate::write::{relabel_csv, relabel_folder, relabel_jsonl, relabel_parquet};
use std::ffi::OsStr;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Label, Row, Shape};

/// Largest text file that is relabelled.
const MOST_TEXT: u64 = 1 << 36;

/// Writes the training rows of `loaded` with the given labels of `data` into `folder`, in the format they came in and under
/// the same file names. Returns the files written.
///
/// Pictures in class folders, or in an archive of them, become class folders: `folder` is replaced as a whole.
///
/// # Errors
/// A single picture; rows that are not of `loaded`; a `folder` that overlaps with class folders or holds files of others;
/// what the operating system refuses.
pub fn write_relabelled(loaded: &Loaded, data: &Dataset, folder: &Path) -> Result<Vec<PathBuf>> {
    write(loaded, data, &[], folder, false)
}

/// The same, and labels for some of the rows that had none: (row of [`Loaded::unlabelled`], label). `out` may be the file itself
/// where [`is_one_file`] says so.
///
/// # Errors
/// As [`write_relabelled`].
pub fn write_labelled(loaded: &Loaded, data: &Dataset, added: &[(usize, Label)], out: &Path) -> Result<Vec<PathBuf>> {
    write(loaded, data, added, out, is_one_file(loaded, out))
}

/// Whether `out` can only mean a file: it is no folder, and ends like the one file that the data came from.
pub fn is_one_file(loaded: &Loaded, out: &Path) -> bool {
    let [file] = &loaded.origin.files()[..] else { return false };
    let same = |a: &OsStr, b: &OsStr| a.eq_ignore_ascii_case(b);
    let alike = out.extension().zip(file.extension()).is_some_and(|(out, file)| same(out, file));
    alike
        && file.is_file()
        && !out.is_dir()
        && !matches!(loaded.origin, Origin::Folder { .. } | Origin::PictureList(_) | Origin::Picture(_))
}

fn write(
    loaded: &Loaded,
    data: &Dataset,
    added: &[(usize, Label)],
    folder: &Path,
    one_file: bool,
) -> Result<Vec<PathBuf>> {
    let rows = (0..data.len()).map(|index| (data.stored(index), data.given()[index]));
    let new = loaded.unlabelled.iter().flat_map(|rest| added.iter().map(|&(row, label)| (rest.stored(row), label)));
    let rows = rows.chain(new);
    let mut labels: Vec<Option<Label>> = Vec::new();
    for (row, label) in rows {
        if row >= labels.len() {
            labels.resize(row + 1, None);
        }
        labels[row] = Some(label);
    }
    let job = Job { loaded, data, folder, one_file, labels };
    match &loaded.origin {
        Origin::Digits => job.digits(),
        Origin::Idx(files) => job.idx(files),
        Origin::Cifar(files) => job.cifar(files),
        Origin::Csv { train, test } => job.csv(train, test.as_deref()),
        Origin::Jsonl { train, test } => job.jsonl(train, test.as_deref()),
        Origin::Parquet { train, test, .. } => job.parquet(train, test),
        Origin::Npy { files, .. } => job.npy(files),
        Origin::Npz { path, names, .. } => job.npz(path, names.train.1.as_deref()),
        Origin::PictureList(list) => job.picture_list(list),
        Origin::Folder { root, tiny } => relabel_folder::relabel(loaded, data, root, *tiny, folder),
        Origin::Picture(path) => Err(DataError::format(path, Place::File, "is one picture, which has no label")),
    }
}

struct Job<'a> {
    loaded: &'a Loaded,
    data: &'a Dataset,
    folder: &'a Path,
    /// Whether `folder` is the one file to write.
    one_file: bool,
    /// The new label of every stored row that has one.
    labels: Vec<Option<Label>>,
}

impl Job<'_> {
    /// Where a file goes; never over the file it comes from.
    fn out(&self, from: &Path) -> Result<PathBuf> {
        let to = match self.one_file {
            true => self.folder.to_owned(),
            false => self.folder.join(from.file_name().unwrap_or_default()),
        };
        if fs::canonicalize(&to).is_ok_and(|to| fs::canonicalize(from).is_ok_and(|from| from == to)) {
            return Err(DataError::format(to, Place::File, "is the file that is read: write to another place"));
        }
        Ok(to)
    }

    /// A copy, byte for byte.
    fn copy(&self, from: &Path) -> Result<PathBuf> {
        let to = self.out(from)?;
        atomic::copy(from, &to)?;
        Ok(to)
    }

    fn write(&self, from: &Path, bytes: &[u8]) -> Result<PathBuf> {
        let to = self.out(from)?;
        atomic::write(&to, |out| out.write_all(bytes))?;
        Ok(to)
    }

    fn class_name(&self, label: Label) -> &str {
        &self.data.class_names()[label as usize]
    }

    /// The new class names of a file's rows, which begin at stored row `start`.
    fn names(&self, start: usize, rows: usize) -> Vec<Option<&str>> {
        (start..start + rows).map(|row| Some(self.class_name(self.labels.get(row).copied().flatten()?))).collect()
    }

    fn fits(&self, path: &Path, rows: usize) -> Result<()> {
        if self.labels.len() <= rows {
            return Ok(());
        }
        let problem = format!("has {rows} rows, but there is a label for row {}", self.labels.len() - 1);
        Err(DataError::format(path, Place::File, problem))
    }

    /// The embedded digits have no file: they are written as IDX, pixels as they were.
    fn digits(&self) -> Result<Vec<PathBuf>> {
        let part = |data: &Dataset, prefix: &str| {
            let Shape::Image { height, width, .. } = data.shape() else { return Ok(Vec::new()) };
            let mut pixels = Vec::with_capacity(data.len() * height * width);
            for index in 0..data.len() {
                if let Row::Bytes(bytes) = data.row(index) {
                    pixels.extend_from_slice(bytes);
                }
            }
            let labels: Vec<u8> = data.given().iter().map(|&label| label as u8).collect();
            let images = Path::new(prefix).with_file_name(format!("{prefix}-images-idx3-ubyte"));
            let images = self.write(&images, &idx::encode(&[data.len(), height, width], &pixels))?;
            let labels =
                self.write(Path::new(&format!("{prefix}-labels-idx1-ubyte")), &idx::encode(&[data.len()], &labels))?;
            Ok::<_, DataError>(vec![images, labels])
        };
        let mut written = part(self.data, "train")?;
        if let Some(test) = &self.loaded.test {
            written.extend(part(test, "t10k")?);
        }
        Ok(written)
    }

    fn idx(&self, files: &idx::IdxFiles) -> Result<Vec<PathBuf>> {
        let (images, labels) = &files.train;
        let mut array = idx::read(Input::open(labels)?)?;
        self.fits(labels, array.values.len())?;
        for (value, label) in array.values.iter_mut().zip(&self.labels) {
            if let Some(label) = label {
                *value = byte(labels, *label)?;
            }
        }
        let images = match self.data.foreign() {
            None => self.copy(images)?,
            Some(_) => {
                let mut array = idx::read(Input::open(images)?)?;
                self.pixels(images, &mut array.values)?;
                self.write(images, &idx::encode(&array.sizes, &array.values))?
            }
        };
        let mut written = vec![images, self.write(labels, &idx::encode(&array.sizes, &array.values))?];
        for file in files.test.iter().flat_map(|(images, labels)| [images, labels]) {
            written.push(self.copy(file)?);
        }
        Ok(written)
    }

    /// Puts the pictures of the data set over those of the file, where open-set noise changed them.
    fn pixels(&self, path: &Path, pixels: &mut [u8]) -> Result<()> {
        let size = self.data.shape().size();
        if pixels.len() != size * self.data.len() {
            return Err(DataError::format(path, Place::File, "has other pictures than the data with foreign ones"));
        }
        for (index, pixels) in pixels.chunks_exact_mut(size).enumerate() {
            if let Row::Bytes(bytes) = self.data.row(index) {
                pixels.copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    fn cifar(&self, files: &cifar::CifarFiles) -> Result<Vec<PathBuf>> {
        let layout = match (files.layout, self.data.classes()) {
            (cifar::Layout::Ten, _) => cifar::Layout::Ten,
            (_, 20) => cifar::Layout::Coarse,
            _ => cifar::Layout::Fine,
        };
        let mut written = Vec::new();
        let mut row = 0;
        for file in &files.train {
            let mut bytes = Input::open(file)?.rest(MOST_TEXT)?;
            for record in bytes.chunks_exact_mut(layout.record()) {
                if let Some(label) = self.labels.get(row).copied().flatten() {
                    record[layout.label_position()] = byte(file, label)?;
                }
                if self.data.foreign().is_some()
                    && let Some(Row::Bytes(pixels)) = (row < self.data.len()).then(|| self.data.row(row))
                {
                    record[layout.label_bytes()..].copy_from_slice(pixels);
                }
                row += 1;
            }
            written.push(self.write(file, &bytes)?);
        }
        self.fits(&files.train[0], row)?;
        let names = ["batches.meta.txt", "fine_label_names.txt", "coarse_label_names.txt"];
        let folder = files.train[0].parent().unwrap_or(Path::new(""));
        for file in files.test.iter().cloned().chain(names.iter().map(|name| folder.join(name)).filter(|p| p.is_file()))
        {
            written.push(self.copy(&file)?);
        }
        Ok(written)
    }

    fn csv(&self, train: &Path, test: Option<&Path>) -> Result<Vec<PathBuf>> {
        let rules = self.loaded.reading.table.as_ref();
        let Some((rules, label)) = rules.and_then(|rules| Some((rules, rules.label.as_ref()?))) else {
            return Err(DataError::format(train, Place::File, "has no label column"));
        };
        let text = Input::open(train)?.text()?.rest(MOST_TEXT)?;
        let delimiter = rules.delimiter.and_then(|mark| u8::try_from(mark).ok()).unwrap_or(b',');
        let rows = relabel_csv::rows(&text, delimiter, rules.header);
        self.fits(train, rows)?;
        let text = relabel_csv::relabel(&text, delimiter, label, rules.header, &self.names(0, rows))
            .map_err(|problem| DataError::format(train, Place::File, problem))?;
        let mut written = vec![self.write(train, &text)?];
        written.extend(test.map(|test| self.copy(test)).transpose()?);
        Ok(written)
    }

    /// The list with other labels; its paths stay as they are, so it belongs where the old one is.
    fn picture_list(&self, list: &PictureList) -> Result<Vec<PathBuf>> {
        let listed = list.read(true)?;
        let Some((delimiter, label, header)) = listed.dialect() else {
            return Err(DataError::format(&list.path, Place::File, "has no label column"));
        };
        let mut paths: Vec<Option<String>> = vec![None; self.labels.len()];
        let Loaded { train, test, unlabelled, .. } = self.loaded;
        for part in [Some(train), test.as_ref(), unlabelled.as_ref()].into_iter().flatten() {
            for index in 0..part.len() {
                if let Some(path) = paths.get_mut(part.stored(index)) {
                    *path = Some(part.id(index));
                }
            }
        }
        let changes = paths.into_iter().zip(&self.labels);
        let changes: Vec<(String, &str)> =
            changes.filter_map(|(path, label)| Some((path?, self.class_name((*label)?)))).collect();
        let text = Input::open(&list.path)?.text()?.rest(MOST_TEXT)?;
        let text = relabel_csv::relabel(&text, delimiter, label, header, &listed.relabelled(&changes))
            .map_err(|problem| DataError::format(&list.path, Place::File, problem))?;
        Ok(vec![self.write(&list.path, &text)?])
    }

    fn jsonl(&self, train: &Path, test: Option<&Path>) -> Result<Vec<PathBuf>> {
        let Some(label) = self.loaded.reading.table.as_ref().and_then(|rules| rules.label.as_ref()) else {
            return Err(DataError::format(train, Place::File, "has no label column"));
        };
        let text = Input::open(train)?.text()?.rest(MOST_TEXT)?;
        let rows = relabel_jsonl::rows(&text);
        self.fits(train, rows)?;
        let text = relabel_jsonl::relabel(&text, label, &self.names(0, rows))
            .map_err(|(line, problem)| DataError::format(train, Place::Line(line), problem))?;
        let mut written = vec![self.write(train, &text)?];
        written.extend(test.map(|test| self.copy(test)).transpose()?);
        Ok(written)
    }

    fn parquet(&self, train: &[PathBuf], test: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let rules = self.loaded.reading.table.as_ref();
        let mut written = Vec::new();
        let mut start = 0;
        for path in train {
            let file = ParquetFile::open(path)?;
            let rows = file.rows();
            let label = rules.and_then(|rules| rules.label.clone());
            let bytes = relabel_parquet::relabel(&file, label.as_deref(), &self.names(start, rows))?;
            written.push(self.write(path, &bytes)?);
            start += rows;
        }
        self.fits(&train[0], start)?;
        for file in test {
            written.push(self.copy(file)?);
        }
        Ok(written)
    }

    fn npy(&self, files: &crate::format::arrays::ArrayFiles) -> Result<Vec<PathBuf>> {
        let Some(labels) = &files.train.1 else {
            return Err(DataError::format(&files.train.0, Place::File, "has no labels"));
        };
        let mut input = Input::open(labels)?;
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(|source| DataError::io(labels, "read", source))?;
        let bytes = self.npy_labels(labels, bytes)?;
        let mut written = vec![self.copy(&files.train.0)?, self.write(labels, &bytes)?];
        for file in files.test.iter().flat_map(|(features, labels)| [features, labels]) {
            written.push(self.copy(file)?);
        }
        Ok(written)
    }

    /// The bytes of a label array with the new labels, in the array's own type.
    fn npy_labels(&self, path: &Path, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        let bad = |problem: String| DataError::format(path, Place::File, problem);
        let (header, start) = npy::read_header(&mut Input::from_bytes(path, bytes.clone())?)?;
        self.fits(path, header.rows())?;
        let size = header.kind.size();
        for (row, label) in self.labels.iter().enumerate() {
            let Some(label) = label else { continue };
            let element = npy::element(&header, self.class_name(*label)).map_err(bad)?;
            bytes[start + row * size..start + (row + 1) * size].copy_from_slice(&element);
        }
        Ok(bytes)
    }

    fn npz(&self, path: &Path, labels: Option<&str>) -> Result<Vec<PathBuf>> {
        let Some(labels) = labels else { return Err(DataError::format(path, Place::File, "has no labels")) };
        let failed = |cause| DataError::decode(path, Place::File, "cannot be copied as NPZ", cause);
        let mut npz = Npz::open(path)?;
        let member = format!("{labels}.npy");
        let array = npz.raw(labels)?;
        let array = self.npy_labels(path, array)?;
        let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let archive = npz.archive();
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(failed)?;
            if entry.name().map_err(failed)? == member.as_str() {
                let options = zip::write::SimpleFileOptions::default().compression_method(entry.compression());
                drop(entry);
                out.start_file(member.as_str(), options).map_err(failed)?;
                out.write_all(&array).map_err(|source| DataError::io(path, "write", source))?;
            } else {
                out.raw_copy_file(entry).map_err(failed)?;
            }
        }
        let bytes = out.finish().map_err(failed)?.into_inner();
        Ok(vec![self.write(path, &bytes)?])
    }
}

fn byte(path: &Path, label: Label) -> Result<u8> {
    u8::try_from(label).map_err(|_| DataError::format(path, Place::File, format!("cannot hold label {label}")))
}
