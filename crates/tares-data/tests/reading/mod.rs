//! Reads the files of `tests/files`, for the tests of readers and writers.

#![allow(dead_code)] // each test file uses its own part

use std::path::{Path, PathBuf};
use tares_core::{Dataset, Row};
use tares_data::{LoadOptions, Loaded, load};

/// A file of `tests/files`.
pub fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// All rows in the training part, numbers as they are.
pub fn plain() -> LoadOptions {
    LoadOptions::default().with(|options| {
        options.test_fraction = 0.0;
        options.standardise = false;
    })
}

/// Reads data that must be readable.
pub fn read(path: &Path, options: &LoadOptions) -> Loaded {
    load(path.to_str().unwrap(), options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The error of reading data that must be refused.
pub fn refusal(path: &Path, options: &LoadOptions) -> String {
    match load(path.to_str().unwrap(), options, &mut |_| {}) {
        Ok(_) => panic!("{} was read", path.display()),
        Err(error) => error.to_string(),
    }
}

/// The numbers of a row.
pub fn floats(data: &Dataset, index: usize) -> Vec<f32> {
    match data.row(index) {
        Row::Floats(floats) => floats.to_vec(),
        Row::Bytes(_) => panic!("floats"),
    }
}

/// How the tables of `tests/files` are read.
pub fn table_options() -> LoadOptions {
    plain().with(|options| {
        options.label = Some("species".into());
        options.id_column = Some("name".into());
    })
}
