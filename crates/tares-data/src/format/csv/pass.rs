//! One pass through a CSV file: rows are collected column by column, as numbers or as text.

use super::decimal::{self, Number};
use super::lines::RecentBytes;
use super::{Csv, CsvOptions, delimiter, header};
use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::table::columns::{
    Column, ColumnKind, Dictionary, Lines, RawTable, Values, is_missing, label_position, position,
};
use crate::table::number::{Comma, Notation, Notations, mostly_numbers};
use csv::{ByteRecord, ReaderBuilder};
use std::path::Path;

/// After this many rows, a pass stops if a column of numbers has turned out to be text. Most such columns show this early, and
/// starting again now saves reading the whole file twice.
const EARLY: usize = 1000;

/// One pass through the file.
pub(super) struct Pass {
    reader: csv::Reader<RecentBytes>,
    delimiter: u8,
    path: std::path::PathBuf,
    pub(super) columns: Vec<Growing>,
    /// The first row, if it is data.
    pending: Option<(ByteRecord, u64)>,
    header: bool,
    label: Option<usize>,
    id: Option<usize>,
    rows: usize,
    lines: Lines,
}

/// A column while its rows are read.
pub(super) struct Growing {
    name: String,
    unnamed: bool,
    /// Label and id columns stay text, whatever they hold.
    special: bool,
    cells: Cells,
    /// A cell of this column of numbers was text.
    pub(super) conflict: bool,
    /// Count of numbers with a point, and of those whose point could separate thousands (`1.234`).
    points: usize,
    groups: usize,
}

enum Cells {
    Numbers(Vec<f64>),
    Text(Dictionary),
}

impl Growing {
    pub(super) fn is_text(&self) -> bool {
        matches!(self.cells, Cells::Text(_))
    }

    /// Whether every point in this column of numbers could separate thousands.
    pub(super) fn is_grouped(&self) -> bool {
        self.points > 0 && self.points == self.groups
    }

    /// The notations in which a column of text holds numbers.
    fn fitting(&self) -> Notations {
        match &self.cells {
            Cells::Text(dictionary) if !self.special => Notations::of(dictionary.codes(), dictionary.levels()),
            _ => Notations::default(),
        }
    }
}

impl Pass {
    /// Opens the file: delimiter, header, and which columns are label and id. `text` says which columns an earlier pass found
    /// to be text.
    pub(super) fn start(input: Input, options: &CsvOptions, text: &[bool]) -> Result<Self> {
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
        let header = options.header.unwrap_or_else(|| header::looks_like_header(&cells, options.label.as_deref()));
        let names = if header {
            header::names(&cells, &path, line)?
        } else {
            (1..=cells.len()).map(|n| format!("column {n}")).collect()
        };
        let unnamed: Vec<bool> = cells.iter().map(|cell| header && cell.trim().is_empty()).collect();
        let borrowed: Vec<&str> = names.iter().map(String::as_str).collect();
        let content = |source| DataError::content(&path, source);
        // The last column is the label of a file without a header, but only if there must be one.
        let by_name = header || !options.label_needed;
        let label = match label_position(&borrowed, options.label.as_deref(), by_name) {
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
            let cells = if as_text { Cells::Text(Dictionary::default()) } else { Cells::Numbers(Vec::new()) };
            Growing { name, unnamed, special, cells, conflict: false, points: 0, groups: 0 }
        });
        let columns = columns.collect();
        let pending = (!header).then_some((first, line));
        let lines = Lines::default();
        Ok(Self { reader, delimiter, path, columns, pending, header, label, id, rows: 0, lines })
    }

    /// Reads all rows, or the first [`EARLY`] if they already show that a column must be read again as text.
    pub(super) fn read_rows(&mut self) -> Result<()> {
        if let Some((first, line)) = self.pending.take() {
            self.push(&first, line)?;
        }
        let mut record = ByteRecord::new();
        while let Some(line) = next(&mut self.reader, &self.path, &mut record)? {
            self.push(&record, line)?;
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
                Cells::Numbers(numbers) => match decimal::number(cell) {
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
                Cells::Text(dictionary) => {
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
    pub(super) fn has_decimal_commas(&self) -> bool {
        self.columns.iter().any(|column| column.fitting().comma() == Some(Comma::Decimal))
    }

    /// What a comma means, and whether that is certain. Columns that allow one meaning decide; otherwise it is what a comma
    /// usually means in files with this delimiter.
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

    /// The table, with columns of text turned into numbers where their cells are numbers in some notation.
    pub(super) fn finish(self, options: &CsvOptions) -> Csv {
        let name = |position: Option<usize>| position.map(|position| self.columns[position].name.clone());
        let (label, id) = (name(self.label), name(self.id));
        let fitting: Vec<Notations> = self.columns.iter().map(Growing::fitting).collect();
        let (comma, certain) = self.comma(&fitting);
        let mut notes = Vec::new();
        let column = |(growing, fitting): (Growing, Notations)| {
            let Growing { name, unnamed, special, cells, .. } = growing;
            let column = |values, notation| Column { name: name.clone(), values, notation, unnamed };
            let dictionary = match cells {
                Cells::Numbers(numbers) => return column(Values::Numbers(numbers), Notation::default()),
                Cells::Text(dictionary) => dictionary,
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
                            "column \"{name}\" is read as text: \"{cell}\" is not a number ({odd} such cells)"
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
