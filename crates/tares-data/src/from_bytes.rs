//! Every reader over bytes in memory, from the first byte to the data set: the way in for fuzzing and for the mutation test.

use crate::error::{DataError, Result};
use crate::format::csv::{self, CsvOptions};
use crate::format::npz::Npz;
use crate::format::parquet::{Leaf, ParquetFile, pictures};
use crate::format::{arrays, cifar, cifar_n, folder, idx, image, npy};
use crate::image::pictures::numbered;
use crate::image::rows as image_rows;
use crate::io::{Input, Tree};
use crate::load::LoadOptions;
use crate::source::Origin;
use crate::table::json_rows::from_jsonl;
use crate::table::rows::{self as table_rows, TablePart, TableParts};
use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

/// The readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// IDX images.
    Idx,
    /// CIFAR-10 records.
    Cifar,
    /// CSV and TSV.
    Csv,
    /// JSON Lines.
    Jsonl,
    /// Parquet, tables and pictures.
    Parquet,
    /// NPY.
    Npy,
    /// NPZ.
    Npz,
    /// CIFAR-N files.
    Human,
    /// One picture.
    Picture,
    /// Pictures in a tar or zip archive.
    Archive,
}

impl Reader {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Idx,
        Self::Cifar,
        Self::Csv,
        Self::Jsonl,
        Self::Parquet,
        Self::Npy,
        Self::Npz,
        Self::Human,
        Self::Picture,
        Self::Archive,
    ];

    /// Reads bytes and says how many rows they hold.
    ///
    /// # Errors
    /// Whatever the reader refuses.
    pub fn rows(self, bytes: Vec<u8>) -> Result<usize> {
        let path = Path::new("bytes");
        let input = |bytes: Vec<u8>| Input::from_bytes(path, bytes);
        let options = LoadOptions { test_fraction: 0.0, skip_unreadable: true, ..LoadOptions::default() };
        match self {
            Self::Idx => Ok(idx::read(input(bytes)?)?.values.len()),
            Self::Cifar => {
                let pictures = cifar::read(vec![input(bytes)?], cifar::Layout::Ten)?;
                let names = numbered(&[&pictures]);
                Ok(pictures.into_dataset(&names)?.len())
            }
            Self::Csv => {
                let wanted = CsvOptions { label_needed: true, ..CsvOptions::default() };
                let csv = csv::read(&|| input(bytes.clone()), &wanted)?;
                let origin = Origin::Csv { train: path.into(), test: None };
                table(table_rows::from_csv(csv, &HashMap::new())?, origin, &options)
            }
            Self::Jsonl => {
                let part = from_jsonl(&|| input(bytes.clone()), None, None, true, &HashMap::new())?;
                table(part, Origin::Jsonl { train: path.into(), test: None }, &options)
            }
            Self::Parquet => parquet(bytes, &options),
            Self::Npy => {
                let array = npy::read(input(bytes)?)?;
                if arrays::is_pictures(array.header()) {
                    return Ok(image_rows::from_arrays((array, None), None, true)?.train.labels.len());
                }
                array.texts()?;
                Ok(arrays::table(&array)?.rows)
            }
            Self::Npz => {
                let mut npz = Npz::new(path, Cursor::new(bytes))?;
                let names = npz.find(None, true)?;
                let labels = names.train.1.as_ref().map(|name| npz.array(name)).transpose()?;
                let features = npz.array(&names.train.0)?;
                if arrays::is_pictures(features.header()) {
                    return Ok(image_rows::from_arrays((features, labels), None, true)?.train.labels.len());
                }
                let part = table_rows::from_arrays(&features, labels)?;
                table(part, Origin::Npz { path: path.into(), names, pictures: false }, &options)
            }
            Self::Human => Ok(cifar_n::read(input(bytes)?)?.values().map(Vec::len).sum()),
            Self::Picture => {
                let picture =
                    image::Picture::decode(&bytes).map_err(|why| DataError::format(path, crate::Place::File, why))?;
                picture.write(8, 8, &mut [0; 3 * 64]);
                Ok(1)
            }
            Self::Archive => {
                let tree = Tree::archive(input(bytes)?, folder::wanted)?;
                Ok(image_rows::from_tree(tree, false, &options, None, &mut |_| {})?.train.labels.len())
            }
        }
    }
}

fn table(part: TablePart, origin: Origin, options: &LoadOptions) -> Result<usize> {
    Ok(table_rows::assemble(TableParts { train: part, test: None }, origin, options)?.train.len())
}

fn parquet(bytes: Vec<u8>, options: &LoadOptions) -> Result<usize> {
    let path = Path::new("bytes");
    let file = ParquetFile::new(path, bytes::Bytes::from(bytes))?;
    if let Some((column, _)) = pictures::picture_columns(&file) {
        let mut rows = 0;
        file.for_each_bytes(&column, &mut |_, cell| {
            rows += usize::from(cell.is_some_and(|bytes| image::Picture::decode(bytes).is_ok()));
            Ok(())
        })?;
    }
    let leaves: Vec<_> = file.leaves().into_iter().filter(Leaf::is_cell).collect();
    let label = leaves.last().map(|leaf| leaf.name.clone()).unwrap_or_default();
    let mut table_read = file.table_with(&leaves, &[&label])?;
    table_read.left_out = file.left_out();
    let part = TablePart::of(table_read, Some(label), None, &HashMap::new())?;
    table(part, Origin::Parquet { train: vec![path.into()], test: Vec::new(), pictures: false }, options)
}
