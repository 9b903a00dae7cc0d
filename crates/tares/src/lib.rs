//! Robust training with Burn when labels are partly wrong: the curriculum loss as a plug-in, and every method it is compared with.

pub mod device;
pub mod loss;
pub mod network;
