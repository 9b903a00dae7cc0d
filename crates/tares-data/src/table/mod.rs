//! Tables: columns of any format → rules fitted on the training rows → rows of features.

pub(crate) mod columns;
mod features;
mod fit;
pub(crate) mod index;
pub(crate) mod labels;
mod moments;
mod notes;
pub(crate) mod number;
mod prose;
pub(crate) mod recent;
pub(crate) mod rows;
pub(crate) mod rules;

pub use columns::{Column, ColumnKind, LABEL_NAMES, LeftOut, Lines, MISSING_WORDS, RawTable, Values};
pub use number::{DecimalMark, Notation};
