//! Passes over the rows: `fold` visits all of them in blocks, `pick` reads single ones.
//!
//! Rows are cut into shards that depend on N and K alone; shards run on all cores, and their results are merged in the
//! order of the rows. So a result depends neither on the number of threads nor on where the rows are kept.

use super::probabilities::Probabilities;
use crate::dataset::Label;
use crate::error::{Result, same_length};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// One pass over all rows. Each shard starts from `begin()`, and `work` gets its blocks in order, on any thread. `merge` gets
/// the results of the shards in the order of the rows.
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

/// Reads single rows, `wanted` (ascending). `work` gets (position in `wanted`, row) of each, on any thread, shard by shard.
/// `merge` gets the results of the shards in order.
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
    // Reading a short gap between two wanted rows is cheaper than a second read.
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

/// Calls `work` for 0..count on all threads of the pool and returns the results in order. Numbers are handed out in order, so
/// that a file is read from beginning to end. After a failure no later number is started.
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

/// A gap of fewer numbers than this is read rather than skipped.
const GAP: usize = 1 << 10;

/// Shards per pass: enough for the threads of a large machine, few enough that their results need little memory.
const SHARDS: usize = 256;

/// Rows per shard, a multiple of `unit`.
fn shard_rows(rows: usize, unit: usize) -> usize {
    rows.div_ceil(SHARDS).next_multiple_of(unit)
}

/// Rows per block: about 256 kB of 32-bit numbers, so that a block stays in a core's cache.
fn block_height(classes: usize) -> usize {
    ((1 << 16) / classes).clamp(16, 8192)
}
