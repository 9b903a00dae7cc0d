//! The one error type: which file, where in it, what was wrong, and the cause.

use std::error::Error as Cause;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that touches a file.
pub type Result<T> = std::result::Result<T, DataError>;

/// What can go wrong between a file and a [`tares_core::Dataset`].
///
/// ```
/// use tares_data::{DataError, Place};
/// let error = DataError::format("train.csv", Place::Line(4032), "7 cells, but the header has 8");
/// assert_eq!(error.to_string(), "train.csv: line 4032: 7 cells, but the header has 8");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`, `write`, …
        action: &'static str,
        /// The operating system's reason.
        source: io::Error,
    },
    /// The content is not what the format asks for.
    #[error("{}: {place}{problem}{}", path.display(), Why(cause))]
    Format {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        place: Place,
        /// What is wrong and what was expected.
        problem: String,
        /// The error of the decoder, if one said more.
        #[source]
        cause: Option<Box<dyn Cause + Send + Sync>>,
    },
    /// Readable content that makes no data set.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file or folder.
        path: PathBuf,
        /// What the data set refused.
        source: Box<tares_core::Error>,
    },
    /// A value a person gave that has nothing to do with one file.
    #[error(transparent)]
    Value(Box<tares_core::Error>),
    /// Files of a folder or archive that could not be read: all of them.
    #[error("{}", Listing(root, files))]
    Unreadable {
        /// The folder or archive.
        root: PathBuf,
        /// Every file and its reason.
        files: Vec<(PathBuf, String)>,
    },
    /// A built-in data set that is on none of the places looked at.
    #[error("{name} was not found (looked in {}): {way}", Places(looked))]
    NotFound {
        /// The data set.
        name: String,
        /// Every place looked at.
        looked: Vec<PathBuf>,
        /// The way out.
        way: String,
    },
    /// A download that did not end well.
    #[error("{url}: {problem}{}", Why(cause))]
    Download {
        /// The address.
        url: String,
        /// What happened.
        problem: String,
        /// The client's error.
        #[source]
        cause: Option<Box<dyn Cause + Send + Sync>>,
    },
}

/// Where in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line of text, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// A row of data, counted from 0.
    Row(u64),
    /// A member of an archive, a column, an array.
    Part(String),
}

impl DataError {
    /// A file whose content is wrong.
    pub fn format(path: impl AsRef<Path>, place: Place, problem: impl Into<String>) -> Self {
        Self::Format { path: path.as_ref().to_owned(), place, problem: problem.into(), cause: None }
    }

    /// The same, with the decoder's own error kept.
    pub fn decode(
        path: impl AsRef<Path>,
        place: Place,
        problem: impl Into<String>,
        cause: impl Into<Box<dyn Cause + Send + Sync>>,
    ) -> Self {
        Self::Format { path: path.as_ref().to_owned(), place, problem: problem.into(), cause: Some(cause.into()) }
    }

    /// The operating system's refusal.
    pub fn io(path: impl AsRef<Path>, action: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.as_ref().to_owned(), action, source }
    }

    /// Content that makes no data set.
    pub fn content(path: impl AsRef<Path>, source: tares_core::Error) -> Self {
        Self::Content { path: path.as_ref().to_owned(), source: Box::new(source) }
    }

    /// True if a file or folder is simply not there.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

impl From<tares_core::Error> for DataError {
    fn from(error: tares_core::Error) -> Self {
        Self::Value(Box::new(error))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => Ok(()),
            Self::Line(line) => write!(f, "line {line}: "),
            Self::Offset(offset) => write!(f, "byte {offset}: "),
            Self::Row(row) => write!(f, "row {row}: "),
            Self::Part(name) => write!(f, "{name}: "),
        }
    }
}

struct Why<'a>(&'a Option<Box<dyn Cause + Send + Sync>>);

impl fmt::Display for Why<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

struct Listing<'a>(&'a Path, &'a [(PathBuf, String)]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} unreadable file(s); --skip-unreadable leaves them out", self.0.display(), self.1.len())?;
        self.1.iter().try_for_each(|(path, why)| write!(f, "\n  {}: {why}", path.display()))
    }
}

struct Places<'a>(&'a [PathBuf]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, path) in self.0.iter().enumerate() {
            write!(f, "{}{}", if position == 0 { "" } else { ", " }, path.display())?;
        }
        Ok(())
    }
}
