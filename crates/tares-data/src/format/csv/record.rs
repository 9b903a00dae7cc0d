//! Where cells and records of a CSV file end.
//!
//! A quote counts only at the start of a cell; there it opens text in which delimiters and line ends are text and two quotes are
//! one. What follows the closing quote, up to the delimiter, belongs to the cell as it stands. `\n`, `\r` and `\r\n` end a
//! record, blank lines are skipped, and the end of the file ends whatever is open.

use memchr::{memchr, memchr_iter, memchr3, memrchr2};
use std::borrow::Cow;

/// Whether a byte ends a record.
pub(super) fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Count of lines that end in these bytes.
pub(super) fn lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}

/// The cell that begins at `start`, and where its delimiter or line end stands.
pub(super) fn cell(bytes: &[u8], start: usize, delimiter: u8) -> (Cow<'_, [u8]>, usize) {
    let plain_end = |from: usize| plain_end(bytes, from, delimiter);
    if bytes.get(start) != Some(&b'"') {
        let end = plain_end(start);
        return (Cow::Borrowed(&bytes[start..end]), end);
    }
    let mut text = Vec::new();
    let mut from = start + 1;
    while let Some(quote) = memchr(b'"', &bytes[from..]).map(|at| from + at) {
        if bytes.get(quote + 1) == Some(&b'"') {
            text.extend_from_slice(&bytes[from..=quote]);
            from = quote + 2;
            continue;
        }
        let end = plain_end(quote + 1);
        if text.is_empty() && end == quote + 1 {
            return (Cow::Borrowed(&bytes[from..quote]), end);
        }
        text.extend_from_slice(&bytes[from..quote]);
        text.extend_from_slice(&bytes[quote + 1..end]);
        return (Cow::Owned(text), end);
    }
    text.extend_from_slice(&bytes[from..]);
    (Cow::Owned(text), bytes.len())
}

/// Where the first delimiter or line end from `from` on stands.
fn plain_end(bytes: &[u8], from: usize, delimiter: u8) -> usize {
    // Most cells are short: one look at eight bytes costs less than a search that is made for long texts.
    if let Some(window) = bytes[from..].first_chunk() {
        let window = u64::from_le_bytes(*window);
        let each = |byte: u8| u64::from_le_bytes([byte; 8]);
        // The high bit of every byte that is equal; above the first such byte there may be others.
        let equal = |byte: u8| {
            let zero = window ^ each(byte);
            zero.wrapping_sub(each(1)) & !zero & each(0x80)
        };
        let found = equal(delimiter) | equal(b'\n') | equal(b'\r');
        if found != 0 {
            return from + found.trailing_zeros() as usize / 8;
        }
    }
    memchr3(delimiter, b'\n', b'\r', &bytes[from..]).map_or(bytes.len(), |at| from + at)
}

/// The first character from `start` on that ends no line.
pub(super) fn skip_blank(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|&byte| !is_line_end(byte)).map_or(bytes.len(), |at| start + at)
}

/// The cells of the record that begins at `start`, and where its line end stands.
pub(super) fn cells(bytes: &[u8], start: usize, delimiter: u8) -> (Vec<Cow<'_, [u8]>>, usize) {
    let (mut cells, mut start) = (Vec::new(), start);
    loop {
        let (text, end) = cell(bytes, start, delimiter);
        cells.push(text);
        if bytes.get(end) != Some(&delimiter) {
            return (cells, end);
        }
        start = end + 1;
    }
}

/// The place behind the last record that certainly ends in these bytes, which begin with a record.
pub(super) fn whole_records(bytes: &[u8], delimiter: u8) -> Option<usize> {
    // From `plain` on nothing is quoted.
    let (mut plain, mut from, mut whole) = (0, 0, None);
    let last_line_end = |from: usize, to: usize| memrchr2(b'\n', b'\r', &bytes[from..to]).map(|at| from + at + 1);
    while let Some(quote) = memchr(b'"', &bytes[from..]).map(|at| from + at) {
        let opens = quote == 0 || is_line_end(bytes[quote - 1]) || bytes[quote - 1] == delimiter;
        if !opens {
            from = quote + 1;
            continue;
        }
        whole = last_line_end(plain, quote).or(whole);
        let mut inside = quote + 1;
        loop {
            let Some(at) = memchr(b'"', &bytes[inside..]) else { return whole };
            inside += at + 1;
            match bytes.get(inside) {
                Some(b'"') => inside += 1,
                Some(_) => break,
                // The next byte could be a second quote.
                None => return whole,
            }
        }
        (plain, from) = (inside, inside);
    }
    last_line_end(plain, bytes.len()).or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Record = (u64, Vec<Vec<u8>>);

    /// All records with the line on which each begins.
    fn ours(bytes: &[u8], delimiter: u8) -> Vec<Record> {
        let (mut records, mut at) = (Vec::new(), 0);
        loop {
            at = skip_blank(bytes, at);
            if at == bytes.len() {
                return records;
            }
            let (cells, end) = cells(bytes, at, delimiter);
            records.push((1 + lines(&bytes[..at]), cells.into_iter().map(Cow::into_owned).collect()));
            at = end;
        }
    }

    fn theirs(bytes: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let mut reader =
            ::csv::ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(bytes);
        let cells = |record: csv::ByteRecord| record.iter().map(<[u8]>::to_vec).collect();
        reader.byte_records().map(|record| cells(record.unwrap())).collect()
    }

    /// Texts in which quotes, delimiters and line ends meet in every way.
    fn drawn(stream: &mut tares_core::Stream) -> Vec<u8> {
        let pieces: [&[u8]; 12] =
            [b"\"", b"\"\"", b",", b"\n", b"\r", b"\r\n", b"a", b"1.5", b" ", b";", b"\",\"", "ü".as_bytes()];
        (0..stream.below(24)).flat_map(|_| pieces[stream.below(pieces.len())].to_vec()).collect()
    }

    #[test]
    fn records_are_those_of_the_csv_crate() {
        let mut stream = tares_core::stream(1, "records");
        for _ in 0..60_000 {
            let (bytes, delimiter) = (drawn(&mut stream), [b',', b';'][stream.below(2)]);
            let records: Vec<_> = ours(&bytes, delimiter).into_iter().map(|(_, cells)| cells).collect();
            assert_eq!(records, theirs(&bytes, delimiter), "{:?}", String::from_utf8_lossy(&bytes));
        }
    }

    #[test]
    fn text_may_be_cut_behind_whole_records() {
        let mut stream = tares_core::stream(2, "cuts");
        let mut cuts = 0;
        for _ in 0..60_000 {
            let bytes = drawn(&mut stream);
            // What is read first, and whatever comes then.
            let read = stream.below(bytes.len() + 1);
            let Some(cut) = whole_records(&bytes[..read], b',') else { continue };
            cuts += 1;
            let passed = lines(&bytes[..cut]);
            let mut parts = ours(&bytes[..cut], b',');
            parts.extend(ours(&bytes[cut..], b',').into_iter().map(|(line, cells)| (line + passed, cells)));
            assert_eq!(parts, ours(&bytes, b','), "{:?} cut at {cut}", String::from_utf8_lossy(&bytes));
        }
        assert!(cuts > 10_000);
        assert_eq!(whole_records(b"a,b\nc,\"d\ne\"\nf", b','), Some(12));
        assert_eq!(whole_records(b"a,b\nc,\"d\ne\n", b','), Some(4));
        assert_eq!(whole_records(b"a\"b\nc\"\n", b','), Some(7));
    }
}
