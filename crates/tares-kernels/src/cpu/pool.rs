//! Vectors that go back to a pool when nobody holds them any more, so a training step takes no new memory for its tensors.
//!
//! Every step asks for the same sizes. A vector from the pool still holds numbers, so nothing is filled with zeros that is about to be
//! written, and the system has its pages ready.

use crate::cpu::threads::for_each;
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shorter vectors are not worth a place in the pool.
pub(crate) const SHORTEST: usize = 1 << 10;

/// A vector may be longer than what is asked for by one part in so many.
const SPARE: usize = 8;

/// Values that one thread writes at a time.
const TASK: usize = 1 << 15;

/// A vector that will go back to the pool.
#[derive(Debug, Default)]
pub(crate) struct Pooled<T: Kept> {
    values: Vec<T>,
    /// How many of them were asked for.
    len: usize,
}

/// The vector that most operations return.
pub(crate) type Floats = Pooled<f32>;

impl<T: Kept> Pooled<T> {
    /// `len` values to be written before they are read: they are what their last owner left.
    pub fn unwritten(len: usize) -> Self {
        let found = if len < SHORTEST { None } else { T::pool().take(len) };
        Self { values: found.unwrap_or_else(|| vec![T::default(); len]), len }
    }

    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let mut zeros = Self::unwritten(len);
        for_each(zeros.chunks_mut(TASK), |values| values.fill(T::default()));
        zeros
    }

    /// A copy of `values`.
    pub fn of(values: &[T]) -> Self {
        let mut copy = Self::unwritten(values.len());
        for_each(copy.chunks_mut(TASK).zip(values.chunks(TASK)), |(into, from)| into.copy_from_slice(from));
        copy
    }

    /// The vector itself, which will not go back.
    pub fn into_vec(mut self) -> Vec<T> {
        let mut values = std::mem::take(&mut self.values);
        values.truncate(self.len);
        values
    }
}

impl<T: Kept> From<Vec<T>> for Pooled<T> {
    fn from(values: Vec<T>) -> Self {
        Self { len: values.len(), values }
    }
}

impl<T: Kept> Deref for Pooled<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values[..self.len]
    }
}

impl<T: Kept> DerefMut for Pooled<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[..self.len]
    }
}

impl<T: Kept> Drop for Pooled<T> {
    fn drop(&mut self) {
        if self.values.len() >= SHORTEST {
            T::pool().put_back(std::mem::take(&mut self.values));
        }
    }
}

/// What there is a pool for.
pub(crate) trait Kept: Copy + Default + Send + Sync + 'static {
    fn pool() -> MutexGuard<'static, Pool<Self>>;
}

impl Kept for f32 {
    fn pool() -> MutexGuard<'static, Pool<f32>> {
        static POOL: Mutex<Pool<f32>> = Mutex::new(Pool::new());
        POOL.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept for u8 {
    fn pool() -> MutexGuard<'static, Pool<u8>> {
        static POOL: Mutex<Pool<u8>> = Mutex::new(Pool::new());
        POOL.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Frees the vectors that nobody holds.
pub(crate) fn free() {
    f32::pool().free();
    u8::pool().free();
}

/// Vectors that nobody holds.
pub(crate) struct Pool<T> {
    /// By length; of several, the one that came last is the nearest to the processor.
    idle: BTreeMap<usize, Vec<Idle<T>>>,
    /// How many values these have together.
    waiting: usize,
    /// How many values others hold, and the most that they ever held.
    lent: usize,
    most: usize,
    /// Vectors that came back so far.
    returned: u64,
}

struct Idle<T> {
    values: Vec<T>,
    since: u64,
}

impl<T> Pool<T> {
    const fn new() -> Self {
        Self { idle: BTreeMap::new(), waiting: 0, lent: 0, most: 0, returned: 0 }
    }

    /// The shortest vector that is long enough and not much longer.
    fn take(&mut self, len: usize) -> Option<Vec<T>> {
        let length = self.idle.range(len..=len + len / SPARE).next().map(|(&length, _)| length);
        let found = length.and_then(|length| self.remove(length, |waiting| waiting.pop()));
        self.lent += found.as_ref().map_or(len, Vec::len);
        self.most = self.most.max(self.lent);
        found
    }

    /// Keeps a vector, and frees those that waited longest where sizes change so often that too much is waiting.
    fn put_back(&mut self, values: Vec<T>) {
        (self.lent, self.waiting) = (self.lent.saturating_sub(values.len()), self.waiting + values.len());
        self.returned += 1;
        self.idle.entry(values.len()).or_default().push(Idle { values, since: self.returned });
        while self.waiting > 2 * self.most {
            let oldest = self.idle.iter().min_by_key(|(_, waiting)| waiting[0].since).map(|(&length, _)| length);
            let Some(length) = oldest else { return };
            self.remove(length, |waiting| Some(waiting.remove(0)));
        }
    }

    /// One of the vectors of a length; no list is left empty.
    fn remove(&mut self, length: usize, choose: impl FnOnce(&mut Vec<Idle<T>>) -> Option<Idle<T>>) -> Option<Vec<T>> {
        let waiting = self.idle.get_mut(&length)?;
        let chosen = choose(waiting)?;
        if waiting.is_empty() {
            self.idle.remove(&length);
        }
        self.waiting -= length;
        Some(chosen.values)
    }

    fn free(&mut self) {
        self.idle.clear();
        (self.waiting, self.most) = (0, self.lent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool_of(lengths: &[usize]) -> Pool<f32> {
        let mut pool = Pool::new();
        lengths.iter().for_each(|&length| assert!(pool.take(length).is_none()));
        lengths.iter().for_each(|&length| pool.put_back(vec![0.0; length]));
        pool
    }

    #[test]
    fn a_vector_is_lent_to_whom_it_fits_and_to_nobody_else() {
        let mut pool = pool_of(&[80_000]);
        assert!(pool.take(80_001).is_none(), "too short");
        assert!(pool.take(70_000).is_none(), "much too long");
        assert_eq!(pool.take(75_000).unwrap().len(), 80_000);
        assert!(pool.take(75_000).is_none(), "somebody has it");
    }

    #[test]
    fn the_shortest_that_fits_is_taken_and_of_these_the_last() {
        let mut pool = pool_of(&[9_000, 8_500]);
        let last = vec![0.0; 8_500];
        let place = last.as_ptr();
        pool.put_back(last);
        let taken = pool.take(8_400).unwrap();
        assert_eq!(taken.as_ptr(), place);
        assert_eq!([8_400, 8_400].map(|len| pool.take(len).unwrap().len()), [8_500, 9_000]);
    }

    #[test]
    fn sizes_that_always_change_do_not_pile_up() {
        let mut pool = Pool::<f32>::new();
        for step in 0..1_000 {
            let taken = [0, 1, 2].map(|of| {
                let len = 5_000 + 1_000 * step + 100_000 * of;
                pool.take(len).unwrap_or_else(|| vec![0.0; len])
            });
            let together: usize = taken.iter().map(Vec::len).sum();
            assert!(pool.lent == together && pool.most >= together);
            taken.into_iter().for_each(|vector| pool.put_back(vector));
            let waiting: usize = pool.idle.iter().map(|(length, waiting)| length * waiting.len()).sum();
            assert!(pool.waiting == waiting && waiting <= 2 * pool.most, "{waiting} of {}", pool.most);
        }
        pool.free();
        assert_eq!((pool.waiting, pool.lent, pool.most), (0, 0, 0));
    }

    #[test]
    fn only_what_was_asked_for_is_lent() {
        for len in [0, 1, SHORTEST - 1, SHORTEST, 3 * TASK + 5] {
            let mut before = Floats::unwritten(len);
            before.fill(7.0);
            drop(before);
            let less = len - len / 20;
            let zeros = Floats::zeros(less);
            assert!(zeros.len() == less && zeros.iter().all(|v| v.to_bits() == 0), "{len}");
            assert_eq!(zeros.into_vec().len(), less);
            let counted: Vec<f32> = (0..len).map(|v| v as f32).collect();
            assert_eq!(*Floats::of(&counted), *counted);
        }
    }
}
