//! Arrays → bytes of an NPY file.

use super::header::{ElementKind, Header, header_bytes};
use crate::error::Result;
use crate::io::atomic;
use std::path::Path;

/// The bytes of one element that stands for `text` (a number as people write it, or a word).
pub(crate) fn element(header: &Header, text: &str) -> std::result::Result<Vec<u8>, String> {
    let size = header.kind.size();
    let bad = || format!("cannot hold the label \"{text}\"");
    let mut bytes = match header.kind {
        ElementKind::Text { characters } => {
            let codes: Vec<u32> = text.chars().map(u32::from).collect();
            if codes.len() > characters {
                return Err(bad());
            }
            let codes = codes.into_iter().chain(std::iter::repeat(0)).take(characters);
            let code = |code: u32| if header.big_endian { code.to_be_bytes() } else { code.to_le_bytes() };
            return Ok(codes.flat_map(code).collect());
        }
        ElementKind::Bytes { size } if text.len() > size => return Err(bad()),
        ElementKind::Bytes { size } => {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(size, 0);
            return Ok(bytes);
        }
        ElementKind::Bool => vec![u8::from(text.parse::<f64>().map_err(|_| bad())? != 0.0)],
        ElementKind::Float { size: 2 } => half::f16::from_f32(text.parse().map_err(|_| bad())?).to_le_bytes().to_vec(),
        ElementKind::Float { size: 4 } => text.parse::<f32>().map_err(|_| bad())?.to_le_bytes().to_vec(),
        ElementKind::Float { .. } => text.parse::<f64>().map_err(|_| bad())?.to_le_bytes().to_vec(),
        ElementKind::Integer { .. } => text.parse::<i128>().map_err(|_| bad())?.to_le_bytes()[..size].to_vec(),
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

/// Writes labels as an array of `<u4`, with no second copy of them in memory. `changes` are (row, other label), in any order.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(path: &Path, labels: &[u32], mut changes: Vec<(usize, u32)>) -> Result<()> {
    changes.sort_unstable();
    atomic::write(path, |out| {
        out.write_all(&header_bytes("'<u4'", &[labels.len()]))?;
        let mut bytes = Vec::with_capacity(1 << 18);
        let (mut changes, mut first) = (changes.as_slice(), 0);
        for part in labels.chunks(1 << 16) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|label| label.to_le_bytes()));
            let (here, later) = changes.split_at(changes.partition_point(|change| change.0 < first + part.len()));
            for &(row, label) in here.iter().filter(|change| change.0 >= first) {
                bytes[4 * (row - first)..][..4].copy_from_slice(&label.to_le_bytes());
            }
            (changes, first) = (later, first + part.len());
            out.write_all(&bytes)?;
        }
        Ok(())
    })
}
