//! Precision, recall and F1 of a set: of the kept samples that are clean, or of the flagged ones that are wrong.

use crate::error::{Error, Result};

/// How well a set of positions matches the wanted ones.
///
/// The paper's label precision is `Retrieval::new(kept, &clean)`: clean kept / kept. For an audit it is
/// `Retrieval::new(flagged, &wrong)`.
///
/// ```
/// use tares_core::metric::Retrieval;
/// let clean = [true, true, false, true];
/// let kept = Retrieval::new(&[0, 2, 3], &clean)?;
/// assert_eq!(kept.precision(), Some(2.0 / 3.0));
/// assert_eq!(kept.recall(), Some(2.0 / 3.0));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retrieval {
    /// Positions in the set.
    pub chosen: usize,
    /// Positions that should be in it.
    pub wanted: usize,
    /// Positions that are and should be.
    pub hits: usize,
}

impl Retrieval {
    /// Compares a set of positions, none twice, with the marks of the wanted ones.
    ///
    /// # Errors
    /// A position without a mark.
    pub fn new(positions: &[u32], wanted: &[bool]) -> Result<Self> {
        let mut hits = 0;
        for (place, &position) in positions.iter().enumerate() {
            let Some(&mark) = wanted.get(position as usize) else {
                return Err(
                    Error::value("position", format!("below {}", wanted.len()), position).at(format!("place {place}"))
                );
            };
            hits += usize::from(mark);
        }
        Ok(Self { chosen: positions.len(), wanted: wanted.iter().filter(|mark| **mark).count(), hits })
    }

    /// hits / chosen; `None` if nothing was chosen.
    pub fn precision(&self) -> Option<f64> {
        (self.chosen > 0).then(|| self.hits as f64 / self.chosen as f64)
    }

    /// hits / wanted; `None` if nothing was wanted.
    pub fn recall(&self) -> Option<f64> {
        (self.wanted > 0).then(|| self.hits as f64 / self.wanted as f64)
    }

    /// The harmonic mean of precision and recall, 2·hits / (chosen + wanted); `None` if nothing was chosen or wanted.
    pub fn f1(&self) -> Option<f64> {
        (self.chosen + self.wanted > 0).then(|| 2.0 * self.hits as f64 / (self.chosen + self.wanted) as f64)
    }

    /// Both counts together, as over the batches of an epoch.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { chosen: self.chosen + other.chosen, wanted: self.wanted + other.wanted, hits: self.hits + other.hits }
    }
}
