//! The headers of a Parquet file, looked at before Parquet's own reader takes memory on their word.

use super::thrift;
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;

/// A page cannot hold more than so many times its bytes on disk, apart from [`FREE_BYTES`].
const MOST_GAIN: i64 = 1100;

/// What a page may hold whatever its size on disk.
const FREE_BYTES: i64 = 1 << 22;

/// Checks the footer: `… | metadata | length of the metadata (4 bytes) | PAR1`.
pub(super) fn check_footer(bytes: &impl ChunkReader) -> std::result::Result<(), String> {
    let length = bytes.len();
    if length < 12 {
        return Err("is too short for Parquet".into());
    }
    let tail = bytes.get_bytes(length - 8, 8).map_err(|error| error.to_string())?;
    if &tail[4..] != b"PAR1" {
        return Err("is no Parquet file (or it is encrypted, or cut off)".into());
    }
    let claimed = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if claimed > length - 8 {
        return Err(format!("claims {claimed} bytes of metadata in {length} bytes"));
    }
    let metadata = bytes.get_bytes(length - 8 - claimed, claimed as usize).map_err(|error| error.to_string())?;
    let most = claimed as i64;
    thrift::scan(&metadata, &mut |path, value| match path {
        // The children of a schema element.
        [2, 5] if value < 0 || value > most => Err(format!("claims {value} columns inside a column")),
        _ => Ok(()),
    })?;
    Ok(())
}

/// What a page header says. The page's bytes follow it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageHead {
    /// Where the bytes begin in the file.
    pub(super) start: u64,
    /// How many there are.
    pub(super) packed: usize,
    /// How many they are unpacked.
    pub(super) unpacked: usize,
    /// As Parquet numbers them: 0 data, 1 index, 2 dictionary, 3 data of the second version.
    pub(super) kind: i64,
    /// Values of a dictionary or of data of the first version, missing ones included.
    pub(super) values: usize,
    /// Encodings of the values and of the definition levels, as Parquet numbers them.
    pub(super) encoding: i64,
    pub(super) level_encoding: i64,
}

/// Checks the page headers of a column before its pages are unpacked.
pub(super) fn check_pages(bytes: &impl ChunkReader, chunk: &ColumnChunkMetaData) -> std::result::Result<(), String> {
    each_page(bytes, chunk, |_| ())
}

/// Checks the page headers of a column and calls `each` with them, in order.
pub(super) fn each_page(
    bytes: &impl ChunkReader,
    chunk: &ColumnChunkMetaData,
    mut each: impl FnMut(PageHead),
) -> std::result::Result<(), String> {
    let first = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset()).min(chunk.data_page_offset());
    let (Ok(start), Ok(size)) = (u64::try_from(first), u64::try_from(chunk.compressed_size())) else {
        return Err("claims to lie at a negative place".into());
    };
    let end = start.checked_add(size).filter(|end| *end <= bytes.len());
    let end = end.ok_or_else(|| format!("claims bytes {start} and {size} more in a file of {}", bytes.len()))?;
    let mut at = start;
    while at < end {
        let (mut uncompressed, mut compressed, mut dictionary) = (0, 0, 0);
        let (mut kind, mut values, mut encoding, mut level_encoding) = (0, 0, 0, 0);
        let mut window = (end - at).min(1 << 13);
        let length = loop {
            let header = bytes.get_bytes(at, window as usize).map_err(|error| error.to_string())?;
            let scanned = thrift::scan(&header, &mut |path, value| {
                match path {
                    [1] => kind = value,
                    [2] => uncompressed = value,
                    [3] => compressed = value,
                    [5, 1] => values = value,
                    [5, 2] | [7, 2] => encoding = value,
                    [5, 3] => level_encoding = value,
                    [7, 1] => (dictionary, values) = (value, value),
                    _ => {}
                }
                Ok(())
            });
            match scanned {
                Ok(length) => break length as u64,
                Err(_) if window < end - at && window < 1 << 24 => window = (window * 16).min(end - at),
                Err(problem) => return Err(format!("page at byte {at} {problem}")),
            }
        };
        let left = (end - at - length) as i64;
        if !(0..=left).contains(&compressed) {
            return Err(format!("page at byte {at} claims {compressed} bytes where {left} are left"));
        }
        if uncompressed < 0 || uncompressed > compressed.saturating_mul(MOST_GAIN) + FREE_BYTES {
            return Err(format!("page at byte {at} claims {uncompressed} bytes unpacked from {compressed}"));
        }
        if dictionary < 0 || dictionary > uncompressed.max(compressed) {
            return Err(format!("page at byte {at} claims {dictionary} dictionary entries in {uncompressed} bytes"));
        }
        let (start, packed, unpacked) = (at + length, compressed as usize, uncompressed as usize);
        let values = usize::try_from(values).unwrap_or(usize::MAX);
        each(PageHead { start, packed, unpacked, kind, values, encoding, level_encoding });
        at = start + packed as u64;
    }
    Ok(())
}
