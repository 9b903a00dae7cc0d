//! Parquet's own reader panics on some damaged files. Its panics become errors here.

use crate::error::{DataError, Place, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Runs a piece of Parquet's reader; its errors and, for damaged files it does not expect, its panics become ours.
pub(crate) fn guarded<T>(path: &Path, run: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(cause)) => Err(DataError::decode(path, Place::File, "cannot be read as Parquet", cause)),
        Err(_) => Err(DataError::format(path, Place::File, "cannot be read as Parquet: its pages are damaged")),
    }
}
