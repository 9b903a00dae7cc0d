//! [`MissingRows`]: rows without a label, or with a probability that is not a number.

use super::probabilities::Number;
use crate::dataset::Label;

/// The label of a row that has none.
pub const NO_LABEL: Label = Label::MAX;

/// What is done with rows that lack their label or a probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRows {
    /// They are an error that names the first of them.
    #[default]
    Refuse,
    /// They are counted and left out. A missing label is [`NO_LABEL`], a missing probability is not a number (NaN).
    Skip,
}

impl MissingRows {
    /// Rows per given label; `None` if a label is neither a class nor, where it may be, missing.
    pub(crate) fn count(self, given: &[Label], classes: usize) -> Option<Vec<usize>> {
        let mut counts = vec![0; classes];
        for &label in given {
            match counts.get_mut(label as usize) {
                Some(count) => *count += 1,
                None if self == Self::Skip && label == NO_LABEL => {}
                None => return None,
            }
        }
        Some(counts)
    }

    /// Whether a row is left out.
    pub(crate) fn leaves_out<R: Number>(self, label: Label, row: &[R]) -> bool {
        self == Self::Skip && (label == NO_LABEL || self.skips(row))
    }

    /// Whether a row is left out because of its probabilities.
    pub(crate) fn skips<R: Number>(self, row: &[R]) -> bool {
        self == Self::Skip && row.iter().any(|value| value.narrow().is_nan())
    }
}
