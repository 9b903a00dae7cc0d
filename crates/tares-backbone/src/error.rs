//! The one error: what is wrong with a network or its features, and where.

use std::path::PathBuf;

/// Why a network cannot compute features.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackboneError {
    /// A file that cannot be read or written.
    #[error(transparent)]
    File(#[from] tares_data::DataError),
    /// A file that is not a network for pictures, or one that cannot be run here.
    #[error("{}: {problem}", path.display())]
    Model {
        /// The file.
        path: PathBuf,
        /// What is wrong, what is needed.
        problem: String,
    },
    /// An option outside its domain.
    #[error(transparent)]
    Value(#[from] tares_core::Error),
}

/// The result of everything here that opens a network.
pub type Result<T> = std::result::Result<T, BackboneError>;
