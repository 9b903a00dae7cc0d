//! How methods are written: as text, as tables in files, and the noise rate among their parameters.

mod grammar;
mod rate;
mod table;

pub use grammar::{Methods, Parameter};
pub(super) use rate::RATE_MEANING;
pub use rate::Rate;
