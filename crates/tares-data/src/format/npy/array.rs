//! [`Array`]: a whole array in memory, as numbers or text.

use super::convert::{FromNumber, convert};
use super::header::{ElementKind, Header, MOST_HEADER, read_header};
use crate::error::{DataError, Place, Result};
use crate::io::Input;
use std::path::{Path, PathBuf};

/// An array in memory, as its file has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    path: PathBuf,
    header: Header,
    bytes: Vec<u8>,
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
        let fits = self.header.kind == ElementKind::Integer { size: 1, signed: false };
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
            ElementKind::Text { .. } | ElementKind::Bytes { .. } if self.header.kind.size() == 0 => {
                Ok(vec![String::new(); self.header.count()])
            }
            ElementKind::Text { characters } => {
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
            ElementKind::Bytes { size } => {
                let element = |(row, bytes): (usize, &[u8])| {
                    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                    String::from_utf8(bytes[..end].to_vec()).map_err(|_| bad(row, "is not UTF-8 text"))
                };
                self.bytes.chunks_exact(size).enumerate().map(element).collect()
            }
            ElementKind::Integer { size, signed } => Ok(self.integers(size, signed)),
            ElementKind::Bool | ElementKind::Float { .. } => {
                Ok(self.numbers::<f64>()?.iter().map(f64::to_string).collect())
            }
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
