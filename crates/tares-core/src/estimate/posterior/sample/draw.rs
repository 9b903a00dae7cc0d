//! Which rows the model is fitted to: all of a small data set, a sample of a large one.
//!
//! A row is drawn if a number in [0, 1) that belongs to it is below the chance of its label. Without ids the number is that of the row's
//! position; with ids it is a hash of the id, so that the same rows are drawn in whatever order and in however many parts they lie.

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::estimate::RowIds;
use crate::row_key;
use crate::stream::hashed_unit;
use rayon::prelude::*;

/// About this many rows are drawn …
const WANTED: usize = 20_000;
/// … and at least this many of every class, however rare.
const WANTED_PER_CLASS: usize = 20;
/// Neighbouring rows that share a random number, so that rows with the same chance are drawn, and read, together.
const TOGETHER: usize = 8;

/// How likely a row of each given label is drawn.
///
/// ```
/// use tares_core::estimate::Draw;
/// let draw = Draw::of(&[10, 90_000_000])?;
/// assert_eq!(draw.chances()[0], 1.0); // a rare class is drawn whole
/// assert!(draw.takes(0, 7) && !draw.takes(1, u64::MAX));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Draw {
    chances: Vec<f64>,
}

impl Draw {
    /// From the rows of every given label.
    ///
    /// # Errors
    /// Fewer than two classes; no rows.
    pub fn of(counts: &[usize]) -> Result<Self> {
        let rows: usize = counts.iter().sum();
        if counts.len() < 2 {
            return Err(Error::value("number of classes", "at least 2", counts.len()));
        }
        if rows == 0 {
            return Err(Error::empty("given labels"));
        }
        let share = (WANTED as f64 / rows as f64).min(1.0);
        let chances = counts
            .iter()
            .map(|&count| share.max(WANTED_PER_CLASS as f64 / (count as f64).max(1.0)))
            // Above 4/5, all rows are taken.
            .map(|chance| if chance > 0.8 { 1.0 } else { chance })
            .collect();
        Ok(Self { chances })
    }

    /// The chance of a row, per given label.
    pub fn chances(&self) -> &[f64] {
        &self.chances
    }

    /// Whether a row with this label and this [key](crate::row_key()) is drawn.
    pub fn takes(&self, label: Label, key: u64) -> bool {
        self.takes_at(label, row_key::unit(key))
    }

    fn takes_at(&self, label: Label, place: f64) -> bool {
        // A row without a label is never drawn.
        self.chances.get(label as usize).is_some_and(|&chance| place < chance)
    }
}

/// The rows to draw by their positions: (index, index as a key), in order.
pub(super) fn by_position(draw: &Draw, given: &[Label]) -> Vec<(usize, u64)> {
    let part = 1 << 16;
    let of_part = |(number, labels): (usize, &[Label])| {
        let mut drawn = Vec::new();
        for (group, labels) in (number * part..).step_by(TOGETHER).zip(labels.chunks(TOGETHER)) {
            let place = hashed_unit(group as u64);
            let rows = (group..).zip(labels).filter(|(_, label)| draw.takes_at(**label, place));
            drawn.extend(rows.map(|(index, _)| (index, index as u64)));
        }
        drawn
    };
    given.par_chunks(part).enumerate().map(of_part).collect::<Vec<_>>().concat()
}

/// The rows to draw by their ids: (index, key of the id), in order of the index.
///
/// # Errors
/// Ids that cannot be read.
pub(super) fn by_id(draw: &Draw, given: &[Label], ids: &dyn RowIds) -> Result<Vec<(usize, u64)>> {
    let keys = row_key::RowKeys::new(ids.seed());
    let mut drawn = ids.filter(&|index, id| {
        let key = keys.of(id);
        given.get(index).is_some_and(|&label| draw.takes(label, key)).then_some(key)
    })?;
    drawn.sort_unstable();
    Ok(drawn)
}
