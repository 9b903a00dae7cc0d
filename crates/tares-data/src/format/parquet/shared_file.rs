//! [`SharedFile`]: a file that several threads read at positions of their own.
//!
//! Parquet's own reader of a `File` moves the position that all copies of a file share, so two threads would read each other's bytes.

use crate::io::read_exact_at;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

/// An open file of known length.
#[derive(Clone, Debug)]
pub struct SharedFile {
    file: Arc<File>,
    length: u64,
}

impl SharedFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), length })
    }
}

impl Length for SharedFile {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for SharedFile {
    type T = BufReader<FileFrom>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        Ok(BufReader::new(FileFrom { shared: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        // No memory on a header's word: the bytes must be there.
        if start.checked_add(length as u64).is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} in a file of {}", self.length)));
        }
        let mut bytes = vec![0; length];
        read_exact_at(&self.file, start, &mut bytes)?;
        Ok(bytes.into())
    }
}

/// The bytes of a file from a position on.
#[derive(Debug)]
pub struct FileFrom {
    shared: SharedFile,
    at: u64,
}

impl Read for FileFrom {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = (self.shared.length.saturating_sub(self.at)).min(out.len() as u64) as usize;
        read_exact_at(&self.shared.file, self.at, &mut out[..count])?;
        self.at += count as u64;
        Ok(count)
    }
}
