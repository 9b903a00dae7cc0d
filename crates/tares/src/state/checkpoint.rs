//! [`Checkpoint`]: everything a run needs to continue as if nothing had happened, as bytes.
//!
//! A checkpoint is a list of named entries behind a header:
//! ```text
//! "tares ck"  version u32  entries u32  { name, length u64, bytes }*  checksum u64      (little endian)
//! ```
//! The checksum covers all before it, so that a file that was cut or changed is refused instead of read. What
//! belongs to a run (plan, method, data) is in the checkpoint as a fingerprint: continuing another run is refused too.

use crate::error::{Error, Result};
use crate::history::{Epoch, load_epochs};
use std::collections::BTreeMap;
use tares_core::Fingerprint;

const MAGIC: &[u8; 8] = b"tares ck";
const VERSION: u32 = 1;

/// The complete state of a run after an epoch.
///
/// ```
/// use tares::Checkpoint;
/// let bytes = Checkpoint::default().to_bytes();
/// assert_eq!(Checkpoint::from_bytes(&bytes)?, Checkpoint::default());
/// let error = Checkpoint::from_bytes(&bytes[..bytes.len() - 1]).unwrap_err();
/// assert!(error.to_string().starts_with("checkpoint: "));
/// # Ok::<(), tares::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    entries: BTreeMap<String, Vec<u8>>,
}

impl Checkpoint {
    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let size: usize = self.entries.iter().map(|(name, bytes)| name.len() + bytes.len() + 12).sum();
        let mut out = Vec::with_capacity(size + 24);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        for (name, bytes) in &self.entries {
            out.extend_from_slice(&(name.len() as u32).to_le_bytes());
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
        let sum = checksum(&out);
        out.extend_from_slice(&sum.to_le_bytes());
        out
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Bytes that are not a checkpoint, or one of a later version, truncated or changed.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| Error::Checkpoint(what);
        if bytes.len() < MAGIC.len() || &bytes[..MAGIC.len()] != MAGIC {
            return Err(wrong("these bytes are no checkpoint of tares".into()));
        }
        let mut reader = Reader { bytes, at: MAGIC.len() };
        let version = reader.u32()?;
        if version != VERSION {
            return Err(wrong(format!("version must be {VERSION}, got {version}")));
        }
        let body = bytes.len().checked_sub(8).filter(|&body| body >= reader.at + 4).ok_or_else(|| cut(bytes.len()))?;
        let stored = u64::from_le_bytes(bytes[body..].try_into().expect("eight bytes"));
        if checksum(&bytes[..body]) != stored {
            return Err(wrong(format!("the checksum does not fit its {} bytes: cut short or changed", bytes.len())));
        }
        reader.bytes = &bytes[..body];
        let mut entries = BTreeMap::new();
        for _ in 0..reader.u32()? {
            let length = reader.u32()? as usize;
            let name = String::from_utf8(reader.take(length)?.to_vec())
                .map_err(|_| wrong("an entry's name is not text".into()))?;
            let length = usize::try_from(reader.u64()?).map_err(|_| cut(bytes.len()))?;
            entries.insert(name, reader.take(length)?.to_vec());
        }
        if reader.at != body {
            return Err(wrong(format!("{} bytes too many", body - reader.at)));
        }
        Ok(Self { entries })
    }

    /// How many epochs are behind this checkpoint.
    pub fn epochs(&self) -> usize {
        self.entries.get("epochs done").and_then(|b| b.as_slice().try_into().ok()).map_or(0, u64::from_le_bytes)
            as usize
    }

    /// What those epochs did, first to last.
    ///
    /// # Errors
    /// A checkpoint without them.
    pub fn history(&self) -> Result<Vec<Epoch>> {
        load_epochs(self)
    }

    /// For tests that change an entry behind a right checksum.
    #[cfg(test)]
    pub(crate) fn entries(&mut self) -> &mut BTreeMap<String, Vec<u8>> {
        &mut self.entries
    }

    pub(crate) fn put(&mut self, name: impl Into<String>, bytes: Vec<u8>) {
        self.entries.insert(name.into(), bytes);
    }

    pub(crate) fn put_u64(&mut self, name: &str, value: u64) {
        self.put(name, value.to_le_bytes().to_vec());
    }

    pub(crate) fn put_f32s(&mut self, name: impl Into<String>, values: &[f32]) {
        self.put(name, values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    pub(crate) fn put_f64s(&mut self, name: impl Into<String>, values: &[f64]) {
        self.put(name, values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    pub(crate) fn put_u32s(&mut self, name: impl Into<String>, values: &[u32]) {
        self.put(name, values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<&[u8]> {
        self.entries.get(name).map(Vec::as_slice).ok_or_else(|| Error::Checkpoint(format!("has no entry '{name}'")))
    }

    pub(crate) fn u64(&self, name: &str) -> Result<u64> {
        let bytes = self.bytes(name)?;
        bytes.try_into().map(u64::from_le_bytes).map_err(|_| Error::Checkpoint(format!("'{name}' is not one number")))
    }

    /// A number of epochs or steps: one that floating point still counts exactly.
    pub(crate) fn count(&self, name: &str) -> Result<u64> {
        match self.u64(name)? {
            count if count <= 1 << 53 => Ok(count),
            large => Err(Error::Checkpoint(format!("'{name}' must be at most 2^53, got {large}"))),
        }
    }

    pub(crate) fn f32s(&self, name: &str) -> Result<Vec<f32>> {
        self.numbers(name, f32::from_le_bytes)
    }

    pub(crate) fn f64s(&self, name: &str) -> Result<Vec<f64>> {
        self.numbers(name, f64::from_le_bytes)
    }

    pub(crate) fn u32s(&self, name: &str) -> Result<Vec<u32>> {
        self.numbers(name, u32::from_le_bytes)
    }

    fn numbers<const W: usize, T>(&self, name: &str, read: impl Fn([u8; W]) -> T) -> Result<Vec<T>> {
        let bytes = self.bytes(name)?;
        if bytes.len() % W != 0 {
            return Err(Error::Checkpoint(format!("'{name}' has {} bytes, no multiple of {W}", bytes.len())));
        }
        Ok(bytes.chunks_exact(W).map(|chunk| read(chunk.try_into().expect("whole chunks"))).collect())
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(length).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| cut(self.bytes.len()))?;
        let part = &self.bytes[self.at..end];
        self.at = end;
        Ok(part)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.take(4)?.try_into().expect("four bytes")))
    }

    fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.take(8)?.try_into().expect("eight bytes")))
    }
}

fn cut(length: usize) -> Error {
    Error::Checkpoint(format!("cut short after {length} bytes"))
}

/// What a stored checkpoint is checked against.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    Fingerprint::of_bytes(bytes).value()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint() -> Checkpoint {
        let mut checkpoint = Checkpoint::default();
        checkpoint.put_f32s("weights", &[1.5, -0.0, f32::MIN_POSITIVE]);
        checkpoint.put_f64s("epochs", &[0.1, f64::NAN]);
        checkpoint.put_u32s("kept", &[7, u32::MAX]);
        checkpoint.put_u64("epochs done", 3);
        checkpoint
    }

    #[test]
    fn every_number_survives_bit_by_bit() {
        let again = Checkpoint::from_bytes(&checkpoint().to_bytes()).unwrap();
        assert_eq!(again, checkpoint());
        assert_eq!(again.epochs(), 3);
        assert_eq!(again.f32s("weights").unwrap().map_bits(), [1.5f32, -0.0, f32::MIN_POSITIVE].map(f32::to_bits));
        assert!(again.f64s("epochs").unwrap()[1].is_nan());
        assert_eq!(again.u32s("kept").unwrap(), [7, u32::MAX]);
    }

    trait Bits {
        fn map_bits(&self) -> Vec<u32>;
    }
    impl Bits for Vec<f32> {
        fn map_bits(&self) -> Vec<u32> {
            self.iter().map(|value| value.to_bits()).collect()
        }
    }

    #[test]
    fn any_cut_is_refused() {
        let bytes = checkpoint().to_bytes();
        for length in 0..bytes.len() {
            let error = Checkpoint::from_bytes(&bytes[..length]).unwrap_err();
            assert!(matches!(error, Error::Checkpoint(_)), "{length}");
        }
    }

    #[test]
    fn any_changed_bit_is_refused() {
        let bytes = checkpoint().to_bytes();
        for bit in 0..8 * bytes.len() {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(Checkpoint::from_bytes(&changed).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let message = |bytes: &[u8]| Checkpoint::from_bytes(bytes).unwrap_err().to_string();
        assert_eq!(message(b"PK\x03\x04 something"), "checkpoint: these bytes are no checkpoint of tares");
        let mut later = checkpoint().to_bytes();
        later[8] = 9;
        assert_eq!(message(&later), "checkpoint: version must be 1, got 9");
        assert_eq!(checkpoint().bytes("targets").unwrap_err().to_string(), "checkpoint: has no entry 'targets'");
    }
}
