//! [`Features`]: the numbers of all rows; and the same rows seen through other features.

use super::{Arrivals, Dataset, Shape};
use crate::error::{Error, Result, same_length};
use rayon::prelude::*;
use std::sync::Arc;

/// Numbers that one thread looks through at a time.
const PART: usize = 1 << 16;

/// The numbers of all rows, one row after the other.
#[derive(Clone, Debug)]
pub enum Features {
    /// 0..=255, as pictures come; a network sees them divided by 255.
    Bytes(Arc<Vec<u8>>),
    /// Any finite numbers.
    Floats(Arc<Vec<f32>>),
    /// Bytes that are still on their way.
    Arriving(Arrivals),
}

impl Features {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Arriving(rows) => rows.len() * rows.row_size(),
        }
    }
}

/// Equal numbers, whichever way they came; rows that are on their way are waited for.
impl PartialEq for Features {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Floats(a), Self::Floats(b)) => a == b,
            (Self::Arriving(a), Self::Arriving(b)) => {
                (a.len(), a.row_size()) == (b.len(), b.row_size()) && (0..a.len()).all(|row| a.row(row) == b.row(row))
            }
            (Self::Arriving(rows), Self::Bytes(values)) | (Self::Bytes(values), Self::Arriving(rows)) => {
                let whole = values.len() == rows.len() * rows.row_size();
                whole && values.chunks_exact(rows.row_size()).enumerate().all(|(row, values)| rows.row(row) == values)
            }
            (Self::Floats(_), _) | (_, Self::Floats(_)) => false,
        }
    }
}

impl From<Vec<u8>> for Features {
    fn from(values: Vec<u8>) -> Self {
        Self::Bytes(Arc::new(values))
    }
}

impl From<Vec<f32>> for Features {
    fn from(values: Vec<f32>) -> Self {
        Self::Floats(Arc::new(values))
    }
}

impl From<Arrivals> for Features {
    fn from(rows: Arrivals) -> Self {
        Self::Arriving(rows)
    }
}

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
