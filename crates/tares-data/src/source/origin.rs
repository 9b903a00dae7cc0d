//! [`Origin`]: which files a data set came from, in which format; what a writer needs to put it back.

use crate::format::picture_list::PictureList;
use crate::format::{arrays, cifar, idx, npz};
use crate::source::Format;
use std::path::{Path, PathBuf};

/// Where rows came from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// Inside the program.
    Digits,
    /// IDX files.
    Idx(idx::IdxFiles),
    /// CIFAR files.
    Cifar(cifar::CifarFiles),
    /// CSV files.
    Csv {
        /// To train on.
        train: PathBuf,
        /// To test on.
        test: Option<PathBuf>,
    },
    /// JSON Lines files.
    Jsonl {
        /// To train on.
        train: PathBuf,
        /// To test on.
        test: Option<PathBuf>,
    },
    /// A folder or archive of pictures.
    Folder {
        /// The folder or archive.
        root: PathBuf,
        /// Whether it has Tiny-ImageNet's layout.
        tiny: bool,
    },
    /// A list of pictures.
    PictureList(PictureList),
    /// Parquet files.
    Parquet {
        /// To train on, in order.
        train: Vec<PathBuf>,
        /// To test on.
        test: Vec<PathBuf>,
        /// Whether rows are pictures.
        pictures: bool,
    },
    /// NPY files.
    Npy {
        /// The files.
        files: arrays::ArrayFiles,
        /// Whether rows are pictures.
        pictures: bool,
    },
    /// Arrays in one NPZ file.
    Npz {
        /// The file.
        path: PathBuf,
        /// The arrays.
        names: npz::ArrayNames,
        /// Whether rows are pictures.
        pictures: bool,
    },
    /// One picture file, to predict.
    Picture(PathBuf),
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
            Self::Jsonl { .. } => Format::Jsonl,
            Self::PictureList(_) => Format::PictureList,
            Self::Folder { tiny: true, .. } => Format::TinyImageNet,
            Self::Folder { .. } | Self::Picture(_) => Format::Folder,
            Self::Parquet { pictures: true, .. } => Format::ParquetImages,
            Self::Parquet { .. } => Format::Parquet,
            Self::Npy { .. } => Format::Npy,
            Self::Npz { .. } => Format::Npz,
        }
    }

    /// Whether rows are cells of columns (and not pictures).
    pub fn is_table(&self) -> bool {
        match self {
            Self::Csv { .. } | Self::Jsonl { .. } => true,
            Self::Parquet { pictures, .. } | Self::Npy { pictures, .. } | Self::Npz { pictures, .. } => !pictures,
            _ => false,
        }
    }

    /// Whether rows are cells of columns that have names.
    pub(crate) fn has_named_columns(&self) -> bool {
        matches!(self.format(), Format::Csv | Format::Jsonl | Format::Parquet)
    }

    /// The file or folder to name in a message.
    pub fn path(&self) -> &Path {
        match self {
            Self::Digits => Path::new("digits"),
            Self::Idx(files) => &files.train.0,
            Self::Cifar(files) => &files.train[0],
            Self::Csv { train, .. } | Self::Jsonl { train, .. } => train,
            Self::PictureList(list) => &list.path,
            Self::Folder { root: path, .. } | Self::Npz { path, .. } | Self::Picture(path) => path,
            Self::Parquet { train, .. } => &train[0],
            Self::Npy { files, .. } => &files.train.0,
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
            Self::Csv { train, test } | Self::Jsonl { train, test } => {
                [train].into_iter().chain(test).cloned().collect()
            }
            Self::PictureList(list) => vec![list.path.clone()],
            Self::Folder { root: path, .. } | Self::Npz { path, .. } | Self::Picture(path) => vec![path.clone()],
            Self::Parquet { train, test, .. } => train.iter().chain(test).cloned().collect(),
            Self::Npy { files, .. } => {
                let test = files.test.iter().flat_map(|(x, y)| [x, y]);
                [&files.train.0].into_iter().chain(&files.train.1).chain(test).cloned().collect()
            }
        }
    }
}
