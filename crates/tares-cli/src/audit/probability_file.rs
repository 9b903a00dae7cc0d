//! Probabilities and labels from any model's output: NPY in blocks, Parquet by row groups, CSV.

use crate::ui::failure::{Failure, Outcome};
use std::borrow::Cow;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tares_core::estimate::{Number, Probabilities};
use tares_core::{Error, Label};
use tares_data::Input;
use tares_data::csv::{self, Columns};
use tares_data::npy::{FromNumber, Kind as ElementKind, Stored};
use tares_data::parquet_file::{Leaf, ParquetFile};
use tares_data::table::{Column, Table, Values};

/// Names a label column goes by, when nobody says which it is.
const LABEL_NAMES: [&str; 6] = ["label", "labels", "given", "y", "target", "class"];
/// And the column of true labels beside given ones, as `tares corrupt` writes it.
const TRUTH_NAMES: [&str; 3] = ["truth", "true", "true_label"];

/// N × K probabilities in a file.
#[derive(Debug)]
pub enum ProbabilityFile {
    /// Read in blocks, as they are needed.
    Npy(Stored),
    /// Read one row group at a time.
    Parquet(Groups),
    /// Read whole.
    Csv {
        /// Row after row.
        values: Vec<f64>,
        /// K.
        classes: usize,
        /// Whether the decimals are those of 32-bit numbers.
        narrow: bool,
    },
}

impl ProbabilityFile {
    /// Opens a file; its format is told from its name.
    ///
    /// # Errors
    /// It cannot be read, is in another format, or is not a table of numbers with at least two columns.
    pub fn open(path: &Path) -> Outcome<Self> {
        let opened = match kind(path)? {
            Kind::Npy => {
                let stored = Stored::open(path)?;
                if stored.header().shape.len() != 2 || !stored.header().kind.is_number() {
                    let shape = stored.header().shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
                    return Err(Failure::new(format!(
                        "{}: probabilities must be numbers, rows x classes, got an array of {shape}",
                        path.display()
                    )));
                }
                Self::Npy(stored)
            }
            Kind::Parquet => Self::Parquet(Groups::open(path)?),
            Kind::Csv => {
                let table = read_csv(path)?;
                let columns: Vec<Cow<'_, [f64]>> = table.columns.iter().filter_map(numbers).collect();
                if columns.len() != table.columns.len() {
                    let text = table.columns.iter().find(|column| numbers(column).is_none());
                    let name = text.map_or(String::new(), |column| format!(": column '{}' is text", column.name));
                    return Err(Failure::new(format!("{}: probabilities must be numbers{name}", path.display())));
                }
                let values: Vec<f64> =
                    (0..table.rows).flat_map(|row| columns.iter().map(move |column| column[row])).collect();
                let narrow = values.iter().all(|&value| is_decimal_of_narrow(value));
                Self::Csv { values, classes: columns.len(), narrow }
            }
        };
        if opened.classes() < 2 {
            return Err(Failure::new(format!("{}: probabilities must have a column per class", path.display())));
        }
        Ok(opened)
    }

    /// N.
    pub fn rows(&self) -> usize {
        match self {
            Self::Npy(stored) => stored.rows(),
            Self::Parquet(groups) => groups.rows,
            Self::Csv { values, classes, .. } => values.len() / classes.max(&1),
        }
    }

    /// K.
    pub fn classes(&self) -> usize {
        match self {
            Self::Npy(stored) => stored.columns(),
            Self::Parquet(groups) => groups.leaves.len(),
            Self::Csv { classes, .. } => *classes,
        }
    }

    /// Whether 32 bits hold every number of the file exactly, or as exactly as its decimals mean them.
    pub fn is_narrow(&self) -> bool {
        match self {
            Self::Npy(stored) => match stored.header().kind {
                ElementKind::Float { size } => size <= 4,
                ElementKind::Integer { size, .. } => size <= 2,
                _ => true,
            },
            Self::Parquet(groups) => groups.leaves.iter().all(Leaf::is_narrow),
            Self::Csv { narrow, .. } => *narrow,
        }
    }

    fn read<T: FromNumber>(&self, first: usize, out: &mut [T]) -> tares_core::Result<()> {
        match self {
            Self::Npy(stored) => stored.read_rows(first, out).map_err(unreadable),
            Self::Parquet(groups) => groups.read(first, out),
            Self::Csv { values, classes, .. } => {
                let values = &values[first * classes..][..out.len()];
                out.iter_mut().zip(values).for_each(|(to, &from)| *to = T::from_f64(from));
                Ok(())
            }
        }
    }
}

/// The rows of a file, in numbers of type `T`.
#[derive(Debug)]
pub struct Rows<'a, T> {
    file: &'a ProbabilityFile,
    number: PhantomData<fn() -> T>,
}

impl<'a, T> Rows<'a, T> {
    /// Of a file.
    pub fn of(file: &'a ProbabilityFile) -> Self {
        Self { file, number: PhantomData }
    }
}

impl<T: Number + FromNumber> Probabilities for Rows<'_, T> {
    type Number = T;

    fn rows(&self) -> usize {
        self.file.rows()
    }

    fn classes(&self) -> usize {
        self.file.classes()
    }

    fn read(&self, first: usize, out: &mut [T]) -> tares_core::Result<()> {
        self.file.read(first, out)
    }
}

/// Whether a decimal is how a 32-bit number is written: then it means that number, not the 64-bit one beside it.
fn is_decimal_of_narrow(value: f64) -> bool {
    let narrow = value as f32;
    f64::from(narrow) == value || narrow.to_string().parse::<f64>().is_ok_and(|written| written == value)
}

fn unreadable(error: tares_data::DataError) -> Error {
    Error::value("probabilities", "readable", error)
}

/// A Parquet file whose row groups are decoded when rows of them are wanted; the last few stay.
pub struct Groups {
    file: ParquetFile,
    leaves: Vec<Leaf>,
    rows: usize,
    /// The first row of every group.
    starts: Vec<usize>,
    recent: Mutex<Vec<(usize, Decoded)>>,
}

/// The columns of a group.
type Decoded = Arc<Vec<Vec<f64>>>;

/// Groups that stay decoded. A pass takes up rows in order on all threads, so no more are in use at once unless groups
/// are tiny.
const MOST_RECENT: usize = 3;

impl std::fmt::Debug for Groups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Groups").field("file", &self.file).field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl Groups {
    fn open(path: &Path) -> Outcome<Self> {
        let file = ParquetFile::open(path)?;
        let leaves = file.leaves();
        if let Some(text) = leaves.iter().find(|leaf| !leaf.is_number()) {
            let problem = format!("{}: probabilities must be numbers: column '{}' is not", path.display(), text.name);
            return Err(Failure::new(problem));
        }
        let mut rows = 0;
        let mut starts = Vec::new();
        for group in 0..file.groups() {
            starts.push(rows);
            rows += file.group_rows(group);
        }
        Ok(Self { file, leaves, rows, starts, recent: Mutex::new(Vec::new()) })
    }

    fn group(&self, group: usize) -> tares_core::Result<Decoded> {
        // One thread decodes, the others wait: two would decode the same group.
        let mut recent = self.recent.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, decoded)) = recent.iter().find(|(known, _)| *known == group) {
            return Ok(decoded.clone());
        }
        let decoded = Arc::new(self.file.numbers(group, &self.leaves).map_err(unreadable)?);
        if recent.len() >= MOST_RECENT {
            recent.remove(0);
        }
        recent.push((group, decoded.clone()));
        Ok(decoded)
    }

    fn read<T: FromNumber>(&self, first: usize, out: &mut [T]) -> tares_core::Result<()> {
        let classes = self.leaves.len();
        let mut group = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        let mut row = first;
        let mut rest = out;
        while !rest.is_empty() {
            let columns = self.group(group)?;
            let (from, end) = (row - self.starts[group], columns.first().map_or(0, Vec::len));
            let count = (end.saturating_sub(from)).min(rest.len() / classes);
            if count == 0 && group + 1 >= self.starts.len() {
                return Err(Error::value("rows of the Parquet file", self.rows.to_string(), row));
            }
            let (now, later) = rest.split_at_mut(count * classes);
            for (i, cells) in now.chunks_exact_mut(classes).enumerate() {
                cells.iter_mut().zip(columns.iter()).for_each(|(cell, column)| *cell = T::from_f64(column[from + i]));
            }
            (rest, row, group) = (later, row + count, group + 1);
        }
        Ok(())
    }
}

/// Labels 0..K from a file: a one-dimensional NPY array, or a column of a CSV or Parquet file.
///
/// # Errors
/// It cannot be read; labels that are not whole numbers from 0 on; several columns and none has a usual name.
pub fn read_labels(path: &Path, column: Option<&str>) -> Outcome<Vec<Label>> {
    read_column(path, column, &LABEL_NAMES)
}

/// The same of true labels: of several columns the one called `truth`.
///
/// # Errors
/// As [`read_labels`].
pub fn read_truth(path: &Path) -> Outcome<Vec<Label>> {
    read_column(path, None, &[&TRUTH_NAMES[..], &LABEL_NAMES].concat())
}

fn read_column(path: &Path, column: Option<&str>, usual: &[&str]) -> Outcome<Vec<Label>> {
    let table = match kind(path)? {
        Kind::Npy => {
            let stored = Stored::open(path)?;
            if stored.columns() != 1 || !stored.header().kind.is_number() {
                return Err(Failure::new(format!("{}: labels must be one whole number per row", path.display())));
            }
            let mut labels = vec![0; stored.rows()];
            stored.read_labels(0, &mut labels)?;
            return Ok(labels);
        }
        Kind::Parquet => {
            let file = ParquetFile::open(path)?;
            file.table(&file.leaves())?
        }
        Kind::Csv => read_csv(path)?,
    };
    let chosen = label_column(&table, column, usual).ok_or_else(|| {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        Failure::new(format!("{}: no label column among {}", path.display(), names.join(", ")))
            .way_out("name it with --label")
    })?;
    let Some(cells) = numbers(chosen) else {
        return Err(Failure::new(format!(
            "{}: labels beside --probs must be whole numbers from 0 on (columns of the probabilities), column '{}' is text",
            path.display(),
            chosen.name
        )));
    };
    cells
        .iter()
        .enumerate()
        .map(|(row, &cell)| match cell.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&cell) {
            true => Ok(cell as Label),
            false => Err(Failure::new(format!(
                "{}: row {row}: label must be a whole number from 0 on, got {cell}",
                path.display()
            ))),
        })
        .collect()
}

fn label_column<'a>(table: &'a Table, wanted: Option<&str>, usual: &[&str]) -> Option<&'a Column> {
    if let Some(name) = wanted {
        return table.columns.iter().find(|column| column.name == name);
    }
    if let [only] = table.columns.as_slice() {
        return Some(only);
    }
    usual.iter().find_map(|name| table.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name)))
}

/// The cells as numbers. The column a reader of data sets takes for the label comes as text, whatever is in it.
fn numbers(column: &Column) -> Option<Cow<'_, [f64]>> {
    match &column.values {
        Values::Numbers(cells) => Some(Cow::Borrowed(cells)),
        Values::Text { codes, levels } => {
            let levels: Vec<f64> = levels.iter().map(|text| text.trim().parse().ok()).collect::<Option<_>>()?;
            let number = |&code: &u32| levels.get(code as usize).copied().unwrap_or(f64::NAN);
            Some(Cow::Owned(codes.iter().map(number).collect()))
        }
    }
}

fn read_csv(path: &Path) -> Outcome<Table> {
    let columns = Columns { label: None, id: None, header: None, label_needed: false };
    let owned: PathBuf = path.into();
    Ok(csv::read(&|| Input::open(&owned), &columns)?.table)
}

enum Kind {
    Npy,
    Parquet,
    Csv,
}

fn kind(path: &Path) -> Outcome<Kind> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit('.').next() {
        Some("npy") => Ok(Kind::Npy),
        Some("parquet") => Ok(Kind::Parquet),
        Some("csv" | "tsv" | "txt") => Ok(Kind::Csv),
        _ => Err(Failure::new(format!("{}: must be an .npy, .csv, .tsv or .parquet file", path.display()))),
    }
}
