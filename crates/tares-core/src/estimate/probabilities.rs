//! N × K out-of-sample probabilities, read in blocks of rows, so that they need not fit into memory.
//!
//! Every pass over them goes through `fold`: blocks of a fixed size, on all cores, put together in the order of the
//! rows. What comes out depends neither on the number of threads nor on where the rows are kept.

use crate::dataset::Label;
use crate::error::{Error, Result, same_length};
use rayon::prelude::*;

/// Predicted probabilities, one row per sample and one column per class, of a model that did not train on that row.
pub trait Probabilities: Sync {
    /// N.
    fn rows(&self) -> usize;

    /// K.
    fn classes(&self) -> usize;

    /// Writes rows `first..first + out.len() / K` into `out`, row after row.
    ///
    /// # Errors
    /// Whatever keeps the rows from being read.
    fn read(&self, first: usize, out: &mut [f64]) -> Result<()>;
}

/// Probabilities that lie in memory, row after row.
///
/// ```
/// use tares_core::estimate::{Probabilities, Table};
/// let table = Table::new(&[0.9f32, 0.1, 0.4, 0.6], 2)?;
/// assert_eq!((table.rows(), table.classes()), (2, 2));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Table<'a, R> {
    values: &'a [R],
    classes: usize,
}

impl<'a, R> Table<'a, R> {
    /// Takes `values` as rows of `classes` numbers.
    ///
    /// # Errors
    /// Fewer than two classes; a last row that is not whole.
    pub fn new(values: &'a [R], classes: usize) -> Result<Self> {
        if classes < 2 {
            return Err(Error::value("number of classes", "at least 2", classes));
        }
        if !values.len().is_multiple_of(classes) {
            return Err(Error::value("number of probabilities", format!("a multiple of {classes}"), values.len()));
        }
        Ok(Self { values, classes })
    }
}

impl<R: Copy + Into<f64> + Sync> Probabilities for Table<'_, R> {
    fn rows(&self) -> usize {
        self.values.len() / self.classes
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn read(&self, first: usize, out: &mut [f64]) -> Result<()> {
        let start = first * self.classes;
        let values = &self.values[start..start + out.len()];
        out.iter_mut().zip(values).for_each(|(to, from)| *to = (*from).into());
        Ok(())
    }
}

/// Probabilities whose rows are divided by their sums.
#[derive(Debug)]
pub struct Normalised<P>(pub P);

impl<P: Probabilities> Probabilities for Normalised<P> {
    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn read(&self, first: usize, out: &mut [f64]) -> Result<()> {
        self.0.read(first, out)?;
        for row in out.chunks_exact_mut(self.classes()) {
            let sum: f64 = row.iter().sum();
            // A row of zeros stays as it is and is found when the rows are checked.
            if sum > 0.0 {
                row.iter_mut().for_each(|value| *value /= sum);
            }
        }
        Ok(())
    }
}

/// One block of rows of a pass.
pub(crate) struct Block<'a> {
    pub(crate) first: usize,
    pub(crate) given: &'a [Label],
    values: &'a [f64],
    classes: usize,
}

impl<'a> Block<'a> {
    /// (index, given label, probabilities) of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, Label, &'a [f64])> {
        let (first, given) = (self.first, self.given);
        self.values.chunks_exact(self.classes).zip(given).enumerate().map(move |(i, (row, &y))| (first + i, y, row))
    }
}

/// One pass: `work` sees every block once, on any thread; `merge` sees the results in the order of the rows.
///
/// Blocks go in waves of a few per thread, so that no more than one wave of results waits to be merged.
pub(crate) fn fold<P, A, W, M>(probs: &P, given: &[Label], work: W, mut merge: M) -> Result<()>
where
    P: Probabilities + ?Sized,
    A: Send,
    W: Fn(&Block<'_>) -> Result<A> + Sync,
    M: FnMut(A) -> Result<()>,
{
    let (rows, classes) = (probs.rows(), probs.classes());
    same_length("given labels", rows, given.len())?;
    let height = block_height(classes);
    let starts: Vec<usize> = (0..rows).step_by(height).collect();
    for wave in starts.chunks(rayon::current_num_threads() * 4) {
        let results: Vec<Result<A>> = wave
            .par_iter()
            .map_init(Vec::new, |buffer, &first| {
                let last = (first + height).min(rows);
                buffer.resize((last - first) * classes, 0.0);
                probs.read(first, buffer)?;
                work(&Block { first, given: &given[first..last], values: buffer, classes })
            })
            .collect();
        for result in results {
            merge(result?)?;
        }
    }
    Ok(())
}

/// Rows per block: about half a megabyte, so that a block stays in a core's cache. Part of the results' last
/// digits, therefore fixed.
fn block_height(classes: usize) -> usize {
    ((1 << 16) / classes).clamp(16, 8192)
}

/// The position and value of the largest entry; the first one when several are equal.
pub(crate) fn largest(row: &[f64]) -> (usize, f64) {
    let mut best = (0, row[0]);
    for (class, &value) in row.iter().enumerate().skip(1) {
        if value > best.1 {
            best = (class, value);
        }
    }
    best
}
