//! The line on which a record begins.
//!
//! The CSV reader counts line ends, but it skips blank lines and the second half of `\r\n` when it begins the next record, so
//! a record begins further down than the reader says. [`RecentBytes`] keeps the last bytes it was given, so that those line ends
//! can be counted.

use crate::io::Input;
use std::io::{self, Read};

/// An input that keeps the last two pieces that were read.
pub(super) struct RecentBytes {
    input: Input,
    bytes: Vec<u8>,
    /// The place of `bytes` in the file.
    start: u64,
    /// Where the last piece begins in `bytes`.
    last: usize,
}

impl RecentBytes {
    pub(super) fn new(input: Input) -> Self {
        Self { input, bytes: Vec::new(), start: 0, last: 0 }
    }

    /// Line ends between byte `at` of the file and the next character that is none.
    pub(super) fn line_ends_at(&self, at: u64) -> u64 {
        let Some(from) = at.checked_sub(self.start) else { return 0 };
        let rest = self.bytes.get(from as usize..).unwrap_or_default();
        rest.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).filter(|&&byte| byte == b'\n').count() as u64
    }
}

impl Read for RecentBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(out)?;
        if count == 0 {
            return Ok(0);
        }
        self.bytes.drain(..self.last);
        self.start += self.last as u64;
        self.last = self.bytes.len();
        self.bytes.extend_from_slice(&out[..count]);
        Ok(count)
    }
}
