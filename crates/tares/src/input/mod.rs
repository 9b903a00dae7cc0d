//! From a row of the data set to a batch of the network's input: normalised, varied, shuffled.

pub mod augment;
pub mod batches;
pub mod input_transform;
pub mod normalise;
