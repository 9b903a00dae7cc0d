//! Probabilities in Parquet: row groups are decoded when rows of them are wanted; the last few stay.

use crate::error::{DataError, Place, Result};
use crate::format::npy::FromNumber;
use crate::format::parquet::{Leaf, ParquetFile};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Groups that stay decoded. A pass takes up rows in order on all threads, so no more are in use at once unless groups
/// are tiny.
const MOST_RECENT: usize = 3;

/// An open file of probabilities.
pub(super) struct Groups {
    file: ParquetFile,
    leaves: Vec<Leaf>,
    rows: usize,
    /// The first row of every group.
    starts: Vec<usize>,
    recent: Mutex<Vec<(usize, Decoded)>>,
}

/// The columns of a group.
type Decoded = Arc<Vec<Vec<f64>>>;

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("file", &self.file).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Groups {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = ParquetFile::open(path)?;
        let leaves = file.leaves();
        let (mut rows, mut starts) = (0, Vec::new());
        for group in 0..file.groups() {
            starts.push(rows);
            rows += file.group_rows(group);
        }
        Ok(Self { file, leaves, rows, starts, recent: Mutex::new(Vec::new()) })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.leaves.iter().map(|leaf| leaf.name.clone()).collect()
    }

    /// Only these columns, in this order; the name of one that does not hold numbers.
    pub(super) fn choose(self, columns: &[usize]) -> std::result::Result<Self, String> {
        let leaves: Vec<Leaf> = columns.iter().map(|&column| self.leaves[column].clone()).collect();
        match leaves.iter().find(|leaf| !leaf.is_number()) {
            Some(text) => Err(text.name.clone()),
            None => Ok(Self { leaves, ..self }),
        }
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.leaves.iter().all(Leaf::is_narrow)
    }

    fn group(&self, group: usize) -> Result<Decoded> {
        // One thread decodes, the others wait: two would decode the same group.
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, decoded)) = recent.iter().find(|(known, _)| *known == group) {
            return Ok(decoded.clone());
        }
        let decoded = Arc::new(self.file.numbers(group, &self.leaves)?);
        if recent.len() >= MOST_RECENT {
            recent.remove(0);
        }
        recent.push((group, decoded.clone()));
        Ok(decoded)
    }

    /// Rows from `first` on.
    pub(super) fn read<T: FromNumber>(&self, first: usize, out: &mut [T]) -> Result<()> {
        let width = self.leaves.len();
        let mut group = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        let mut row = first;
        let mut rest = out;
        while !rest.is_empty() {
            let decoded = self.group(group)?;
            let (from, end) = (row - self.starts[group], decoded.first().map_or(0, Vec::len));
            let count = (end.saturating_sub(from)).min(rest.len() / width);
            if count == 0 && group + 1 >= self.starts.len() {
                let problem = format!("should have {} rows by its header, ends at row {row}", self.rows);
                return Err(DataError::format(self.file.path(), Place::File, problem));
            }
            let (now, later) = rest.split_at_mut(count * width);
            for (i, cells) in now.chunks_exact_mut(width).enumerate() {
                cells.iter_mut().zip(decoded.iter()).for_each(|(cell, column)| *cell = T::from_f64(column[from + i]));
            }
            (rest, row, group) = (later, row + count, group + 1);
        }
        Ok(())
    }
}
