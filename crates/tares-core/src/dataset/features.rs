//! The same rows seen through other features.

use super::{Dataset, Features, Shape};
use crate::error::{Error, Result, same_length};
use rayon::prelude::*;
use std::sync::Arc;

/// Numbers that one thread looks through at a time.
const PART: usize = 1 << 16;

impl Dataset {
    /// The same rows, labels and names with other features, which also replace the texts. `features` has a row for every
    /// stored row of the data set this one was cut from ([`stored`](Self::stored) says which is whose), so the parts of a split
    /// can share them.
    ///
    /// # Errors
    /// Fewer rows than are stored, or a part of one; floats that are not finite; a shape without numbers.
    pub fn with_features(mut self, features: impl Into<Features>, shape: Shape) -> Result<Self> {
        let features = features.into();
        if shape.size() == 0 {
            return Err(Error::value("numbers per row", "at least 1", 0));
        }
        let rows = (features.len() / shape.size()).max(self.stored_rows());
        check(&features, shape, rows)?;
        (self.features, self.shape, self.texts) = (features, shape, Arc::new([]));
        Ok(self)
    }

    /// How many rows the data set has that this one was cut from; where rows have no numbers, at least so many.
    pub fn stored_rows(&self) -> usize {
        match (self.shape.size(), &self.rows) {
            (0, None) => self.len(),
            (0, Some(rows)) => rows.iter().max().map_or(0, |&last| last as usize + 1),
            (size, _) => self.features.len() / size,
        }
    }
}

/// Checks that features are `rows` rows of this shape, of finite numbers.
pub(super) fn check(features: &Features, shape: Shape, rows: usize) -> Result<()> {
    same_length("features", rows.saturating_mul(shape.size()), features.len())?;
    if let Features::Floats(values) = &features
        && let Some(position) = first_not_finite(values)
    {
        let (row, column) = (position / shape.size(), position % shape.size());
        return Err(
            Error::value("feature", "a finite number", values[position]).at(format!("row {row}, column {column}"))
        );
    }
    Ok(())
}

/// Where the first number stands that is not finite, looked for on all cores.
fn first_not_finite(values: &[f32]) -> Option<usize> {
    // All are looked at before one is searched for: that is done on several numbers at a time.
    let odd = |part: &[f32]| part.iter().fold(false, |odd, value| odd | !value.is_finite());
    let part = values.par_chunks(PART).position_first(odd)?;
    let first = PART * part;
    values[first..].iter().position(|value| !value.is_finite()).map(|position| first + position)
}
