//! [`Load`]: the options for reading data, on the command line and in spec files.

use crate::ui::failure::Outcome;
use clap::Args;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use tares_core::{Dataset, Error};
use tares_data::LoadOptions;

/// How data is read: the same options for every command that reads data, and the `[load]` part of a spec file.
#[derive(Clone, Debug, PartialEq, Args, Serialize, Deserialize)]
#[command(next_help_heading = "Reading")]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Load {
    /// Where to look for built-in data sets first (then in TARES_DATA, then in the cache)
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
    /// A column of a table that holds texts; may be given several times. Others are recognised
    #[arg(long, value_name = "COLUMN")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
    /// Labels in a file of their own, for features in an NPY file
    #[arg(long, value_name = "FILE")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// Test data; without it, a part of the data is set aside for testing
    #[arg(long, value_name = "PATH")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<PathBuf>,
    /// The fraction of every class that is set aside for testing when there is no test data [default: 0.2]
    #[arg(long, value_name = "PART")]
    pub test_fraction: Option<f64>,
    /// The seed that decides which rows are set aside
    #[arg(skip)]
    pub split_seed: u64,
    /// Resize the pictures of a folder to this height and width, as in 64x64
    #[arg(long, value_name = "HxW", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_size: Option<(usize, usize)>,
    /// Leave out files that cannot be read instead of failing
    #[arg(long)]
    pub skip_unreadable: bool,
    /// Long-tailed classes: the first class keeps all its training rows, the last this fraction, and the fractions of those
    /// between decrease geometrically. Only in spec files and recipes.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<f64>,
    /// Train on this many rows at most: the first of every class, in proportion to the classes' sizes. Noise is put in before,
    /// so that every row has the same label as in the full data. Only in spec files and recipes.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<usize>,
    /// CIFAR-100: use the 20 groups of classes instead of the 100 classes
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
            text: Vec::new(),
            labels: None,
            test: None,
            test_fraction: Some(options.test_fraction),
            split_seed: options.seed,
            image_size: None,
            skip_unreadable: options.skip_unreadable,
            imbalance: None,
            rows: None,
            coarse: options.coarse,
        }
    }
}

impl Load {
    /// The form for a spec file: defaults are written out.
    pub fn spec(&self) -> Self {
        Self { test_fraction: self.test_fraction.or(Self::default().test_fraction), ..self.clone() }
    }

    /// The options that were typed, on a command line.
    pub fn typed(&self) -> Vec<&'static str> {
        let options = [
            ("--data-dir", self.data_dir.is_some()),
            ("--label", self.label.is_some()),
            ("--id-column", self.id_column.is_some()),
            ("--text", !self.text.is_empty()),
            ("--labels", self.labels.is_some()),
            ("--test", self.test.is_some()),
            ("--test-fraction", self.test_fraction.is_some()),
            ("--image-size", self.image_size.is_some()),
            ("--skip-unreadable", self.skip_unreadable),
            ("--coarse", self.coarse),
        ];
        options.into_iter().filter(|(_, typed)| *typed).map(|(name, _)| name).collect()
    }

    /// The typed options that decide which label each row has, for the command line of `apply-labels`, which must read the
    /// same rows.
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
        let texts = self.text.iter().map(|column| ("--text", Some(column.clone())));
        let options = options.into_iter().chain(texts);
        let typed = options.filter_map(|(name, value)| Some([name.to_owned(), value?])).flatten();
        let switches = [("--skip-unreadable", self.skip_unreadable), ("--coarse", self.coarse)];
        typed.chain(switches.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned())).collect()
    }

    /// The same as options of `tares-data`.
    pub fn options(&self) -> LoadOptions {
        LoadOptions::default().with(|options| {
            options.data_dir.clone_from(&self.data_dir);
            options.label.clone_from(&self.label);
            options.id_column.clone_from(&self.id_column);
            options.text.clone_from(&self.text);
            options.labels_file.clone_from(&self.labels);
            options.test.clone_from(&self.test);
            options.test_fraction = self.test_fraction.unwrap_or(options.test_fraction);
            options.seed = self.split_seed;
            options.image_size = self.image_size;
            options.skip_unreadable = self.skip_unreadable;
            options.coarse = self.coarse;
        })
    }

    /// The training rows that [`imbalance`](Self::imbalance) leaves; all of them without it.
    ///
    /// # Errors
    /// A fraction outside (0, 1].
    pub fn thinned(&self, train: &Dataset) -> Outcome<Dataset> {
        let Some(last) = self.imbalance else { return Ok(train.clone()) };
        if !(last > 0.0 && last <= 1.0) {
            return Err(Error::value("imbalance", "a fraction in (0, 1]", last).into());
        }
        let steps = (train.classes() - 1).max(1) as f64;
        let wanted: Vec<usize> = (train.class_counts().iter().enumerate())
            .map(|(class, &count)| ((count as f64 * last.powf(class as f64 / steps)).round() as usize).max(1))
            .collect();
        let mut seen = vec![0; train.classes()];
        let kept = |row: &usize| {
            let class = train.given()[*row] as usize;
            seen[class] += 1;
            seen[class] <= wanted[class]
        };
        Ok(train.subset(&(0..train.len()).filter(kept).collect::<Vec<_>>())?)
    }

    /// The training rows that [`rows`](Self::rows) leaves, of data with the given classes; `None` without it.
    ///
    /// # Errors
    /// Fewer rows than classes.
    pub fn first_rows(&self, train: &Dataset) -> Outcome<Option<Vec<usize>>> {
        let Some(rows) = self.rows else { return Ok(None) };
        if rows < train.classes() {
            let allowed = format!("at least {}, one of every class", train.classes());
            return Err(Error::value("rows", allowed, rows).into());
        }
        let part = (rows as f64 / train.len() as f64).min(1.0);
        let wanted: Vec<usize> =
            train.class_counts().iter().map(|&count| ((count as f64 * part).floor() as usize).max(1)).collect();
        let mut seen = vec![0; train.classes()];
        let kept = |row: &usize| {
            let class = train.given()[*row] as usize;
            seen[class] += 1;
            seen[class] <= wanted[class]
        };
        Ok(Some((0..train.len()).filter(kept).collect()))
    }

    /// The same, with no row set aside for testing unless that was asked for.
    pub fn whole(&self) -> LoadOptions {
        self.options().with(|options| options.test_fraction = self.test_fraction.unwrap_or(0.0))
    }
}

/// Height and width, as in `64x64`.
pub fn size(text: &str) -> Result<(usize, usize), String> {
    let wrong = || format!("size must be written as in 64x64, got '{text}'");
    let (height, width) = text.split_once('x').ok_or_else(wrong)?;
    match (height.parse(), width.parse()) {
        (Ok(height), Ok(width)) if height > 0 && width > 0 => Ok((height, width)),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tares_core::Shape;

    #[test]
    fn imbalance_thins_out_the_later_classes() {
        let labels: Vec<u32> = (0..300).map(|row| row % 3).collect();
        let data = Dataset::new(vec![0.0f32; 300], Shape::Flat(1), labels, ["a", "b", "c"]).unwrap();
        let load = Load { imbalance: Some(0.04), ..Load::default() };
        assert_eq!(load.thinned(&data).unwrap().class_counts(), [100, 20, 4]);
        assert_eq!(Load::default().thinned(&data).unwrap().len(), 300);
        let wrong = Load { imbalance: Some(0.0), ..Load::default() };
        assert_eq!(wrong.thinned(&data).unwrap_err().to_string(), "imbalance must be a fraction in (0, 1], got 0");
    }

    #[test]
    fn rows_are_the_first_of_every_class() {
        let labels: Vec<u32> = (0..300).map(|row| u32::from(row >= 100)).collect();
        let data = Dataset::new(vec![0.0f32; 300], Shape::Flat(1), labels, ["a", "b"]).unwrap();
        let rows = |rows| Load { rows: Some(rows), ..Load::default() }.first_rows(&data);
        assert_eq!(rows(6).unwrap().unwrap(), [0, 1, 100, 101, 102, 103]);
        assert_eq!(rows(1000).unwrap().unwrap().len(), 300);
        assert_eq!(Load::default().first_rows(&data).unwrap(), None);
        assert_eq!(rows(1).unwrap_err().to_string(), "rows must be at least 2, one of every class, got 1");
    }
}
