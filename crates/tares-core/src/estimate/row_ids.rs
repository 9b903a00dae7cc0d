//! [`RowIds`]: names of rows that stay with them wherever they lie.

use crate::error::Result;

/// Names of rows. The model is fitted to rows chosen by their names, so that it does not depend on the order of the rows.
pub trait RowIds: Sync {
    /// The seed of the choice.
    fn seed(&self) -> u64;

    /// Calls `key` with the index and the id of every row, on any threads, and returns (index, key) of those that have a key.
    ///
    /// # Errors
    /// Whatever keeps the ids from being read.
    fn filter(&self, key: &(dyn Fn(usize, &str) -> Option<u64> + Sync)) -> Result<Vec<(usize, u64)>>;
}

/// Ids that lie in memory.
#[derive(Clone, Copy, Debug)]
pub struct ListedIds<'a, T> {
    /// One per row.
    pub ids: &'a [T],
    /// The seed of the choice.
    pub seed: u64,
}

impl<T: AsRef<str> + Sync> RowIds for ListedIds<'_, T> {
    fn seed(&self) -> u64 {
        self.seed
    }

    fn filter(&self, key: &(dyn Fn(usize, &str) -> Option<u64> + Sync)) -> Result<Vec<(usize, u64)>> {
        let keyed = self.ids.iter().enumerate().filter_map(|(index, id)| Some((index, key(index, id.as_ref())?)));
        Ok(keyed.collect())
    }
}
