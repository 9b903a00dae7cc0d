//! Pictures: pixels of any format → training and test rows; open-set noise.

mod arriving;
pub(crate) mod decode;
pub(crate) mod describe;
mod look;
mod open_set;
pub(crate) mod pictures;
pub(crate) mod rows;

pub use describe::{Describer, PictureDigest, SharedDescriber};
pub use open_set::open_set;
pub use pictures::Pictures;
