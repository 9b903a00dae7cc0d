//! NPZ: NumPy arrays in a zip archive, by name.

use crate::error::{DataError, Place, Result};
use crate::format::arrays;
use crate::format::npy::{self, Array, Header};
use crate::io::Input;
use crate::io::unpack::Budget;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use zip::ZipArchive;
use zip::read::ZipFile;

/// Usual names of features and labels; the first pair that is there is used.
const PAIRS: [(&str, &str); 14] = [
    ("x_train", "y_train"),
    ("X_train", "y_train"),
    ("train_images", "train_labels"),
    ("train_x", "train_y"),
    ("x", "y"),
    ("X", "y"),
    ("X", "Y"),
    ("data", "labels"),
    ("data", "target"),
    ("images", "labels"),
    ("features", "labels"),
    ("embeddings", "labels"),
    ("features", "y"),
    ("arr_0", "arr_1"),
];

/// The same for the test part.
const TEST_PAIRS: [(&str, &str); 6] = [
    ("x_test", "y_test"),
    ("X_test", "y_test"),
    ("test_images", "test_labels"),
    ("test_x", "test_y"),
    ("x_val", "y_val"),
    ("val_images", "val_labels"),
];

/// The names of the arrays that make a data set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayNames {
    /// Features and labels to train on; labels may be missing for new rows.
    pub train: (String, Option<String>),
    /// Features and labels to test on.
    pub test: Option<(String, String)>,
}

/// An open archive of arrays.
pub struct Npz<R: Read + Seek = BufReader<File>> {
    path: PathBuf,
    archive: ZipArchive<R>,
    budget: Budget,
}

impl Npz {
    /// Opens an archive.
    ///
    /// # Errors
    /// No zip archive.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| DataError::io(path, "open", source))?;
        Self::new(path, BufReader::new(file))
    }
}

impl<R: Read + Seek> Npz<R> {
    /// The same over any bytes; `path` is for messages.
    ///
    /// # Errors
    /// No zip archive.
    pub fn new(path: impl AsRef<Path>, mut bytes: R) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let packed = bytes.seek(SeekFrom::End(0)).map_err(|source| DataError::io(&path, "read", source))?;
        let budget = Budget::new(&path, packed)?;
        let archive = ZipArchive::new(bytes)
            .map_err(|cause| DataError::decode(&path, Place::File, "cannot be read as NPZ (zip)", cause))?;
        Ok(Self { path, archive, budget })
    }

    /// The names of the arrays.
    pub fn names(&self) -> Vec<String> {
        self.archive.file_names().flatten().filter_map(|name| Some(name.strip_suffix(".npy")?.to_owned())).collect()
    }

    /// The header of an array.
    ///
    /// # Errors
    /// No such array; no NPY header.
    pub fn header(&mut self, name: &str) -> Result<Header> {
        let path = self.place(name);
        let entry = entry(&mut self.archive, &path, name)?;
        let mut head = Vec::new();
        // A header is at most 64 kB and 12 bytes.
        entry.take((1 << 16) + 12).read_to_end(&mut head).map_err(|source| DataError::io(&path, "unpack", source))?;
        npy::read_header(&mut Input::from_bytes(self.place(name), head)?).map(|(header, _)| header)
    }

    /// An array.
    ///
    /// # Errors
    /// No such array; whatever [`npy::read`] refuses; more than an archive of this size may unpack to.
    pub fn array(&mut self, name: &str) -> Result<Array> {
        let header = self.header(name)?;
        if !arrays::is_pictures(&header) && header.kind.is_number() {
            // In a table every number takes 8 bytes, however narrow it is in the file, and every row its label and id.
            let path = self.place(name);
            let held = entry(&mut self.archive, &path, name)?.size() / header.kind.size().max(1) as u64;
            let (count, rows) = (held.min(header.count() as u64), held.min(header.rows() as u64));
            self.budget.allow(count.saturating_mul(8).saturating_add(rows.saturating_mul(64)))?;
        }
        let bytes = self.raw(name)?;
        npy::from_bytes(self.place(name), bytes)
    }

    /// The bytes of an array's file.
    pub(crate) fn raw(&mut self, name: &str) -> Result<Vec<u8>> {
        let path = self.place(name);
        let entry = entry(&mut self.archive, &path, name)?;
        let claimed = entry.size();
        self.budget.read(entry, claimed)?.map_err(|source| DataError::io(&path, "unpack", source))
    }

    pub(crate) fn archive(&mut self) -> &mut ZipArchive<R> {
        &mut self.archive
    }

    fn place(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.npy"))
    }

    /// Which arrays are features and labels: the named label array and the other one, or the usual names.
    ///
    /// # Errors
    /// No usual names.
    pub fn find(&mut self, label: Option<&str>, label_needed: bool) -> Result<ArrayNames> {
        let names = self.names();
        let has = |name: &str| names.iter().any(|known| known == name);
        let pair = |pairs: &[(&str, &str)]| {
            pairs.iter().find(|(x, y)| has(x) && has(y)).map(|(x, y)| ((*x).to_owned(), (*y).to_owned()))
        };
        if let Some(label) = label.filter(|label| has(label)) {
            let others: Vec<&String> = names.iter().filter(|name| *name != label).collect();
            if let [features] = others[..] {
                return Ok(ArrayNames { train: (features.clone(), Some(label.to_owned())), test: None });
            }
        }
        if let Some((x, y)) = pair(&PAIRS) {
            return Ok(ArrayNames { train: (x, Some(y)), test: pair(&TEST_PAIRS) });
        }
        if !label_needed && let Some((x, _)) = PAIRS.iter().find(|(x, _)| has(x)) {
            return Ok(ArrayNames { train: ((*x).to_owned(), None), test: None });
        }
        let problem = format!("needs arrays named like x and y (or x_train, y_train, …), has {}", names.join(", "));
        Err(DataError::format(&self.path, Place::File, problem))
    }
}

fn entry<'a, R: Read + Seek>(archive: &'a mut ZipArchive<R>, path: &Path, name: &str) -> Result<ZipFile<'a, R>> {
    let bad = |cause| DataError::decode(path, Place::File, "cannot be read from the archive", cause);
    archive.by_name(&format!("{name}.npy")).map_err(bad)
}
