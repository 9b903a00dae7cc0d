//! The one way in: a name or a path → checked data, what was found, and how to read new rows alike.

use crate::error::{DataError, Place, Result};
use crate::format::{HumanLabels, cifar_n};
use crate::image::SharedDescriber;
use crate::reading::Reading;
use crate::source::{Builtin, Found, Origin, Source, locate, recognise};
use crate::{image, table};
use std::path::PathBuf;
use tares_core::{Dataset, Label};

/// How to read. The default reads a built-in set or a path as it is and keeps a fifth of the rows of every class for testing
/// where no test part comes with the data.
///
/// ```
/// use tares_data::LoadOptions;
/// let options = LoadOptions::default().with(|options| {
///     options.label = Some("species".into());
///     options.test_fraction = 0.0;
/// });
/// # assert!(options.standardise);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LoadOptions {
    /// Where built-in data sets are looked for first.
    pub data_dir: Option<PathBuf>,
    /// May a built-in set that is nowhere be downloaded?
    pub download: bool,
    /// The label column of a table, by name or as `#3`; the label array of an NPZ.
    pub label: Option<String>,
    /// The column of a table that names the rows.
    pub id_column: Option<String>,
    /// Columns of a table that are texts, by name; others are recognised.
    pub text: Vec<String>,
    /// Whether a CSV has a header; told from its first line if `None`.
    pub header: Option<bool>,
    /// Labels in a file of their own (NPY), for features in an NPY file.
    pub labels_file: Option<PathBuf>,
    /// Data to test on.
    pub test: Option<PathBuf>,
    /// The part of every class kept for testing when no test part is given; 0 keeps none.
    pub test_fraction: f64,
    /// The seed of that draw.
    pub seed: u64,
    /// Height and width that pictures of a folder are resized to; the size of the first one if `None`.
    pub image_size: Option<(usize, usize)>,
    /// Picture files: return when every file was looked at, and decode while training goes on. A picture may then turn out damaged
    /// later, so ask [`Dataset::arrived`] before anything that was learnt from the rows is used; training with `tares` does. Without
    /// effect with `skip_unreadable` or a describer, which need every picture first.
    pub arriving: bool,
    /// Leave out files that cannot be read instead of failing; they are listed in [`Found::skipped`].
    pub skip_unreadable: bool,
    /// CIFAR-100: the 20 groups instead of the 100 classes.
    pub coarse: bool,
    /// CIFAR: labels that people gave (CIFAR-N) instead of the true ones.
    pub human_labels: Option<HumanLabels>,
    /// The CIFAR-N file, if it is not in the data folder's `cifar-n/`.
    pub human_file: Option<PathBuf>,
    /// A network that turns every picture into features, which become the rows; [`Loaded::shown`] keeps small pictures to show.
    pub describer: Option<SharedDescriber>,
    /// Columns of a table that are left out, by name or as `#3`.
    pub ignore: Vec<String>,
    /// Names of the classes, for data whose own labels don't matter or that has none: every row then gets the first class.
    pub classes: Option<Vec<String>>,
    /// Tables: subtract the mean and divide by the standard deviation (of the training rows).
    pub standardise: bool,
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            data_dir: None,
            download: false,
            label: None,
            id_column: None,
            text: Vec::new(),
            header: None,
            labels_file: None,
            test: None,
            test_fraction: 0.2,
            seed: 0,
            image_size: None,
            arriving: false,
            skip_unreadable: false,
            coarse: false,
            human_labels: None,
            human_file: None,
            describer: None,
            ignore: Vec::new(),
            classes: None,
            standardise: true,
        }
    }
}

impl LoadOptions {
    /// The same options with some of them changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

/// How far a long reading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadProgress {
    /// What is being done.
    pub stage: Stage,
    /// How much of it is done: bytes of a download, files of a folder.
    pub done: u64,
    /// How much there is, if it is known.
    pub total: Option<u64>,
}

/// What takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stage {
    /// Bytes come over the network.
    Download,
    /// A download is checked and unpacked; counts bytes.
    Unpack,
    /// The headers of pictures are read; counts files.
    Look,
    /// Pictures are decoded; counts files.
    Decode,
    /// A network turns pictures into features; counts pictures.
    Describe,
}

/// A data set and everything known about it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// Rows to train on.
    pub train: Dataset,
    /// Rows to test on.
    pub test: Option<Dataset>,
    /// Rows of a table that have no label, with all their features. Their given labels mean nothing.
    pub unlabelled: Option<Dataset>,
    /// What was found, for people.
    pub found: Found,
    /// How to read new rows the same way.
    pub reading: Reading,
    /// The rows as people look at them, where `train` holds what a network made of them.
    pub shown: Option<Dataset>,
    /// Where the rows came from, to write them back with other labels.
    pub origin: Origin,
}

impl Loaded {
    /// The training rows as people look at them: pictures and columns, not features.
    pub fn shown(&self) -> &Dataset {
        self.shown.as_ref().unwrap_or(&self.train)
    }

    /// The same rows with features that were made elsewhere, `width` numbers per row: first every row of the data, in order, with
    /// those set aside for testing; then the test rows that came with the data.
    ///
    /// # Errors
    /// Another number of rows; numbers that are not finite.
    pub fn with_features(self, features: Vec<f32>, width: usize) -> tares_core::Result<Self> {
        let apart = |test: &Dataset| if self.found.test_set_aside { 0 } else { test.stored_rows() };
        let (own, others) = (self.train.stored_rows(), self.test.as_ref().map_or(0, apart));
        if width == 0 || features.len() != (own + others) * width {
            let rows = features.len() / width.max(1);
            let allowed = match others {
                0 => format!("as many as the rows of the data, {own}"),
                _ => format!("as many as the rows of the data, {own} and {others} to test on"),
            };
            return Err(tares_core::Error::value("rows of features", allowed, rows));
        }
        let mut own_features = features;
        let other_features = own_features.split_off(own * width);
        let all = tares_core::Features::from(own_features);
        let test_features = if self.found.test_set_aside { all.clone() } else { other_features.into() };
        let shape = tares_core::Shape::Flat(width);
        let shown = self.shown.unwrap_or_else(|| self.train.clone());
        let train = self.train.with_features(all.clone(), shape)?;
        let test = self.test.map(|test| test.with_features(test_features, shape)).transpose()?;
        let unlabelled = self.unlabelled.map(|rows| rows.with_features(all.clone(), shape)).transpose()?;
        let mut found = self.found;
        found.shape = format!("{width} features");
        let reading = Reading { row: shape.into(), bytes: false, features: Some(width), ..self.reading };
        Ok(Self { train, test, unlabelled, found, reading, shown: Some(shown), origin: self.origin })
    }
}

/// New rows, read like the training rows.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewRows {
    /// The rows. Their given labels mean something only where `labels` has one.
    pub data: Dataset,
    /// The label of every row that came with one.
    pub labels: Vec<Option<Label>>,
    /// What a careful person should know, as in [`Found::column_notes`].
    pub notes: Vec<String>,
    /// Files left out because they could not be read.
    pub skipped: Vec<(PathBuf, String)>,
}

/// Reads a built-in data set or a path.
///
/// ```
/// use tares_data::{LoadOptions, load};
/// let digits = load("digits", &LoadOptions::default(), &mut |_| {})?;
/// assert_eq!((digits.train.len(), digits.train.classes()), (3823, 10));
/// # Ok::<(), tares_data::DataError>(())
/// ```
///
/// # Errors
/// Whatever makes the source unreadable, with path and place; a built-in set that is nowhere (and `download` is off).
pub fn load(source: &str, options: &LoadOptions, progress: &mut dyn FnMut(ReadProgress)) -> Result<Loaded> {
    let Ok(source) = source.parse::<Source>();
    let (origin, builtin) = match &source {
        Source::Builtin(builtin) => (find_builtin(*builtin, options, progress)?, Some(*builtin)),
        Source::Path(path) if options.classes.is_some() => (recognise::new_rows(path, options)?, None),
        Source::Path(path) => (recognise::recognise(path, options)?, None),
    };
    let mut loaded = if origin.is_table() {
        table::rows::load(origin, options)?
    } else {
        image::rows::load(origin, builtin, options, progress)?
    };
    if let Some(which) = options.human_labels {
        cifar_n::apply(&mut loaded, which, options)?;
    }
    Ok(loaded)
}

/// What [`load`] finds, for people to check.
///
/// # Errors
/// As [`load`].
pub fn inspect(source: &str, options: &LoadOptions) -> Result<Found> {
    load(source, options, &mut |_| {}).map(|loaded| loaded.found)
}

/// Reads new rows with the columns, levels, scales and picture size of `reading`. Labels are read if they are there.
///
/// # Errors
/// As [`load`]; rows of another kind or shape than the training rows; a label that is no class of the training rows.
pub fn load_with(
    source: &str,
    reading: &Reading,
    options: &LoadOptions,
    progress: &mut dyn FnMut(ReadProgress),
) -> Result<NewRows> {
    let Ok(source) = source.parse::<Source>();
    let origin = match &source {
        Source::Builtin(builtin) => find_builtin(*builtin, options, progress)?,
        Source::Path(path) => recognise::new_rows(path, options)?,
    };
    match (&reading.table, origin.is_table()) {
        (Some(rules), true) => table::rows::load_with(origin, reading, rules, options),
        (None, false) => image::rows::load_with(origin, reading, options, progress),
        (expected, _) => {
            let (model, here) = match expected {
                Some(_) => ("columns", "pictures"),
                None => ("pictures", "columns"),
            };
            let problem = format!("holds {here}, but the training data held {model}");
            Err(DataError::format(origin.path(), Place::File, problem))
        }
    }
}

fn find_builtin(builtin: Builtin, options: &LoadOptions, progress: &mut dyn FnMut(ReadProgress)) -> Result<Origin> {
    if builtin == Builtin::Digits {
        return Ok(Origin::Digits);
    }
    let data_dir = options.data_dir.as_deref();
    let folder = match locate::locate(builtin, data_dir)? {
        Some(folder) => folder,
        None if options.download => crate::source::fetch::fetch(builtin, None, progress)?,
        None => {
            return Err(DataError::NotFound {
                name: builtin.to_string(),
                looked: locate::places(builtin, data_dir),
                way: format!("`tares data fetch {builtin}` downloads it; TARES_DATA or a data folder says where it is"),
            });
        }
    };
    recognise::builtin(builtin, &folder)
}
