//! Reading at a position of a file, by several threads at once.

use std::fs::File;
use std::io;

/// Fills `out` with the bytes from `at` on.
#[cfg(unix)]
pub(crate) fn read_exact_at(file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, out, at)
}

/// Fills `out` with the bytes from `at` on.
#[cfg(windows)]
pub(crate) fn read_exact_at(file: &File, mut at: u64, mut out: &mut [u8]) -> io::Result<()> {
    while !out.is_empty() {
        match std::os::windows::fs::FileExt::seek_read(file, out, at) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => (at, out) = (at + count as u64, &mut out[count..]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Fills `out` with the bytes from `at` on: one thread after the other, since a file has one position here.
#[cfg(not(any(unix, windows)))]
pub(crate) fn read_exact_at(mut file: &File, at: u64, out: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek};
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _turn = TURN.lock();
    file.seek(io::SeekFrom::Start(at))?;
    file.read_exact(out)
}
