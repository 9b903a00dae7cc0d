//! Tables: columns of any format → rules fitted on the training rows → rows of features.

pub(crate) mod columns;
pub(crate) mod rows;
pub(crate) mod rules;

pub use columns::{Column, LABEL_NAMES, MISSING_WORDS, Table, Values};
