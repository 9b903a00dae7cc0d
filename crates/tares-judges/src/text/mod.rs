//! Texts → sparse rows: hashed n-grams of words and of characters with TF-IDF weights.
//!
//! 1. `ngrams`: the runs of words and of characters that a text holds.
//! 2. [`counts`]: their hashes and how often each occurs. A row's counts depend on its own text alone.
//! 3. [`features`]: weights. Fitted on the training rows alone, separately in every fold.
//!
//! [`evidence`] shows people which words speak for a class.

pub mod counts;
pub mod evidence;
pub mod features;
mod ngrams;

use crate::error::{Result, value};
use serde::{Deserialize, Serialize};

/// Which n-grams there are and how they are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TextOptions {
    /// Least and most words of a run; (0, 0) for none.
    pub words: (usize, usize),
    /// Least and most characters of a run; (0, 0) for none.
    pub characters: (usize, usize),
    /// N-grams that occur in fewer training rows are left out.
    pub least_rows: u32,
    /// Weight an n-gram that occurs n times in a row by 1 + ln n instead of n.
    pub sublinear: bool,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { words: (1, 2), characters: (2, 4), least_rows: 2, sublinear: true }
    }
}

/// Texts with more bytes together are read by their words alone: runs of characters would take gigabytes.
const MOST_BYTES: usize = 30_000_000;

impl TextOptions {
    /// The options for texts with this many bytes in total.
    pub fn for_size(bytes: usize) -> Self {
        match bytes {
            ..=MOST_BYTES => Self::default(),
            _ => Self { characters: (0, 0), ..Self::default() },
        }
    }

    /// Whether counts of these n-grams hold everything that features of `others` need.
    fn include(&self, others: &Self) -> bool {
        let characters = others.characters == (0, 0) || self.characters == others.characters;
        self.words == others.words && characters && self.sublinear == others.sublinear
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// A range that is upside down, starts at 0 or goes beyond 16; no n-gram at all.
    pub fn check(&self) -> Result<()> {
        for (what, range) in [("words of a run", self.words), ("characters of a run", self.characters)] {
            if range != (0, 0) && !(1 <= range.0 && range.0 <= range.1 && range.1 <= 16) {
                return Err(value(what, "1 <= least <= most <= 16, or (0, 0) for none", format!("{range:?}")));
            }
        }
        if self.words == (0, 0) && self.characters == (0, 0) {
            return Err(tares_core::Error::empty("list of n-grams").into());
        }
        Ok(())
    }
}
