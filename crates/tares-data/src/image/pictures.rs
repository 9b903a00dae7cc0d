//! [`Pictures`]: what every reader of pictures hands on, and how it becomes a data set.

use crate::error::{DataError, Result};
use std::path::PathBuf;
use tares_core::{Arrivals, Dataset, Features, Label, Shape};

/// Pictures of one shape with their labels, not yet checked against the classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pictures {
    /// The file or folder they come from, for messages.
    pub path: PathBuf,
    /// The shape of one picture.
    pub shape: Shape,
    /// All pictures, one after the other, `[channels][height][width]`.
    pub pixels: Vec<u8>,
    /// One label per picture.
    pub labels: Vec<Label>,
    /// The name of each picture, if it has one of its own.
    pub ids: Option<Vec<String>>,
}

impl Pictures {
    /// Checks labels and sizes and makes the data set; nothing is copied.
    ///
    /// # Errors
    /// What [`Dataset::new`] refuses, with the path.
    pub fn into_dataset(self, class_names: &[String]) -> Result<Dataset> {
        self.into_dataset_of(None, class_names)
    }

    /// The same, with rows that are still on their way in place of the pixels.
    pub(crate) fn into_dataset_of(self, arriving: Option<Arrivals>, class_names: &[String]) -> Result<Dataset> {
        let path = self.path;
        let features = arriving.map_or_else(|| Features::from(self.pixels), Features::from);
        let make = || {
            let data = Dataset::new(features, self.shape, self.labels, class_names.iter().cloned())?;
            match self.ids {
                Some(ids) => data.with_ids(ids),
                None => Ok(data),
            }
        };
        make().map_err(|source| DataError::content(path, source))
    }
}

/// Classes that are only known by number: `0`, `1`, … up to the highest label.
pub(crate) fn numbered(parts: &[&Pictures]) -> Vec<String> {
    let highest = parts.iter().flat_map(|part| &part.labels).max().copied().unwrap_or(0);
    (0..=highest).map(|class| class.to_string()).collect()
}
