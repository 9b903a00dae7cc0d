//! [`Origin`]: which files a data set came from, in which format; what a writer needs to put it back.

use crate::cifar;
use crate::found::Format;
use crate::idx;
use std::path::{Path, PathBuf};

/// Where rows came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Inside the program.
    Digits,
    /// IDX files.
    Idx(idx::Files),
    /// CIFAR files.
    Cifar(cifar::Files),
    /// CSV files.
    Csv {
        /// To train on.
        train: PathBuf,
        /// To test on.
        test: Option<PathBuf>,
    },
}

impl Origin {
    /// The format.
    pub fn format(&self) -> Format {
        match self {
            Self::Digits => Format::Digits,
            Self::Idx(_) => Format::Idx,
            Self::Cifar(files) if files.layout == cifar::Layout::Ten => Format::Cifar10,
            Self::Cifar(_) => Format::Cifar100,
            Self::Csv { .. } => Format::Csv,
        }
    }

    /// Whether rows are cells of columns (and not pictures).
    pub fn is_table(&self) -> bool {
        matches!(self, Self::Csv { .. })
    }

    /// The file or folder to name in a message.
    pub fn path(&self) -> &Path {
        match self {
            Self::Digits => Path::new("digits"),
            Self::Idx(files) => &files.train.0,
            Self::Cifar(files) => &files.train[0],
            Self::Csv { train, .. } => train,
        }
    }

    /// All files, training first.
    pub fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Digits => Vec::new(),
            Self::Idx(files) => [Some(&files.train), files.test.as_ref()]
                .into_iter()
                .flatten()
                .flat_map(|(x, y)| [x.clone(), y.clone()])
                .collect(),
            Self::Cifar(files) => files.train.iter().chain(&files.test).cloned().collect(),
            Self::Csv { train, test } => [train].into_iter().chain(test).cloned().collect(),
        }
    }
}
