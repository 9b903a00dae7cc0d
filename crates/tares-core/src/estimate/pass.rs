//! Passes over the rows: `fold` visits all of them in blocks, `pick` reads single ones.
//!
//! Rows are cut into shards that depend on N, K and the natural parts of a file alone; shards run on all cores, and their results are
//! merged in the order of the rows. So a result does not depend on the number of threads. Sums over shards are exact, so it does not
//! depend on where the rows are kept either.

use super::probabilities::Probabilities;
use crate::dataset::Label;
use crate::error::{Error, Result, same_length};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One block of rows of a pass.
#[derive(Clone, Copy)]
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
pub(crate) fn fold<P, A, B, W, M>(probs: &P, given: &[Label], begin: B, work: W, merge: M) -> Result<()>
where
    P: Probabilities + ?Sized,
    A: Send,
    B: Fn() -> A + Sync,
    W: Fn(&mut A, &Block<'_, P::Number>) -> Result<()> + Sync,
    M: FnMut(A) -> Result<()> + Send,
{
    let (rows, classes) = (probs.rows(), probs.classes());
    same_length("given labels", rows, given.len())?;
    let height = block_height(classes);
    let shards = shards(rows, height, probs.natural_starts());
    let one = |number: usize, buffer: &mut Vec<P::Number>| {
        let mut state = begin();
        let (start, end) = (shards[number], shards.get(number + 1).copied().unwrap_or(rows));
        for first in (start..end).step_by(height) {
            let last = (first + height).min(end);
            let values = rows_of(probs, first, last - first, buffer)?;
            work(&mut state, &Block { first, given: &given[first..last], values, classes })?;
        }
        Ok(state)
    };
    in_order(shards.len(), Vec::new, one, merge)
}

/// All rows in order, block by block, on this thread alone.
pub(crate) fn blocks<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    mut work: impl FnMut(&Block<'_, P::Number>),
) -> Result<()> {
    let (rows, classes) = (probs.rows(), probs.classes());
    same_length("given labels", rows, given.len())?;
    let (height, mut buffer) = (block_height(classes), Vec::new());
    for first in (0..rows).step_by(height) {
        let last = (first + height).min(rows);
        let values = rows_of(probs, first, last - first, &mut buffer)?;
        work(&Block { first, given: &given[first..last], values, classes });
    }
    Ok(())
}

/// Some rows: as they lie in memory, or read into `buffer`.
fn rows_of<'a, P: Probabilities + ?Sized>(
    probs: &'a P,
    first: usize,
    rows: usize,
    buffer: &'a mut Vec<P::Number>,
) -> Result<&'a [P::Number]> {
    if let Some(values) = probs.in_memory(first, rows) {
        return Ok(values);
    }
    buffer.resize(rows * probs.classes(), P::Number::default());
    probs.read(first, buffer)?;
    Ok(buffer)
}

/// Reads single rows, `wanted` (ascending). `work` gets (position in `wanted`, row) of each, on any thread, shard by shard.
/// `merge` gets the results of the shards in order.
pub(crate) fn pick<P, A, B, W, M>(probs: &P, wanted: &[usize], begin: B, work: W, mut merge: M) -> Result<()>
where
    P: Probabilities + ?Sized,
    A: Send,
    B: Fn() -> A + Sync,
    W: Fn(&mut A, usize, &[P::Number]) + Sync,
    M: FnMut(A) + Send,
{
    let classes = probs.classes();
    let height = block_height(classes);
    let shards = wanted_shards(wanted, probs.natural_starts());
    let one = |number: usize, buffer: &mut Vec<P::Number>| {
        let mut state = begin();
        let (start, end) = (shards[number], shards.get(number + 1).copied().unwrap_or(wanted.len()));
        for first in (start..end).step_by(height) {
            let rows = &wanted[first..(first + height).min(end)];
            if rows.iter().all(|&row| probs.in_memory(row, 1).is_some()) {
                let row_at = |&row: &usize| probs.in_memory(row, 1).unwrap_or_default();
                (first..).zip(rows.iter().map(row_at)).for_each(|(place, row)| work(&mut state, place, row));
                continue;
            }
            buffer.resize(rows.len() * classes, P::Number::default());
            probs.read_rows(rows, buffer)?;
            (first..).zip(buffer.chunks_exact(classes)).for_each(|(place, row)| work(&mut state, place, row));
        }
        Ok(state)
    };
    in_order(shards.len(), Vec::new, one, |state| {
        merge(state);
        Ok(())
    })
}

/// The first places of shards of single rows. Natural parts are shards, so that none is unpacked twice, unless cores would wait for the
/// last of them.
fn wanted_shards(wanted: &[usize], natural: &[usize]) -> Vec<usize> {
    let even = |from: usize, to: usize, parts: usize| (from..to).step_by((to - from).div_ceil(parts).max(1));
    if natural.is_empty() {
        return even(0, wanted.len(), SHARDS).collect();
    }
    let mut bounds = vec![0];
    bounds.extend(natural.iter().map(|&start| wanted.partition_point(|&row| row < start)));
    bounds.push(wanted.len());
    let pieces = FEWEST.div_ceil(natural.len());
    bounds.windows(2).flat_map(|pair| even(pair[0], pair[1], pieces)).collect()
}

/// Calls `work` for 0..count on all threads of the pool, and `merge` with the results in order, each as soon as all before it are there:
/// so few of them wait in memory. Numbers are handed out in order, so that a file is read from beginning to end. After a failure no later
/// number is started, and nothing after it is merged.
fn in_order<S, A, I, W, M>(count: usize, scratch: I, work: W, merge: M) -> Result<()>
where
    A: Send,
    I: Fn() -> S + Sync,
    W: Fn(usize, &mut S) -> Result<A> + Sync,
    M: FnMut(A) -> Result<()> + Send,
{
    struct Merging<A, M> {
        next: usize,
        waiting: BTreeMap<usize, Result<A>>,
        merge: M,
        failure: Option<Error>,
    }
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(usize::MAX));
    let merging = Mutex::new(Merging { next: 0, waiting: BTreeMap::new(), merge, failure: None });
    let take = |number: usize, result: Result<A>| {
        let mut merging = merging.lock().unwrap_or_else(PoisonError::into_inner);
        let Merging { next, waiting, merge, failure } = &mut *merging;
        waiting.insert(number, result);
        while failure.is_none()
            && let Some(result) = waiting.remove(next)
        {
            *failure = result.and_then(&mut *merge).err();
            if failure.is_some() {
                failed.fetch_min(*next, Ordering::Relaxed);
            }
            *next += 1;
        }
    };
    let run = || {
        let mut own = scratch();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count || number > failed.load(Ordering::Relaxed) {
                break;
            }
            let result = work(number, &mut own);
            if result.is_err() {
                failed.fetch_min(number, Ordering::Relaxed);
            }
            take(number, result);
        }
    };
    let threads = rayon::current_num_threads().min(count);
    rayon::scope(|scope| (0..threads).for_each(|_| scope.spawn(|_| run())));
    let merging = merging.into_inner().unwrap_or_else(PoisonError::into_inner);
    merging.failure.map_or(Ok(()), Err)
}

/// Shards per pass: enough for the threads of a large machine, few enough that their results need little memory.
pub(crate) const SHARDS: usize = 256;

/// Rows per shard, a multiple of `unit`.
fn shard_rows(rows: usize, unit: usize) -> usize {
    rows.div_ceil(SHARDS).next_multiple_of(unit)
}

/// The first row of every shard. Natural parts are shards, unless they are small and taken together, or so large that cores would wait for
/// the last of them.
fn shards(rows: usize, unit: usize, natural: &[usize]) -> Vec<usize> {
    let even = shard_rows(rows, unit).max(1);
    let cut = |from: usize, to: usize, step: usize| (from..to).step_by(step.max(1));
    if natural.is_empty() {
        return cut(0, rows, even).collect();
    }
    let mut bounds = vec![0];
    bounds.extend(natural.iter().copied().filter(|&start| start < rows));
    bounds.push(rows);
    let (mut shards, mut from) = (Vec::new(), 0);
    for &to in bounds.iter().filter(|&&to| to > 0) {
        if to - from < even && to < rows {
            continue;
        }
        let step = if to - from > rows / FEWEST { even } else { to - from };
        shards.extend(cut(from, to, step));
        from = to;
    }
    shards
}

/// With fewer natural parts than this, they are cut.
const FEWEST: usize = 16;

/// Rows per block: about 256 kB of 32-bit numbers, so that a block stays in a core's cache.
fn block_height(classes: usize) -> usize {
    let rows = ((1 << 16) / classes).clamp(16, 8192);
    // A multiple of the rows that are judged side by side.
    if rows > 64 { rows / 64 * 64 } else { rows }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_begin_where_natural_parts_do() {
        assert_eq!(shards(1000, 10, &[]).len(), 100);
        let groups: Vec<usize> = (0..100).map(|group| group * 1000).collect();
        assert_eq!(shards(100_000, 10, &groups), groups);
        // Tiny parts are taken together, a large one is cut, and every row is in exactly one shard.
        let mixed = shards(100_000, 10, &[0, 10, 20, 30, 90_000, 90_010]);
        assert!(mixed.contains(&90_000) && !mixed.contains(&10) && mixed.len() > 200, "{mixed:?}");
        assert!(mixed[0] == 0 && mixed.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(shards(5, 16, &[0, 2, 5, 9]), [0]);
    }

    #[test]
    fn wanted_rows_are_cut_where_natural_parts_begin() {
        let wanted: Vec<usize> = (0..1000).map(|at| 7 * at).collect();
        let groups: Vec<usize> = (0..20).map(|group| group * 400).collect();
        let cut = wanted_shards(&wanted, &groups);
        assert!(cut.len() == 18 && cut.iter().skip(1).all(|&at| wanted[at] / 400 != wanted[at - 1] / 400), "{cut:?}");
        // Two large parts are cut, and no shard lies in both.
        let cut = wanted_shards(&wanted, &[0, 3500]);
        assert!(cut.len() == 16 && cut.contains(&500), "{cut:?}");
        assert_eq!((wanted_shards(&[], &[]).len(), wanted_shards(&[], &[0, 5]).len()), (0, 0));
        assert_eq!(wanted_shards(&wanted, &[]).len(), 250);
    }
}
