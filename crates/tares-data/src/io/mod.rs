//! Bytes in and out: opened input, reads at a position, folders and archives, and the one writer of whole files.

pub(crate) mod atomic;
mod input;
mod positioned;
mod tree;
pub(crate) mod unpack;
pub(crate) mod utf16;

pub use input::Input;
pub(crate) use positioned::read_exact_at;
pub(crate) use tree::{Tree, TreeFile};
