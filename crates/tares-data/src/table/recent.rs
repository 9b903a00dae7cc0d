//! Text cells of a block of rows → codes. Cells that were seen a moment ago are recognised by their bytes alone, without a look
//! at whether they are UTF-8 or known; what was forgotten gets another code, and
//! [`Dictionary::append`](super::columns::Dictionary::append) brings the codes of all blocks together
//! and says which words are missing values.

use crate::table::columns::MISSING;
use std::ops::Range;
use std::str::Utf8Error;

/// Cells that are remembered: more than columns of words usually have.
const SLOTS: usize = 512;

/// Longer cells are not remembered.
const LONGEST: usize = 16;

/// The text cells of one column in one block.
pub(crate) struct RecentTexts {
    /// One per row, into the levels.
    pub codes: Vec<u32>,
    /// The levels, one after the other. The same text may come several times.
    text: String,
    ends: Vec<usize>,
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// The cell's first and last bytes; those between them, which are in both, too.
    ends: [u64; 2],
    /// The cell's length, 0 in an empty slot.
    length: u8,
    code: u32,
}

impl Default for RecentTexts {
    fn default() -> Self {
        Self { codes: Vec::new(), text: String::new(), ends: Vec::new(), slots: vec![Slot::default(); SLOTS] }
    }
}

impl RecentTexts {
    /// Forgets all cells; memory is kept.
    pub(crate) fn clear(&mut self) {
        self.codes.clear();
        self.text.clear();
        self.ends.clear();
        self.slots.fill(Slot::default());
    }

    /// Adds a cell without a value.
    pub(crate) fn push_missing(&mut self) {
        self.codes.push(MISSING);
    }

    /// Adds a cell.
    ///
    /// # Errors
    /// It is no UTF-8.
    pub(crate) fn push(&mut self, cell: &[u8]) -> Result<(), Utf8Error> {
        if !(1..=LONGEST).contains(&cell.len()) {
            let code = self.code(cell)?;
            self.codes.push(code);
            return Ok(());
        }
        let (ends, length) = (ends(cell), cell.len() as u8);
        let place = slot_of(ends);
        let slot = self.slots[place];
        let code = if (slot.ends, slot.length) == (ends, length) {
            slot.code
        } else {
            let code = self.code(cell)?;
            self.slots[place] = Slot { ends, length, code };
            code
        };
        self.codes.push(code);
        Ok(())
    }

    /// The code of a cell that is not remembered.
    fn code(&mut self, cell: &[u8]) -> Result<u32, Utf8Error> {
        let text = std::str::from_utf8(cell)?.trim();
        if text.is_empty() {
            return Ok(MISSING);
        }
        self.text.push_str(text);
        self.ends.push(self.text.len());
        Ok(self.ends.len() as u32 - 1)
    }

    /// The levels, in order of appearance.
    pub(crate) fn levels(&self) -> impl Iterator<Item = &str> {
        let start = |place: usize| if place == 0 { 0 } else { self.ends[place - 1] };
        let range = move |(place, &end): (usize, &usize)| -> Range<usize> { start(place)..end };
        self.ends.iter().enumerate().map(range).map(|range| &self.text[range])
    }
}

/// All bytes of a cell of 1 to 16 bytes: the first and the last 8, which overlap, or the first and the last 4 or 1. Two cells of
/// one length differ in them.
fn ends(cell: &[u8]) -> [u64; 2] {
    if let (Some(first), Some(last)) = (cell.first_chunk(), cell.last_chunk()) {
        [u64::from_le_bytes(*first), u64::from_le_bytes(*last)]
    } else if let (Some(first), Some(last)) = (cell.first_chunk(), cell.last_chunk()) {
        [u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last))]
    } else {
        let middle = u64::from(cell[cell.len() / 2]) << 8;
        [u64::from(cell[0]) | middle, u64::from(cell[cell.len() - 1])]
    }
}

/// Where a cell is remembered: its bytes mixed by a product, of which the high bits depend on all others.
fn slot_of([first, last]: [u64; 2]) -> usize {
    let mixed = first ^ last.rotate_left(29);
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_keeps_its_text() {
        let mut texts = RecentTexts::default();
        // More texts than slots, short and long, with spaces around; 0 bytes and lengths tell cells apart.
        let cells: Vec<String> = (0..20_000usize)
            .map(|row| match row % 7 {
                0 => [" ", ""][row % 2].to_owned(),
                1 => " red ".to_owned(),
                2 => "red".to_owned(),
                3 => format!("a text of more than sixteen bytes, {}", row % 5),
                4 => "\0".repeat(1 + row % 16),
                5 => format!("{}a{}", row % 3, row % 2).repeat(1 + row % 5),
                _ => format!("town {}", row * row % 3000),
            })
            .collect();
        cells.iter().for_each(|cell| texts.push(cell.as_bytes()).unwrap());
        let levels: Vec<&str> = texts.levels().collect();
        assert!(levels.len() < cells.len() - 6000);
        for (cell, &code) in cells.iter().zip(&texts.codes) {
            let got = if code == MISSING { "" } else { levels[code as usize] };
            assert_eq!(got, cell.trim());
        }
        assert!(texts.push(b"caf\xe9").is_err());
    }
}
