//! [`Doubt`]: why a memory corrects no label.

use serde::{Deserialize, Serialize};

/// Why a [`MemoryLoss`](super::MemoryLoss) believes all labels. It is plain cross-entropy then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// A tenth of the rows is fewer than ten per class: it tells nothing, and no row was hidden.
    FewRows,
    /// The answers to hidden rows are too poor to correct labels, and while rows were hidden no other label was memorised.
    KnowsTooLittle,
}
