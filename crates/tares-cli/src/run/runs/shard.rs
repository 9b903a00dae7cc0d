//! [`Shard`]: the part of many runs that one process does, if several processes share them.

use crate::ui::failure::{Failure, Outcome};
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// The I-th of N parts, as in `2/8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// From 1 to `of`.
    pub part: usize,
    /// How many parts there are.
    pub of: usize,
}

impl Shard {
    /// Its runs: every N-th, beginning with the I-th, so that the parts are about equally long.
    pub fn of<T: Clone>(self, runs: &[T]) -> Vec<T> {
        runs.iter().skip(self.part - 1).step_by(self.of).cloned().collect()
    }
}

impl FromStr for Shard {
    type Err = Failure;

    fn from_str(text: &str) -> Outcome<Self> {
        let wrong = || Failure::new(format!("shard must be I/N with I from 1 to N, as in 2/8, got '{text}'"));
        let (part, of) = text.split_once('/').ok_or_else(wrong)?;
        match (part.trim().parse(), of.trim().parse()) {
            (Ok(part), Ok(of)) if (1..=of).contains(&part) => Ok(Self { part, of }),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.part, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_in_exactly_one_shard() {
        let runs: Vec<usize> = (0..11).collect();
        for of in 1..15 {
            let mut all: Vec<usize> = (1..=of).flat_map(|part| Shard { part, of }.of(&runs)).collect();
            all.sort_unstable();
            assert_eq!(all, runs);
        }
    }

    #[test]
    fn what_is_no_shard_is_refused() {
        assert_eq!("2/8".parse::<Shard>().unwrap(), Shard { part: 2, of: 8 });
        for text in ["0/3", "4/3", "1/0", "3", "a/b", "-1/2", ""] {
            let said = text.parse::<Shard>().unwrap_err().to_string();
            assert!(said.contains("I from 1 to N"), "{text}: {said}");
        }
    }
}
