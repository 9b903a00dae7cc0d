//! The state of a training as bytes: checkpoints, whose they are, and weights.

pub mod checkpoint;
pub(crate) mod identity;
pub mod safetensors;
pub(crate) mod text_or_table;
