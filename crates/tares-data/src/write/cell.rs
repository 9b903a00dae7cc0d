//! Cells of CSV files: the one guard against formulas and the one quoting.

use std::borrow::Cow;

/// Text that no spreadsheet runs as a formula: an apostrophe is put in front where necessary. A number is not a formula.
///
/// ```
/// use tares_data::cell::guarded;
/// assert_eq!(guarded("=HYPERLINK(A1)"), "'=HYPERLINK(A1)");
/// assert_eq!(guarded("-1"), "-1");
/// ```
pub fn guarded(text: &str) -> Cow<'_, str> {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number(text) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// Whether the whole text is one finite decimal number, as `-1`, `+0.5` and `-1e-3` are.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Text as it stands between two delimiters: in quotes where it must be.
///
/// ```
/// use tares_data::cell::quoted;
/// assert_eq!(quoted("a,\"b\"", b','), "\"a,\"\"b\"\"\"");
/// assert_eq!(quoted("a b", b','), "a b");
/// ```
pub fn quoted(text: &str, delimiter: u8) -> Cow<'_, str> {
    match text.contains(['"', '\n', '\r', char::from(delimiter)]) {
        true => Cow::Owned(in_quotes(text)),
        false => Cow::Borrowed(text),
    }
}

/// Text in quotes, needed or not.
pub(crate) fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A cell of a table for people: guarded, and quoted where it must be.
pub fn cell(text: &str) -> String {
    quoted(&guarded(text), b',').into_owned()
}

/// Appends one line of cells. They are quoted where necessary; callers must guard names from people first.
pub fn push_line<T: AsRef<str>>(text: &mut String, cells: impl IntoIterator<Item = T>) {
    let start = text.len();
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            text.push(',');
        }
        text.push_str(&quoted(cell.as_ref(), b','));
    }
    if text.len() == start {
        // An empty line would be no line to a reader.
        text.push_str("\"\"");
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula_and_every_number_stays_a_number() {
        for formula in
            ["=1+1", "+A1", "-A1", "-1+1", "-(1)", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "-inf", "+", "-", "-1e999"]
        {
            assert_eq!(guarded(formula), format!("'{formula}"));
        }
        for fine in ["-1", "+1", "-0.5", "-.5", "-1e-3", "+1E6", "cat", "", "'=1", "1-1", "a=b"] {
            assert_eq!(guarded(fine), fine);
        }
    }

    #[test]
    fn lines_read_back_as_they_were_written() {
        let cells = ["plain", "a,b", "say \"no\"", "two\nlines", "", " spaces "];
        let mut text = String::new();
        push_line(&mut text, cells);
        push_line(&mut text, cells.map(guarded));
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        for record in reader.records() {
            assert_eq!(record.unwrap().iter().collect::<Vec<_>>(), cells);
        }
        let mut text = String::new();
        push_line(&mut text, [""]);
        assert_eq!(text, "\"\"\n");
    }
}
