//! [`Hybrid`]: Parquet's hybrid of runs and packed bits, in which it stores definition levels and places in a dictionary.
//!
//! ```text
//! run: varint 2 n, one value of ⌈bits / 8⌉ bytes | packed: varint 2 g + 1, 8 g values of `bits` bits
//! ```

/// Bytes that must follow the encoded ones, so that eight can be read at once anywhere.
pub(super) const PADDING: usize = 8;

/// A place in the encoded bytes `bytes[..end]` of a longer slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hybrid {
    bits: u32,
    at: usize,
    end: usize,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
enum Run {
    /// A value, and how often it comes.
    Same(u32, usize),
    /// The bit at which the next value begins, and how many values come.
    Packed(usize, usize),
}

impl Hybrid {
    /// Values of `bits` bits in `at..end`; `None` for more than 32 bits.
    pub(super) fn new(bits: u32, at: usize, end: usize) -> Option<Self> {
        (bits <= 32).then_some(Self { bits, at, end, run: Run::Same(0, 0) })
    }

    /// The value that all of the next `count` values have, if they are one run.
    pub(super) fn same(mut self, bytes: &[u8], count: usize) -> Option<u32> {
        self.refill(bytes)?;
        match self.run {
            Run::Same(value, left) if left >= count => Some(value),
            _ => None,
        }
    }

    /// The next values; `None` if there are not so many. `bytes` are [`PADDING`] longer than the encoded bytes at least.
    pub(super) fn read(&mut self, bytes: &[u8], out: &mut [u32]) -> Option<()> {
        let mut rest = out;
        while !rest.is_empty() {
            let count = self.refill(bytes)?.min(rest.len());
            let (now, later) = rest.split_at_mut(count);
            match &mut self.run {
                Run::Same(value, left) => {
                    now.fill(*value);
                    *left -= count;
                }
                Run::Packed(bit, left) => {
                    unpack(bytes, *bit, self.bits, now);
                    *bit += count * self.bits as usize;
                    *left -= count;
                }
            }
            rest = later;
        }
        Some(())
    }

    /// Leaves out values; `None` if there are not so many.
    pub(super) fn skip(&mut self, bytes: &[u8], mut count: usize) -> Option<()> {
        while count > 0 {
            let now = self.refill(bytes)?.min(count);
            match &mut self.run {
                Run::Same(_, left) => *left -= now,
                Run::Packed(bit, left) => {
                    *bit += now * self.bits as usize;
                    *left -= now;
                }
            }
            count -= now;
        }
        Some(())
    }

    /// How many values are left in this run, or in the next if there are none.
    fn refill(&mut self, bytes: &[u8]) -> Option<usize> {
        loop {
            match self.run {
                Run::Same(_, left) | Run::Packed(_, left) if left > 0 => return Some(left),
                _ => {}
            }
            let mut head = 0u64;
            for shift in (0..).step_by(7) {
                let byte = *bytes.get(self.at).filter(|_| self.at < self.end && shift < 35)?;
                self.at += 1;
                head |= u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let count = usize::try_from(head >> 1).ok()?;
            if head & 1 == 0 {
                let size = self.bits.div_ceil(8) as usize;
                let value = bytes.get(self.at..self.at + size).filter(|_| self.at + size <= self.end)?;
                let value = value.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte));
                self.run = Run::Same(value, count);
                self.at += size;
            } else {
                // Writers may cut off the last, unused values of a packed run; those that are left can be read.
                let (start, size) = (self.at, count.checked_mul(self.bits as usize)?);
                let there = (self.end - start).min(size);
                let values = if self.bits == 0 { 8 * count } else { (8 * there / self.bits as usize).min(8 * count) };
                self.run = Run::Packed(8 * start, values);
                self.at += there;
                if values == 0 && count > 0 {
                    return None;
                }
            }
        }
    }
}

/// Values of `bits` bits from bit `from` on, least significant bits first. Eight bytes are read at once, as many times as needed:
/// they hold two values of 28 bits wherever the first begins in its byte, three of 19 or four of 14.
fn unpack(bytes: &[u8], from: usize, bits: u32, out: &mut [u32]) {
    match bits {
        0..=14 => unpack_together::<4>(bytes, from, bits, out),
        15..=19 => unpack_together::<3>(bytes, from, bits, out),
        20..=28 => unpack_together::<2>(bytes, from, bits, out),
        _ => unpack_together::<1>(bytes, from, bits, out),
    }
}

#[inline(always)]
fn unpack_together<const TOGETHER: usize>(bytes: &[u8], from: usize, bits: u32, out: &mut [u32]) {
    let mask = ((1u64 << bits) - 1) as u32;
    let word = |bit: usize| {
        let word = bytes.get(bit / 8..).and_then(|rest| rest.first_chunk::<8>());
        word.map_or(0, |word| u64::from_le_bytes(*word) >> (bit % 8))
    };
    let mut bit = from;
    let (together, rest) = out.as_chunks_mut::<TOGETHER>();
    for out in together {
        let word = word(bit);
        (0..TOGETHER).for_each(|at| out[at] = (word >> (at as u32 * bits)) as u32 & mask);
        bit += TOGETHER * bits as usize;
    }
    for out in rest {
        *out = word(bit) as u32 & mask;
        bit += bits as usize;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of five 9s, then eight packed values of five bits, as the format's description lays them out.
    fn encoded() -> (Vec<u8>, usize, Vec<u32>) {
        let packed: Vec<u32> = vec![1, 31, 0, 7, 16, 2, 30, 5];
        let mut bytes = vec![2 * 5, 9, 2 + 1];
        let word = packed.iter().rev().fold(0u64, |word, &value| word << 5 | u64::from(value));
        bytes.extend_from_slice(&word.to_le_bytes()[..5]);
        let end = bytes.len();
        bytes.extend([0; PADDING]);
        (bytes, end, [vec![9; 5], packed].concat())
    }

    #[test]
    fn runs_and_packed_values_are_read_and_skipped() {
        let (bytes, end, values) = encoded();
        let begin = Hybrid::new(5, 0, end).unwrap();
        for skipped in 0..values.len() {
            for count in 0..=values.len() - skipped {
                let (mut hybrid, mut out) = (begin, vec![0; count]);
                hybrid.skip(&bytes, skipped).unwrap();
                hybrid.read(&bytes, &mut out).unwrap();
                assert_eq!(out, values[skipped..][..count]);
            }
        }
        assert_eq!((begin.same(&bytes, 5), begin.same(&bytes, 6)), (Some(9), None));
        let mut hybrid = begin;
        assert!(hybrid.read(&bytes, &mut [0; 14]).is_none());
    }

    #[test]
    fn damaged_runs_end() {
        for end in 0..4 {
            let (bytes, ..) = encoded();
            let mut hybrid = Hybrid::new(5, 0, end).unwrap();
            assert!(hybrid.skip(&bytes, 13).is_none(), "{end}");
        }
        // Runs of nothing, for ever.
        assert!(Hybrid::new(1, 0, 4).unwrap().skip(&[0; 12], 1).is_none());
        assert!(Hybrid::new(33, 0, 4).is_none());
    }
}
