//! CSV and TSV → [`Table`].
//!
//! The delimiter (comma, tab, semicolon, bar) is the one most frequent in the first line. A column is a column of numbers if
//! every cell that has a value is a number, else text. Cells without a value: empty, or one of
//! [`MISSING_WORDS`](crate::table::columns::MISSING_WORDS). Without a header the columns are called `column 1`, `column 2`, ….

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::table::columns::{Column, Dictionary, Table, Values, is_missing, label_position, position};
use csv::{ByteRecord, ReaderBuilder};
use std::collections::HashMap;
use std::path::Path;

/// After so many rows a file is begun again if a column of numbers has turned out to be text.
const EARLY: usize = 1000;

/// What to know before reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The label column, by name or `#number`.
    pub label: Option<String>,
    /// The column that names the rows.
    pub id: Option<String>,
    /// Whether the first line is a header; told from the line itself if `None`.
    pub header: Option<bool>,
    /// False if the file may have no label and no id column at all (new rows to predict).
    pub label_needed: bool,
}

/// A CSV file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    /// All columns; label and id columns are always text.
    pub table: Table,
    /// The name of the label column.
    pub label: Option<String>,
    /// The name of the id column.
    pub id: Option<String>,
    /// Whether the first line was a header.
    pub header: bool,
}

/// Reads a CSV file. `open` is called again when a column of numbers turns out to be text further down.
///
/// # Errors
/// An empty file; a repeated column name; a row with more or fewer cells than the header; text that is not UTF-8; a number
/// that is not finite; no label column.
pub fn read(open: &dyn Fn() -> Result<Input>, columns: &Columns) -> Result<Csv> {
    let mut text_columns: Vec<bool> = Vec::new();
    loop {
        let mut pass = Pass::start(open()?, columns, &text_columns)?;
        pass.read_rows()?;
        if !pass.columns.iter().any(|column| column.conflict) {
            return pass.finish();
        }
        text_columns = pass.columns.iter().map(|column| column.is_text() || column.conflict).collect();
    }
}

/// The delimiter of a first line: the candidate that comes most often outside quotes; a comma if none does.
pub fn delimiter(line: &[u8]) -> u8 {
    let mut counts = [(b',', 0), (b'\t', 0), (b';', 0), (b'|', 0)];
    let mut quoted = false;
    for &byte in line {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if !quoted => counts.iter_mut().filter(|(mark, _)| *mark == byte).for_each(|(_, count)| *count += 1),
            _ => {}
        }
    }
    // max_by_key gives the last of equals; reversed, a tie goes to the comma.
    counts.iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(mark, _)| *mark)
}

/// One run through the file.
struct Pass {
    reader: csv::Reader<Input>,
    path: std::path::PathBuf,
    columns: Vec<Builder>,
    /// The first row, if it is data.
    pending: Option<ByteRecord>,
    header: bool,
    label: Option<usize>,
    id: Option<usize>,
    rows: usize,
}

struct Builder {
    name: String,
    cells: Cells,
    /// A cell of this column of numbers was text.
    conflict: bool,
}

enum Cells {
    Numbers(Vec<f64>),
    Text(Dictionary),
}

impl Builder {
    fn is_text(&self) -> bool {
        matches!(self.cells, Cells::Text(_))
    }
}

impl Pass {
    fn start(mut input: Input, columns: &Columns, text: &[bool]) -> Result<Self> {
        let path = input.path().to_owned();
        let head = input.peek()?;
        if head.is_empty() {
            return Err(DataError::format(path, Place::File, "is empty"));
        }
        let delimiter = delimiter(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head));
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(input);
        let mut first = ByteRecord::new();
        if !next(&mut reader, &path, &mut first)? {
            return Err(DataError::format(path, Place::File, "has no rows"));
        }
        let cells = first.iter().map(|cell| utf8(cell, &path, 1)).collect::<Result<Vec<_>>>()?;
        let header = columns.header.unwrap_or_else(|| looks_like_header(&cells, columns.label.as_deref()));
        let names =
            if header { named(&cells, &path)? } else { (1..=cells.len()).map(|n| format!("column {n}")).collect() };
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let content = |source| DataError::content(&path, source);
        let label = match label_position(&borrowed, columns.label.as_deref(), header && columns.label_needed) {
            Ok(position) if header || columns.label_needed || columns.label.is_some() => Some(position),
            Ok(_) => None,
            Err(error) if columns.label_needed => return Err(content(error)),
            Err(_) => None,
        };
        let id = match columns.id.as_deref().map(|id| position(&borrowed, id)) {
            Some(Err(error)) if columns.label_needed => return Err(content(error)),
            found => found.and_then(std::result::Result::ok),
        };
        let columns = names.iter().enumerate().map(|(place, name)| {
            let as_text = label == Some(place) || id == Some(place) || text.get(place).is_some_and(|text| *text);
            let cells = if as_text { Cells::Text(Dictionary::default()) } else { Cells::Numbers(Vec::new()) };
            Builder { name: name.clone(), cells, conflict: false }
        });
        let columns = columns.collect();
        let pending = (!header).then_some(first);
        Ok(Self { reader, path, columns, pending, header, label, id, rows: 0 })
    }

    fn read_rows(&mut self) -> Result<()> {
        if let Some(first) = self.pending.take() {
            self.push(&first)?;
        }
        let mut record = ByteRecord::new();
        while next(&mut self.reader, &self.path, &mut record)? {
            self.push(&record)?;
            // Most columns of text show early: better to begin again now than after the whole file.
            if self.rows == EARLY && self.columns.iter().any(|column| column.conflict) {
                return Ok(());
            }
        }
        match self.rows {
            0 => Err(DataError::format(&self.path, Place::File, "has a header but no rows")),
            _ => Ok(()),
        }
    }

    fn push(&mut self, record: &ByteRecord) -> Result<()> {
        let line = || record.position().map_or(0, csv::Position::line);
        if record.len() != self.columns.len() {
            let problem = format!("{} cells, but the first line has {}", record.len(), self.columns.len());
            return Err(DataError::format(&self.path, Place::Line(line()), problem));
        }
        for (column, cell) in self.columns.iter_mut().zip(record.iter()) {
            match &mut column.cells {
                Cells::Numbers(numbers) => match number(cell) {
                    Number::Finite(number) => numbers.push(number),
                    Number::Missing => numbers.push(f64::NAN),
                    Number::Infinite => {
                        let cell = String::from_utf8_lossy(cell);
                        let problem = format!("column \"{}\" must hold finite numbers, got {cell}", column.name);
                        return Err(DataError::format(&self.path, Place::Line(line()), problem));
                    }
                    Number::Text => {
                        numbers.push(f64::NAN);
                        column.conflict = true;
                    }
                },
                Cells::Text(dictionary) => {
                    let cell = utf8(cell, &self.path, line())?.trim();
                    if is_missing(cell) { dictionary.push_missing() } else { dictionary.push(cell) }
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(self) -> Result<Csv> {
        let name = |position: Option<usize>| position.map(|position| self.columns[position].name.clone());
        let (label, id) = (name(self.label), name(self.id));
        let columns = self.columns.into_iter().map(|column| Column {
            name: column.name,
            values: match column.cells {
                Cells::Numbers(numbers) => Values::Numbers(numbers),
                Cells::Text(dictionary) => dictionary.into_values(),
            },
        });
        let table = Table {
            path: self.path,
            columns: columns.collect(),
            rows: self.rows,
            first_line: Some(if self.header { 2 } else { 1 }),
        };
        Ok(Csv { table, label, id, header: self.header })
    }
}

fn next(reader: &mut csv::Reader<Input>, path: &Path, record: &mut ByteRecord) -> Result<bool> {
    reader.read_byte_record(record).map_err(|error| {
        let line = error.position().map_or(Place::File, |position| Place::Line(position.line()));
        match error.into_kind() {
            csv::ErrorKind::Io(source) => DataError::io(path, "read", source),
            kind => DataError::format(path, line, format!("{kind:?}")),
        }
    })
}

enum Number {
    Finite(f64),
    Missing,
    Infinite,
    Text,
}

fn number(cell: &[u8]) -> Number {
    let cell = cell.trim_ascii();
    if let Some(number) = short_decimal(cell) {
        return Number::Finite(number);
    }
    let Ok(text) = std::str::from_utf8(cell) else { return Number::Text };
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Number::Finite(number),
        Ok(number) if number.is_nan() => Number::Missing,
        Ok(_) => Number::Infinite,
        Err(_) if is_missing(text) => Number::Missing,
        Err(_) => Number::Text,
    }
}

/// Numbers as most files have them: up to 15 digits, one point. Their digits and the power of ten are exact 64-bit floats, so
/// one division rounds correctly (Clinger 1990). Anything else is `None` and takes the long way.
fn short_decimal(cell: &[u8]) -> Option<f64> {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match cell {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut value, mut point) = (0u64, None);
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let after = match point {
        None if digits.len() == 16 => return None,
        None => 0,
        Some(_) if digits.len() == 1 => return None,
        Some(place) => digits.len() - 1 - place,
    };
    let value = value as f64 / POWERS[after];
    Some(if negative { -value } else { value })
}

fn utf8<'a>(cell: &'a [u8], path: &Path, line: u64) -> Result<&'a str> {
    std::str::from_utf8(cell).map_err(|cause| {
        let shown: String = String::from_utf8_lossy(cell).chars().take(40).collect();
        DataError::decode(path, Place::Line(line), format!("\"{shown}\" is not UTF-8 (save the file as UTF-8)"), cause)
    })
}

/// A first line is a header if none of its cells is a number. Arrays saved with numbered columns (0, 1, 2, …) have one too.
fn looks_like_header(cells: &[&str], label: Option<&str>) -> bool {
    if label.is_some_and(|label| cells.iter().any(|cell| cell.trim() == label)) {
        return true;
    }
    let numbers: Vec<&str> = cells.iter().map(|cell| cell.trim()).filter(|cell| cell.parse::<f64>().is_ok()).collect();
    let counting_from =
        |start: usize| numbers.iter().enumerate().all(|(place, cell)| *cell == (start + place).to_string());
    match numbers.len() {
        0 => cells.iter().any(|cell| !is_missing(cell.trim())),
        1 | 2 => false,
        _ => counting_from(0) || counting_from(1),
    }
}

fn named(cells: &[&str], path: &Path) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(cells.len());
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, cell) in cells.iter().enumerate() {
        let name = match cell.trim() {
            "" => format!("column {}", place + 1),
            name => name.to_owned(),
        };
        if let Some(first) = seen.insert(name.clone(), place) {
            let problem = format!("columns {} and {} are both called \"{name}\"", first + 1, place + 1);
            return Err(DataError::format(path, Place::Line(1), problem));
        }
        names.push(name);
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Csv> {
        read(
            &|| Input::from_bytes("t.csv", text.as_bytes().to_vec()),
            &Columns { label_needed: true, ..Columns::default() },
        )
    }

    fn column<'a>(csv: &'a Csv, name: &str) -> &'a Values {
        &csv.table.columns[csv.table.position(name).unwrap()].values
    }

    #[test]
    fn cells_stay_in_their_row_and_column() {
        let csv = read_text("a,b,label\n1,2,x\n3,7.5,y\n").unwrap();
        assert_eq!(column(&csv, "b"), &Values::Numbers(vec![2.0, 7.5]));
        assert_eq!(column(&csv, "a"), &Values::Numbers(vec![1.0, 3.0]));
        assert_eq!(csv.label.as_deref(), Some("label"));
    }

    #[test]
    fn a_column_that_turns_to_text_late_is_text_from_the_start() {
        let csv = read_text("a,label\n1,x\n2,x\nthree,y\n").unwrap();
        let levels = ["1", "2", "three"].map(String::from).to_vec();
        assert_eq!(column(&csv, "a"), &Values::Text { codes: vec![0, 1, 2], levels });
    }

    #[test]
    fn quotes_delimiters_and_byte_order_marks_are_understood() {
        let csv = read_text("\u{feff}a;b;label\n\"1\";\"x;y\";\"said \"\"no\"\"\"\n2;z;q\n").unwrap();
        assert_eq!(csv.table.columns[0].name, "a");
        assert_eq!(column(&csv, "b"), &Values::Text { codes: vec![0, 1], levels: vec!["x;y".into(), "z".into()] });
        assert_eq!(column(&csv, "label").clone().into_text().1[0], "said \"no\"");
        assert_eq!(delimiter(b"a\tb,c\td\n,,,,"), b'\t');
    }

    #[test]
    fn a_first_line_with_numbers_is_data_unless_it_counts() {
        let csv = read_text("1.5,2,a\n3,4,b\n").unwrap();
        assert_eq!((csv.header, csv.label.as_deref()), (false, Some("column 3")));
        assert_eq!(column(&csv, "column 1"), &Values::Numbers(vec![1.5, 3.0]));
        assert!(read_text("0,1,2,label\n5,6,7,a\n8,9,1,b\n").unwrap().header);
    }

    #[test]
    fn missing_words_are_missing() {
        let csv = read_text("a,c,label\n1,red,x\n,?,y\nNA, blue ,x\n").unwrap();
        assert_eq!(column(&csv, "a").missing(), 2);
        assert_eq!(column(&csv, "c").missing(), 1);
    }

    #[test]
    fn the_short_way_gives_the_same_bits_as_the_long_way() {
        let mut stream = tares_core::stream(1, "decimals");
        for _ in 0..100_000 {
            let digits = stream.below(17);
            let mut text: String = (0..digits).map(|_| char::from(b'0' + stream.below(10) as u8)).collect();
            if stream.below(2) == 0 {
                text.insert(stream.below(text.len() + 1), '.');
            }
            if stream.below(2) == 0 {
                text.insert(0, '-');
            }
            if let Some(number) = short_decimal(text.as_bytes()) {
                assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            } else {
                assert!(text.parse::<f64>().is_err() || text.len() > 15, "{text}");
            }
        }
        assert_eq!(short_decimal(b"-0").map(f64::to_bits), Some((-0.0f64).to_bits()));
        assert!(
            [&b""[..], b"-", b".", b"-.", b"1e5", b"0x1", b"1.2.3", b"+1"]
                .iter()
                .all(|cell| short_decimal(cell).is_none())
        );
    }

    #[test]
    fn says_line_and_reason() {
        let cases = [
            ("", "t.csv: is empty"),
            ("a,label\n", "t.csv: has a header but no rows"),
            ("a,label\n1,x\n2\n", "t.csv: line 3: 1 cells, but the first line has 2"),
            ("a,a,label\n1,2,x\n", "t.csv: line 1: columns 1 and 2 are both called \"a\""),
            ("a,label\n1,x\ninf,y\n", "t.csv: line 3: column \"a\" must hold finite numbers, got inf"),
        ];
        for (text, message) in cases {
            assert_eq!(read_text(text).unwrap_err().to_string(), message);
        }
        let error = read(
            &|| Input::from_bytes("t.csv", b"a,label\n1,x\n2,caf\xe9\n".to_vec()),
            &Columns { label_needed: true, ..Columns::default() },
        );
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("t.csv: line 3: \"caf\u{fffd}\" is not UTF-8 (save the file as UTF-8)"), "{error}");
    }
}
