//! Parquet → [`Table`] or pictures, column by column, row group by row group.
//!
//! Columns that are lists are left out. In the Hugging Face layout a picture is a structure of `bytes` and `path` next to an
//! integer label whose names stand in the file's metadata.

pub(crate) mod pictures;
mod thrift;

use crate::error::{DataError, Place, Result};
use crate::table::columns::{Column, Dictionary, Table, Values};

use parquet::basic::{LogicalType, Type};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Values read at a time.
const BATCH: usize = 1 << 16;

/// A page cannot hold more than so many times its bytes on disk, apart from [`FREE_BYTES`].
const MOST_GAIN: i64 = 1100;

/// What a page may hold whatever its size on disk.
const FREE_BYTES: i64 = 1 << 22;

/// An open Parquet file whose headers were checked.
pub struct ParquetFile<R: ChunkReader + 'static = File> {
    path: PathBuf,
    bytes: Shared<R>,
    reader: SerializedFileReader<Shared<R>>,
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

/// A column without lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// Its number in the file.
    pub index: usize,
    /// Its name; parts of a structure are joined by dots.
    pub name: String,
    /// Its stored type.
    pub kind: Type,
    /// Whether its bytes are text.
    pub text: bool,
    /// Digits after the decimal point, for decimal numbers.
    scale: i32,
    /// Half-precision numbers.
    half: bool,
    /// The definition level of a value that is there.
    defined: i16,
}

impl Leaf {
    /// The definition level of a value that is there.
    pub(crate) fn defined(&self) -> i16 {
        self.defined
    }

    /// Whether 32 bits hold each of its numbers exactly.
    pub fn is_narrow(&self) -> bool {
        matches!(self.kind, Type::BOOLEAN | Type::FLOAT) || self.half
    }

    /// Whether it holds numbers (or booleans).
    pub fn is_number(&self) -> bool {
        matches!(self.kind, Type::BOOLEAN | Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE) || self.half
    }
}

impl ParquetFile {
    /// Opens a file and checks its footer.
    ///
    /// # Errors
    /// No Parquet file; a footer that claims what cannot be.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| DataError::io(path, "open", source))?;
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
        Ok(Self { path: path.into(), bytes, reader })
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

    /// Row groups.
    pub fn groups(&self) -> usize {
        self.reader.metadata().num_row_groups()
    }

    /// Rows of a group, as the file claims.
    pub fn group_rows(&self, group: usize) -> usize {
        usize::try_from(self.reader.metadata().row_group(group).num_rows()).unwrap_or(0)
    }

    /// Rows of all groups, as the file claims.
    pub fn rows(&self) -> usize {
        (0..self.groups()).map(|group| self.group_rows(group)).fold(0, usize::saturating_add)
    }

    /// The columns that are not lists.
    pub fn leaves(&self) -> Vec<Leaf> {
        let schema = self.reader.metadata().file_metadata().schema_descr();
        let leaf = |index: usize| {
            let column = schema.column(index);
            let logical = column.logical_type_ref();
            let text = matches!(logical, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json))
                || column.converted_type() == parquet::basic::ConvertedType::UTF8;
            let half = matches!(logical, Some(LogicalType::Float16));
            let decimal = column.converted_type() == parquet::basic::ConvertedType::DECIMAL;
            (column.max_rep_level() == 0).then(|| Leaf {
                index,
                name: column.path().string(),
                kind: column.physical_type(),
                text,
                scale: if decimal { column.type_scale().clamp(0, 300) } else { 0 },
                half,
                defined: column.max_def_level(),
            })
        };
        (0..schema.num_columns()).filter_map(leaf).collect()
    }

    /// The numbers of some columns in one row group, column after column; NaN where there is none.
    ///
    /// # Errors
    /// A column that holds no numbers; damaged pages.
    pub fn numbers(&self, group: usize, leaves: &[Leaf]) -> Result<Vec<Vec<f64>>> {
        leaves.iter().map(|leaf| self.column_numbers(group, leaf)).collect()
    }

    /// All rows of the columns `leaves` as a table.
    ///
    /// # Errors
    /// Damaged pages; text that is not UTF-8; numbers that are not finite.
    pub fn table(&self, leaves: &[Leaf]) -> Result<Table> {
        let mut columns = Vec::with_capacity(leaves.len());
        let mut rows = None;
        for leaf in leaves {
            let values = if leaf.is_number() { self.all_numbers(leaf)? } else { self.all_text(leaf)? };
            let length = match &values {
                Values::Numbers(numbers) => numbers.len(),
                Values::Text { codes, .. } => codes.len(),
            };
            let expected = *rows.get_or_insert(length);
            if length != expected {
                return Err(self.bad(leaf, format!("has {length} rows where another column has {expected}")));
            }
            columns.push(Column { name: leaf.name.clone(), values });
        }
        Ok(Table { path: self.path.clone(), columns, rows: rows.unwrap_or(0), first_line: None })
    }

    fn all_numbers(&self, leaf: &Leaf) -> Result<Values> {
        let mut numbers = Vec::new();
        for group in 0..self.groups() {
            numbers.extend(self.column_numbers(group, leaf)?);
        }
        match numbers.iter().position(|number| number.is_infinite()) {
            Some(row) => {
                let problem = format!("column \"{}\" must hold finite numbers, got {}", leaf.name, numbers[row]);
                Err(DataError::format(&self.path, Place::Row(row as u64), problem))
            }
            None => Ok(Values::Numbers(numbers)),
        }
    }

    fn all_text(&self, leaf: &Leaf) -> Result<Values> {
        let mut dictionary = Dictionary::default();
        self.for_each_bytes(leaf, &mut |row, cell| {
            match cell.map(std::str::from_utf8) {
                None => dictionary.push_missing(),
                Some(Ok(text)) => match text.trim() {
                    text if crate::table::columns::is_missing(text) => dictionary.push_missing(),
                    text => dictionary.push(text),
                },
                Some(Err(cause)) => {
                    let problem = format!("column \"{}\" holds bytes that are not text", leaf.name);
                    return Err(DataError::decode(&self.path, Place::Row(row), problem, cause));
                }
            }
            Ok(())
        })?;
        Ok(dictionary.into_values())
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
        let scale = 10f64.powi(leaf.scale);
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
            ColumnReader::Int32ColumnReader(reader) => collect!(reader, |&value| f64::from(value) / scale),
            ColumnReader::Int64ColumnReader(reader) => collect!(reader, |&value| value as f64 / scale),
            ColumnReader::FloatColumnReader(reader) => collect!(reader, |&value| f64::from(value)),
            ColumnReader::DoubleColumnReader(reader) => collect!(reader, |&value| value),
            ColumnReader::FixedLenByteArrayColumnReader(reader) if leaf.half => collect!(reader, |value| {
                let bytes = value.data();
                match bytes {
                    [low, high] => half::f16::from_le_bytes([*low, *high]).to_f64(),
                    _ => f64::NAN,
                }
            }),
            _ => return Err(self.bad(leaf, "does not hold numbers".into())),
        }
        Ok(numbers)
    }

    /// Looks through the page headers of a column in all row groups.
    pub(crate) fn check_column(&self, leaf: &Leaf) -> Result<()> {
        (0..self.groups()).try_for_each(|group| self.column(group, leaf).map(drop))
    }

    /// Opens a column of a row group after looking through its page headers.
    fn column(&self, group: usize, leaf: &Leaf) -> Result<ColumnReader> {
        let metadata = self.reader.metadata();
        let chunk = metadata.row_group(group).columns().get(leaf.index);
        let chunk = chunk.ok_or_else(|| self.bad(leaf, format!("is missing in row group {group}")))?;
        check_pages(&self.bytes, chunk).map_err(|problem| self.bad(leaf, problem))?;
        guarded(&self.path, || self.reader.get_row_group(group)?.get_column_reader(leaf.index))
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
            if leaf.defined == 0 {
                values.iter().try_for_each(|value| cell(Some(value)))?;
                continue;
            }
            let mut present = values.iter();
            for &level in &levels {
                cell(if level == leaf.defined { present.next() } else { None })?;
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

/// Runs a piece of Parquet's reader; its errors and, for damaged files it does not expect, its panics become ours.
pub(crate) fn guarded<T>(path: &Path, run: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(cause)) => Err(DataError::decode(path, Place::File, "cannot be read as Parquet", cause)),
        Err(_) => Err(DataError::format(path, Place::File, "cannot be read as Parquet: its pages are damaged")),
    }
}

/// Checks the footer: `… | metadata | length of the metadata (4 bytes) | PAR1`.
fn check_footer(bytes: &impl ChunkReader) -> std::result::Result<(), String> {
    let length = bytes.len();
    if length < 12 {
        return Err("is too short for Parquet".into());
    }
    let tail = bytes.get_bytes(length - 8, 8).map_err(|error| error.to_string())?;
    if &tail[4..] != b"PAR1" {
        return Err("is no Parquet file (or it is encrypted, or cut off)".into());
    }
    let claimed = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if claimed > length - 8 {
        return Err(format!("claims {claimed} bytes of metadata in {length} bytes"));
    }
    let metadata = bytes.get_bytes(length - 8 - claimed, claimed as usize).map_err(|error| error.to_string())?;
    let most = claimed as i64;
    thrift::scan(&metadata, &mut |path, value| match path {
        // The children of a schema element.
        [2, 5] if value < 0 || value > most => Err(format!("claims {value} columns inside a column")),
        _ => Ok(()),
    })?;
    Ok(())
}

/// Checks the page headers of a column before its pages are unpacked.
fn check_pages(bytes: &impl ChunkReader, chunk: &ColumnChunkMetaData) -> std::result::Result<(), String> {
    let first = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).min(chunk.data_page_offset());
    let (Ok(start), Ok(size)) = (u64::try_from(first), u64::try_from(chunk.compressed_size())) else {
        return Err("claims to lie at a negative place".into());
    };
    let end = start.checked_add(size).filter(|end| *end <= bytes.len());
    let end = end.ok_or_else(|| format!("claims bytes {start} and {size} more in a file of {}", bytes.len()))?;
    let mut at = start;
    while at < end {
        let (mut uncompressed, mut compressed, mut dictionary) = (0, 0, 0);
        let mut window = (end - at).min(1 << 13);
        let length = loop {
            let header = bytes.get_bytes(at, window as usize).map_err(|error| error.to_string())?;
            let scanned = thrift::scan(&header, &mut |path, value| {
                match path {
                    [2] => uncompressed = value,
                    [3] => compressed = value,
                    [7, 1] => dictionary = value,
                    _ => {}
                }
                Ok(())
            });
            match scanned {
                Ok(length) => break length as u64,
                Err(_) if window < end - at && window < 1 << 24 => window = (window * 16).min(end - at),
                Err(problem) => return Err(format!("page at byte {at} {problem}")),
            }
        };
        let left = (end - at - length) as i64;
        if !(0..=left).contains(&compressed) {
            return Err(format!("page at byte {at} claims {compressed} bytes where {left} are left"));
        }
        if uncompressed < 0 || uncompressed > compressed.saturating_mul(MOST_GAIN) + FREE_BYTES {
            return Err(format!("page at byte {at} claims {uncompressed} bytes unpacked from {compressed}"));
        }
        if dictionary < 0 || dictionary > uncompressed.max(compressed) {
            return Err(format!("page at byte {at} claims {dictionary} dictionary entries in {uncompressed} bytes"));
        }
        at += length + compressed as u64;
    }
    Ok(())
}

/// The classes that Hugging Face wrote for an integer label column, if it did.
pub(crate) fn hugging_face_classes(metadata: &str, label: &str) -> Option<Vec<String>> {
    let value: serde_json::Value = serde_json::from_str(metadata).ok()?;
    let names = value.get("info")?.get("features")?.get(label)?.get("names")?.as_array()?;
    names.iter().map(|name| Some(name.as_str()?.to_owned())).collect()
}
