//! One column of one row group as texts: labels and names of rows, of text or whole numbers.

use super::ParquetFile;
use super::leaf::Leaf;
use crate::error::{DataError, Place, Result};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::file::reader::ChunkReader;
use std::fmt::Write;

/// What is done with the row in the group and its text, if there is one.
type ForText<'a> = dyn FnMut(usize, Option<&str>) -> Result<()> + 'a;

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// Calls `cell` with every row of a column of text or whole numbers in a group.
    ///
    /// # Errors
    /// Damaged pages; another kind of column; text that is not UTF-8, with its row in the group; what `cell` returns.
    pub(crate) fn each_text(&self, group: usize, leaf: &Leaf, cell: &mut ForText<'_>) -> Result<()> {
        let (mut row, mut text) = (0, String::new());
        let mut integer = |value: Option<i64>| {
            text.clear();
            if let Some(value) = value {
                let _ = write!(text, "{}", leaf.whole(value));
            }
            row += 1;
            cell(row - 1, value.is_some().then_some(text.as_str()))
        };
        match &mut self.column(group, leaf)? {
            ColumnReader::Int32ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| integer(value.map(|&value| i64::from(value))))
            }
            ColumnReader::Int64ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| integer(value.copied()))
            }
            ColumnReader::ByteArrayColumnReader(reader) if leaf.text => {
                self.each(group, leaf, reader, &mut |value: Option<&ByteArray>| {
                    row += 1;
                    match value.map(|value| std::str::from_utf8(value.data())) {
                        None => cell(row - 1, None),
                        Some(Ok(text)) => cell(row - 1, Some(text)),
                        Some(Err(cause)) => {
                            let problem = format!("column \"{}\" holds bytes that are not text", leaf.name);
                            let place = Place::Row((self.first_row(group) + row - 1) as u64);
                            Err(DataError::decode(self.path(), place, problem, cause))
                        }
                    }
                })
            }
            _ => Err(self.bad(leaf, "must hold text or whole numbers".into())),
        }
    }

    /// The whole numbers of a column in a group, `None` where there is none.
    ///
    /// # Errors
    /// Damaged pages; another kind of column.
    pub(crate) fn whole_numbers(&self, group: usize, leaf: &Leaf, each: &mut dyn FnMut(Option<i128>)) -> Result<()> {
        match &mut self.column(group, leaf)? {
            ColumnReader::Int32ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| {
                    each(value.map(|&value| leaf.whole(i64::from(value))));
                    Ok(())
                })
            }
            ColumnReader::Int64ColumnReader(reader) if leaf.is_whole() => {
                self.each(group, leaf, reader, &mut |value| {
                    each(value.map(|&value| leaf.whole(value)));
                    Ok(())
                })
            }
            _ => Err(self.bad(leaf, "must hold whole numbers".into())),
        }
    }

    /// The first row of a group.
    pub(crate) fn first_row(&self, group: usize) -> usize {
        (0..group).map(|group| self.group_rows(group)).fold(0, usize::saturating_add)
    }
}
