//! [`Stored`]: an array on disk, read as its rows are asked for, by several threads at once.
//!
//! An array larger than memory can be gone through in blocks. Reads at a position, not a memory map: as fast when the blocks fit
//! into a core's cache, nothing of the file counts as the program's memory, and a file that is cut while it is read is an
//! error, not the end of the program.

use super::convert::{FromNumber, convert, convert_plain, element_reader, fortran_position};
use super::header::{ElementKind, Header, read_header};
use crate::error::{DataError, Place, Result};
use crate::io::{Input, read_exact_at};
use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

/// An array on disk, read as its rows are asked for.
#[derive(Debug)]
pub struct Stored {
    path: PathBuf,
    header: Header,
    start: usize,
    storage: Storage,
}

#[derive(Debug)]
enum Storage {
    File(File),
    Memory(Vec<u8>),
}

thread_local! {
    /// Bytes on their way from the file to numbers.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Stored {
    /// Opens an array. A gzipped one is unpacked into memory.
    ///
    /// # Errors
    /// As [`crate::npy::read`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut input = Input::open(path)?;
        let gzipped = input.is_gzipped();
        let (header, start) = read_header(&mut input)?;
        if gzipped {
            let bytes = input.exactly((header.count() * header.kind.size()) as u64, "the array")?;
            input.end("NPY header")?;
            return Ok(Self { path: path.into(), header, start: 0, storage: Storage::Memory(bytes) });
        }
        let file = File::open(path).map_err(|source| DataError::io(path, "open", source))?;
        let length = file.metadata().map_err(|source| DataError::io(path, "open", source))?.len();
        let expected = start + header.count() * header.kind.size();
        if length != expected as u64 {
            let problem = format!("should have {expected} bytes by its header, has {length}");
            return Err(DataError::format(path, Place::File, problem));
        }
        Ok(Self { path: path.into(), header, start, storage: Storage::File(file) })
    }

    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Rows: the first size.
    pub fn rows(&self) -> usize {
        self.header.rows()
    }

    /// Numbers per row.
    pub fn columns(&self) -> usize {
        self.header.row()
    }

    /// Converts the rows `first..first + out.len() / columns` into `out`, row after row.
    ///
    /// # Errors
    /// Text instead of numbers; rows that are not there; `out` not a whole number of rows.
    pub fn read_rows<T: FromNumber>(&self, first: usize, out: &mut [T]) -> Result<()> {
        let columns = self.columns();
        if columns == 0 || !out.len().is_multiple_of(columns) || first + out.len() / columns > self.rows() {
            let problem = format!("has {} rows of {columns}: rows from {first} on are not all there", self.rows());
            return Err(DataError::format(&self.path, Place::File, problem));
        }
        if !self.header.kind.is_number() {
            return Err(self.bad("holds text, but numbers are needed".into()));
        }
        let size = self.header.kind.size();
        if let Storage::Memory(bytes) = &self.storage {
            convert(&self.header, bytes, first, out);
            return Ok(());
        }
        if self.header.fortran && self.header.shape.len() > 1 {
            return self.read_columns(first, out);
        }
        let from = first * columns * size;
        // Bytes that are these numbers already go where they are wanted.
        if T::SAME == Some(self.header.kind) && cfg!(target_endian = "little") && !self.header.big_endian {
            return self.bytes_at(from, bytemuck::cast_slice_mut(out));
        }
        self.with_bytes(from, out.len() * size, |bytes| convert_plain(&self.header, bytes, out))
    }

    /// In Fortran order the first index is the fastest: the wanted rows of one column lie together.
    fn read_columns<T: FromNumber>(&self, first: usize, out: &mut [T]) -> Result<()> {
        let (columns, size) = (self.columns(), self.header.kind.size());
        let rows = out.len() / columns;
        let element = element_reader::<T>(&self.header);
        for column in 0..columns {
            let from = fortran_position(&self.header, first, column) * size;
            self.with_bytes(from, rows * size, |bytes| {
                let cells = out.iter_mut().skip(column).step_by(columns);
                cells.zip(bytes.chunks_exact(size)).for_each(|(cell, bytes)| *cell = element(bytes));
            })?;
        }
        Ok(())
    }

    /// Shows `take` some of the raw elements.
    fn with_bytes(&self, from: usize, length: usize, take: impl FnOnce(&[u8])) -> Result<()> {
        BYTES.with_borrow_mut(|bytes| {
            bytes.resize(length, 0);
            self.bytes_at(from, bytes)?;
            take(bytes);
            Ok(())
        })
    }

    /// Raw elements from byte `from` on.
    fn bytes_at(&self, from: usize, out: &mut [u8]) -> Result<()> {
        match &self.storage {
            Storage::File(file) => read_exact_at(file, (self.start + from) as u64, out)
                .map_err(|source| DataError::io(&self.path, "read", source)),
            Storage::Memory(bytes) => {
                out.copy_from_slice(&bytes[from..from + out.len()]);
                Ok(())
            }
        }
    }

    /// Integer labels of a one-dimensional array, rows `first..first + out.len()`.
    ///
    /// # Errors
    /// Elements that are not whole numbers from 0 to 2³² − 1, with the row.
    pub fn read_labels(&self, first: usize, out: &mut [u32]) -> Result<()> {
        const STEP: usize = 1 << 15;
        let bad = |row: usize, number: f64| {
            let problem = format!("label must be a whole number from 0 on, got {number}");
            DataError::format(&self.path, Place::Row(row as u64), problem)
        };
        let mut block = Vec::new();
        for (chunk_index, chunk) in out.chunks_mut(STEP).enumerate() {
            let start = first + chunk_index * STEP;
            // The usual kind has no way through 64-bit floats: there are as many labels as rows.
            if self.header.kind == (ElementKind::Integer { size: 4, signed: true }) && !self.header.big_endian {
                if self.columns() != 1 || start + chunk.len() > self.rows() {
                    return Err(self.bad(format!("has {} rows: rows from {start} on are not all there", self.rows())));
                }
                self.with_bytes(4 * start, 4 * chunk.len(), |bytes| {
                    let labels = bytes.as_chunks::<4>().0.iter();
                    chunk.iter_mut().zip(labels).for_each(|(to, &from)| *to = u32::from_le_bytes(from));
                })?;
                if chunk.iter().fold(0, |all, label| all | label) > i32::MAX as u32 {
                    let row = chunk.iter().position(|&label| label > i32::MAX as u32).unwrap_or(0);
                    return Err(bad(start + row, f64::from(chunk[row] as i32)));
                }
                continue;
            }
            block.resize(chunk.len(), 0f64);
            self.read_rows(start, &mut block)?;
            for (row, (label, &number)) in chunk.iter_mut().zip(block.iter()).enumerate() {
                if !(number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)) {
                    return Err(bad(start + row, number));
                }
                *label = number as u32;
            }
        }
        Ok(())
    }

    fn bad(&self, problem: String) -> DataError {
        DataError::format(&self.path, Place::File, problem)
    }
}
