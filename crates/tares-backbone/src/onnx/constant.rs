//! Constants: weights in the file itself, or in a file of external data beside it.

use super::wire::{BROKEN, fields};
use crate::tensor::{Tensor, elements};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path};

/// Name and value of a constant.
pub(super) fn read(bytes: &[u8], folder: &Path) -> Result<(String, Tensor), String> {
    let (mut name, mut kind, mut sizes) = (String::new(), 0, Vec::new());
    let (mut floats, mut integers, mut raw) = (Vec::new(), Vec::new(), None);
    let (mut doubles, mut external) = (Vec::new(), Vec::new());
    for field in fields(bytes)? {
        match field.number {
            1 => field.push_numbers(&mut sizes)?,
            2 => kind = field.number()?,
            4 => field.push_floats(&mut floats)?,
            5 | 7 | 11 => field.push_numbers(&mut integers)?,
            8 => name = field.text()?,
            9 => raw = Some(field.bytes()?.to_vec()),
            10 => doubles.extend_from_slice(field.bytes()?),
            13 => external.push(super::entry(&field)?),
            _ => {}
        }
    }
    let shape: Vec<usize> =
        sizes.iter().map(|&size| usize::try_from(size).map_err(|_| BROKEN.to_owned())).collect::<Result<_, _>>()?;
    let count = elements(&shape)?;
    let fail = |problem: String| format!("its constant \"{name}\" {problem}");
    if !external.is_empty() {
        raw = Some(read_external(&external, count * width(kind).max(1), folder).map_err(fail)?);
    }
    let found = match (raw, kind) {
        (Some(raw), kind) => from_raw(&raw, kind).ok_or_else(|| fail(unknown(kind)))?,
        (None, 1) => Kind::Floats(floats),
        (None, 10) => Kind::Floats(integers.iter().map(|&bits| half(bits as u16)).collect()),
        (None, 11) => from_raw(&doubles, 11).ok_or_else(|| fail(unknown(kind)))?,
        (None, 2..=7 | 9 | 12 | 13) => Kind::Integers(integers),
        (None, kind) => return Err(fail(unknown(kind))),
    };
    let (tensor, got) = match found {
        Kind::Floats(values) => (values.len(), Ok(values)),
        Kind::Integers(values) => (values.len(), Err(values)),
    };
    if tensor != count {
        return Err(fail(format!("should have {count} numbers, has {tensor}")));
    }
    Ok((
        name,
        match got {
            Ok(floats) => Tensor::floats(shape, floats),
            Err(integers) => Tensor::integers(shape, integers),
        },
    ))
}

enum Kind {
    Floats(Vec<f32>),
    Integers(Vec<i64>),
}

fn unknown(kind: i64) -> String {
    format!("holds numbers of a kind that is not read here (ONNX type {kind})")
}

/// Bytes per element of ONNX's types; 0 for those that are not read.
fn width(kind: i64) -> usize {
    match kind {
        2 | 3 | 9 => 1,
        4 | 5 | 10 | 16 => 2,
        1 | 6 | 12 => 4,
        7 | 11 | 13 => 8,
        _ => 0,
    }
}

fn from_raw(raw: &[u8], kind: i64) -> Option<Kind> {
    fn each<const N: usize, T>(raw: &[u8], of: impl Fn([u8; N]) -> T) -> Option<Vec<T>> {
        let (whole, rest) = raw.as_chunks::<N>();
        rest.is_empty().then(|| whole.iter().map(|bytes| of(*bytes)).collect())
    }
    Some(match kind {
        1 => Kind::Floats(each(raw, f32::from_le_bytes)?),
        10 => Kind::Floats(each(raw, |bytes| half(u16::from_le_bytes(bytes)))?),
        16 => Kind::Floats(each(raw, |bytes| f32::from_bits(u32::from(u16::from_le_bytes(bytes)) << 16))?),
        11 => Kind::Floats(each(raw, |bytes| f64::from_le_bytes(bytes) as f32)?),
        2 | 9 => Kind::Integers(raw.iter().map(|&byte| i64::from(byte)).collect()),
        3 => Kind::Integers(raw.iter().map(|&byte| i64::from(byte as i8)).collect()),
        4 => Kind::Integers(each(raw, |bytes| i64::from(u16::from_le_bytes(bytes)))?),
        5 => Kind::Integers(each(raw, |bytes| i64::from(i16::from_le_bytes(bytes)))?),
        6 => Kind::Integers(each(raw, |bytes| i64::from(i32::from_le_bytes(bytes)))?),
        12 => Kind::Integers(each(raw, |bytes| i64::from(u32::from_le_bytes(bytes)))?),
        7 | 13 => Kind::Integers(each(raw, i64::from_le_bytes)?),
        _ => return None,
    })
}

/// A 16-bit float.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, f32::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f32.powi(i32::from(exponent) - 15),
    };
    if sign == 1 { -size } else { size }
}

/// Bytes from a file beside the model; never from elsewhere.
fn read_external(entries: &[(String, String)], wanted: usize, folder: &Path) -> Result<Vec<u8>, String> {
    let value = |key: &str| entries.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let number =
        |key: &str| value(key).map(|text| text.parse::<u64>().map_err(|_| format!("has a bad {key}"))).transpose();
    let location = value("location").ok_or("does not say where its numbers are")?;
    if Path::new(location).components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("wants its numbers from \"{location}\", outside the model's folder"));
    }
    let path = folder.join(location);
    let trouble = |error: std::io::Error| format!("has its numbers in {}: {error}", path.display());
    if number("length")?.is_some_and(|length| length != wanted as u64) {
        return Err(format!("should have {wanted} bytes in {}, has others", path.display()));
    }
    let mut file = File::open(&path).map_err(trouble)?;
    let offset = number("offset")?.unwrap_or(0);
    let there = file.metadata().map_err(trouble)?.len().saturating_sub(offset);
    if there < wanted as u64 {
        return Err(format!("needs {wanted} bytes at {offset} of {}, which has {there} there", path.display()));
    }
    file.seek(SeekFrom::Start(offset)).map_err(trouble)?;
    let mut bytes = vec![0; wanted];
    file.read_exact(&mut bytes).map_err(trouble)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_are_exact() {
        assert_eq!([0x3c00, 0xc000, 0x3555, 0x0001, 0x0000].map(half), [1.0, -2.0, 0.333_251_95, 2f32.powi(-24), 0.0]);
        assert!(half(0x7c00).is_infinite() && half(0x7e00).is_nan());
    }

    #[test]
    fn external_data_stays_in_the_models_folder() {
        for location in ["../secrets", "/etc/passwd", "a/../../b"] {
            let said = read_external(&[("location".into(), location.into())], 4, Path::new(".")).unwrap_err();
            assert!(said.contains("outside the model's folder"), "{said}");
        }
    }
}
