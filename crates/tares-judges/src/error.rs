//! The one error of this crate.

/// What keeps a judge from giving an answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value from a person or a file that cannot be used: what, allowed, got, where.
    #[error(transparent)]
    Input(#[from] tares_core::Error),
    /// The caller asked to stop. Nothing half-trained is returned.
    #[error("interrupted: the judges were not trained to the end, so there is no answer")]
    Interrupted,
    /// Bytes that are not a stored model, or a model whose parts contradict each other.
    #[error("model file: {0}")]
    Stored(String),
}

/// The result of everything in this crate that takes values from people or files.
pub type Result<T> = std::result::Result<T, Error>;

/// A number outside its domain.
pub(crate) fn value(what: &str, allowed: impl Into<String>, got: impl std::fmt::Display) -> Error {
    tares_core::Error::value(what, allowed, got).into()
}

/// Checks that two lists that belong together are equally long.
pub(crate) fn same_length(what: &str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(tares_core::Error::length(what, expected, got).into()) }
}

/// Checks a part of a stored model.
pub(crate) fn stored(holds: bool, what: &str) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Stored(what.to_owned())) }
}
