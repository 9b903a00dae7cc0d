//! N × K out-of-sample probabilities, read in blocks of rows, so that they need not fit into memory.
//!
//! Every pass over them goes through `fold`: shards of blocks, cut at rows that depend on nothing but N and K, on all
//! cores, put together in the order of the rows. What comes out depends neither on the number of threads nor on where
//! the rows are kept. `pick` reads single rows.
//!
//! Numbers stay as their file has them (32 or 64 bits) until they are needed. Counting and confident learning widen all of them,
//! the default estimate narrows all of them, so the same numbers in either width say the same.

use crate::dataset::Label;
use crate::error::{Error, Result, same_length};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number as it is kept: `f32` or `f64`, and no other.
pub trait Number: Copy + Default + PartialOrd + Into<f64> + Send + Sync + sealed::Erase + 'static {
    /// Whether 32 bits are all it has.
    const NARROW: bool;
    /// The nearest 32-bit number.
    fn narrow(self) -> f32;
}

impl Number for f32 {
    const NARROW: bool = true;
    #[inline(always)]
    fn narrow(self) -> f32 {
        self
    }
}

impl Number for f64 {
    const NARROW: bool = false;
    #[inline(always)]
    fn narrow(self) -> f32 {
        self as f32
    }
}

/// Probabilities of either width.
///
/// Passes over rows are compiled in this crate, once per width, for every source of rows: a generic function would be
/// compiled in the caller's crate, with that crate's optimisation level.
pub(crate) mod sealed {
    use super::Probabilities;

    pub enum AnyWidth<'a> {
        Narrow(&'a (dyn Probabilities<Number = f32> + 'a)),
        Wide(&'a (dyn Probabilities<Number = f64> + 'a)),
    }

    pub trait Erase: Sized {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a>;
    }

    impl Erase for f32 {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a> {
            AnyWidth::Narrow(probs)
        }
    }

    impl Erase for f64 {
        fn erase<'a>(probs: &'a (dyn Probabilities<Number = Self> + 'a)) -> AnyWidth<'a> {
            AnyWidth::Wide(probs)
        }
    }
}

/// Predicted probabilities, one row per sample and one column per class, of a model that did not train on that row.
pub trait Probabilities: Sync {
    /// What the rows consist of.
    type Number: Number;

    /// N.
    fn rows(&self) -> usize;

    /// K.
    fn classes(&self) -> usize;

    /// Writes rows `first..first + out.len() / K` into `out`, row after row.
    ///
    /// # Errors
    /// Whatever keeps the rows from being read.
    fn read(&self, first: usize, out: &mut [Self::Number]) -> Result<()>;
}

/// Probabilities that lie in memory, row after row.
///
/// ```
/// use tares_core::estimate::{Probabilities, ProbabilityMatrix};
/// let table = ProbabilityMatrix::new(&[0.9f32, 0.1, 0.4, 0.6], 2)?;
/// assert_eq!((table.rows(), table.classes()), (2, 2));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ProbabilityMatrix<'a, R> {
    values: &'a [R],
    classes: usize,
}

impl<'a, R> ProbabilityMatrix<'a, R> {
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

impl<R: Number> Probabilities for ProbabilityMatrix<'_, R> {
    type Number = R;

    fn rows(&self) -> usize {
        self.values.len() / self.classes
    }

    fn classes(&self) -> usize {
        self.classes
    }

    fn read(&self, first: usize, out: &mut [R]) -> Result<()> {
        out.copy_from_slice(&self.values[first * self.classes..][..out.len()]);
        Ok(())
    }
}

/// Probabilities whose rows are divided by their sums.
#[derive(Debug)]
pub struct Normalised<P>(pub P);

impl<P: Probabilities> Probabilities for Normalised<P> {
    type Number = f64;

    fn rows(&self) -> usize {
        self.0.rows()
    }

    fn classes(&self) -> usize {
        self.0.classes()
    }

    fn read(&self, first: usize, out: &mut [f64]) -> Result<()> {
        let mut kept = vec![P::Number::default(); out.len()];
        self.0.read(first, &mut kept)?;
        let classes = self.classes();
        for (row, kept) in out.chunks_exact_mut(classes).zip(kept.chunks_exact(classes)) {
            row.iter_mut().zip(kept).for_each(|(to, &from)| *to = from.into());
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
pub(crate) struct Block<'a, R> {
    pub(crate) first: usize,
    pub(crate) given: &'a [Label],
    /// Row after row.
    pub(crate) values: &'a [R],
    pub(crate) classes: usize,
}

impl<'a, R> Block<'a, R> {
    /// (index, given label, probabilities) of each row.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, Label, &'a [R])> {
        let (first, given) = (self.first, self.given);
        self.values.chunks_exact(self.classes).zip(given).enumerate().map(move |(i, (row, &y))| (first + i, y, row))
    }
}

/// One pass: every shard of rows begins with `begin`, and `work` sees its blocks in order, on any thread; `merge` sees
/// what came of the shards in the order of the rows.
pub(crate) fn fold<P, A, B, W, M>(probs: &P, given: &[Label], begin: B, work: W, mut merge: M) -> Result<()>
where
    P: Probabilities + ?Sized,
    A: Send,
    B: Fn() -> A + Sync,
    W: Fn(&mut A, &Block<'_, P::Number>) -> Result<()> + Sync,
    M: FnMut(A) -> Result<()>,
{
    let (rows, classes) = (probs.rows(), probs.classes());
    same_length("given labels", rows, given.len())?;
    let height = block_height(classes);
    let shard = shard_rows(rows, height);
    let one = |number: usize, buffer: &mut Vec<P::Number>| {
        let mut state = begin();
        for first in (number * shard..((number + 1) * shard).min(rows)).step_by(height) {
            let last = (first + height).min((number + 1) * shard).min(rows);
            buffer.resize((last - first) * classes, P::Number::default());
            probs.read(first, buffer)?;
            work(&mut state, &Block { first, given: &given[first..last], values: buffer, classes })?;
        }
        Ok(state)
    };
    for result in in_order(rows.div_ceil(shard.max(1)), Vec::new, one) {
        merge(result?)?;
    }
    Ok(())
}

/// Reads the rows `wanted` (ascending): `work` sees (position in `wanted`, row) of each, on any thread, shard by shard;
/// `merge` sees what came of the shards in order.
pub(crate) fn pick<P, A, B, W, M>(probs: &P, wanted: &[usize], begin: B, work: W, mut merge: M) -> Result<()>
where
    P: Probabilities + ?Sized,
    A: Send,
    B: Fn() -> A + Sync,
    W: Fn(&mut A, usize, &[P::Number]) + Sync,
    M: FnMut(A),
{
    let classes = probs.classes();
    let height = block_height(classes);
    // Rows between two wanted ones are read as well unless there are more of them than a read costs.
    let most_between = (GAP / classes).max(1);
    let shard = shard_rows(wanted.len(), 1);
    let one = |number: usize, buffer: &mut Vec<P::Number>| {
        let mut state = begin();
        let (mut at, end) = (number * shard, ((number + 1) * shard).min(wanted.len()));
        while at < end {
            let first = wanted[at];
            let mut stop = at + 1;
            while stop < end && wanted[stop] - wanted[stop - 1] <= most_between && wanted[stop] - first < height {
                stop += 1;
            }
            buffer.resize((wanted[stop - 1] + 1 - first) * classes, P::Number::default());
            probs.read(first, buffer)?;
            for place in at..stop {
                work(&mut state, place, &buffer[(wanted[place] - first) * classes..][..classes]);
            }
            at = stop;
        }
        Ok(state)
    };
    for result in in_order(wanted.len().div_ceil(shard.max(1)), Vec::new, one) {
        merge(result?);
    }
    Ok(())
}

/// `work` for 0..count on all threads of the pool, taken up in order, so that a file is read from its beginning to its
/// end; the results in order. After a failure nothing later is begun.
fn in_order<S, A, I, W>(count: usize, scratch: I, work: W) -> Vec<Result<A>>
where
    A: Send,
    I: Fn() -> S + Sync,
    W: Fn(usize, &mut S) -> Result<A> + Sync,
{
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let done = Mutex::new(Vec::with_capacity(count));
    let keep = |results: Vec<(usize, Result<A>)>| {
        done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).extend(results);
    };
    let run = || {
        let (mut own, mut results) = (scratch(), Vec::new());
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || number > failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(number, &mut own);
            if result.is_err() {
                failed.fetch_min(number, Ordering::Relaxed);
            }
            results.push((number, result));
        }
        keep(results);
    };
    let threads = rayon::current_num_threads().min(count);
    rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| run())));
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Numbers that are read rather than skipped.
const GAP: usize = 1 << 10;

/// Shards of a pass: enough for the threads of a large machine, few enough that what each keeps is little.
const SHARDS: usize = 256;

/// Rows per shard, a multiple of `unit`.
fn shard_rows(rows: usize, unit: usize) -> usize {
    rows.div_ceil(SHARDS).next_multiple_of(unit)
}

/// Rows per block: about 256 kB of 32-bit numbers, so that a block stays in a core's cache.
fn block_height(classes: usize) -> usize {
    ((1 << 16) / classes).clamp(16, 8192)
}

/// The position and value of the largest entry; the first one when several are equal.
pub(crate) fn largest<R: Number>(row: &[R]) -> (usize, R) {
    let mut best = (0, row[0]);
    for (class, &value) in row.iter().enumerate().skip(1) {
        if value > best.1 {
            best = (class, value);
        }
    }
    best
}

/// Whether the largest entry is at `class`; the first one counts when several are equal.
#[inline(always)]
pub(crate) fn first_choice<R: Number>(row: &[R], class: usize) -> bool {
    let own = row[class];
    !any(&row[..class], |value| value >= own) && !any(&row[class + 1..], |value| value > own)
}

/// Whether `is` holds for any value; sixteen are looked at before it is asked.
#[inline(always)]
fn any<R: Number>(values: &[R], is: impl Fn(R) -> bool) -> bool {
    let (chunks, rest) = values.as_chunks::<16>();
    chunks.iter().any(|chunk| chunk.iter().fold(false, |found, &value| found | is(value)))
        || rest.iter().fold(false, |found, &value| found | is(value))
}
