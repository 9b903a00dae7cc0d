//! CSV and TSV → [`RawTable`].
//!
//! The delimiter (comma, tab, semicolon, bar) is told from the file's name and first line. A column is a column of numbers if
//! every cell that has a value is a number in one [`Notation`](crate::table::Notation), else text. Growing without a value: empty, or one of
//! [`MISSING_WORDS`](crate::table::MISSING_WORDS). Without a header the columns are called `column 1`, `column 2`, ….
//! UTF-8, or UTF-16 with a byte-order mark.

mod delimiter;
mod lines;

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::table::columns::{
    Column, ColumnKind, Dictionary, Lines, RawTable, Values, is_missing, label_position, position,
};
use crate::table::number::{Comma, Notation, Notations, mostly_numbers};
use csv::{ByteRecord, ReaderBuilder};
use lines::RecentBytes;
use std::collections::HashMap;
use std::path::Path;

/// After so many rows a file is begun again if a column of numbers has turned out to be text.
const EARLY: usize = 1000;

/// What to know before reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CsvOptions {
    /// The label column, by name or `#number`.
    pub label: Option<String>,
    /// The column that names the rows.
    pub id: Option<String>,
    /// Whether the first line is a header; told from the line itself if `None`.
    pub header: Option<bool>,
    /// False if the file may have no label and no id column at all (new rows to predict).
    pub label_needed: bool,
    /// What some columns hold: for rows that must be read like others. The rest is told from the cells.
    pub known: HashMap<String, ColumnKind>,
}

/// A CSV file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    /// All columns; label and id columns are always text.
    pub table: RawTable,
    /// The name of the label column.
    pub label: Option<String>,
    /// The name of the id column.
    pub id: Option<String>,
    /// Whether the first line was a header.
    pub header: bool,
    /// The character between the cells.
    pub delimiter: u8,
}

/// Reads a CSV file. `open` is called again when a column of numbers turns out to be text further down.
///
/// # Errors
/// An empty file; a repeated column name; a row with more or fewer cells than the header; text that is neither UTF-8 nor marked
/// UTF-16; a number that is not finite; no label column.
pub fn read(open: &dyn Fn() -> Result<Input>, options: &CsvOptions) -> Result<Csv> {
    let mut as_text: Vec<bool> = Vec::new();
    loop {
        let mut pass = Pass::start(open()?, options, &as_text)?;
        pass.read_rows()?;
        let conflict = pass.columns.iter().any(|column| column.conflict);
        // Where commas are decimal marks, a point may stand between thousands: such a column is read as text first.
        let grouped = !conflict && pass.columns.iter().any(Builder::is_grouped) && pass.has_decimal_commas();
        if !conflict && !grouped {
            return Ok(pass.finish(options));
        }
        let is_text = |column: &Builder| column.is_text() || column.conflict || (grouped && column.is_grouped());
        as_text = pass.columns.iter().map(is_text).collect();
    }
}

/// One run through the file.
struct Pass {
    reader: csv::Reader<RecentBytes>,
    delimiter: u8,
    path: std::path::PathBuf,
    columns: Vec<Builder>,
    /// The first row, if it is data.
    pending: Option<(ByteRecord, u64)>,
    header: bool,
    label: Option<usize>,
    id: Option<usize>,
    rows: usize,
    lines: Lines,
}

struct Builder {
    name: String,
    unnamed: bool,
    /// Label and id columns stay text, whatever they hold.
    special: bool,
    cells: Growing,
    /// A cell of this column of numbers was text.
    conflict: bool,
    /// Numbers with a point, and those among them that could be thousands (`1.234`).
    points: usize,
    groups: usize,
}

enum Growing {
    Numbers(Vec<f64>),
    Text(Dictionary),
}

impl Builder {
    fn is_text(&self) -> bool {
        matches!(self.cells, Growing::Text(_))
    }

    /// Whether every point of this column of numbers could stand between thousands.
    fn is_grouped(&self) -> bool {
        self.points > 0 && self.points == self.groups
    }

    /// The notations in which a column of text holds numbers.
    fn fitting(&self) -> Notations {
        match &self.cells {
            Growing::Text(dictionary) if !self.special => Notations::of(dictionary.codes(), dictionary.levels()),
            _ => Notations::default(),
        }
    }
}

impl Pass {
    fn start(input: Input, options: &CsvOptions, text: &[bool]) -> Result<Self> {
        let mut input = input.text()?;
        let path = input.path().to_owned();
        let head = input.peek()?;
        if head.is_empty() {
            return Err(DataError::format(path, Place::File, "is empty"));
        }
        let delimiter = delimiter::delimiter(&path, head);
        let mut reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(1 << 16)
            .from_reader(RecentBytes::new(input));
        let mut first = ByteRecord::new();
        let Some(line) = next(&mut reader, &path, &mut first)? else {
            return Err(DataError::format(path, Place::File, "has no rows"));
        };
        let cells = first.iter().map(|cell| utf8(cell, &path, line)).collect::<Result<Vec<_>>>()?;
        let header = options.header.unwrap_or_else(|| looks_like_header(&cells, options.label.as_deref()));
        let names = if header {
            named(&cells, &path, line)?
        } else {
            (1..=cells.len()).map(|n| format!("column {n}")).collect()
        };
        let unnamed: Vec<bool> = cells.iter().map(|cell| header && cell.trim().is_empty()).collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let content = |source| DataError::content(&path, source);
        let label = match label_position(&borrowed, options.label.as_deref(), header && options.label_needed) {
            Ok(position) if header || options.label_needed || options.label.is_some() => Some(position),
            Ok(_) => None,
            Err(error) if options.label_needed => return Err(content(error)),
            Err(_) => None,
        };
        let id = match options.id.as_deref().map(|id| position(&borrowed, id)) {
            Some(Err(error)) if options.label_needed => return Err(content(error)),
            found => found.and_then(std::result::Result::ok),
        };
        let columns = names.into_iter().zip(unnamed).enumerate().map(|(place, (name, unnamed))| {
            let special = label == Some(place) || id == Some(place);
            let known_text = match options.known.get(&name) {
                Some(ColumnKind::Text) => true,
                Some(ColumnKind::Number(notation)) => *notation != Notation::default(),
                None => false,
            };
            let as_text = special || known_text || text.get(place).is_some_and(|text| *text);
            let cells = if as_text { Growing::Text(Dictionary::default()) } else { Growing::Numbers(Vec::new()) };
            Builder { name, unnamed, special, cells, conflict: false, points: 0, groups: 0 }
        });
        let columns = columns.collect();
        let pending = (!header).then_some((first, line));
        let lines = Lines::default();
        Ok(Self { reader, delimiter, path, columns, pending, header, label, id, rows: 0, lines })
    }

    fn read_rows(&mut self) -> Result<()> {
        if let Some((first, line)) = self.pending.take() {
            self.push(&first, line)?;
        }
        let mut record = ByteRecord::new();
        while let Some(line) = next(&mut self.reader, &self.path, &mut record)? {
            self.push(&record, line)?;
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

    fn push(&mut self, record: &ByteRecord, line: u64) -> Result<()> {
        if record.len() != self.columns.len() {
            let problem = format!("{} cells, but the first line has {}", record.len(), self.columns.len());
            return Err(DataError::format(&self.path, Place::Line(line), problem));
        }
        for (column, cell) in self.columns.iter_mut().zip(record.iter()) {
            match &mut column.cells {
                Growing::Numbers(numbers) => match number(cell) {
                    Number::Finite { value, point, group } => {
                        numbers.push(value);
                        column.points += usize::from(point);
                        column.groups += usize::from(group);
                    }
                    Number::Missing => numbers.push(f64::NAN),
                    Number::Infinite => {
                        let cell = String::from_utf8_lossy(cell);
                        let problem = format!("column \"{}\" must hold finite numbers, got {cell}", column.name);
                        return Err(DataError::format(&self.path, Place::Line(line), problem));
                    }
                    Number::Text => {
                        numbers.push(f64::NAN);
                        column.conflict = true;
                    }
                },
                Growing::Text(dictionary) => {
                    let cell = utf8(cell, &self.path, line)?.trim();
                    if is_missing(cell) { dictionary.push_missing() } else { dictionary.push(cell) }
                }
            }
        }
        self.rows += 1;
        self.lines.push(line);
        Ok(())
    }

    /// Whether a column can only be read with decimal commas.
    fn has_decimal_commas(&self) -> bool {
        self.columns.iter().any(|column| column.fitting().comma() == Some(Comma::Decimal))
    }

    /// What a comma means, and whether that is certain: what the columns with one meaning say; else what it usually means in
    /// files with this delimiter.
    fn comma(&self, fitting: &[Notations]) -> (Comma, bool) {
        let said = |wanted: Comma| fitting.iter().any(|fitting| fitting.comma() == Some(wanted));
        let has_points = self.columns.iter().any(|column| column.points > column.groups);
        match (said(Comma::Decimal), said(Comma::Thousands) || has_points) {
            (true, false) => (Comma::Decimal, true),
            (false, true) => (Comma::Thousands, true),
            _ if self.delimiter == b';' => (Comma::Decimal, false),
            _ => (Comma::Thousands, false),
        }
    }

    /// Turns columns of text that hold numbers into numbers.
    fn finish(self, options: &CsvOptions) -> Csv {
        let name = |position: Option<usize>| position.map(|position| self.columns[position].name.clone());
        let (label, id) = (name(self.label), name(self.id));
        let fitting: Vec<Notations> = self.columns.iter().map(Builder::fitting).collect();
        let (comma, certain) = self.comma(&fitting);
        let mut notes = Vec::new();
        let column = |(builder, fitting): (Builder, Notations)| {
            let Builder { name, unnamed, special, cells, .. } = builder;
            let column = |values, notation| Column { name: name.clone(), values, notation, unnamed };
            let dictionary = match cells {
                Growing::Numbers(numbers) => return column(Values::Numbers(numbers), Notation::default()),
                Growing::Text(dictionary) => dictionary,
            };
            let (codes, levels) = dictionary.into_parts();
            let known = options.known.get(&name);
            let notation = match known {
                _ if special => None,
                Some(ColumnKind::Text) => None,
                Some(ColumnKind::Number(notation)) => Some(notation.clone()),
                None => fitting.choose(comma, certain),
            };
            let numbers = notation.and_then(|notation| Some((notation.numbers(&codes, &levels).ok()?, notation)));
            match numbers {
                Some((numbers, notation)) => {
                    if known.is_none() {
                        notes.extend(notation.sentences(&name, &codes, &levels));
                    }
                    column(numbers, notation)
                }
                None => {
                    if known.is_none()
                        && !special
                        && let Some((odd, cell)) = mostly_numbers(&codes, &levels)
                    {
                        notes.push(format!(
                            "column \"{name}\" is read as text: \"{cell}\" is no number ({odd} such cells)"
                        ));
                    }
                    column(Values::Text { codes, levels }, Notation::default())
                }
            }
        };
        let columns = self.columns.into_iter().zip(fitting).map(column).collect();
        let table = RawTable {
            path: self.path,
            columns,
            rows: self.rows,
            lines: Some(self.lines),
            notes,
            ..RawTable::default()
        };
        Csv { table, label, id, header: self.header, delimiter: self.delimiter }
    }
}

/// Reads the next record and says on which line it begins; `None` at the end.
fn next(reader: &mut csv::Reader<RecentBytes>, path: &Path, record: &mut ByteRecord) -> Result<Option<u64>> {
    let more = reader.read_byte_record(record).map_err(|error| {
        let line = error.position().map_or(Place::File, |position| Place::Line(position.line()));
        match error.into_kind() {
            csv::ErrorKind::Io(source) => DataError::io(path, "read", source),
            kind => DataError::format(path, line, format!("{kind:?}")),
        }
    })?;
    let start = record.position().map(|at| at.line() + reader.get_ref().line_ends_at(at.byte()));
    Ok(if more { start } else { None })
}

enum Number {
    /// `point`: it has a point; `group`: the point could stand between thousands, as in `1.234`.
    Finite {
        value: f64,
        point: bool,
        group: bool,
    },
    Missing,
    Infinite,
    Text,
}

fn number(cell: &[u8]) -> Number {
    let cell = cell.trim_ascii();
    if let Some((value, after)) = short_decimal(cell) {
        let point = after > 0;
        let digits = cell.strip_prefix(b"-").unwrap_or(cell);
        let group = after == 3 && (5..=7).contains(&digits.len()) && digits[0] != b'0';
        return Number::Finite { value, point, group };
    }
    let Ok(text) = std::str::from_utf8(cell) else { return Number::Text };
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Number::Finite { value, point: text.contains('.'), group: false },
        Ok(number) if number.is_nan() => Number::Missing,
        Ok(_) => Number::Infinite,
        Err(_) if is_missing(text) => Number::Missing,
        Err(_) => Number::Text,
    }
}

/// Numbers as most files have them: up to 15 digits, one point. Their digits and the power of ten are exact 64-bit floats, so
/// one division rounds correctly (Clinger 1990). Anything else is `None` and takes the long way. Also the digits behind the point.
fn short_decimal(cell: &[u8]) -> Option<(f64, usize)> {
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
    Some((if negative { -value } else { value }, after))
}

fn utf8<'a>(cell: &'a [u8], path: &Path, line: u64) -> Result<&'a str> {
    std::str::from_utf8(cell).map_err(|cause| {
        let shown: String = String::from_utf8_lossy(cell).chars().take(40).collect();
        let problem = format!(
            "\"{shown}\" is not UTF-8. Is the file Latin-1 (Windows-1252)? Save it as UTF-8, or convert it with \
             iconv -f WINDOWS-1252 -t UTF-8"
        );
        DataError::decode(path, Place::Line(line), problem, cause)
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

fn named(cells: &[&str], path: &Path, line: u64) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(cells.len());
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, cell) in cells.iter().enumerate() {
        let name = match cell.trim() {
            "" => format!("column {}", place + 1),
            name => name.to_owned(),
        };
        if let Some(first) = seen.insert(name.clone(), place) {
            let problem = format!("columns {} and {} are both called \"{name}\"", first + 1, place + 1);
            return Err(DataError::format(path, Place::Line(line), problem));
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
            &CsvOptions { label_needed: true, ..CsvOptions::default() },
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
            if let Some((number, _)) = short_decimal(text.as_bytes()) {
                assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            } else {
                assert!(text.parse::<f64>().is_err() || text.len() > 15, "{text}");
            }
        }
        assert_eq!(short_decimal(b"-0").map(|(number, _)| number.to_bits()), Some((-0.0f64).to_bits()));
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
            &CsvOptions { label_needed: true, ..CsvOptions::default() },
        );
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("t.csv: line 3: \"caf\u{fffd}\" is not UTF-8. Is the file Latin-1"), "{error}");
    }
}
