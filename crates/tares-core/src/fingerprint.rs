//! FNV-1a, a published hash that never changes: stream numbers, checksums and fingerprints of data depend on it.

use crate::dataset::Label;

const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a of bytes.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(BASIS, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// A number that changes when anything that was added changes: FNV-1a over words of 64 bits, fast enough for whole data sets.
///
/// It finds accidents, not forgeries.
///
/// ```
/// use tares_core::Fingerprint;
/// let of = |words: &[u64]| words.iter().fold(Fingerprint::default(), |print, &word| print.with(word)).value();
/// assert_eq!(of(&[1, 2]), of(&[1, 2]));
/// assert_ne!(of(&[1, 2]), of(&[2, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Fingerprint {
    /// With one more word.
    #[must_use]
    pub fn with(self, word: u64) -> Self {
        // A product moves bits only upwards; the rotation brings the upper ones down again.
        Self((self.0 ^ word).wrapping_mul(PRIME).rotate_left(29))
    }

    /// With the labels of many rows, a word each.
    #[must_use]
    pub fn with_labels(self, labels: &[Label]) -> Self {
        labels.iter().fold(self, |print, &label| print.with(u64::from(label)))
    }

    /// The fingerprint of bytes and their number, eight bytes to a word.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        let length = Self((BASIS ^ bytes.len() as u64).wrapping_mul(PRIME));
        let print = words.iter().fold(length, |print, word| print.with(u64::from_le_bytes(*word)));
        if rest.is_empty() {
            return print;
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        print.with(u64::from_le_bytes(last))
    }

    /// The number.
    pub fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test vectors (Landon Curt Noll's FNV page).
    #[test]
    fn fnv1a_is_the_published_one() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn every_bit_of_every_byte_counts() {
        let bytes: Vec<u8> = (0..21).collect();
        let print = |bytes: &[u8]| Fingerprint::of_bytes(bytes).value();
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut other = bytes.clone();
                other[place] ^= 1 << bit;
                assert_ne!(print(&other), print(&bytes), "byte {place}, bit {bit}");
            }
            assert_ne!(print(&bytes[..place]), print(&bytes));
        }
        assert_ne!(print(&[0]), print(&[0, 0]), "the length counts as well");
    }
}
