//! Opening files, plain or gzipped (told by content, not by name), and reading what they claim to hold without trusting it.

use crate::error::{DataError, Place, Result};
use crate::io::unpack::{Budget, Metered};
use crate::io::utf16::{self, Utf16};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Deflate cannot grow by more than this factor, so a gzipped file of n bytes holds at most `n · 1032` (RFC 1951).
const DEFLATE_MOST: u64 = 1032;

/// Real data rarely shrinks by more than this.
const DEFLATE_LIKELY: u64 = 16;

/// A file being read, unzipped on the way if it is gzipped (and then no further than `io/unpack.rs` allows).
pub struct Input {
    path: PathBuf,
    reader: Box<dyn BufRead + Send>,
    /// No more bytes than this can come: the size on disk, times what deflate can gain.
    most: u64,
    /// So many bytes are worth reserving at once on a header's word.
    likely: u64,
    /// How many bytes will come, if the file is honest.
    hint: u64,
    /// Bytes on disk.
    packed: u64,
    gzipped: bool,
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// No such file; no permission; a folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|source| DataError::io(path, "open", source))?;
        let metadata = file.metadata().map_err(|source| DataError::io(path, "open", source))?;
        if metadata.is_dir() {
            return Err(DataError::format(path, Place::File, "is a folder, but a file is needed"));
        }
        // A pipe has no length: its bytes are counted as they arrive.
        let length = if metadata.is_file() { metadata.len() } else { u64::MAX / DEFLATE_MOST };
        Self::new(path, BufReader::with_capacity(1 << 16, file), length, metadata.is_file())
    }

    /// The same over bytes in memory; `path` is only used in messages.
    ///
    /// # Errors
    /// None that bytes in memory can cause.
    pub fn from_bytes(path: impl AsRef<Path>, bytes: Vec<u8>) -> Result<Self> {
        let length = bytes.len() as u64;
        Self::new(path.as_ref(), io::Cursor::new(bytes), length, true)
    }

    fn new(path: &Path, mut reader: impl BufRead + Seek + Send + 'static, length: u64, seekable: bool) -> Result<Self> {
        let path = path.to_owned();
        let failed = |source| DataError::io(&path, "read", source);
        if !reader.fill_buf().map_err(failed)?.starts_with(&[0x1f, 0x8b]) {
            let known = if seekable { length } else { 0 };
            return Ok(Self {
                path,
                reader: Box::new(reader),
                most: length,
                likely: known,
                hint: known,
                packed: length,
                gzipped: false,
            });
        }
        let likely = if seekable { length.saturating_mul(DEFLATE_LIKELY) } else { 0 };
        let mut trailer = [0; 4];
        // A gzipped file ends with the size of what it holds, modulo 2³².
        if seekable && length > 4 {
            reader.seek(SeekFrom::End(-4)).map_err(failed)?;
            reader.read_exact(&mut trailer).map_err(failed)?;
            reader.rewind().map_err(failed)?;
        }
        let unpacked = Metered { reader: MultiGzDecoder::new(reader), budget: Budget::new(&path, length)? };
        Ok(Self {
            path: path.clone(),
            reader: Box::new(BufReader::with_capacity(1 << 16, unpacked)),
            most: length.saturating_mul(DEFLATE_MOST),
            likely,
            hint: u64::from(u32::from_le_bytes(trailer)),
            packed: length,
            gzipped: true,
        })
    }

    /// The same input as UTF-8 text: UTF-16 with a byte-order mark is turned into it on the way.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn text(mut self) -> Result<Self> {
        let Some(order) = utf16::byte_order(self.peek()?) else { return Ok(self) };
        // Two bytes become at most three.
        let longer = |size: u64| size.saturating_add(size / 2);
        let reader = BufReader::with_capacity(1 << 16, Utf16::new(self.reader, order));
        let (most, likely, hint) = (longer(self.most), longer(self.likely), longer(self.hint));
        Ok(Self { reader: Box::new(reader), most, likely, hint, ..self })
    }

    /// Whether the file is gzipped.
    pub fn is_gzipped(&self) -> bool {
        self.gzipped
    }

    /// Bytes on disk, packed or not.
    pub(crate) fn packed(&self) -> u64 {
        self.packed
    }

    /// How many bytes will come, if the file is honest: not to be trusted with memory.
    pub fn declared_size(&self) -> u64 {
        self.hint
    }

    /// How many bytes to make room for at once.
    pub fn size_hint(&self) -> u64 {
        self.hint.min(self.likely)
    }

    /// The file's name, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Some bytes from the start of what is left, without taking them; none at the end of the file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn peek(&mut self) -> Result<&[u8]> {
        self.reader.fill_buf().map_err(|source| DataError::io(&self.path, "read", source))
    }

    /// Exactly `N` bytes.
    ///
    /// # Errors
    /// The file ends before.
    pub fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => Ok(bytes),
            Err(source) if source.kind() == io::ErrorKind::UnexpectedEof => {
                Err(DataError::format(&self.path, Place::File, format!("ends inside its {what} (is it cut off?)")))
            }
            Err(source) => Err(DataError::io(&self.path, "read", source)),
        }
    }

    /// Exactly `count` bytes, as a header claims. Memory is only taken for bytes that can be there.
    ///
    /// # Errors
    /// The file ends before, and then says how many bytes there were.
    pub fn exactly(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        let short = |path: &Path, got: u64| {
            let problem = format!("{what} should take {count} bytes, got {got} (is the file cut off?)");
            DataError::format(path, Place::File, problem)
        };
        let Some(room) = usize::try_from(count).ok().filter(|_| count <= self.most) else {
            let got = io::copy(&mut self.reader, &mut io::sink())
                .map_err(|source| DataError::io(&self.path, "read", source))?;
            return Err(short(&self.path, got));
        };
        // A gzipped file may still lie by a factor of a thousand: then the vector grows as bytes really come.
        let mut bytes = Vec::with_capacity(room.min(usize::try_from(self.likely).unwrap_or(room)));
        Read::take(&mut self.reader, count)
            .read_to_end(&mut bytes)
            .map_err(|source| DataError::io(&self.path, "read", source))?;
        if bytes.len() < room { Err(short(&self.path, bytes.len() as u64)) } else { Ok(bytes) }
    }

    /// Everything that is left, but no more than `most` bytes.
    ///
    /// # Errors
    /// More than `most` bytes.
    pub fn rest(&mut self, most: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        Read::take(&mut self.reader, most.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|source| DataError::io(&self.path, "read", source))?;
        if bytes.len() as u64 > most {
            return Err(DataError::format(&self.path, Place::File, format!("holds more than {most} bytes")));
        }
        Ok(bytes)
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// More bytes than `what` should have.
    pub fn end(mut self, what: &str) -> Result<()> {
        let path = self.path.clone();
        if self.peek()?.is_empty() {
            return Ok(());
        }
        Err(DataError::format(path, Place::File, format!("has more bytes than its {what} should")))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.reader.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.reader.consume(amount);
    }
}
