//! From a name to a format. [`Source`] is how people name data, everywhere in the same way: a built-in name or a path;
//! the files here say where it lies, which format it has, and how to download what is not there.

pub(crate) mod download;
pub(crate) mod fetch;
mod found;
pub(crate) mod locate;
mod origin;
pub(crate) mod recognise;

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

/// The data sets known by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// UCI optical digits, inside the program: 3,823 + 1,797 pictures of 8×8, 10 classes.
    Digits,
    /// MNIST: 60,000 + 10,000 grey pictures of 28×28, 10 classes.
    Mnist,
    /// Fashion-MNIST: 60,000 + 10,000 grey pictures of 28×28, 10 classes.
    FashionMnist,
    /// CIFAR-10: 50,000 + 10,000 colour pictures of 32×32, 10 classes.
    Cifar10,
    /// CIFAR-100: 50,000 + 10,000 colour pictures of 32×32, 100 classes in 20 groups.
    Cifar100,
    /// Tiny-ImageNet: 100,000 + 10,000 colour pictures of 64×64, 200 classes.
    TinyImageNet,
}

impl Builtin {
    /// All of them, smallest first.
    pub const ALL: [Self; 6] =
        [Self::Digits, Self::Mnist, Self::FashionMnist, Self::Cifar10, Self::Cifar100, Self::TinyImageNet];

    /// The name people type.
    pub fn name(self) -> &'static str {
        match self {
            Self::Digits => "digits",
            Self::Mnist => "mnist",
            Self::FashionMnist => "fashion-mnist",
            Self::Cifar10 => "cifar-10",
            Self::Cifar100 => "cifar-100",
            Self::TinyImageNet => "tiny-imagenet",
        }
    }

    /// One line for a list: size, shape, classes.
    pub fn description(self) -> &'static str {
        match self {
            Self::Digits => "UCI optical digits, 3,823 + 1,797 grey 8x8, 10 classes (inside the program)",
            Self::Mnist => "handwritten digits, 60,000 + 10,000 grey 28x28, 10 classes (12 MB)",
            Self::FashionMnist => "clothing, 60,000 + 10,000 grey 28x28, 10 classes (31 MB)",
            Self::Cifar10 => "objects, 50,000 + 10,000 colour 32x32, 10 classes (170 MB)",
            Self::Cifar100 => "objects, 50,000 + 10,000 colour 32x32, 100 classes in 20 groups (169 MB)",
            Self::TinyImageNet => "objects, 100,000 + 10,000 colour 64x64, 200 classes (248 MB)",
        }
    }

    /// The terms under which it may be used.
    pub fn licence(self) -> &'static str {
        match self {
            Self::Digits => "CC BY 4.0 (Alpaydin & Kaynak 1998)",
            Self::Mnist => "CC BY-SA 3.0 (LeCun & Cortes)",
            Self::FashionMnist => "MIT (Zalando SE)",
            Self::Cifar10 | Self::Cifar100 => "none stated; research use, cite Krizhevsky 2009",
            Self::TinyImageNet => "ImageNet terms, non-commercial research only",
        }
    }
}

impl fmt::Display for Builtin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Builtin {
    type Err = tares_core::Error;

    fn from_str(text: &str) -> tares_core::Result<Self> {
        let names = Self::ALL.map(Self::name);
        match Self::ALL.into_iter().find(|builtin| builtin.name() == text) {
            Some(builtin) => Ok(builtin),
            None => Err(tares_core::Error::unknown("built-in data set", text, &names)),
        }
    }
}
