//! [`Load`]: how data is read, as it is typed and as spec files say it.

use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tares_data::LoadOptions;

/// How the data is read: the options of every command that reads data, and what a spec says about it.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Reading")]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Load {
    /// Where built-in data sets are looked for first (then TARES_DATA, then the cache)
    #[arg(long, value_name = "DIR")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_dir: Option<PathBuf>,
    /// The label column of a table, by name or as #3; the label array of an NPZ
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The column of a table that names the rows
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_column: Option<String>,
    /// Labels in a file of their own, for features in an NPY file
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Data to test on; otherwise a part is kept for testing
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The part of every class kept for testing when there is no test data [default: 0.2]
    #[arg(long, value_name = "PART")]
    pub test_fraction: Option<f64>,
    /// The seed of that draw
    #[arg(skip)]
    pub split_seed: u64,
    /// Height and width pictures of a folder are resized to, as in 64x64
    #[arg(long, value_name = "HxW", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<(usize, usize)>,
    /// Leave out files that cannot be read instead of failing
    #[arg(long)]
    pub skip_unreadable: bool,
    /// CIFAR-100: the 20 groups instead of the 100 classes
    #[arg(long)]
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
            test_fraction: Some(options.test_fraction),
            split_seed: options.seed,
            image_size: None,
            skip_unreadable: options.skip_unreadable,
            coarse: options.coarse,
        }
    }
}

impl Load {
    /// As it goes into a spec: what was not typed is written out.
    pub fn spec(&self) -> Self {
        Self { test_fraction: self.test_fraction.or(Self::default().test_fraction), ..self.clone() }
    }

    /// The options that change which labels a row has, as they were typed: for a command that must read the data alike.
    pub fn arguments(&self) -> Vec<String> {
        let path = |path: &PathBuf| path.display().to_string();
        let size = |(height, width): (usize, usize)| format!("{height}x{width}");
        let options = [
            ("--data-dir", self.data_dir.as_ref().map(path)),
            ("--label", self.label.clone()),
            ("--id-column", self.id_column.clone()),
            ("--labels", self.labels.as_ref().map(path)),
            ("--image-size", self.image_size.map(size)),
        ];
        let typed = options.into_iter().filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten();
        let switches = [("--skip-unreadable", self.skip_unreadable), ("--coarse", self.coarse)];
        typed.chain(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned())).collect()
    }

    /// In the words of `tares-data`.
    pub fn options(&self) -> LoadOptions {
        LoadOptions::default().with(|options| {
            options.data_dir.clone_from(&self.data_dir);
            options.label.clone_from(&self.label);
            options.id_column.clone_from(&self.id_column);
            options.labels_file.clone_from(&self.labels);
            options.test.clone_from(&self.test);
            options.test_fraction = self.test_fraction.unwrap_or(options.test_fraction);
            options.seed = self.split_seed;
            options.image_size = self.image_size;
            options.skip_unreadable = self.skip_unreadable;
            options.coarse = self.coarse;
        })
    }

    /// The same, with no row set aside for testing unless that was asked for.
    pub fn whole(&self) -> LoadOptions {
        self.options().with(|options| options.test_fraction = self.test_fraction.unwrap_or(0.0))
    }
}

/// Height and width, as in `64x64`.
fn size(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("size must be written as in 64x64, got '{text}'");
    let (height, width) = text.split_once('x').ok_or_else(wrong)?;
    match (height.parse(), width.parse()) {
        (Ok(height), Ok(width)) if height > 0 && width > 0 => Ok((height, width)),
        _ => Err(wrong()),
    }
}
