//! [`ProbabilityFile`]: one column per class, in the order of the classes, read as it is asked for.

use super::parquet_groups::Groups;
use crate::error::{DataError, Result};
use crate::format::npy::{Array, ElementKind, FromNumber, Stored};
use std::borrow::Cow;
use std::marker::PhantomData;
use tares_core::estimate::{Probabilities, read_spans};

/// N × K probabilities in a file.
#[derive(Debug)]
pub struct ProbabilityFile {
    pub(super) rows: usize,
    pub(super) classes: usize,
    pub(super) content: Content,
    /// Rows at which parts of the file begin that are best read on their own.
    pub(super) natural: Vec<usize>,
}

#[derive(Debug)]
pub(super) enum Content {
    /// Read in blocks. Arrays have no column names: their columns are the classes in order.
    Npy(Stored),
    /// Read one row group at a time.
    Parquet(Groups),
    /// Several files, one after the other.
    Joined {
        files: Vec<ProbabilityFile>,
        /// The first row of every file.
        starts: Vec<usize>,
    },
    /// Read whole, row after row.
    Whole {
        values: Vec<f64>,
        /// Whether 32 bits hold them.
        narrow: bool,
    },
}

impl Content {
    pub(super) fn of_array(array: &Array, columns: &[usize]) -> Result<Self> {
        let all: Vec<f64> = array.numbers()?;
        let width = array.header().shape.get(1).copied().unwrap_or(1).max(1);
        let values = all.chunks_exact(width).flat_map(|row| columns.iter().map(|&at| row[at])).collect();
        Ok(Self::Whole { values, narrow: is_narrow(array.header().kind) })
    }

    pub(super) fn of_columns(columns: &[Cow<'_, [f64]>], rows: usize) -> Self {
        let values: Vec<f64> = (0..rows).flat_map(|row| columns.iter().map(move |cells| cells[row])).collect();
        let narrow = values.iter().all(|&value| is_decimal_of_narrow(value));
        Self::Whole { values, narrow }
    }
}

impl ProbabilityFile {
    pub(super) fn new(rows: usize, classes: usize, content: Content) -> Self {
        let natural = match &content {
            Content::Parquet(groups) => groups.starts().to_vec(),
            Content::Joined { files, starts } => {
                let of_file = |(file, &start): (&Self, &usize)| match file.natural.is_empty() {
                    true => vec![start],
                    false => file.natural.iter().map(|row| start + row).collect(),
                };
                files.iter().zip(starts).flat_map(of_file).collect()
            }
            Content::Npy(_) | Content::Whole { .. } => Vec::new(),
        };
        Self { rows, classes, content, natural }
    }

    /// Several files as one, rows one after the other. They have the same classes.
    pub(super) fn join(mut files: Vec<Self>, classes: usize) -> Self {
        if files.len() == 1 {
            return files.remove(0);
        }
        let (mut rows, mut starts) = (0, Vec::new());
        for file in &files {
            starts.push(rows);
            rows += file.rows;
        }
        Self::new(rows, classes, Content::Joined { files, starts })
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whether 32 bits hold every number of the file exactly, or as exactly as its decimals mean them.
    pub fn is_narrow(&self) -> bool {
        match &self.content {
            Content::Npy(stored) => is_narrow(stored.header().kind),
            Content::Parquet(groups) => groups.is_narrow(),
            Content::Joined { files, .. } => files.iter().all(Self::is_narrow),
            Content::Whole { narrow, .. } => *narrow,
        }
    }

    fn read<T: FromNumber>(&self, first: usize, out: &mut [T]) -> Result<()> {
        match &self.content {
            Content::Npy(stored) => stored.read_rows(first, out),
            Content::Parquet(groups) => groups.read(first, out),
            Content::Joined { files, starts } => {
                let mut at = starts.partition_point(|&start| start <= first).saturating_sub(1);
                let (mut row, mut rest) = (first, out);
                while !rest.is_empty() && at < files.len() {
                    let count = (starts[at] + files[at].rows - row).min(rest.len() / self.classes);
                    let (now, later) = rest.split_at_mut(count * self.classes);
                    if count > 0 {
                        files[at].read(row - starts[at], now)?;
                    }
                    (rest, row, at) = (later, row + count, at + 1);
                }
                Ok(())
            }
            Content::Whole { values, .. } => {
                let values = &values[first * self.classes..];
                out.iter_mut().zip(values).for_each(|(to, &from)| *to = T::from_f64(from));
                Ok(())
            }
        }
    }

    /// Single rows, ascending, where the format has a way to them of its own. Returns whether it has.
    fn read_rows<T: FromNumber>(&self, wanted: &[usize], out: &mut [T]) -> Result<bool> {
        match &self.content {
            Content::Parquet(groups) => groups.read_rows(wanted, out).map(|()| true),
            Content::Joined { files, starts }
                if files.iter().all(|file| matches!(file.content, Content::Parquet(_))) =>
            {
                let (mut wanted, mut out) = (wanted, out);
                while let Some(&first) = wanted.first() {
                    let at = starts.partition_point(|&start| start <= first).saturating_sub(1);
                    let count = wanted.partition_point(|&row| row < starts[at] + files[at].rows).max(1);
                    let rows: Vec<usize> = wanted[..count].iter().map(|row| row - starts[at]).collect();
                    let (now, later) = out.split_at_mut(count * self.classes);
                    files[at].read_rows(&rows, now)?;
                    (wanted, out) = (&wanted[count..], later);
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// The rows of a file, in numbers of type `T`.
#[derive(Debug)]
pub struct FileRows<'a, T> {
    file: &'a ProbabilityFile,
    number: PhantomData<fn() -> T>,
}

impl<'a, T> FileRows<'a, T> {
    /// Of a file.
    pub fn of(file: &'a ProbabilityFile) -> Self {
        Self { file, number: PhantomData }
    }
}

// For each type alone: a generic implementation would be compiled in the crate that uses it, with that crate's optimisation level.
macro_rules! rows_of {
    ($($number:ty)*) => { $(impl Probabilities for FileRows<'_, $number> {
        type Number = $number;

        fn rows(&self) -> usize {
            self.file.rows
        }

        fn classes(&self) -> usize {
            self.file.classes
        }

        fn natural_starts(&self) -> &[usize] {
            &self.file.natural
        }

        fn read(&self, first: usize, out: &mut [$number]) -> tares_core::Result<()> {
            self.file.read(first, out).map_err(unreadable)
        }

        fn read_rows(&self, wanted: &[usize], out: &mut [$number]) -> tares_core::Result<()> {
            match self.file.read_rows(wanted, out).map_err(unreadable)? {
                true => Ok(()),
                false => read_spans(self, wanted, out),
            }
        }
    })* };
}
rows_of!(f32 f64);

fn unreadable(error: DataError) -> tares_core::Error {
    tares_core::Error::value("probabilities", "readable", error)
}

fn is_narrow(kind: ElementKind) -> bool {
    match kind {
        ElementKind::Float { size } => size <= 4,
        ElementKind::Integer { size, .. } => size <= 2,
        _ => true,
    }
}

/// Whether a decimal is how a 32-bit number is written: then it means that number, not the 64-bit one beside it.
fn is_decimal_of_narrow(value: f64) -> bool {
    let narrow = value as f32;
    f64::from(narrow) == value || narrow.to_string().parse::<f64>().is_ok_and(|written| written == value)
}
