//! [`TableIds`]: the names of rows in tables, read when they are needed; never all at once where there are many.

use super::NamedRows;
use crate::error::Result;
use crate::format::parquet::{Leaf, ParquetFile};
use rayon::prelude::*;
use std::path::Path;
use tares_core::estimate::RowIds;

/// The ids of several tables, one after the other.
#[derive(Debug)]
pub struct TableIds {
    columns: Vec<IdColumn>,
    /// (column, row group, first row), in order.
    parts: Vec<(usize, usize, usize)>,
    seed: u64,
}

/// The column of ids in one file.
pub(super) enum IdColumn {
    Parquet(ParquetFile, Leaf),
    Listed(Vec<String>),
}

impl std::fmt::Debug for IdColumn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Parquet(file, leaf) => write!(f, "{} of {}", leaf.name, file.path().display()),
            Self::Listed(ids) => write!(f, "{} ids", ids.len()),
        }
    }
}

impl IdColumn {
    pub(super) fn of_parquet(path: &Path, leaf: Leaf) -> Result<Self> {
        Ok(Self::Parquet(ParquetFile::open(path)?, leaf))
    }

    /// The rows of every part.
    fn parts(&self) -> Vec<usize> {
        match self {
            Self::Parquet(file, _) => (0..file.groups()).map(|group| file.group_rows(group)).collect(),
            Self::Listed(ids) => vec![ids.len()],
        }
    }

    /// Calls `each` with the ids of some rows of a part, ascending.
    fn visit_some(&self, part: usize, rows: &[usize], each: &mut dyn FnMut(usize, &str)) -> Result<()> {
        match self {
            Self::Parquet(file, leaf) => file.texts_at(part, leaf, rows, &mut |row, text| {
                each(row, text.unwrap_or(""));
                Ok(())
            }),
            Self::Listed(ids) => {
                rows.iter().for_each(|&row| each(row, &ids[row]));
                Ok(())
            }
        }
    }

    /// Calls `each` with the ids of a part; a row without one has the empty name.
    fn visit(&self, part: usize, each: &mut dyn FnMut(usize, &str)) -> Result<()> {
        match self {
            Self::Parquet(file, leaf) => file.each_text(part, leaf, &mut |row, text| {
                each(row, text.unwrap_or(""));
                Ok(())
            }),
            Self::Listed(ids) => {
                ids.iter().enumerate().for_each(|(row, id)| each(row, id));
                Ok(())
            }
        }
    }
}

impl TableIds {
    pub(super) fn new(columns: Vec<IdColumn>, seed: u64) -> Self {
        let (mut parts, mut start) = (Vec::new(), 0);
        for (column, ids) in columns.iter().enumerate() {
            for (part, rows) in ids.parts().into_iter().enumerate() {
                parts.push((column, part, start));
                start += rows;
            }
        }
        Self { columns, parts, seed }
    }

    /// Whether all ids are stored as whole numbers of at most 64 bits with a sign.
    pub fn are_whole(&self) -> bool {
        self.columns.iter().all(|column| matches!(column, IdColumn::Parquet(_, leaf) if leaf.is_long()))
    }

    /// The ids of some rows, ascending, or of all.
    ///
    /// # Errors
    /// Damaged pages; ids that are not text or whole numbers.
    pub fn of_rows(&self, wanted: Option<&[usize]>) -> Result<NamedRows> {
        let of_part = |at: usize| -> Result<NamedRows> {
            let (column, part, start) = self.parts[at];
            let end = self.parts.get(at + 1).map_or(usize::MAX, |next| next.2);
            let mut named = NamedRows::default();
            let mut push = |row: usize, id: &str| named.push(start + row, id);
            match wanted {
                None => self.columns[column].visit(part, &mut push)?,
                Some(rows) => {
                    let rows = &rows[rows.partition_point(|&row| row < start)..rows.partition_point(|&row| row < end)];
                    let rows: Vec<usize> = rows.iter().map(|row| row - start).collect();
                    if !rows.is_empty() {
                        self.columns[column].visit_some(part, &rows, &mut push)?;
                    }
                }
            }
            Ok(named)
        };
        let parts: Vec<NamedRows> = (0..self.parts.len()).into_par_iter().map(of_part).collect::<Result<_>>()?;
        Ok(NamedRows { blocks: parts.into_iter().flat_map(|part| part.blocks).collect() })
    }
}

impl RowIds for TableIds {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn filter(&self, key: &(dyn Fn(usize, &str) -> Option<u64> + Sync)) -> tares_core::Result<Vec<(usize, u64)>> {
        let of_part = |&(column, part, start): &(usize, usize, usize)| -> Result<Vec<(usize, u64)>> {
            let mut drawn = Vec::new();
            self.columns[column]
                .visit(part, &mut |row, id| drawn.extend(key(start + row, id).map(|key| (start + row, key))))?;
            Ok(drawn)
        };
        let drawn: Result<Vec<_>> = self.parts.par_iter().map(of_part).collect();
        Ok(drawn.map_err(|error| tares_core::Error::value("ids of the rows", "readable", error))?.concat())
    }
}
