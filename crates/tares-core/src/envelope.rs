//! Values as bytes, to be sent to other machines or kept: a kind, a version, the content, a checksum. Numbers are little-endian.
//!
//! A cut, damaged or foreign value is refused with a message, and no length is believed before the bytes for it are there.

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// The first bytes of everything that is written here.
const MAGIC: &[u8; 4] = b"TARE";
/// Bytes of magic, kind, version and checksum.
const AROUND: usize = 4 + 4 + 4 + 8;

/// Writes one value.
pub(crate) struct Sealed {
    bytes: Vec<u8>,
}

impl Sealed {
    /// Begins a value of a kind, which is four letters, in a version of its layout.
    pub(crate) fn new(kind: &[u8; 4], version: u32) -> Self {
        let mut sealed = Self { bytes: Vec::new() };
        sealed.bytes.extend_from_slice(MAGIC);
        sealed.bytes.extend_from_slice(kind);
        sealed.bytes.extend_from_slice(&version.to_le_bytes());
        sealed
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn i128(&mut self, value: i128) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn f64(&mut self, value: f64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn f32(&mut self, value: f32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// The number of values that follow, then each of them.
    pub(crate) fn list<T: Copy>(&mut self, values: &[T], mut each: impl FnMut(&mut Self, T)) {
        self.u64(values.len() as u64);
        values.iter().for_each(|&value| each(self, value));
    }

    /// The finished bytes.
    pub(crate) fn close(mut self) -> Vec<u8> {
        let sum = Fingerprint::of_bytes(&self.bytes).value();
        self.u64(sum);
        self.bytes
    }
}

/// Reads one value.
pub(crate) struct Opened<'a> {
    what: &'static str,
    rest: &'a [u8],
}

impl<'a> Opened<'a> {
    /// Checks kind, version and checksum. `what` is the value in the user's words.
    ///
    /// # Errors
    /// Bytes of another kind or a later version; cut or changed bytes.
    pub(crate) fn new(what: &'static str, kind: &[u8; 4], version: u32, bytes: &'a [u8]) -> Result<Self> {
        let refused = |allowed: String, got: String| Error::value(what, allowed, got);
        if bytes.len() < AROUND || !bytes.starts_with(MAGIC) || &bytes[4..8] != kind {
            return Err(refused("bytes that tares wrote for it".to_owned(), format!("{} other bytes", bytes.len())));
        }
        let (content, sum) = bytes.split_at(bytes.len() - 8);
        let mut opened = Self { what, rest: &content[8..] };
        let found = opened.u32()?;
        if found > version || found == 0 {
            return Err(refused(format!("of version 1 to {version} (update tares)"), format!("version {found}")));
        }
        if Fingerprint::of_bytes(content).value().to_le_bytes() != sum {
            return Err(refused("whole".to_owned(), "bytes that were cut or changed".to_owned()));
        }
        Ok(opened)
    }

    /// The error about a value that cannot be: checksums find accidents, not forgeries.
    pub(crate) fn bad(&self, problem: &str) -> Error {
        Error::value(self.what, "consistent", problem)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (now, rest) = self.rest.split_first_chunk::<N>().ok_or_else(|| self.bad("too few bytes"))?;
        self.rest = rest;
        Ok(*now)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    pub(crate) fn i128(&mut self) -> Result<i128> {
        Ok(i128::from_le_bytes(self.take()?))
    }

    pub(crate) fn f32(&mut self) -> Result<f32> {
        Ok(f32::from_le_bytes(self.take()?))
    }

    /// A finite number.
    pub(crate) fn f64(&mut self) -> Result<f64> {
        let value = f64::from_le_bytes(self.take()?);
        if value.is_finite() { Ok(value) } else { Err(self.bad("a number that is not finite")) }
    }

    pub(crate) fn size(&mut self) -> Result<usize> {
        usize::try_from(self.u64()?).map_err(|_| self.bad("a size that no memory holds"))
    }

    /// A list whose entries take at least one byte each.
    pub(crate) fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let length = self.size()?;
        if length > self.rest.len() {
            return Err(self.bad("a list that is longer than its bytes"));
        }
        (0..length).map(|_| each(self)).collect()
    }

    /// Nothing may be left.
    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.bad("more bytes than it has")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(bytes: &[u8]) -> Result<Vec<f64>> {
        let mut opened = Opened::new("test value", b"test", 2, bytes)?;
        let numbers = opened.list(Opened::f64)?;
        opened.end()?;
        Ok(numbers)
    }

    fn sealed(version: u32) -> Vec<u8> {
        let mut sealed = Sealed::new(b"test", version);
        sealed.list(&[1.5, -2.0], Sealed::f64);
        sealed.close()
    }

    #[test]
    fn a_value_comes_back_and_no_damaged_one_does() {
        let bytes = sealed(2);
        assert_eq!(numbers(&bytes).unwrap(), [1.5, -2.0]);
        for place in 0..bytes.len() {
            let mut other = bytes.clone();
            other[place] ^= 4;
            assert!(numbers(&other).is_err(), "byte {place}");
            assert!(numbers(&bytes[..place]).is_err(), "{place} bytes");
        }
    }

    #[test]
    fn a_later_version_says_what_to_do() {
        let said = numbers(&sealed(3)).unwrap_err().to_string();
        assert!(said.contains("version 1 to 2 (update tares), got version 3"), "{said}");
    }

    #[test]
    fn a_length_is_not_believed() {
        let mut sealed = Sealed::new(b"test", 1);
        sealed.u64(u64::MAX >> 8);
        assert!(numbers(&sealed.close()).unwrap_err().to_string().contains("longer than its bytes"));
    }
}
