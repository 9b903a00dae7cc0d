//! CSV text with other cells in one column; every other byte stays.

use crate::table::columns::position;
use crate::write::cell;

/// Data rows of a CSV text.
pub(crate) fn rows(text: &[u8], delimiter: u8, header: bool) -> usize {
    let mut records = Records::new(text, delimiter);
    let mut count = 0usize;
    while records.next().is_some() {
        count += 1;
    }
    count.saturating_sub(usize::from(header))
}

/// The text with the cells of column `label` replaced where `names` has one and it differs from what stands there.
pub(crate) fn relabel(
    text: &[u8],
    delimiter: u8,
    label: &str,
    header: bool,
    names: &[Option<&str>],
) -> Result<Vec<u8>, String> {
    let mut records = Records::new(text, delimiter);
    let first = records.next().ok_or("is empty")?;
    let cells = first.cells(text, delimiter);
    let titles: Vec<String> = if header {
        let title = |(place, range): (usize, &std::ops::Range<usize>)| match unquote(&text[range.clone()]).trim() {
            "" => format!("column {}", place + 1),
            title => title.to_owned(),
        };
        cells.iter().enumerate().map(title).collect()
    } else {
        (1..=cells.len()).map(|number| format!("column {number}")).collect()
    };
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let column = position(&titles, label).map_err(|error| error.to_string())?;
    let mut out = Vec::with_capacity(text.len() + 1024);
    let mut copied = 0;
    let mut record = if header { records.next() } else { Some(first) };
    let mut row = 0;
    while let Some(current) = record {
        if let Some(Some(name)) = names.get(row) {
            let range = current.cell(text, delimiter, column).ok_or("has a row without a label")?;
            let old = &text[range.clone()];
            if unquote(old).trim() != *name {
                out.extend_from_slice(&text[copied..range.start]);
                // A cell that had quotes keeps them.
                let name = match old.first() {
                    Some(b'"') => cell::in_quotes(name).into(),
                    _ => cell::quoted(name, delimiter),
                };
                out.extend_from_slice(name.as_bytes());
                copied = range.end;
            }
        }
        row += 1;
        record = records.next();
    }
    out.extend_from_slice(&text[copied..]);
    Ok(out)
}

/// The records of a text, as the CSV reader sees them: empty lines are none, and quotes may hold line ends.
struct Records<'a> {
    text: &'a [u8],
    at: usize,
    delimiter: u8,
}

#[derive(Clone, Copy)]
struct Record {
    start: usize,
    end: usize,
}

impl<'a> Records<'a> {
    fn new(text: &'a [u8], delimiter: u8) -> Self {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { text, at, delimiter }
    }

    fn next(&mut self) -> Option<Record> {
        while matches!(self.text.get(self.at), Some(b'\n' | b'\r')) {
            self.at += 1;
        }
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let (mut quoted, mut cell_start) = (false, true);
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'"' if quoted => quoted = false,
                // A doubled quote closes and opens again; a quote inside plain text is only a character.
                b'"' if cell_start || self.text[self.at - 1] == b'"' => quoted = true,
                b'\n' | b'\r' if !quoted => break,
                _ => {}
            }
            cell_start = byte == self.delimiter && !quoted;
            self.at += 1;
        }
        Some(Record { start, end: self.at })
    }
}

impl Record {
    fn cells(self, text: &[u8], delimiter: u8) -> Vec<std::ops::Range<usize>> {
        let mut cells = Vec::new();
        let mut start = self.start;
        let (mut quoted, mut cell_start) = (false, true);
        for at in self.start..self.end {
            let byte = text[at];
            match byte {
                b'"' if quoted => quoted = false,
                b'"' if cell_start || text[at - 1] == b'"' => quoted = true,
                _ if byte == delimiter && !quoted => {
                    cells.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
            cell_start = byte == delimiter && !quoted;
        }
        cells.push(start..self.end);
        cells
    }

    fn cell(self, text: &[u8], delimiter: u8, column: usize) -> Option<std::ops::Range<usize>> {
        self.cells(text, delimiter).into_iter().nth(column)
    }
}

fn unquote(cell: &[u8]) -> String {
    let text = String::from_utf8_lossy(cell);
    match text.strip_prefix('"') {
        Some(inner) => inner.strip_suffix('"').unwrap_or(inner).replace("\"\"", "\""),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_label_cells_that_change_change() {
        let text = b"\xef\xbb\xbfid, a ,class\r\n1,\"x, \"\"y\"\"\nz\",cat\r\n\r\n2, 3.50 ,\"dog\"\r\n3,4, cat ";
        assert_eq!(rows(text, b',', true), 3);
        let names = [Some("dog"), Some("a,b"), Some("cat")];
        let out = relabel(text, b',', "class", true, &names).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\u{feff}id, a ,class\r\n1,\"x, \"\"y\"\"\nz\",dog\r\n\r\n2, 3.50 ,\"a,b\"\r\n3,4, cat "
        );
        assert_eq!(relabel(text, b',', "class", true, &[None, None, None]).unwrap(), text);
    }

    #[test]
    fn a_file_without_header_is_relabelled_from_its_first_line() {
        assert_eq!(
            relabel(b"1,2,a\n3,4,b\n", b',', "column 3", false, &[Some("b"), Some("b")]).unwrap(),
            b"1,2,b\n3,4,b\n"
        );
    }
}
