//! The mathematics of learning from labels you cannot trust. Slices in, numbers out.
//!
//! This crate holds no tensor, opens no file, reads no clock, prints nothing and keeps no global state.

pub mod dataset;
pub mod error;
pub mod stream;

pub use dataset::{Dataset, Features, Label, Row, Shape};
pub use error::{Error, Result};
pub use stream::{Stream, stream};
