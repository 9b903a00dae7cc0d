//! One block of whole records → its columns, read by itself: other blocks are read on other cores meanwhile.

use super::decimal::{self, Number, Short};
use super::record;
use crate::table::lines::Lines;
use crate::table::recent::RecentTexts;

/// The columns of one block.
#[derive(Default)]
pub(super) struct BlockColumns {
    pub columns: Vec<BlockColumn>,
    pub rows: usize,
    /// The line on which each row begins; the block begins on line 1.
    pub lines: Lines,
    /// Lines that end in the block.
    pub passed: u64,
    /// What ended the reading before the end of the block, and on which line.
    pub fault: Option<(u64, Fault)>,
}

/// A column of one block.
#[derive(Default)]
pub(super) struct BlockColumn {
    pub cells: BlockCells,
    /// A cell of this column of numbers was text.
    pub conflict: bool,
    /// The first number that is not finite, and its line.
    pub infinite: Option<(u64, String)>,
    /// Count of numbers with a point, and of those whose point could separate thousands (`1.234`).
    pub points: usize,
    pub groups: usize,
}

/// The cells of a column.
pub(super) enum BlockCells {
    Numbers(Vec<f64>),
    Text(Box<RecentTexts>),
}

impl Default for BlockCells {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

/// A record that cannot be used.
pub(super) enum Fault {
    /// It has so many cells.
    Cells(usize),
    /// This cell is not UTF-8.
    NotUtf8(Vec<u8>),
}

impl BlockColumns {
    /// Reads a block; `text` says which columns are text. Memory of the block read before is used again.
    pub(super) fn read(&mut self, block: &[u8], delimiter: u8, text: &[bool]) {
        self.clear(text);
        let (mut at, mut line) = (0, 1);
        loop {
            let start = record::skip_blank(block, at);
            line += record::lines(&block[at..start]);
            if start == block.len() {
                break;
            }
            self.lines.push(line);
            let Some((end, passed)) = self.record(block, start, delimiter, line) else {
                // A record with a wrong count of cells may well hold a wrong cell: the count is what people must hear of.
                let (cells, _) = record::cells(block, start, delimiter);
                if cells.len() != text.len() {
                    self.fault = Some((line, Fault::Cells(cells.len())));
                } else {
                    let wrong =
                        cells.into_iter().zip(text).find(|(cell, text)| **text && str::from_utf8(cell).is_err());
                    self.fault = wrong.map(|(cell, _)| (line, Fault::NotUtf8(cell.into_owned())));
                }
                return;
            };
            (at, line) = (end, line + passed);
            self.rows += 1;
        }
        self.passed = line - 1;
    }

    fn clear(&mut self, text: &[bool]) {
        self.columns.resize_with(text.len(), BlockColumn::default);
        for (column, &text) in self.columns.iter_mut().zip(text) {
            match (&mut column.cells, text) {
                (BlockCells::Numbers(numbers), false) => numbers.clear(),
                (BlockCells::Text(texts), true) => texts.clear(),
                (cells, false) => *cells = BlockCells::Numbers(Vec::new()),
                (cells, true) => *cells = BlockCells::Text(Box::default()),
            }
            (column.conflict, column.infinite, column.points, column.groups) = (false, None, 0, 0);
        }
        (self.rows, self.passed, self.lines, self.fault) = (0, 0, Lines::default(), None);
    }

    /// Reads the cells of the record that begins at `start`. Gives the place of its line end and the lines that end in its
    /// cells; `None` if it cannot be used.
    fn record(&mut self, block: &[u8], start: usize, delimiter: u8, line: u64) -> Option<(usize, u64)> {
        let last = self.columns.len() - 1;
        let (mut at, mut passed) = (start, 0);
        for (place, column) in self.columns.iter_mut().enumerate() {
            let begin = at;
            at = column.cell(block, at, delimiter, line)?;
            if block[begin..].first() == Some(&b'"') {
                passed += record::lines(&block[begin..at]);
            }
            let more = block.get(at) == Some(&delimiter);
            if more != (place < last) {
                return None;
            }
            at += usize::from(more);
        }
        Some((at, passed))
    }
}

impl BlockColumn {
    /// Reads the cell at `start`, and says where its delimiter or line end stands; `None` if it is not UTF-8.
    #[inline(always)]
    fn cell(&mut self, block: &[u8], start: usize, delimiter: u8, line: u64) -> Option<usize> {
        match &mut self.cells {
            BlockCells::Numbers(numbers) => {
                if let Some(Short { value, point, group, end }) = decimal::short(block, start)
                    && block.get(end).is_some_and(|&byte| byte == delimiter || record::is_line_end(byte))
                {
                    numbers.push(value);
                    self.points += usize::from(point);
                    self.groups += usize::from(group);
                    return Some(end);
                }
                Some(self.odd_number(block, start, delimiter, line))
            }
            BlockCells::Text(texts) => {
                let (cell, end) = record::cell(block, start, delimiter);
                texts.push(&cell).ok()?;
                Some(end)
            }
        }
    }

    /// The same for a cell of a column of numbers that is not short and plain.
    fn odd_number(&mut self, block: &[u8], start: usize, delimiter: u8, line: u64) -> usize {
        let (cell, end) = record::cell(block, start, delimiter);
        let value = match decimal::number(&cell) {
            Number::Finite { value, point, group } => {
                self.points += usize::from(point);
                self.groups += usize::from(group);
                value
            }
            Number::Missing => f64::NAN,
            Number::Infinite => {
                self.infinite.get_or_insert_with(|| (line, String::from_utf8_lossy(&cell).into_owned()));
                f64::NAN
            }
            Number::Text => {
                self.conflict = true;
                f64::NAN
            }
        };
        if let BlockCells::Numbers(numbers) = &mut self.cells {
            numbers.push(value);
        }
        end
    }
}
