//! [`AuditOptions`]: what can be chosen.

use super::Score;
use crate::estimate::{Detector, MissingRows, RowIds};
use std::fmt;

/// What can be chosen about an audit.
#[derive(Clone, Copy, Default)]
pub struct AuditOptions<'a> {
    /// How wrong labels are found.
    pub detector: Detector,
    /// How suspects are ranked.
    pub score: Score,
    /// What is done with rows that lack their label or a probability.
    pub missing: MissingRows,
    /// Names of the rows. With them, the result does not depend on the order of the rows; without them, positions decide which rows
    /// the model is fitted to.
    pub ids: Option<&'a dyn RowIds>,
}

impl fmt::Debug for AuditOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { detector, score, missing, ids } = self;
        write!(f, "AuditOptions {{ {detector}, {score}, {missing:?}, ids: {} }}", ids.is_some())
    }
}
