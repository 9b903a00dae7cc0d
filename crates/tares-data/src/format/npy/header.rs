//! The header of an NPY file: element type, order and shape, as a Python dictionary.

use crate::error::{DataError, Place, Result};
use crate::io::Input;

/// The longest header that is believed.
pub(super) const MOST_HEADER: usize = 1 << 16;

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
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

impl ElementKind {
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
    pub kind: ElementKind,
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
        descr.chars().next().filter(|mark| matches!(mark, '\'' | '"')).ok_or("NPY header's 'descr' is not a text")?;
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
        .map(|size| {
            size.trim_end_matches('L').parse().map_err(|_| format!("NPY size '{}' is not a number", head(size)))
        })
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

fn parse_descr(descr: &str) -> std::result::Result<(ElementKind, bool), String> {
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
        ("b", 1) => ElementKind::Bool,
        ("i", 1 | 2 | 4 | 8) => ElementKind::Integer { size, signed: true },
        ("u", 1 | 2 | 4 | 8) => ElementKind::Integer { size, signed: false },
        ("f", 2 | 4 | 8) => ElementKind::Float { size },
        ("U", 0..=65536) => ElementKind::Text { characters: size },
        ("S" | "a", 0..=65536) => ElementKind::Bytes { size },
        _ => return Err(bad()),
    };
    Ok((kind, big_endian))
}
