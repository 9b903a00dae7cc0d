//! [`GroupCursor`]: goes through the rows of one row group, some columns of numbers at a time, without holding the group.

use super::leaf::Leaf;
use super::number_pages::NumberPages;
use super::{ParquetFile, guarded};
use crate::error::Result;
use crate::format::npy::FromNumber;
use parquet::basic::Type;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::file::reader::ChunkReader;

/// A place in a row group.
pub(crate) struct GroupCursor {
    columns: Vec<Numbers>,
    group: usize,
    /// The next row, counted from the group's first.
    row: usize,
    levels: Vec<i16>,
    repeats: Vec<i16>,
}

/// A column at the cursor's row.
#[expect(
    clippy::large_enum_variant,
    reason = "a cursor has few columns, and their pages are a thousand times as large"
)]
enum Numbers {
    Narrow(NumberPages<f32>),
    Wide(NumberPages<f64>),
    /// Any other, by Parquet's own reader.
    Other(ColumnReader),
}

impl Numbers {
    fn open<R: ChunkReader + 'static>(file: &ParquetFile<R>, group: usize, leaf: &Leaf) -> Result<Self> {
        let known = match leaf.kind {
            Type::FLOAT => NumberPages::open(file, group, leaf)?.map(Self::Narrow),
            Type::DOUBLE => NumberPages::open(file, group, leaf)?.map(Self::Wide),
            _ => None,
        };
        known.map_or_else(|| file.column(group, leaf).map(Self::Other), Ok)
    }
}

/// Rows of which all columns are read before the next rows, so that they stay in the fastest cache.
const NEAR_ROWS: usize = 512;

/// Rows that are looked at for a list that is not missing.
const FIRST_ROWS: usize = 1000;

/// Numbers of a list column that are read at a time.
const LIST_BATCH: usize = 1 << 16;

impl GroupCursor {
    /// At the first row of a group.
    ///
    /// # Errors
    /// Damaged pages.
    pub(crate) fn new<R: ChunkReader + 'static>(file: &ParquetFile<R>, group: usize, leaves: &[Leaf]) -> Result<Self> {
        let columns = leaves.iter().map(|leaf| Numbers::open(file, group, leaf)).collect::<Result<_>>()?;
        Ok(Self { columns, group, row: 0, levels: Vec::new(), repeats: Vec::new() })
    }

    /// The group.
    pub(crate) fn group(&self) -> usize {
        self.group
    }

    /// The next row.
    pub(crate) fn row(&self) -> usize {
        self.row
    }

    /// Moves forward to `row`. Pages on the way are not unpacked.
    ///
    /// # Errors
    /// Damaged pages.
    pub(crate) fn skip_to<R: ChunkReader + 'static>(
        &mut self,
        file: &ParquetFile<R>,
        leaves: &[Leaf],
        row: usize,
    ) -> Result<()> {
        let count = row.saturating_sub(self.row);
        if count == 0 {
            return Ok(());
        }
        for (column, leaf) in self.columns.iter_mut().zip(leaves) {
            let column = match column {
                Numbers::Narrow(pages) => {
                    pages.skip(file, leaf, count)?;
                    continue;
                }
                Numbers::Wide(pages) => {
                    pages.skip(file, leaf, count)?;
                    continue;
                }
                Numbers::Other(column) => column,
            };
            macro_rules! skip {
                ($($kind:ident)*) => {
                    guarded(file.path(), || match column { $(ColumnReader::$kind(reader) => reader.skip_records(count),)* })?
                };
            }
            let skipped = skip!(BoolColumnReader Int32ColumnReader Int64ColumnReader Int96ColumnReader FloatColumnReader
                DoubleColumnReader ByteArrayColumnReader FixedLenByteArrayColumnReader);
            if skipped != count {
                return Err(file.bad(leaf, format!("ends in row group {} before row {row}", self.group)));
            }
        }
        self.row += count;
        Ok(())
    }

    /// The next rows of all columns, one number of each column after the other; NaN where there is none.
    ///
    /// # Errors
    /// Damaged pages; a column that holds no numbers.
    pub(crate) fn read<R: ChunkReader + 'static, T: FromNumber>(
        &mut self,
        file: &ParquetFile<R>,
        leaves: &[Leaf],
        out: &mut [T],
    ) -> Result<()> {
        let width = leaves.len();
        let near = self.columns.iter().all(|column| !matches!(column, Numbers::Other(_)));
        let step = if near { NEAR_ROWS * width } else { out.len().max(1) };
        out.chunks_mut(step).try_for_each(|out| self.read_near(file, leaves, out))?;
        self.row += out.len() / width;
        Ok(())
    }

    fn read_near<R: ChunkReader + 'static, T: FromNumber>(
        &mut self,
        file: &ParquetFile<R>,
        leaves: &[Leaf],
        out: &mut [T],
    ) -> Result<()> {
        let width = leaves.len();
        let (count, nothing) = (out.len() / width, T::from_f32(f32::NAN));
        let Self { columns, levels, group, .. } = self;
        for (at, (column, leaf)) in columns.iter_mut().zip(leaves).enumerate() {
            let column = match column {
                Numbers::Narrow(pages) => {
                    pages.read(file, leaf, &mut out[at..], width, |value| value.map_or(nothing, T::from_f32))?;
                    continue;
                }
                Numbers::Wide(pages) => {
                    pages.read(file, leaf, &mut out[at..], width, |value| value.map_or(nothing, T::from_f64))?;
                    continue;
                }
                Numbers::Other(column) => column,
            };
            let mut cells =
                Cells { file, leaf, levels: &mut *levels, group: *group, count, cells: &mut out[at..], width };
            match column {
                ColumnReader::FloatColumnReader(reader) => cells.read(reader, |&value| T::from_f32(value))?,
                ColumnReader::DoubleColumnReader(reader) => cells.read(reader, |&value| T::from_f64(value))?,
                ColumnReader::BoolColumnReader(reader) => {
                    cells.read(reader, |&value| T::from_f32(f32::from(u8::from(value))))?
                }
                ColumnReader::Int32ColumnReader(reader) => {
                    cells.read(reader, |&value| T::from_f64(leaf.integer(i64::from(value))))?
                }
                ColumnReader::Int64ColumnReader(reader) => {
                    cells.read(reader, |&value| T::from_f64(leaf.integer(value)))?
                }
                ColumnReader::FixedLenByteArrayColumnReader(reader) if leaf.is_number() => {
                    cells.read(reader, |value| T::from_f64(leaf.fixed(value.data())))?
                }
                ColumnReader::ByteArrayColumnReader(reader) if leaf.is_number() => {
                    cells.read(reader, |value| T::from_f64(leaf.decimal(value.data())))?
                }
                _ => return Err(file.bad(leaf, "does not hold numbers".into())),
            }
        }
        Ok(())
    }

    /// How long the first list of a column is that is not missing; `None` if the first rows of the group have none.
    ///
    /// # Errors
    /// Damaged pages.
    pub(crate) fn first_length<R: ChunkReader + 'static>(
        &mut self,
        file: &ParquetFile<R>,
        leaf: &Leaf,
    ) -> Result<Option<usize>> {
        let (mut levels, mut repeats) = (Vec::new(), Vec::new());
        macro_rules! look {
            ($reader:expr) => {
                guarded(file.path(), || {
                    $reader.read_records(FIRST_ROWS, Some(&mut levels), Some(&mut repeats), &mut Vec::new())
                })?
            };
        }
        match self.columns.first_mut() {
            Some(Numbers::Other(ColumnReader::FloatColumnReader(reader))) => look!(reader),
            Some(Numbers::Other(ColumnReader::DoubleColumnReader(reader))) => look!(reader),
            _ => return Err(file.bad(leaf, "does not hold lists of numbers of 32 or 64 bits".into())),
        };
        let Some(first) = levels.iter().position(|&level| level >= leaf.listed()) else { return Ok(None) };
        Ok(Some(1 + repeats[first + 1..].iter().take_while(|&&again| again > 0).count()))
    }

    /// The next rows of a column of lists that all have `width` numbers; NaN for a number that is missing, all NaN for a missing list.
    ///
    /// # Errors
    /// Damaged pages; lists of another length, with the row in the group; lists that hold no numbers.
    pub(crate) fn read_lists<R: ChunkReader + 'static, T: FromNumber>(
        &mut self,
        file: &ParquetFile<R>,
        leaf: &Leaf,
        width: usize,
        out: &mut [T],
    ) -> Result<std::result::Result<(), (usize, usize)>> {
        let (path, step) = (file.path(), (LIST_BATCH / width).max(1));
        for out in out.chunks_mut(step * width) {
            let count = out.len() / width;
            self.levels.clear();
            self.repeats.clear();
            let mut numbers: Vec<T> = Vec::with_capacity(out.len());
            let (levels, repeats) = (&mut self.levels, &mut self.repeats);
            macro_rules! lists {
                ($reader:expr, $number:expr) => {{
                    let mut values = Vec::with_capacity(out.len());
                    let (records, ..) =
                        guarded(path, || $reader.read_records(count, Some(levels), Some(repeats), &mut values))?;
                    numbers.extend(values.iter().map($number));
                    records
                }};
            }
            let records = match self.columns.first_mut() {
                Some(Numbers::Other(ColumnReader::FloatColumnReader(reader))) => {
                    lists!(reader, |&value| T::from_f32(value))
                }
                Some(Numbers::Other(ColumnReader::DoubleColumnReader(reader))) => {
                    lists!(reader, |&value| T::from_f64(value))
                }
                _ => return Err(file.bad(leaf, "does not hold lists of numbers of 32 or 64 bits".into())),
            };
            if records != count {
                return Err(file.bad(leaf, format!("has too few rows in row group {}", self.group)));
            }
            // The usual case: nothing is missing, and every list is as long as it should be.
            let whole = numbers.len() == out.len()
                && self.repeats.len() == out.len()
                && self
                    .repeats
                    .chunks_exact(width)
                    .all(|list| list[0] == 0 && list[1..].iter().all(|&again| again > 0));
            if whole {
                out.copy_from_slice(&numbers);
            } else if let Err((row, length)) = scattered(&self.levels, &self.repeats, leaf, &numbers, width, out) {
                return Ok(Err((self.row + row, length)));
            }
            self.row += count;
        }
        Ok(Ok(()))
    }
}

/// Lists of which some, or some of their numbers, are missing. An error is a row and the length of its list.
fn scattered<T: FromNumber>(
    levels: &[i16],
    repeats: &[i16],
    leaf: &Leaf,
    numbers: &[T],
    width: usize,
    out: &mut [T],
) -> std::result::Result<(), (usize, usize)> {
    let (mut numbers, mut at) = (numbers.iter(), 0);
    let nothing = T::from_f32(f32::NAN);
    for (row, out) in out.chunks_exact_mut(width).enumerate() {
        let from = at;
        at += 1;
        while at < repeats.len() && repeats[at] > 0 {
            at += 1;
        }
        let list = &levels[from..at];
        // A list that is missing or empty has one entry, which is not there.
        if let [level] = list
            && *level < leaf.listed()
        {
            out.fill(nothing);
            continue;
        }
        if list.len() != width {
            return Err((row, list.len()));
        }
        for (cell, &level) in out.iter_mut().zip(list) {
            *cell = if level == leaf.defined() { numbers.next().copied().unwrap_or(nothing) } else { nothing };
        }
    }
    Ok(())
}

/// Where the numbers of one column go: every `width`-th cell.
struct Cells<'a, R: ChunkReader + 'static, T> {
    file: &'a ParquetFile<R>,
    leaf: &'a Leaf,
    levels: &'a mut Vec<i16>,
    group: usize,
    count: usize,
    cells: &'a mut [T],
    width: usize,
}

impl<R: ChunkReader + 'static, T: FromNumber> Cells<'_, R, T> {
    fn read<D: DataType>(&mut self, reader: &mut ColumnReaderImpl<D>, number: impl Fn(&D::T) -> T) -> Result<()> {
        let Self { file, leaf, levels, group, count, .. } = self;
        levels.clear();
        let mut values: Vec<D::T> = Vec::with_capacity(*count);
        let (records, ..) = guarded(file.path(), || reader.read_records(*count, Some(levels), None, &mut values))?;
        if records != *count {
            return Err(file.bad(leaf, format!("has too few rows in row group {group}")));
        }
        let cells = self.cells.iter_mut().step_by(self.width);
        if values.len() == *count {
            cells.zip(&values).for_each(|(cell, value)| *cell = number(value));
            return Ok(());
        }
        let mut present = values.iter();
        for (cell, &level) in cells.zip(levels.iter()) {
            let value = if level == leaf.defined() { present.next() } else { None };
            *cell = value.map_or(T::from_f32(f32::NAN), &number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
