//! How trees are grown and added up.

use super::curriculum::TreeCurriculum;
use crate::error::{Result, value};
use serde::{Deserialize, Serialize};

/// From so many rows on, more of them hardly change where a tree is cut.
pub(crate) const MANY_ROWS: usize = 100_000;

/// Parameters of gradient-boosted trees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreeOptions {
    /// The learning rate: the fraction of each Newton step that is taken.
    pub rate: f64,
    /// Rounds at most.
    pub rounds: usize,
    /// When rounds are chosen on held-out rows: stop after this many without a better log-loss.
    pub patience: usize,
    /// Leaves of a tree at most.
    pub leaves: usize,
    /// The least weight of a leaf's rows; `None`: from 5 (up to 400 rows) to 20 (6,400 rows and more), √rows / 4 between.
    pub least_rows: Option<f64>,
    /// Penalty λ on the squared values of leaves.
    pub l2: f64,
    /// The fraction of rows that each round draws.
    pub row_part: f64,
    /// Rows that a round draws at most, so that the time of a round does not grow with the data. Every round draws others.
    pub most_rows: usize,
    /// The fraction of columns that each tree draws.
    pub column_part: f64,
    /// One tree per round whose leaves hold a value per class, instead of a tree per class.
    pub shared: bool,
    /// Seed of the draws.
    pub seed: u64,
    /// Select rows by the curriculum loss in every round.
    pub curriculum: Option<TreeCurriculum>,
}

impl Default for TreeOptions {
    fn default() -> Self {
        Self {
            rate: 0.1,
            rounds: 500,
            patience: 20,
            leaves: 31,
            least_rows: None,
            l2: 1.0,
            row_part: 1.0,
            most_rows: MANY_ROWS,
            column_part: 1.0,
            shared: false,
            seed: 0,
            curriculum: None,
        }
    }
}

impl TreeOptions {
    /// Checks every parameter.
    ///
    /// # Errors
    /// The first one outside its domain.
    pub fn check(&self) -> Result<()> {
        let part = |what, part: f64| match part > 0.0 && part <= 1.0 {
            true => Ok(()),
            false => Err(value(what, "in (0, 1]", part)),
        };
        part("rate of trees", self.rate)?;
        part("part of rows", self.row_part)?;
        part("part of columns", self.column_part)?;
        if !(1..=1 << 16).contains(&self.leaves) {
            return Err(value("leaves of a tree", "in 1..=65536", self.leaves));
        }
        if self.least_rows.is_some_and(|least| !(least.is_finite() && least >= 0.0)) {
            return Err(value("rows of a leaf", "a finite number >= 0", self.least_rows.unwrap_or_default()));
        }
        if !(self.l2.is_finite() && self.l2 >= 0.0) {
            return Err(value("penalty of leaves", "a finite number >= 0", self.l2));
        }
        if self.most_rows == 0 {
            return Err(value("rows of a round", "at least 1", 0));
        }
        if self.patience == 0 {
            return Err(value("patience", "at least 1", 0));
        }
        self.curriculum.map_or(Ok(()), |curriculum| curriculum.check())
    }

    /// The fraction of this many rows that a round draws.
    pub(crate) fn drawn_part(&self, rows: usize) -> f64 {
        self.row_part.min(self.most_rows as f64 / rows.max(1) as f64)
    }

    pub(crate) fn least_weight(&self, weight: f64) -> f64 {
        self.least_rows.unwrap_or((weight.sqrt() / 4.0).clamp(5.0, 20.0))
    }
}
