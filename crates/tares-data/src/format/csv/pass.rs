//! One pass through a CSV file: blocks of rows are read on all cores and put together in order, column by column, as numbers or
//! as text. How many cores there are changes nothing in the result.

use super::block::{BlockCells, BlockColumn, BlockColumns, Fault};
use super::blocks::Blocks;
use super::{Csv, CsvOptions, delimiter, header, record};
use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::table::columns::{Column, ColumnKind, Dictionary, RawTable, Values, label_position, position};
use crate::table::lines::Lines;
use crate::table::number::{Comma, Notation, Notations, mostly_numbers};
use rayon::prelude::*;
use std::path::Path;

/// Blocks that are in memory at a time, for each core.
const BLOCKS_PER_CORE: usize = 4;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One pass through the file.
pub(super) struct Pass {
    blocks: Blocks,
    delimiter: u8,
    path: std::path::PathBuf,
    pub(super) columns: Vec<Growing>,
    /// The first block, from the first row on.
    first: Vec<u8>,
    /// Lines before the next block.
    passed: u64,
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

    /// Adds the cells of the next block.
    fn append(&mut self, block: &BlockColumn) {
        match (&mut self.cells, &block.cells) {
            (Cells::Numbers(numbers), BlockCells::Numbers(more)) => numbers.extend_from_slice(more),
            (Cells::Text(dictionary), BlockCells::Text(more)) => dictionary.append(more),
            _ => unreachable!("blocks are read as the columns are"),
        }
        self.points += block.points;
        self.groups += block.groups;
    }

    /// Makes room for so many more rows.
    fn reserve(&mut self, rows: usize) {
        match &mut self.cells {
            Cells::Numbers(numbers) => numbers.reserve(rows),
            Cells::Text(dictionary) => dictionary.reserve(rows),
        }
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
        let mut blocks = Blocks::new(input, delimiter);
        let mut block = Vec::new();
        blocks.next(&mut block)?;
        if block.starts_with(BYTE_ORDER_MARK) {
            block.drain(..BYTE_ORDER_MARK.len());
        }
        let mut passed = 0;
        let mut start = record::skip_blank(&block, 0);
        while start == block.len() {
            passed += record::lines(&block);
            blocks.next(&mut block)?;
            if block.is_empty() {
                return Err(DataError::format(path, Place::File, "has no rows"));
            }
            start = record::skip_blank(&block, 0);
        }
        let line = 1 + passed + record::lines(&block[..start]);
        let (first, end) = record::cells(&block, start, delimiter);
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
            let cells = match as_text {
                true if label == Some(place) => Cells::Text(Dictionary::of_every_word()),
                true => Cells::Text(Dictionary::default()),
                false => Cells::Numbers(Vec::new()),
            };
            Growing { name, unnamed, special, cells, conflict: false, points: 0, groups: 0 }
        });
        let columns = columns.collect();
        drop(first);
        if header {
            passed += record::lines(&block[..end]);
            block.drain(..end);
        }
        let lines = Lines::default();
        Ok(Self { blocks, delimiter, path, columns, first: block, passed, header, label, id, rows: 0, lines })
    }

    /// Reads all rows, or those of the first block if they already show that a column must be read again as text: most such
    /// columns show this early, and starting again now saves reading the whole file twice.
    pub(super) fn read_rows(&mut self) -> Result<()> {
        // Inside the pool, so that no step has to wait until a thread wakes up.
        rayon::scope(|_| self.read_blocks())?;
        match self.rows {
            0 => Err(DataError::format(&self.path, Place::File, "has a header but no rows")),
            _ => Ok(()),
        }
    }

    fn read_blocks(&mut self) -> Result<()> {
        let text: Vec<bool> = self.columns.iter().map(Growing::is_text).collect();
        let count = BLOCKS_PER_CORE * rayon::current_num_threads();
        let mut read = vec![BlockColumns::default()];
        let mut batch = vec![std::mem::take(&mut self.first)];
        let mut spare = Vec::new();
        let mut at_start = true;
        while !batch.is_empty() {
            read.resize_with(batch.len(), BlockColumns::default);
            // The next blocks are fetched (and unpacked, if the file is gzipped) while these are read.
            let (next, ()) = rayon::join(
                || self.blocks.several(count, spare),
                || {
                    let pairs = read.par_iter_mut().zip(&batch);
                    pairs.for_each(|(columns, block)| columns.read(block, self.delimiter, &text));
                },
            );
            if at_start {
                self.reserve(read[0].rows, batch[0].len());
            }
            self.append(&read)?;
            if at_start && self.columns.iter().any(|column| column.conflict) {
                return Ok(());
            }
            at_start = false;
            spare = std::mem::replace(&mut batch, next?);
        }
        Ok(())
    }

    /// Makes room for as many rows as the file has if all are as long as the first `rows`. A cell takes at least one byte of the
    /// file, so no more memory is reserved than the file could fill.
    fn reserve(&mut self, rows: usize, bytes: usize) {
        let size = self.blocks.input().size_hint() as f64;
        let expected = rows as f64 * size / bytes.max(1) as f64;
        // A little more: if the rows behind are shorter, making room again costs more.
        let expected = (1.02 * expected) as usize;
        self.columns.iter_mut().for_each(|column| column.reserve(expected));
    }

    /// Adds the rows of blocks, up to the first row that cannot be used.
    fn append(&mut self, blocks: &[BlockColumns]) -> Result<()> {
        for block in blocks {
            self.check(block)?;
            self.lines.append(&block.lines, self.passed);
            self.passed += block.passed;
            self.rows += block.rows;
            self.columns.iter_mut().zip(&block.columns).for_each(|(column, more)| column.conflict |= more.conflict);
        }
        let columns = self.columns.par_iter_mut().enumerate();
        columns.for_each(|(place, column)| blocks.iter().for_each(|block| column.append(&block.columns[place])));
        Ok(())
    }

    /// Refuses a block for the first of its rows that cannot be used. A number that is not finite is just another text where
    /// its column turns out to be text.
    fn check(&self, block: &BlockColumns) -> Result<()> {
        let columns = self.columns.iter().zip(&block.columns);
        let infinite = columns
            .filter(|(column, more)| !column.conflict && !more.conflict)
            .filter_map(|(column, more)| more.infinite.as_ref().map(|(line, cell)| (*line, cell, &column.name)))
            .min_by_key(|(line, ..)| *line);
        let fault = block.fault.as_ref();
        if let Some((line, cell, name)) = infinite
            && fault.is_none_or(|(fault, _)| line < *fault)
        {
            let problem = format!("column \"{name}\" must hold finite numbers, got {cell}");
            return Err(DataError::format(&self.path, Place::Line(self.passed + line), problem));
        }
        match fault {
            None => Ok(()),
            Some((line, Fault::Cells(count))) => {
                let problem = format!("{count} cells, but the first line has {}", self.columns.len());
                Err(DataError::format(&self.path, Place::Line(self.passed + line), problem))
            }
            Some((line, Fault::NotUtf8(cell))) => utf8(cell, &self.path, self.passed + line).map(drop),
        }
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
