//! [`Found`]: what a reader saw, for people to check before they trust it.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::path::PathBuf;
use tares_core::{Dataset, Shape};

/// The format a data set came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Format {
    /// The digits inside the program.
    Digits,
    /// IDX images and labels, as MNIST has them.
    Idx,
    /// CIFAR-10 binary records.
    Cifar10,
    /// CIFAR-100 binary records.
    Cifar100,
    /// A folder (or archive) with one folder of pictures per class.
    Folder,
    /// A CSV file with paths of pictures and their labels.
    PictureList,
    /// Tiny-ImageNet's layout.
    TinyImageNet,
    /// Comma- or tab-separated text.
    Csv,
    /// Text with one JSON object per line.
    Jsonl,
    /// Parquet with columns of numbers and text.
    Parquet,
    /// Parquet with one picture per row.
    ParquetImages,
    /// NumPy arrays, one per file.
    Npy,
    /// NumPy arrays in one archive.
    Npz,
    /// Columns or arrays that another program handed over.
    Memory,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Digits => "embedded digits",
            Self::Idx => "IDX",
            Self::Cifar10 => "CIFAR-10 binary",
            Self::Cifar100 => "CIFAR-100 binary",
            Self::Folder => "folder of class folders",
            Self::PictureList => "list of pictures (CSV)",
            Self::TinyImageNet => "Tiny-ImageNet folder",
            Self::Csv => "CSV",
            Self::Jsonl => "JSON Lines",
            Self::Parquet => "Parquet table",
            Self::ParquetImages => "Parquet pictures",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Memory => "rows in memory",
        })
    }
}

/// What was found at a source.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Found {
    /// The format, recognised by content.
    pub format: Format,
    /// The files that were read.
    #[serde(serialize_with = "as_text")]
    pub files: Vec<PathBuf>,
    /// Rows to train on.
    pub train_rows: usize,
    /// Rows to test on, if there are any.
    pub test_rows: Option<usize>,
    /// Whether the test rows were set aside from the rows to train on: their labels are as trustworthy as those.
    pub test_set_aside: bool,
    /// Every class with its rows.
    pub classes: Vec<ClassFound>,
    /// What one row looks like: `3x32x32 bytes`, `54 numbers`, `2 texts`.
    pub shape: String,
    /// The columns of a table and what became of them.
    pub columns: Vec<ColumnFound>,
    /// What a careful person should know: how missing values were filled, where the test rows come from, …
    pub notes: Vec<String>,
    /// One sentence for every column that is not used as it stands: left out, or its cells read in a way that was guessed;
    /// and for a label column that should be looked at.
    pub column_notes: Vec<String>,
    /// Files of a known data set that are not there, for a caller that knows and uses the rest all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing_files: Vec<String>,
    /// Files left out because they could not be read.
    #[serde(serialize_with = "as_texts")]
    pub skipped: Vec<(PathBuf, String)>,
}

/// Paths in JSON, which is UTF-8 even if they are not.
fn as_text<S: Serializer>(paths: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

fn as_texts<S: Serializer>(paths: &[(PathBuf, String)], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(paths.iter().map(|(path, why)| (path.to_string_lossy(), why)))
}

/// One class of a data set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassFound {
    /// Its name.
    pub name: String,
    /// Its rows in the training part.
    pub train: usize,
    /// Its rows in the test part.
    pub test: usize,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnFound {
    /// Its name.
    pub name: String,
    /// `number`, `text, 3 levels`, `label`, `id`, `left out`.
    pub role: String,
    /// Cells without a value, in the training part.
    pub missing: usize,
}

impl Found {
    pub(crate) fn new(format: Format, train: &Dataset, test: Option<&Dataset>) -> Self {
        let counts = train.class_counts();
        let test_counts = test.map(Dataset::class_counts);
        let class = |(class, name): (usize, &String)| ClassFound {
            name: name.clone(),
            train: counts[class],
            test: test_counts.as_ref().map_or(0, |counts| counts[class]),
        };
        let kind = if train.is_bytes() { "bytes" } else { "numbers" };
        Self {
            format,
            files: Vec::new(),
            train_rows: train.len(),
            test_rows: test.map(Dataset::len),
            test_set_aside: false,
            classes: train.class_names().iter().enumerate().map(class).collect(),
            shape: match train.shape() {
                Shape::Image { channels, height, width } => format!("{channels}x{height}x{width} {kind}"),
                Shape::Flat(size) => flat(size, kind, train.texts().len()),
            },
            columns: Vec::new(),
            notes: Vec::new(),
            column_notes: Vec::new(),
            missing_files: Vec::new(),
            skipped: Vec::new(),
        }
    }
}

/// `54 numbers`, `2 texts`, `3 numbers and 1 text`.
fn flat(size: usize, kind: &str, texts: usize) -> String {
    let texts_word = if texts == 1 { "text" } else { "texts" };
    match (size, texts) {
        (_, 0) => format!("{size} {kind}"),
        (0, _) => format!("{texts} {texts_word}"),
        _ => format!("{size} {kind} and {texts} {texts_word}"),
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "format   {}", self.format)?;
        match self.test_rows {
            Some(test) => writeln!(f, "rows     {} to train, {test} to test", self.train_rows)?,
            None => writeln!(f, "rows     {}", self.train_rows)?,
        }
        writeln!(f, "shape    {} per row", self.shape)?;
        writeln!(f, "classes  {}", self.classes.len())?;
        let shown = self.classes.len().min(20);
        for class in &self.classes[..shown] {
            match self.test_rows {
                Some(_) => writeln!(f, "  {:<24} {:>8} {:>8}", class.name, class.train, class.test)?,
                None => writeln!(f, "  {:<24} {:>8}", class.name, class.train)?,
            }
        }
        if shown < self.classes.len() {
            writeln!(f, "  … and {} more", self.classes.len() - shown)?;
        }
        if !self.columns.is_empty() {
            writeln!(f, "columns  {}", self.columns.len())?;
            for column in self.columns.iter().take(40) {
                let missing = match column.missing {
                    0 => String::new(),
                    count => format!(", {count} missing"),
                };
                writeln!(f, "  {:<24} {}{missing}", column.name, column.role)?;
            }
            if self.columns.len() > 40 {
                writeln!(f, "  … and {} more", self.columns.len() - 40)?;
            }
        }
        self.column_notes.iter().chain(&self.notes).try_for_each(|note| writeln!(f, "note     {note}"))?;
        if !self.skipped.is_empty() {
            writeln!(f, "skipped  {} unreadable file(s)", self.skipped.len())?;
            self.skipped.iter().try_for_each(|(path, why)| writeln!(f, "  {}: {why}", path.display()))?;
        }
        Ok(())
    }
}
