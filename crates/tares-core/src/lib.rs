//! The mathematics of learning from labels you cannot trust. Slices in, numbers out.
//!
//! This crate holds no tensor, opens no file, reads no clock, prints nothing and keeps no global state.

pub mod annotate;
pub mod audit;
pub mod curriculum;
pub mod dataset;
mod envelope;
pub mod error;
pub mod estimate;
mod exact;
mod fingerprint;
mod logit_rows;
pub mod margin;
pub mod memory;
pub mod metric;
mod named;
pub mod noise;
pub mod risk;
mod row_key;
pub mod select;
pub mod stream;
pub mod surrogate;
pub mod widest;

pub use curriculum::{Curriculum, Threshold};
pub use dataset::{
    Arrivals, Copies, Dataset, Features, Label, Row, RowSource, Shape, TextColumn, deal_groups, stratified_split,
};
pub use error::{Error, Result};
pub use fingerprint::Fingerprint;
pub use logit_rows::LogitRows;
pub use noise::{Corrupted, Noise, Realised, Transition, TransitionRow};
pub use row_key::row_key;
pub use select::{Extra, Real, Selection, Selector};
pub use stream::{Stream, stream};
pub use surrogate::Surrogate;

/// The README's examples, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
