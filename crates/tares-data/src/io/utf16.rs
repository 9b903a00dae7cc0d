//! UTF-16 → UTF-8, as bytes come. Spreadsheets save "Unicode text" this way, with a byte-order mark in front.

use std::io::{self, Read};

/// Bytes taken at a time.
const STEP: usize = 1 << 14;

/// The byte order of UTF-16 text, if it begins with a mark.
pub(crate) fn byte_order(head: &[u8]) -> Option<Order> {
    match head {
        // UTF-32 begins with the same two bytes.
        [0xff, 0xfe, 0, 0, ..] => None,
        [0xff, 0xfe, ..] => Some(Order::LowFirst),
        [0xfe, 0xff, ..] => Some(Order::HighFirst),
        _ => None,
    }
}

/// Which byte of a unit comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    LowFirst,
    HighFirst,
}

/// A reader that gives UTF-8, without the mark.
pub(crate) struct Utf16<R> {
    inner: R,
    order: Order,
    /// Bytes that are no whole character yet.
    raw: Vec<u8>,
    /// Decoded text; the part from `taken` on has not been read yet.
    text: Vec<u8>,
    taken: usize,
    started: bool,
}

impl<R: Read> Utf16<R> {
    pub(crate) fn new(inner: R, order: Order) -> Self {
        Self { inner, order, raw: Vec::new(), text: Vec::new(), taken: 0, started: false }
    }

    /// Decodes the next piece; false at the end.
    fn refill(&mut self) -> io::Result<bool> {
        let before = self.raw.len();
        let count = (&mut self.inner).take(STEP as u64).read_to_end(&mut self.raw)?;
        let at_end = count < STEP;
        if at_end && before + count == 0 {
            return Ok(false);
        }
        let unit = |bytes: &[u8]| match self.order {
            Order::LowFirst => u16::from_le_bytes([bytes[0], bytes[1]]),
            Order::HighFirst => u16::from_be_bytes([bytes[0], bytes[1]]),
        };
        let mut units: Vec<u16> = self.raw.chunks_exact(2).map(unit).collect();
        // The first half of a pair waits for the second.
        if !at_end && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.raw.drain(..2 * units.len());
        if at_end && !self.raw.is_empty() {
            return Err(broken());
        }
        self.text.clear();
        self.taken = 0;
        for (place, character) in char::decode_utf16(units).enumerate() {
            let character = character.map_err(|_| broken())?;
            let mark = !self.started && place == 0 && character == '\u{feff}';
            if !mark {
                self.text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        self.started = true;
        Ok(true)
    }
}

fn broken() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the text is not whole UTF-16 (is the file cut off?)")
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.text.len() {
            if !self.refill()? {
                return Ok(0);
            }
        }
        let count = out.len().min(self.text.len() - self.taken);
        out[..count].copy_from_slice(&self.text[self.taken..self.taken + count]);
        self.taken += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_orders_and_pairs_across_pieces_are_read() {
        // A clef takes two units; an odd number of letters in front moves it over the border of a piece.
        let text: String = format!("a{}", "\u{1d11e}é,\n".repeat(9000));
        for order in [Order::LowFirst, Order::HighFirst] {
            let bytes: Vec<u8> = format!("\u{feff}{text}")
                .encode_utf16()
                .flat_map(|unit| if order == Order::LowFirst { unit.to_le_bytes() } else { unit.to_be_bytes() })
                .collect();
            assert_eq!(byte_order(&bytes), Some(order));
            let mut read = String::new();
            Utf16::new(&bytes[..], order).read_to_string(&mut read).unwrap();
            assert_eq!(read, text);
            let cut = Utf16::new(&bytes[..bytes.len() - 1], order).read_to_string(&mut read);
            assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
        assert_eq!(byte_order(b"a,b\n"), None);
    }
}
