//! What can go wrong while learning.

/// A wrong value, a run that diverged, or bytes that are not what they should be.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value from a person or a file that cannot be accepted.
    #[error(transparent)]
    Value(#[from] tares_core::Error),
    /// The loss is not finite, or far too large.
    #[error("training diverged: {loss} was {value} in epoch {epoch}, step {step}; try a smaller learning rate")]
    Diverged {
        /// Which loss.
        loss: String,
        /// Its value.
        value: f64,
        /// The epoch, from 0.
        epoch: usize,
        /// The step since the start of the run, from 0.
        step: u64,
    },
    /// Bytes that are not a whole checkpoint, or the checkpoint of another run.
    #[error("checkpoint: {0}")]
    Checkpoint(String),
    /// A callback stopped training before its end, where only a finished training gives a result.
    #[error("stopped before the end of training")]
    Stopped,
    /// Weights that don't fit the network.
    #[error("weights: {0}")]
    Weights(String),
}

/// The result of everything in this crate that takes values from people.
pub type Result<T> = std::result::Result<T, Error>;
