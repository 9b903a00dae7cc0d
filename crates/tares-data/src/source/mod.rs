//! From a name to a format. [`Source`] is how people name data, everywhere in the same way: a built-in name or a path;
//! the files here say where it lies, which format it has, and how to download what is not there.

mod builtin;
pub(crate) mod download;
pub(crate) mod fetch;
mod found;
pub(crate) mod locate;
mod origin;
pub(crate) mod recognise;

pub use builtin::Builtin;
pub use found::{ClassFound, ColumnFound, Format, Found};
pub use origin::Origin;

use std::convert::Infallible;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A built-in name, or a path whose kind is recognised by content.
///
/// ```
/// use tares_data::{Builtin, Source};
/// assert_eq!("mnist".parse(), Ok(Source::Builtin(Builtin::Mnist)));
/// assert_eq!("./mnist".parse(), Ok(Source::Path("./mnist".into())));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A data set the program knows by name.
    Builtin(Builtin),
    /// A file or folder.
    Path(PathBuf),
}

impl FromStr for Source {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match Builtin::ALL.into_iter().find(|builtin| builtin.name() == text) {
            Some(builtin) => Self::Builtin(builtin),
            None => Self::Path(text.into()),
        })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => builtin.fmt(f),
            Self::Path(path) => path.display().fmt(f),
        }
    }
}
