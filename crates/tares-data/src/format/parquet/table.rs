//! All rows of some columns → [`RawTable`], column by column on all cores.

use super::leaf::Leaf;
use super::{BATCH, GroupCursor, ParquetFile};
use crate::error::{DataError, Place, Result};
use crate::table::Notation;
use crate::table::columns::{Column, Dictionary, RawTable, Values};
use crate::table::recent::RecentTexts;
use parquet::basic::Type;
use parquet::column::reader::ColumnReader;
use parquet::file::reader::ChunkReader;
use rayon::prelude::*;

/// Numbers of a column read at a time: they are still in the fastest cache when they are added to the column.
const NEAR: usize = 1 << 12;

impl<R: ChunkReader + 'static> ParquetFile<R> {
    /// All rows of the columns `leaves` as a table.
    ///
    /// # Errors
    /// Damaged pages; text that is not UTF-8; numbers that are not finite.
    pub fn table(&self, leaves: &[Leaf]) -> Result<RawTable> {
        self.table_with(leaves, &[])
    }

    /// The same; the columns of numbers called one of `as_text` (labels, names of rows) are read as text,
    /// with every digit, and every word of their texts is one.
    ///
    /// # Errors
    /// As [`table`](Self::table).
    pub(crate) fn table_with(&self, leaves: &[Leaf], as_text: &[&str]) -> Result<RawTable> {
        let mut columns = Vec::with_capacity(leaves.len());
        let mut rows = None;
        // Columns are read on all cores; of several that are damaged, the first is named.
        // One at a time, since some take longer than others.
        let all = leaves.par_iter().with_max_len(1).map(|leaf| match leaf.kind {
            Type::INT32 | Type::INT64 if as_text.contains(&leaf.name.as_str()) => self.all_integers(leaf),
            _ if leaf.is_number() => self.all_numbers(leaf),
            _ if as_text.contains(&leaf.name.as_str()) => self.all_text(leaf, Dictionary::of_every_word()),
            _ => self.all_text(leaf, Dictionary::default()),
        });
        let all: Vec<Result<Values>> = all.collect();
        for (leaf, values) in leaves.iter().zip(all) {
            let values = values?;
            let length = match &values {
                Values::Numbers(numbers) => numbers.len(),
                Values::Text { codes, .. } => codes.len(),
            };
            let expected = *rows.get_or_insert(length);
            if length != expected {
                return Err(self.bad(leaf, format!("has {length} rows where another column has {expected}")));
            }
            let dates = leaf.is_date() && matches!(values, Values::Numbers(_));
            let notation = Notation { dates, ..Notation::default() };
            columns.push(Column { notation, ..Column::new(&leaf.name, values) });
        }
        let said = leaves.iter().filter(|leaf| !as_text.contains(&leaf.name.as_str()));
        Ok(RawTable {
            path: self.path.clone(),
            columns,
            rows: rows.unwrap_or(0),
            notes: said.filter_map(Leaf::note).collect(),
            ..RawTable::default()
        })
    }

    /// Integers as text.
    fn all_integers(&self, leaf: &Leaf) -> Result<Values> {
        let mut dictionary = Dictionary::default();
        // The code of the last value with each low byte: classes are few and small, and known without writing them out.
        let mut recent = [None; 256];
        let mut push = |value: Option<i64>| match value {
            Some(value) => {
                let slot = &mut recent[usize::from(value as u8)];
                let code = match *slot {
                    Some((known, code)) if known == value => code,
                    _ => dictionary.code(&leaf.integer_text(value)),
                };
                *slot = Some((value, code));
                dictionary.push_code(code);
            }
            None => dictionary.push_missing(),
        };
        for group in 0..self.groups() {
            match &mut self.column(group, leaf)? {
                ColumnReader::Int32ColumnReader(reader) => self.each(group, leaf, reader, &mut |value| {
                    push(value.map(|&value| i64::from(value)));
                    Ok(())
                })?,
                ColumnReader::Int64ColumnReader(reader) => self.each(group, leaf, reader, &mut |value| {
                    push(value.copied());
                    Ok(())
                })?,
                _ => return Err(self.bad(leaf, "does not hold whole numbers".into())),
            }
        }
        Ok(dictionary.into_values())
    }

    fn all_numbers(&self, leaf: &Leaf) -> Result<Values> {
        let leaves = std::slice::from_ref(leaf);
        let mut numbers: Vec<f64> = Vec::new();
        for group in 0..self.groups() {
            let mut cursor = GroupCursor::new(self, group, leaves)?;
            let rows = self.group_rows(group);
            // How many rows there are is only what the file says: room is made for those that its bytes can hold, one each; a
            // dictionary may hold more, and then the column grows as they come.
            let bytes = usize::try_from(self.chunk(group, leaf)?.compressed_size()).unwrap_or(0);
            numbers.reserve(rows.min(bytes));
            for first in (0..rows).step_by(NEAR) {
                let start = numbers.len();
                numbers.resize(start + NEAR.min(rows - first), 0.0);
                cursor.read(self, leaves, &mut numbers[start..])?;
                // All are looked at before one is searched for: that is done on several numbers at a time.
                if numbers[start..].iter().fold(false, |odd, number| odd | (number.abs() > f64::MAX)) {
                    let row = numbers.iter().position(|number| number.is_infinite()).unwrap_or(start);
                    let problem = format!("column \"{}\" must hold finite numbers, got {}", leaf.name, numbers[row]);
                    return Err(DataError::format(&self.path, Place::Row(row as u64), problem));
                }
            }
        }
        Ok(Values::Numbers(numbers))
    }

    fn all_text(&self, leaf: &Leaf, mut dictionary: Dictionary) -> Result<Values> {
        let mut block = RecentTexts::default();
        self.for_each_bytes(leaf, &mut |row, cell| {
            match cell {
                None => block.push_missing(),
                Some(bytes) => block.push(bytes).map_err(|cause| {
                    let problem = format!("column \"{}\" holds bytes that are not text", leaf.name);
                    DataError::decode(&self.path, Place::Row(row), problem, cause)
                })?,
            }
            if block.codes.len() == BATCH {
                dictionary.append(&block);
                block.clear();
            }
            Ok(())
        })?;
        dictionary.append(&block);
        Ok(dictionary.into_values())
    }
}

#[cfg(test)]
mod tests;
