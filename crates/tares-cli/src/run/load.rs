//! [`Load`]: how data is read, as spec files say it.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tares_data::LoadOptions;

/// How the data is read; see [`LoadOptions`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Load {
    /// Where built-in sets are looked for first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    /// The label column of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column that names the rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// Labels in a file of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Data to test on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The part kept for testing when no test part is given.
    pub test_fraction: f64,
    /// The seed of that draw.
    pub split_seed: u64,
    /// Height and width for pictures of a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<(usize, usize)>,
    /// Leave out files that cannot be read.
    pub skip_unreadable: bool,
    /// CIFAR-100: the 20 groups.
    pub coarse: bool,
}

impl Default for Load {
    fn default() -> Self {
        let options = LoadOptions::default();
        Self {
            data_dir: None,
            label: None,
            id_column: None,
            labels: None,
            test: None,
            test_fraction: options.test_fraction,
            split_seed: options.seed,
            image_size: None,
            skip_unreadable: options.skip_unreadable,
            coarse: options.coarse,
        }
    }
}

impl Load {
    /// In the words of `tares-data`.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            data_dir: self.data_dir.clone(),
            label: self.label.clone(),
            id_column: self.id_column.clone(),
            labels: self.labels.clone(),
            test: self.test.clone(),
            test_fraction: self.test_fraction,
            seed: self.split_seed,
            image_size: self.image_size,
            skip_unreadable: self.skip_unreadable,
            coarse: self.coarse,
            ..LoadOptions::default()
        }
    }
}
