//! Losses per sample: logits `[batch, K]` and targets `[batch]` give `[batch]`. None of them reduces.
//!
//! [`SampleLoss`] names them. The base losses of the margin `u = t_y − max_{i≠y} t_i` lie above the 0–1 loss, as the
//! curriculum needs it; cross-entropy and its relatives are what the methods it is compared with use.
//! All are finite in value and gradient for logits up to ±1e4.

mod cross_entropy;
mod curriculum;
mod gce;
mod hinge;
mod mae;
mod margin;
mod memory;
mod name;
mod sigmoid;
mod soft_hinge;
mod symmetric_cross_entropy;

pub use cross_entropy::{cross_entropy, soft_cross_entropy};
pub use curriculum::{CurriculumLoss, CurriculumLossConfig, Kept};
pub use gce::{gce, gce_ceiling, truncated_gce};
pub use hinge::{hinge, squared_hinge, truncated_hinge};
pub use mae::mae;
pub use margin::margin;
pub use memory::{BurnIn, Doubt, MemoryLoss, MemoryLossConfig};
pub use name::SampleLoss;
pub use sigmoid::{logistic, savage, sigmoid_loss};
pub use soft_hinge::{soft_hinge, weighted_hinge};
pub use symmetric_cross_entropy::symmetric_cross_entropy;

#[cfg(test)]
mod tests;
