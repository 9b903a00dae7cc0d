//! Probabilities in Parquet: a column per class, or one column of lists. Every thread goes through row groups with a cursor of its own, so
//! that no group is ever held whole.

use crate::error::{DataError, Place, Result};
use crate::format::npy::FromNumber;
use crate::format::parquet::{GroupCursor, Leaf, ParquetFile};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Cursors that wait for the next read. A pass has one per thread at work.
const MOST_IDLE: usize = 4;

/// An open file of probabilities.
pub(super) struct Groups {
    file: ParquetFile,
    layout: Layout,
    rows: usize,
    /// The first row of every group.
    starts: Vec<usize>,
    idle: Mutex<Vec<GroupCursor>>,
}

/// Where the numbers of a row stand.
enum Layout {
    /// One in each of these columns.
    Columns(Vec<Leaf>),
    /// In a list of this many.
    List([Leaf; 1], usize),
}

impl Layout {
    fn leaves(&self) -> &[Leaf] {
        match self {
            Self::Columns(leaves) => leaves,
            Self::List(leaf, _) => leaf,
        }
    }

    fn width(&self) -> usize {
        match self {
            Self::Columns(leaves) => leaves.len(),
            Self::List(_, width) => *width,
        }
    }
}

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("file", &self.file).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Groups {
    /// Opens a file. A column of lists called like one of `usual`, or the only one where there are no two columns of numbers, holds the
    /// probabilities.
    pub(super) fn open(path: &Path, usual: &[&str]) -> Result<Self> {
        let file = ParquetFile::open(path)?;
        let (leaves, lists) = (file.leaves(), file.lists());
        let (mut rows, mut starts) = (0, Vec::new());
        for group in 0..file.groups() {
            starts.push(rows);
            rows += file.group_rows(group);
        }
        let called = |wanted: &&str| lists.iter().find(|leaf| leaf.name.eq_ignore_ascii_case(wanted));
        let chosen = usual.iter().find_map(called).or(match lists.as_slice() {
            [only] if leaves.iter().filter(|leaf| leaf.is_number()).count() < 4 => Some(only),
            _ => None,
        });
        let layout = match chosen {
            None => Layout::Columns(leaves),
            Some(leaf) => Layout::List([leaf.clone()], list_length(&file, leaf)?),
        };
        Ok(Self { file, layout, rows, starts, idle: Mutex::new(Vec::new()) })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn width(&self) -> usize {
        self.layout.width()
    }

    pub(super) fn starts(&self) -> &[usize] {
        &self.starts
    }

    pub(super) fn file(&self) -> &ParquetFile {
        &self.file
    }

    /// What the columns are called; entries of a list have no names.
    pub(super) fn names(&self) -> Option<Vec<String>> {
        match &self.layout {
            Layout::Columns(leaves) => Some(leaves.iter().map(|leaf| leaf.name.clone()).collect()),
            Layout::List(..) => None,
        }
    }

    /// Without the columns that hold no numbers and those with these names.
    pub(super) fn without(self, names: &[&str]) -> Self {
        match self.layout {
            Layout::Columns(mut leaves) => {
                leaves.retain(|leaf| leaf.is_number() && !names.contains(&leaf.name.as_str()));
                Self { layout: Layout::Columns(leaves), ..self }
            }
            Layout::List(..) => self,
        }
    }

    /// Only these columns, in this order; the name of one that does not hold numbers.
    pub(super) fn choose(self, columns: &[usize]) -> std::result::Result<Self, String> {
        let Layout::Columns(leaves) = &self.layout else { return Ok(self) };
        let leaves: Vec<Leaf> = columns.iter().map(|&column| leaves[column].clone()).collect();
        match leaves.iter().find(|leaf| !leaf.is_number()) {
            Some(text) => Err(text.name.clone()),
            None => Ok(Self { layout: Layout::Columns(leaves), ..self }),
        }
    }

    pub(super) fn is_narrow(&self) -> bool {
        self.layout.leaves().iter().all(Leaf::is_narrow)
    }

    /// A cursor at a row of a group: one that waits before it, or a new one.
    fn cursor(&self, group: usize, row: usize) -> Result<GroupCursor> {
        let waiting = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let before = |cursor: &GroupCursor| cursor.group() == group && cursor.row() <= row;
            let nearest = (0..idle.len()).filter(|&at| before(&idle[at])).max_by_key(|&at| idle[at].row());
            nearest.map(|at| idle.remove(at))
        };
        let mut cursor = match waiting {
            Some(cursor) => cursor,
            None => GroupCursor::new(&self.file, group, self.layout.leaves())?,
        };
        cursor.skip_to(&self.file, self.layout.leaves(), row)?;
        Ok(cursor)
    }

    fn put_back(&self, cursor: GroupCursor) {
        if cursor.row() < self.file.group_rows(cursor.group()) {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            if idle.len() >= MOST_IDLE {
                idle.remove(0);
            }
            idle.push(cursor);
        }
    }

    /// Single rows, ascending: each group is gone through once.
    pub(super) fn read_rows<T: FromNumber>(&self, wanted: &[usize], out: &mut [T]) -> Result<()> {
        let mut at: Option<GroupCursor> = None;
        for (&row, out) in wanted.iter().zip(out.chunks_exact_mut(self.width())) {
            let group = self.starts.partition_point(|&start| start <= row).saturating_sub(1);
            let leaves = self.layout.leaves();
            let mut cursor = match at.take().filter(|cursor| cursor.group() == group) {
                Some(cursor) => cursor,
                None => GroupCursor::new(&self.file, group, leaves)?,
            };
            cursor.skip_to(&self.file, leaves, row - self.starts[group])?;
            self.read_here(&mut cursor, out)?;
            at = Some(cursor);
        }
        Ok(())
    }

    /// The next rows of a cursor.
    fn read_here<T: FromNumber>(&self, cursor: &mut GroupCursor, out: &mut [T]) -> Result<()> {
        match &self.layout {
            Layout::Columns(leaves) => cursor.read(&self.file, leaves, out),
            Layout::List([leaf], width) => match cursor.read_lists(&self.file, leaf, *width, out)? {
                Ok(()) => Ok(()),
                Err((at, length)) => {
                    let problem =
                        format!("column \"{}\" must hold {width} numbers in every row, got {length}", leaf.name);
                    let place = Place::Row((self.starts[cursor.group()] + at) as u64);
                    Err(DataError::format(self.file.path(), place, problem))
                }
            },
        }
    }

    /// Rows from `first` on.
    pub(super) fn read<T: FromNumber>(&self, first: usize, out: &mut [T]) -> Result<()> {
        let width = self.width();
        let mut group = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        let (mut row, mut rest) = (first, out);
        while !rest.is_empty() {
            if group >= self.starts.len() {
                let problem = format!("should have {} rows by its header, ends at row {row}", self.rows);
                return Err(DataError::format(self.file.path(), Place::File, problem));
            }
            let from = row - self.starts[group];
            let count = (self.file.group_rows(group) - from).min(rest.len() / width);
            let (now, later) = rest.split_at_mut(count * width);
            if count > 0 {
                let mut cursor = self.cursor(group, from)?;
                self.read_here(&mut cursor, now)?;
                self.put_back(cursor);
            }
            (rest, row, group) = (later, row + count, group + 1);
        }
        Ok(())
    }
}

/// How long the lists of a column are, by the first that is there.
fn list_length(file: &ParquetFile, leaf: &Leaf) -> Result<usize> {
    for group in (0..file.groups()).filter(|&group| file.group_rows(group) > 0) {
        let found = GroupCursor::new(file, group, std::slice::from_ref(leaf))?.first_length(file, leaf)?;
        if let Some(length) = found {
            return Ok(length);
        }
    }
    Ok(0)
}
