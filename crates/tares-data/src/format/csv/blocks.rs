//! A file → blocks of whole records, so that each can be read by itself.

use super::record;
use crate::error::{DataError, Result};
use crate::io::Input;
use std::io::Read;

/// Bytes of a block: with the numbers it holds it fits into a core's own cache.
const SIZE: usize = 1 << 17;

/// Gives the blocks of a file one after the other.
pub(super) struct Blocks {
    input: Input,
    delimiter: u8,
    /// Bytes that were read behind the last whole record.
    rest: Vec<u8>,
    ended: bool,
}

impl Blocks {
    /// Blocks of a text whose first bytes have not been read.
    pub(super) fn new(input: Input, delimiter: u8) -> Self {
        Self { input, delimiter, rest: Vec::new(), ended: false }
    }

    /// The file, for messages and its size.
    pub(super) fn input(&self) -> &Input {
        &self.input
    }

    /// Fills `block` with the next records; it is empty at the end of the file.
    ///
    /// A record that is longer than a block makes the block longer.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next(&mut self, block: &mut Vec<u8>) -> Result<()> {
        block.clear();
        block.append(&mut self.rest);
        while !self.ended {
            let wanted = SIZE.max(2 * block.len()) - block.len();
            let read = (&mut self.input)
                .take(wanted as u64)
                .read_to_end(block)
                .map_err(|source| DataError::io(self.input.path(), "read", source))?;
            self.ended = read < wanted;
            if !self.ended
                && let Some(end) = record::whole_records(block, self.delimiter)
            {
                self.rest.extend_from_slice(&block[end..]);
                block.truncate(end);
                break;
            }
        }
        Ok(())
    }

    /// The next blocks, at most `count`.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn several(&mut self, count: usize, mut spare: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>> {
        spare.resize_with(count, Vec::new);
        for filled in 0..count {
            self.next(&mut spare[filled])?;
            if spare[filled].is_empty() {
                spare.truncate(filled);
                break;
            }
        }
        Ok(spare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_the_file_cut_behind_records() {
        let long = "x".repeat(3 * SIZE);
        let mut text = format!("a,b\n1,\"{long}\nmore\"\n");
        for row in 0..50_000 {
            text.push_str(&format!("{row},\"line\n{row}\"\r\n"));
        }
        let mut blocks = Blocks::new(Input::from_bytes("t.csv", text.clone().into_bytes()).unwrap(), b',');
        let (mut all, mut long_blocks) = (Vec::new(), 0);
        loop {
            let next = blocks.several(3, Vec::new()).unwrap();
            if next.is_empty() {
                break;
            }
            for block in next {
                long_blocks += usize::from(block.len() > SIZE);
                assert!(block.ends_with(b"\n"));
                all.extend(block);
            }
        }
        assert!(all == text.as_bytes());
        assert_eq!(long_blocks, 1);
    }
}
