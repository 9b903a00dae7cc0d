//! Parquet → [`RawTable`](crate::table::RawTable) or pictures, column by column, row group by row group.
//!
//! Columns that are lists or bytes are left out and listed. In the Hugging Face layout a picture is a structure of `bytes` and `path` next to an
//! integer label whose names stand in the file's metadata.

mod cells;
mod cursor;
mod guard;
mod hybrid;
mod leaf;
mod number_pages;
mod pages;
pub(crate) mod pictures;
mod shared_file;
mod spare;
mod stacked;
mod table;
mod thrift;

pub(crate) use cursor::GroupCursor;
pub(crate) use guard::guarded;
pub use leaf::Leaf;
pub use shared_file::SharedFile;
pub(crate) use stacked::stacked;

use crate::error::{DataError, Place, Result};
use crate::table::columns::LeftOut;

use pages::{check_footer, check_pages};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Values read at a time.
const BATCH: usize = 1 << 16;

/// An open Parquet file whose headers were checked.
pub struct ParquetFile<R: ChunkReader + 'static = SharedFile> {
    path: PathBuf,
    bytes: Shared<R>,
    reader: SerializedFileReader<Shared<R>>,
    /// The row groups that have rows, as the file numbers them. Arrow writes a group without rows for an empty table; it has no pages, and
    /// what the file says about their place means nothing.
    filled: Vec<usize>,
    /// (row group, column) whose page headers were looked through.
    checked: Mutex<HashSet<(usize, usize)>>,
}

/// The bytes of a file, used by Parquet's reader and by our look at its page headers.
pub(crate) struct Shared<R>(Arc<R>);

impl<R> Clone for Shared<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: ChunkReader> Length for Shared<R> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<R: ChunkReader> ChunkReader for Shared<R> {
    type T = R::T;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}

impl<R: ChunkReader + 'static> std::fmt::Debug for ParquetFile<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("path", &self.path).finish_non_exhaustive()
    }
}

/// What is done with the number and the bytes of a row.
pub(crate) type ForCell<'a> = dyn FnMut(u64, Option<&[u8]>) -> Result<()> + 'a;

impl ParquetFile {
    /// Opens a file and checks its footer.
    ///
    /// # Errors
    /// No Parquet file; a footer that claims what cannot be.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).and_then(SharedFile::new).map_err(|source| DataError::io(path, "open", source))?;
        Self::new(path, file)
    }
}

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// The same over any bytes; `path` is for messages.
    ///
    /// # Errors
    /// As [`open`](ParquetFile::open).
    pub fn new(path: impl AsRef<Path>, bytes: R) -> Result<Self> {
        let path = path.as_ref();
        check_footer(&bytes).map_err(|problem| DataError::format(path, Place::File, problem))?;
        let bytes = Shared(Arc::new(bytes));
        let reader = guarded(path, || SerializedFileReader::new(bytes.clone()))?;
        let groups = reader.metadata().row_groups().iter().enumerate();
        let filled = groups.filter(|(_, group)| group.num_rows() > 0).map(|(number, _)| number).collect();
        Ok(Self { path: path.into(), bytes, reader, filled, checked: Mutex::default() })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn reader(&self) -> &SerializedFileReader<Shared<R>> {
        &self.reader
    }

    pub(crate) fn bytes(&self) -> &Shared<R> {
        &self.bytes
    }

    /// The file's metadata as key and value.
    pub(crate) fn key_value(&self, key: &str) -> Option<String> {
        let pairs = self.reader.metadata().file_metadata().key_value_metadata()?;
        pairs.iter().find(|pair| pair.key == key)?.value.clone()
    }

    /// Row groups that have rows.
    pub fn groups(&self) -> usize {
        self.filled.len()
    }

    /// Rows of a group, as the file claims.
    pub fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.reader.metadata().row_group(self.filled[group]).num_rows()).unwrap_or(0)
    }

    /// Rows of all groups, as the file claims.
    pub fn rows(&self) -> usize {
        (0..self.groups()).map(|group| self.group_rows(group)).fold(0, usize::saturating_add)
    }

    /// The columns that are not inside lists.
    pub fn leaves(&self) -> Vec<Leaf> {
        Leaf::all(self.reader.metadata().file_metadata().schema_descr())
    }

    /// The columns that are lists of floating-point numbers.
    pub fn lists(&self) -> Vec<Leaf> {
        Leaf::lists(self.reader.metadata().file_metadata().schema_descr())
    }

    /// The columns that cannot stand in a table, and why.
    pub fn left_out(&self) -> Vec<LeftOut> {
        leaf::left_out(self.reader.metadata().file_metadata().schema_descr())
    }

    /// The numbers of some columns in one row group, column after column; NaN where there is none.
    ///
    /// # Errors
    /// A column that holds no numbers; damaged pages.
    pub fn numbers(&self, group: usize, leaves: &[Leaf]) -> Result<Vec<Vec<f64>>> {
        leaves.iter().map(|leaf| self.column_numbers(group, leaf)).collect()
    }

    /// Calls `cell` with every row's bytes of a column of bytes.
    pub(crate) fn for_each_bytes(&self, leaf: &Leaf, cell: &mut ForCell<'_>) -> Result<()> {
        let mut row = 0;
        for group in 0..self.groups() {
            let mut each = |value: Option<&ByteArray>| {
                row += 1;
                cell(row - 1, value.map(ByteArray::data))
            };
            match self.column(group, leaf)? {
                ColumnReader::ByteArrayColumnReader(mut reader) => self.each(group, leaf, &mut reader, &mut each)?,
                _ => return Err(self.bad(leaf, "holds neither numbers nor text".into())),
            }
        }
        Ok(())
    }

    fn column_numbers(&self, group: usize, leaf: &Leaf) -> Result<Vec<f64>> {
        let mut numbers = Vec::new();
        macro_rules! collect {
            ($reader:expr, $value:expr) => {
                self.each(group, leaf, $reader, &mut |value| {
                    numbers.push(value.map_or(f64::NAN, $value));
                    Ok(())
                })?
            };
        }
        match &mut self.column(group, leaf)? {
            ColumnReader::BoolColumnReader(reader) => collect!(reader, |&value| f64::from(u8::from(value))),
            ColumnReader::Int32ColumnReader(reader) => collect!(reader, |&value| leaf.integer(i64::from(value))),
            ColumnReader::Int64ColumnReader(reader) => collect!(reader, |&value| leaf.integer(value)),
            ColumnReader::FloatColumnReader(reader) => collect!(reader, |&value| f64::from(value)),
            ColumnReader::DoubleColumnReader(reader) => collect!(reader, |&value| value),
            ColumnReader::FixedLenByteArrayColumnReader(reader) if leaf.is_number() => {
                collect!(reader, |value| leaf.fixed(value.data()))
            }
            ColumnReader::ByteArrayColumnReader(reader) if leaf.is_number() => {
                collect!(reader, |value| leaf.decimal(value.data()))
            }
            _ => return Err(self.bad(leaf, "does not hold numbers".into())),
        }
        Ok(numbers)
    }

    /// Looks through the page headers of a column in all row groups.
    pub(crate) fn check_column(&self, leaf: &Leaf) -> Result<()> {
        (0..self.groups()).try_for_each(|group| self.column(group, leaf).map(drop))
    }

    /// What the footer says about a column of a row group.
    fn chunk(&self, group: usize, leaf: &Leaf) -> Result<&ColumnChunkMetaData> {
        let chunk = self.reader.metadata().row_group(self.filled[group]).columns().get(leaf.index);
        chunk.ok_or_else(|| self.bad(leaf, format!("is missing in row group {group}")))
    }

    /// Opens a column of a row group after looking through its page headers.
    fn column(&self, group: usize, leaf: &Leaf) -> Result<ColumnReader> {
        let chunk = self.chunk(group, leaf)?;
        let checked = || self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let known = checked().contains(&(group, leaf.index));
        if !known {
            check_pages(&self.bytes, chunk).map_err(|problem| self.bad(leaf, problem))?;
            checked().insert((group, leaf.index));
        }
        guarded(&self.path, || self.reader.get_row_group(self.filled[group])?.get_column_reader(leaf.index))
    }

    /// Calls `cell` with every value of a column in a row group, `None` where there is none.
    fn each<T: DataType>(
        &self,
        group: usize,
        leaf: &Leaf,
        reader: &mut ColumnReaderImpl<T>,
        cell: &mut dyn FnMut(Option<&T::T>) -> Result<()>,
    ) -> Result<()> {
        let rows = self.group_rows(group);
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let mut seen = 0;
        while seen < rows {
            levels.clear();
            values.clear();
            let wanted = BATCH.min(rows - seen);
            let (records, ..) =
                guarded(&self.path, || reader.read_records(wanted, Some(&mut levels), None, &mut values))?;
            if records == 0 {
                break;
            }
            seen += records;
            if leaf.defined() == 0 {
                values.iter().try_for_each(|value| cell(Some(value)))?;
                continue;
            }
            let mut present = values.iter();
            for &level in &levels {
                cell(if level == leaf.defined() { present.next() } else { None })?;
            }
        }
        if seen != rows {
            return Err(self.bad(leaf, format!("has {seen} of the {rows} rows of row group {group}")));
        }
        Ok(())
    }

    fn bad(&self, leaf: &Leaf, problem: String) -> DataError {
        DataError::format(&self.path, Place::Part(format!("column \"{}\"", leaf.name)), problem)
    }
}

/// Names for numbered levels, where the file has a name for each.
pub(crate) fn name_levels(levels: &mut [String], class_names: Option<&[String]>) {
    let Some(names) = class_names else { return };
    let named: Option<Vec<String>> =
        levels.iter().map(|level| names.get(level.parse::<usize>().ok()?).cloned()).collect();
    if let Some(named) = named {
        levels.clone_from_slice(&named);
    }
}

/// The classes that Hugging Face wrote for an integer label column, if it did.
pub(crate) fn hugging_face_classes(metadata: &str, label: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(metadata).ok()?;
    let names = value.get("info")?.get("features")?.get(label)?.get("names")?.as_array()?;
    names.iter().map(|name| Some(name.as_str()?.to_owned())).collect()
}
