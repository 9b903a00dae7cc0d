//! Tables: columns of any format → rules fitted on the training rows → rows of features.

pub(crate) mod columns;
pub(crate) mod date;
mod features;
mod fit;
pub(crate) mod index;
pub(crate) mod json_rows;
pub(crate) mod labels;
pub(crate) mod lines;
mod moments;
mod notes;
pub(crate) mod number;
mod prose;
pub(crate) mod recent;
pub(crate) mod rows;
pub(crate) mod rules;
mod scale;

pub use columns::{Column, ColumnKind, LABEL_NAMES, LeftOut, MISSING_WORDS, RawTable, Values};
pub use lines::Lines;
pub use number::{DecimalMark, Notation};
