//! The bytes of elements → 32- or 64-bit floats, whatever their width, sign, byte order and array order.

use super::header::{ElementKind, Header};

/// A number an array can be converted to.
pub trait FromNumber: bytemuck::Pod {
    /// The elements that need no conversion.
    const SAME: Option<ElementKind>;
    /// From a 64-bit float.
    fn from_f64(value: f64) -> Self;
    /// From a 32-bit float, exactly.
    fn from_f32(value: f32) -> Self;
}

impl FromNumber for f32 {
    const SAME: Option<ElementKind> = Some(ElementKind::Float { size: 4 });
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn from_f32(value: f32) -> Self {
        value
    }
}

impl FromNumber for f64 {
    const SAME: Option<ElementKind> = Some(ElementKind::Float { size: 8 });
    fn from_f64(value: f64) -> Self {
        value
    }
    fn from_f32(value: f32) -> Self {
        f64::from(value)
    }
}

/// Converts rows from `first` on of a whole array of numbers, whatever the order and width of the elements.
pub(super) fn convert<T: FromNumber>(header: &Header, bytes: &[u8], first: usize, out: &mut [T]) {
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
pub(super) fn convert_plain<T: FromNumber>(header: &Header, bytes: &[u8], out: &mut [T]) {
    let size = header.kind.size();
    // The usual kinds get a loop of their own that the compiler turns into wide loads.
    macro_rules! plain {
        ($width:literal, $read:expr) => {{
            let (elements, _) = bytes.as_chunks::<$width>();
            out.iter_mut().zip(elements).for_each(|(out, element)| *out = $read(*element));
        }};
    }
    match (header.kind, header.big_endian) {
        (ElementKind::Float { size: 4 }, false) => plain!(4, |b| T::from_f32(f32::from_le_bytes(b))),
        (ElementKind::Float { size: 8 }, false) => plain!(8, |b| T::from_f64(f64::from_le_bytes(b))),
        (ElementKind::Integer { size: 1, signed: false }, _) => plain!(1, |b: [u8; 1]| T::from_f32(f32::from(b[0]))),
        (ElementKind::Integer { size: 4, signed: true }, false) => {
            plain!(4, |b| T::from_f64(f64::from(i32::from_le_bytes(b))))
        }
        (ElementKind::Integer { size: 8, signed: true }, false) => {
            plain!(8, |b| T::from_f64(i64::from_le_bytes(b) as f64))
        }
        _ => {
            let element = element_reader::<T>(header);
            out.iter_mut().zip(bytes.chunks_exact(size)).for_each(|(out, bytes)| *out = element(bytes));
        }
    }
}

/// One element of any kind.
pub(super) fn element_reader<T: FromNumber>(header: &Header) -> impl Fn(&[u8]) -> T {
    let (kind, big_endian) = (header.kind, header.big_endian);
    move |bytes: &[u8]| {
        let mut wide = [0u8; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        if big_endian {
            wide[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(wide);
        match kind {
            ElementKind::Bool => T::from_f32(if bits == 0 { 0.0 } else { 1.0 }),
            ElementKind::Float { size: 2 } => T::from_f32(half::f16::from_bits(bits as u16).to_f32()),
            ElementKind::Float { size: 4 } => T::from_f32(f32::from_bits(bits as u32)),
            ElementKind::Float { .. } => T::from_f64(f64::from_bits(bits)),
            ElementKind::Integer { size, signed: true } => {
                let unused = 64 - 8 * size as u32;
                T::from_f64((((bits << unused) as i64) >> unused) as f64)
            }
            ElementKind::Integer { .. } => T::from_f64(bits as f64),
            ElementKind::Text { .. } | ElementKind::Bytes { .. } => T::from_f32(f32::NAN),
        }
    }
}

/// Where element `within` (in C order) of a row lies in an array whose first index is the fastest.
pub(super) fn fortran_position(header: &Header, row: usize, mut within: usize) -> usize {
    let mut position = row;
    let mut stride = header.count() / header.shape.last().copied().unwrap_or(1).max(1);
    for dimension in (1..header.shape.len()).rev() {
        position += within % header.shape[dimension] * stride;
        within /= header.shape[dimension];
        stride /= header.shape[dimension - 1].max(1);
    }
    position
}
