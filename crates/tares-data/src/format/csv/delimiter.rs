//! Which character separates the cells of a text file.

use std::path::Path;

/// The delimiter of a file, from its name and its first line.
///
/// A file called `.tsv` or `.tab` is separated by tabs if its first line has one. Semicolons win over commas if every comma
/// stands between two digits, as decimal commas do. Else the candidate that comes most often outside quotes; a comma if none does.
pub(crate) fn delimiter(path: &Path, head: &[u8]) -> u8 {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let count = Counts::of_first_line(head);
    if count.tab > 0 && is_tsv(path) {
        return b'\t';
    }
    if count.semicolon > 0 && count.comma == count.decimal_comma && count.comma <= count.semicolon + 1 {
        return b';';
    }
    // max_by_key gives the last of equals; a tie goes to the comma.
    let candidates = [(b'|', count.bar), (b';', count.semicolon), (b'\t', count.tab), (b',', count.comma)];
    candidates.iter().max_by_key(|(_, count)| *count).map_or(b',', |(mark, _)| *mark)
}

#[derive(Default)]
struct Counts {
    comma: usize,
    /// Commas between two digits.
    decimal_comma: usize,
    tab: usize,
    semicolon: usize,
    bar: usize,
}

impl Counts {
    fn of_first_line(head: &[u8]) -> Self {
        let mut counts = Self::default();
        let mut quoted = false;
        let digit = |at: Option<usize>| at.and_then(|at| head.get(at)).is_some_and(u8::is_ascii_digit);
        for (at, &byte) in head.iter().enumerate() {
            match byte {
                b'"' => quoted = !quoted,
                _ if quoted => {}
                // Blank lines before the first row do not count.
                b'\n' | b'\r' if head[..at].iter().all(|byte| matches!(byte, b'\n' | b'\r')) => {}
                b'\n' | b'\r' => break,
                b',' => {
                    counts.comma += 1;
                    counts.decimal_comma += usize::from(digit(at.checked_sub(1)) && digit(Some(at + 1)));
                }
                b'\t' => counts.tab += 1,
                b';' => counts.semicolon += 1,
                b'|' => counts.bar += 1,
                _ => {}
            }
        }
        counts
    }
}

fn is_tsv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.ends_with(".tsv") || name.ends_with(".tab")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_told_from_name_and_first_line() {
        let cases = [
            ("t.csv", "a,b,label\n", b','),
            ("t.csv", "a\tb,c\td\n,,,,", b'\t'),
            ("t.csv", "label", b','),
            ("t.csv", "\"x,y,z\";b\n", b';'),
            ("t.csv", "1,5;2,25;3,5;red\n", b';'),
            ("t.csv", "1,2,3;4,5\n", b','),
            ("t.csv", "a|b|c\n", b'|'),
            ("t.csv", "\r\n\na;b\n", b';'),
            ("t.tsv", "size, in cm, with bark\tlabel\n", b'\t'),
            ("T.TSV.gz", "a,b,c\td\n", b'\t'),
            ("t.tsv", "a,b,c\n", b','),
        ];
        for (name, text, mark) in cases {
            assert_eq!(char::from(delimiter(Path::new(name), text.as_bytes())), char::from(mark), "{name}: {text}");
        }
    }
}
