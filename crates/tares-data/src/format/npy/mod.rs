//! NPY: one NumPy array in a file. Numbers of every width, either byte order, C or Fortran order; text; plain or gzipped.
//!
//! ```text
//! 93 'NUMPY' major minor | length of the header (2 or 4 bytes) | {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), } | elements
//! ```
//! [`Stored`] opens a file without reading it: rows are read as they are asked for, by several threads at once, so an array
//! larger than memory can be gone through in blocks. Reads at a position, not a memory map: as fast when the blocks fit
//! into a core's cache, nothing of the file counts as the program's memory, and a file that is cut while it is read is an
//! error, not the end of the program.
//!
//! Written by hand: the crates for NPY read whole arrays, and one header line needs no grammar engine.

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::io::read_exact_at;
use std::cell::RefCell;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The longest header that is believed.
const MOST_HEADER: usize = 1 << 16;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `b1`.
    Bool,
    /// `i1` … `i8`, `u1` … `u8`.
    Integer {
        /// Bytes.
        size: usize,
        /// Whether it has a sign.
        signed: bool,
    },
    /// `f2`, `f4`, `f8`.
    Float {
        /// Bytes.
        size: usize,
    },
    /// `U10`: text of so many characters of 4 bytes.
    Text {
        /// Characters.
        characters: usize,
    },
    /// `S10`: text of so many bytes.
    Bytes {
        /// Bytes.
        size: usize,
    },
}

impl Kind {
    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::Integer { size, .. } | Self::Float { size } | Self::Bytes { size } => size,
            Self::Text { characters } => 4 * characters,
        }
    }

    /// True unless it is text.
    pub fn is_number(self) -> bool {
        !matches!(self, Self::Text { .. } | Self::Bytes { .. })
    }
}

/// What the header of an NPY file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The type of the elements.
    pub kind: Kind,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Whether the first index is the fastest.
    pub fortran: bool,
    /// The sizes.
    pub shape: Vec<usize>,
}

impl Header {
    /// Elements.
    pub fn count(&self) -> usize {
        self.shape.iter().product()
    }

    /// Elements per row: all but the first size.
    pub fn row(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Rows: the first size; 1 for a single number.
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }
}

/// An array in memory, as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    path: PathBuf,
    header: Header,
    bytes: Vec<u8>,
}

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

/// Reads a whole array.
///
/// # Errors
/// No NPY file; elements that are Python objects or records; fewer or more bytes than the shape says.
pub fn read(mut input: Input) -> Result<Array> {
    let path = input.path().to_owned();
    let (header, _) = read_header(&mut input)?;
    let bytes = input.exactly((header.count() * header.kind.size()) as u64, "the array")?;
    input.end("NPY header")?;
    Ok(Array { path, header, bytes })
}

/// Reads an array from the bytes of its file; `path` is for messages.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(path: impl AsRef<Path>, mut bytes: Vec<u8>) -> Result<Array> {
    let path = path.as_ref();
    let head = bytes[..bytes.len().min(MOST_HEADER + 12)].to_vec();
    let (header, start) = read_header(&mut Input::from_bytes(path, head)?)?;
    let expected = start + header.count() * header.kind.size();
    if bytes.len() != expected {
        let problem = format!("should have {expected} bytes by its header, has {}", bytes.len());
        return Err(DataError::format(path, Place::File, problem));
    }
    bytes.drain(..start);
    Ok(Array { path: path.into(), header, bytes })
}

impl Stored {
    /// Opens an array. A gzipped one is unpacked into memory.
    ///
    /// # Errors
    /// As [`read`].
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
            if self.header.kind == (Kind::Integer { size: 4, signed: true }) && !self.header.big_endian {
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

/// A number an array can be converted to.
pub trait FromNumber: bytemuck::Pod {
    /// The elements that need no conversion.
    const SAME: Option<Kind>;
    /// From a 64-bit float.
    fn from_f64(value: f64) -> Self;
    /// From a 32-bit float, exactly.
    fn from_f32(value: f32) -> Self;
}

impl FromNumber for f32 {
    const SAME: Option<Kind> = Some(Kind::Float { size: 4 });
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl FromNumber for f64 {
    const SAME: Option<Kind> = Some(Kind::Float { size: 8 });
    fn from_f64(value: f64) -> Self {
        value
    }
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }
}

impl Array {
    /// What the header says.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The file, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The elements as numbers, in C order.
    ///
    /// # Errors
    /// The array holds text.
    pub fn numbers<T: FromNumber>(&self) -> Result<Vec<T>> {
        if !self.header.kind.is_number() {
            let problem = "holds text, but numbers are needed";
            return Err(DataError::format(&self.path, Place::File, problem));
        }
        let mut out = vec![T::from_f32(0.0); self.header.count()];
        convert(&self.header, &self.bytes, 0, &mut out);
        Ok(out)
    }

    /// The elements as bytes in C order, if they are unsigned bytes.
    pub fn into_bytes(self) -> Option<Vec<u8>> {
        let fits = self.header.kind == Kind::Integer { size: 1, signed: false };
        let in_order = !self.header.fortran || self.header.shape.len() < 2;
        (fits && in_order).then_some(self.bytes)
    }

    /// The elements as text: numbers as people write them.
    ///
    /// # Errors
    /// Text that is not Unicode.
    pub fn texts(&self) -> Result<Vec<String>> {
        let bad = |row: usize, problem: &str| DataError::format(&self.path, Place::Row(row as u64), problem);
        match self.header.kind {
            Kind::Text { .. } | Kind::Bytes { .. } if self.header.kind.size() == 0 => {
                Ok(vec![String::new(); self.header.count()])
            }
            Kind::Text { characters } => {
                let element = |(row, bytes): (usize, &[u8])| {
                    let code = |bytes: &[u8]| {
                        let bytes = [bytes[0], bytes[1], bytes[2], bytes[3]];
                        if self.header.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
                    };
                    let text: Option<String> =
                        bytes.chunks_exact(4).map(code).take_while(|&code| code != 0).map(char::from_u32).collect();
                    text.ok_or_else(|| bad(row, "is not Unicode text"))
                };
                self.bytes.chunks_exact(4 * characters).enumerate().map(element).collect()
            }
            Kind::Bytes { size } => {
                let element = |(row, bytes): (usize, &[u8])| {
                    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                    String::from_utf8(bytes[..end].to_vec()).map_err(|_| bad(row, "is not UTF-8 text"))
                };
                self.bytes.chunks_exact(size).enumerate().map(element).collect()
            }
            Kind::Integer { size, signed } => Ok(self.integers(size, signed)),
            Kind::Bool | Kind::Float { .. } => Ok(self.numbers::<f64>()?.iter().map(f64::to_string).collect()),
        }
    }

    /// Exact even where a 64-bit float is not.
    fn integers(&self, size: usize, signed: bool) -> Vec<String> {
        let element = |bytes: &[u8]| {
            let mut wide = [0u8; 8];
            wide[..size].copy_from_slice(bytes);
            if self.header.big_endian {
                wide[..size].reverse();
            }
            let value = u64::from_le_bytes(wide);
            let unused = 64 - 8 * size as u32;
            if signed { (((value << unused) as i64) >> unused).to_string() } else { value.to_string() }
        };
        self.bytes.chunks_exact(size).map(element).collect()
    }
}

/// The bytes of one element that stands for `text` (a number as people write it, or a word).
pub(crate) fn element(header: &Header, text: &str) -> std::result::Result<Vec<u8>, String> {
    let size = header.kind.size();
    let bad = || format!("cannot hold the label \"{text}\"");
    let mut bytes = match header.kind {
        Kind::Text { characters } => {
            let codes: Vec<u32> = text.chars().map(u32::from).collect();
            if codes.len() > characters {
                return Err(bad());
            }
            let codes = codes.into_iter().chain(std::iter::repeat(0)).take(characters);
            let code = |code: u32| if header.big_endian { code.to_be_bytes() } else { code.to_le_bytes() };
            return Ok(codes.flat_map(code).collect());
        }
        Kind::Bytes { size } if text.len() > size => return Err(bad()),
        Kind::Bytes { size } => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(size, 0);
            return Ok(bytes);
        }
        Kind::Bool => vec![u8::from(text.parse::<f64>().map_err(|_| bad())? != 0.0)],
        Kind::Float { size: 2 } => half::f16::from_f32(text.parse().map_err(|_| bad())?).to_le_bytes().to_vec(),
        Kind::Float { size: 4 } => text.parse::<f32>().map_err(|_| bad())?.to_le_bytes().to_vec(),
        Kind::Float { .. } => text.parse::<f64>().map_err(|_| bad())?.to_le_bytes().to_vec(),
        Kind::Integer { .. } => text.parse::<i128>().map_err(|_| bad())?.to_le_bytes()[..size].to_vec(),
    };
    if header.big_endian {
        bytes.reverse();
    }
    Ok(bytes)
}

/// The bytes of an NPY file in C order; `descr` as NumPy writes it (`'<f4'`, or a list for records).
pub fn encode(descr: &str, shape: &[usize], elements: &[u8]) -> Vec<u8> {
    let mut bytes = header_bytes(descr, shape);
    bytes.extend_from_slice(elements);
    bytes
}

/// Writes labels as an array of `<u4`, with no second copy of them in memory.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(path: &Path, labels: &[u32]) -> Result<()> {
    crate::io::atomic::write(path, |out| {
        out.write_all(&header_bytes("'<u4'", &[labels.len()]))?;
        let mut bytes = Vec::with_capacity(1 << 18);
        for part in labels.chunks(1 << 16) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|label| label.to_le_bytes()));
            out.write_all(&bytes)?;
        }
        Ok(())
    })
}

/// The header of an NPY file.
pub(crate) fn header_bytes(descr: &str, shape: &[usize]) -> Vec<u8> {
    let sizes = match shape {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    };
    let mut header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {sizes}, }}");
    // The whole header is padded to a multiple of 64 bytes; version 2 has a longer length field.
    let version = if header.len() + 64 > usize::from(u16::MAX) { 2 } else { 1 };
    let before = if version == 1 { 10 } else { 12 };
    let padding = (before + header.len() + 1).next_multiple_of(64) - (before + header.len() + 1);
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes
}

/// Reads a header; also says at which byte the elements begin.
pub(crate) fn read_header(input: &mut Input) -> Result<(Header, usize)> {
    let path = input.path().to_owned();
    let bad = |offset: u64, problem: String| DataError::format(&path, Place::Offset(offset), problem);
    let magic: [u8; 8] = input.array("NPY header")?;
    if &magic[..6] != b"\x93NUMPY" {
        return Err(bad(0, "is no NPY file".into()));
    }
    let (length, before) = match magic[6] {
        1 => (usize::from(u16::from_le_bytes(input.array("NPY header")?)), 10),
        2 | 3 => (u32::from_le_bytes(input.array("NPY header")?) as usize, 12),
        version => return Err(bad(6, format!("NPY version must be 1, 2 or 3, got {version}"))),
    };
    if length > MOST_HEADER {
        return Err(bad(8, format!("NPY header must take at most {MOST_HEADER} bytes, claims {length}")));
    }
    let text = input.exactly(length as u64, "the NPY header")?;
    let text = std::str::from_utf8(&text).map_err(|_| bad(before, "NPY header is not text".into()))?;
    let header = parse_header(text).map_err(|problem| bad(before, problem))?;
    Ok((header, before as usize + length))
}

/// Reads the Python dictionary of a header.
fn parse_header(text: &str) -> std::result::Result<Header, String> {
    let value = |key: &str| {
        let found = text.find(&format!("'{key}'")).or_else(|| text.find(&format!("\"{key}\"")));
        let start = found.ok_or_else(|| format!("NPY header has no '{key}': {}", text.trim()))? + key.len() + 2;
        Ok::<&str, String>(text[start..].trim_start().trim_start_matches(':').trim_start())
    };
    let descr = value("descr")?;
    if descr.starts_with('[') {
        return Err("NPY elements must be numbers or text, got records".into());
    }
    let quote =
        descr.chars().next().filter(|mark| matches!(mark, '\'' | '"')).ok_or("NPY header's 'descr' is no text")?;
    let descr = descr[1..].split(quote).next().unwrap_or_default();
    let fortran = match value("fortran_order")? {
        rest if rest.starts_with("True") => true,
        rest if rest.starts_with("False") => false,
        rest => return Err(format!("NPY 'fortran_order' must be True or False, got {}", head(rest))),
    };
    let shape = value("shape")?;
    let inner = shape.strip_prefix('(').and_then(|rest| rest.split(')').next()).ok_or("NPY 'shape' is no tuple")?;
    let sizes = inner.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Vec<usize> = sizes
        .map(|size| size.trim_end_matches('L').parse().map_err(|_| format!("NPY size '{}' is no number", head(size))))
        .collect::<std::result::Result<_, _>>()?;
    let (kind, big_endian) = parse_descr(descr)?;
    let bytes = shape.iter().try_fold(kind.size().max(1), |product, &size| product.checked_mul(size.max(1)));
    if shape.len() > 8 || bytes.is_none_or(|bytes| bytes > isize::MAX as usize) {
        return Err(format!("NPY shape {shape:?} is more than a computer holds"));
    }
    Ok(Header { kind, big_endian, fortran, shape })
}

fn head(text: &str) -> String {
    text.chars().take(20).collect()
}

fn parse_descr(descr: &str) -> std::result::Result<(Kind, bool), String> {
    let bad = || {
        let hint = if descr.contains('O') { " (Python objects: save numbers or text instead)" } else { "" };
        format!("NPY elements must be numbers or text, got '{}'{hint}", head(descr))
    };
    let big_endian = match descr.chars().next() {
        Some('<' | '|' | '=') => false,
        Some('>') => true,
        _ => return Err(bad()),
    };
    let (letter, size) = descr[1..].split_at_checked(1).ok_or_else(bad)?;
    let size: usize = size.parse().map_err(|_| bad())?;
    let kind = match (letter, size) {
        ("b", 1) => Kind::Bool,
        ("i", 1 | 2 | 4 | 8) => Kind::Integer { size, signed: true },
        ("u", 1 | 2 | 4 | 8) => Kind::Integer { size, signed: false },
        ("f", 2 | 4 | 8) => Kind::Float { size },
        ("U", 0..=65536) => Kind::Text { characters: size },
        ("S" | "a", 0..=65536) => Kind::Bytes { size },
        _ => return Err(bad()),
    };
    Ok((kind, big_endian))
}

/// Converts rows from `first` on of a whole array of numbers, whatever the order and width of the elements.
fn convert<T: FromNumber>(header: &Header, bytes: &[u8], first: usize, out: &mut [T]) {
    let size = header.kind.size();
    if header.fortran && header.shape.len() > 1 {
        let (element, row) = (element_reader::<T>(header), header.row());
        for (at, out) in out.iter_mut().enumerate() {
            let position = fortran_position(header, first + at / row, at % row) * size;
            *out = element(&bytes[position..position + size]);
        }
        return;
    }
    convert_plain(header, &bytes[first * header.row() * size..][..out.len() * size], out);
}

/// Converts elements one after the other.
fn convert_plain<T: FromNumber>(header: &Header, bytes: &[u8], out: &mut [T]) {
    let size = header.kind.size();
    // The usual kinds get a loop of their own that the compiler turns into wide loads.
    macro_rules! plain {
        ($width:literal, $read:expr) => {{
            let (elements, _) = bytes.as_chunks::<$width>();
            out.iter_mut().zip(elements).for_each(|(out, element)| *out = $read(*element));
        }};
    }
    match (header.kind, header.big_endian) {
        (Kind::Float { size: 4 }, false) => plain!(4, |b| T::from_f32(f32::from_le_bytes(b))),
        (Kind::Float { size: 8 }, false) => plain!(8, |b| T::from_f64(f64::from_le_bytes(b))),
        (Kind::Integer { size: 1, signed: false }, _) => plain!(1, |b: [u8; 1]| T::from_f32(f32::from(b[0]))),
        (Kind::Integer { size: 4, signed: true }, false) => {
            plain!(4, |b| T::from_f64(f64::from(i32::from_le_bytes(b))))
        }
        (Kind::Integer { size: 8, signed: true }, false) => plain!(8, |b| T::from_f64(i64::from_le_bytes(b) as f64)),
        _ => {
            let element = element_reader::<T>(header);
            out.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(out, bytes)| *out = element(bytes));
        }
    }
}

/// One element of any kind.
fn element_reader<T: FromNumber>(header: &Header) -> impl Fn(&[u8]) -> T {
    let (kind, big_endian) = (header.kind, header.big_endian);
    move |bytes: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        if big_endian {
            wide[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(wide);
        match kind {
            Kind::Bool => T::from_f32(if bits == 0 { 0.0 } else { 1.0 }),
            Kind::Float { size: 2 } => T::from_f32(half::f16::from_bits(bits as u16).to_f32()),
            Kind::Float { size: 4 } => T::from_f32(f32::from_bits(bits as u32)),
            Kind::Float { .. } => T::from_f64(f64::from_bits(bits)),
            Kind::Integer { size, signed: true } => {
                let unused = 64 - 8 * size as u32;
                T::from_f64((((bits << unused) as i64) >> unused) as f64)
            }
            Kind::Integer { .. } => T::from_f64(bits as f64),
            Kind::Text { .. } | Kind::Bytes { .. } => T::from_f32(f32::NAN),
        }
    }
}

/// Where element `within` (in C order) of a row lies in an array whose first index is the fastest.
fn fortran_position(header: &Header, row: usize, mut within: usize) -> usize {
    let mut position = row;
    let mut stride = header.count() / header.shape.last().copied().unwrap_or(1).max(1);
    for dimension in (1..header.shape.len()).rev() {
        position += within % header.shape[dimension] * stride;
        within /= header.shape[dimension];
        stride /= header.shape[dimension - 1].max(1);
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(bytes: Vec<u8>) -> Result<Array> {
        read(Input::from_bytes("x.npy", bytes).unwrap())
    }

    #[test]
    fn rows_and_columns_stay_in_order_in_both_orders() {
        let values: Vec<u8> = [1.5f32, 2.0, 3.0, 4.0, 5.0, -6.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        let c = array(encode("'<f4'", &[2, 3], &values)).unwrap();
        assert_eq!(c.numbers::<f64>().unwrap(), [1.5, 2.0, 3.0, 4.0, 5.0, -6.0]);
        // np.asfortranarray(np.arange(24).reshape(2, 3, 4)): element [1, 2, 3] is the last byte in both orders.
        let mut fortran = encode("'|u1'", &[2, 3, 4], &(0..24).collect::<Vec<u8>>());
        let text = String::from_utf8_lossy(&fortran[10..128]).replace("False", "True ");
        fortran[10..128].copy_from_slice(text.as_bytes());
        let numbers = array(fortran).unwrap().numbers::<f32>().unwrap();
        // In Fortran order, element [i, j, k] is stored at i + 2 j + 6 k.
        let expected: Vec<f32> =
            (0..2).flat_map(|i| (0..3).flat_map(move |j| (0..4).map(move |k| (i + 2 * j + 6 * k) as f32))).collect();
        assert_eq!(numbers, expected);
    }

    #[test]
    fn every_width_sign_and_byte_order_is_read() {
        let cases: [(&str, Vec<u8>, f64); 10] = [
            ("'|i1'", vec![0xff], -1.0),
            ("'<i2'", (-2i16).to_le_bytes().to_vec(), -2.0),
            ("'>i2'", (-2i16).to_be_bytes().to_vec(), -2.0),
            ("'>i8'", (-3i64).to_be_bytes().to_vec(), -3.0),
            ("'<u4'", 4_000_000_000u32.to_le_bytes().to_vec(), 4e9),
            ("'<u8'", 7u64.to_le_bytes().to_vec(), 7.0),
            ("'<f2'", half::f16::from_f32(0.5).to_le_bytes().to_vec(), 0.5),
            ("'>f8'", 2.25f64.to_be_bytes().to_vec(), 2.25),
            ("'>f4'", 2.25f32.to_be_bytes().to_vec(), 2.25),
            ("'|b1'", vec![1], 1.0),
        ];
        for (descr, bytes, value) in cases {
            assert_eq!(array(encode(descr, &[1], &bytes)).unwrap().numbers::<f64>().unwrap(), [value], "{descr}");
        }
    }

    #[test]
    fn text_and_large_integers_are_exact() {
        let text: Vec<u8> = "cat\0é\0\0\0".chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
        assert_eq!(array(encode("'<U4'", &[2], &text)).unwrap().texts().unwrap(), ["cat", "é"]);
        assert_eq!(array(encode("'|S3'", &[2], b"ab\0cde")).unwrap().texts().unwrap(), ["ab", "cde"]);
        let large = array(encode("'<i8'", &[1], &i64::MAX.to_le_bytes())).unwrap();
        assert_eq!(large.texts().unwrap(), ["9223372036854775807"]);
    }

    #[test]
    fn a_stored_array_gives_any_block_of_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.npy");
        let values: Vec<f32> = (0..30).map(|i| i as f32 / 4.0).collect();
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        std::fs::write(&path, encode("'<f4'", &[10, 3], &bytes)).unwrap();
        let stored = Stored::open(&path).unwrap();
        assert_eq!((stored.rows(), stored.columns()), (10, 3));
        let mut block = [0f64; 6];
        stored.read_rows(4, &mut block).unwrap();
        assert_eq!(block.to_vec(), values[12..18].iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        assert!(stored.read_rows(9, &mut block).is_err());
        let mut narrow = [0f32; 6];
        stored.read_rows(4, &mut narrow).unwrap();
        assert_eq!(narrow, values[12..18]);
        // The same array in Fortran order.
        let columns: Vec<u8> = (0..30).flat_map(|i| values[i % 10 * 3 + i / 10].to_le_bytes()).collect();
        let mut fortran = encode("'<f4'", &[10, 3], &columns);
        let text = String::from_utf8_lossy(&fortran[10..128]).replace("False", "True ");
        fortran[10..128].copy_from_slice(text.as_bytes());
        std::fs::write(&path, fortran).unwrap();
        let mut again = [0f32; 6];
        Stored::open(&path).unwrap().read_rows(4, &mut again).unwrap();
        assert_eq!(again, narrow);
        std::fs::write(&path, &encode("'<f4'", &[10, 3], &bytes)[..200]).unwrap();
        assert_eq!(
            Stored::open(&path).unwrap_err().to_string(),
            format!("{}: should have 248 bytes by its header, has 200", path.display())
        );
    }

    #[test]
    fn labels_must_be_whole_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("y.npy");
        std::fs::write(&path, encode("'<f8'", &[2], &[3.0f64, 1.5].map(f64::to_le_bytes).concat())).unwrap();
        let mut labels = [0; 2];
        let error = Stored::open(&path).unwrap().read_labels(0, &mut labels).unwrap_err().to_string();
        assert!(error.ends_with("row 1: label must be a whole number from 0 on, got 1.5"), "{error}");
        for (value, wanted) in [(3i32, Ok([7, 3])), (-2, Err("row 1: label must be a whole number from 0 on, got -2"))]
        {
            std::fs::write(&path, encode("'<i4'", &[2], &[7i32, value].map(i32::to_le_bytes).concat())).unwrap();
            let result = Stored::open(&path).unwrap().read_labels(0, &mut labels);
            match wanted {
                Ok(wanted) => assert_eq!((result.is_ok(), labels), (true, wanted)),
                Err(said) => assert!(result.unwrap_err().to_string().ends_with(said)),
            }
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_bad_file() {
        let cases: [(Vec<u8>, &str); 6] = [
            (b"\x93NUMP".to_vec(), "x.npy: ends inside its NPY header (is it cut off?)"),
            (b"not numpy at all".to_vec(), "x.npy: byte 0: is no NPY file"),
            (b"\x93NUMPY\x09\0ab".to_vec(), "x.npy: byte 6: NPY version must be 1, 2 or 3, got 9"),
            (
                encode("'|O'", &[1], &[]),
                "x.npy: byte 10: NPY elements must be numbers or text, got '|O' (Python objects: save numbers or text instead)",
            ),
            (encode("'<f4'", &[2], &[0; 4]), "x.npy: the array should take 8 bytes, got 4 (is the file cut off?)"),
            (
                encode("'<f8'", &[1 << 40, 1 << 40], &[]),
                "x.npy: byte 10: NPY shape [1099511627776, 1099511627776] is more than a computer holds",
            ),
        ];
        for (bytes, message) in cases {
            assert_eq!(array(bytes).unwrap_err().to_string(), message);
        }
    }
}
