//! [`ProbabilitySource`]: an opened probability file before it is known which column is which class.

use super::file::Content;
use super::parquet_groups::Groups;
use super::{ClassColumns, FileKind, ProbabilityFile, number_text, read_csv};
use crate::error::{DataError, Place, Result};
use crate::format::npy::{Array, Stored};
use crate::format::npz::Npz;
use crate::format::parquet::ParquetFile;
use crate::table::columns::{Column, RawTable, Values};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Names of the array of probabilities in an NPZ archive that holds several.
const ARRAY_NAMES: [&str; 7] = ["probs", "probabilities", "pred_probs", "proba", "p", "predictions", "arr_0"];
/// Names of the array of class names beside it.
const CLASS_ARRAY_NAMES: [&str; 4] = ["classes", "class_names", "names", "columns"];

/// N × K probabilities in a file, and perhaps other columns.
#[derive(Debug)]
pub struct ProbabilitySource {
    path: PathBuf,
    rows: usize,
    width: usize,
    content: Opened,
    /// What the columns are called, if they have names.
    names: Option<Vec<String>>,
}

#[derive(Debug)]
enum Opened {
    Npy(Stored),
    Npz(Array),
    Parquet(Groups),
    Csv(RawTable),
}

impl ProbabilitySource {
    /// Opens a file; its format is told from its content.
    ///
    /// # Errors
    /// It cannot be read or is in another format; an array that is not rows × classes; a single column.
    pub fn open(path: &Path) -> Result<Self> {
        let (content, rows, width, names) = match FileKind::of(path)? {
            FileKind::Npy => {
                let stored = Stored::open(path)?;
                check_matrix(path, &stored.header().shape, stored.header().kind.is_number())?;
                let (rows, width) = (stored.rows(), stored.columns());
                (Opened::Npy(stored), rows, width, None)
            }
            FileKind::Npz => {
                let (array, names) = npz_array(path)?;
                check_matrix(path, &array.header().shape, array.header().kind.is_number())?;
                let (rows, width) = (array.header().shape[0], array.header().shape[1]);
                (Opened::Npz(array), rows, width, names)
            }
            FileKind::Parquet => {
                let groups = Groups::open(path, &ARRAY_NAMES)?;
                let (rows, width, names) = (groups.rows(), groups.width(), groups.names());
                (Opened::Parquet(groups), rows, width, names)
            }
            FileKind::Text => {
                let csv = read_csv(path, None, None)?;
                let (rows, width, names) = (csv.table.rows, csv.table.columns.len(), names_of(&csv.table));
                (Opened::Csv(csv.table), rows, width, csv.header.then_some(names))
            }
        };
        if width < 2 {
            return Err(DataError::format(path, Place::File, "probabilities must have a column per class"));
        }
        Ok(Self { path: path.into(), rows, width, content, names })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The Parquet file, if it is one.
    pub(super) fn parquet(&self) -> Option<&ParquetFile> {
        match &self.content {
            Opened::Parquet(groups) => Some(groups.file()),
            _ => None,
        }
    }

    /// The cells of a column of a CSV file as texts.
    pub(super) fn texts(&self, column: &str) -> Option<Vec<String>> {
        let Opened::Csv(table) = &self.content else { return None };
        let column = table.columns.iter().find(|known| known.name == column)?;
        Some(match &column.values {
            Values::Numbers(cells) => cells.iter().map(|&cell| number_text(cell)).collect(),
            Values::Text { codes, levels } => {
                codes.iter().map(|&code| levels.get(code as usize).cloned().unwrap_or_default()).collect()
            }
        })
    }

    /// Without the columns called `aside` (labels, names of rows) and those that hold no numbers: none of them is a class.
    ///
    /// # Errors
    /// Fewer than two columns are left.
    pub(super) fn without(self, aside: &[&str]) -> Result<Self> {
        let Self { path, rows, width, content, names } = self;
        let (content, width, names) = match content {
            Opened::Parquet(groups) => {
                let groups = groups.without(aside);
                let (width, names) = (groups.width(), groups.names());
                (Opened::Parquet(groups), width, names)
            }
            Opened::Csv(mut table) => {
                table.columns.retain(|column| !aside.contains(&column.name.as_str()) && numbers(column).is_some());
                let (width, names) = (table.columns.len(), names_of(&table));
                (Opened::Csv(table), width, Some(names))
            }
            content => (content, width, names),
        };
        if width < 2 {
            let problem =
                "must have a column of probabilities per class beside the labels, or a column of lists called probs";
            return Err(DataError::format(&path, Place::File, problem));
        }
        Ok(Self { path, rows, width, content, names })
    }

    /// N.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// What the columns are called, if they have names.
    pub fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    /// Refuses another number of rows than `rows`, but for a header of numbers that looks like one more.
    pub(super) fn check_rows(&self, rows: usize) -> Result<()> {
        let header = matches!((&self.content, &self.names), (Opened::Csv(_), None)) && self.rows == rows + 1;
        if self.rows == rows || header {
            return Ok(());
        }
        let problem = format!("probabilities must have a row for each of the {rows} labels, got {}", self.rows);
        Err(DataError::format(&self.path, Place::File, problem))
    }

    /// Takes the column of every class: by name if columns are named after the classes, else in order. `rows` is how many are
    /// expected.
    ///
    /// # Errors
    /// More or fewer rows; columns that are named after some classes and not after all; too few or too many columns; text.
    pub fn with_classes(mut self, classes: &[String], rows: usize) -> Result<(ProbabilityFile, ClassColumns)> {
        // A header of numbers (`2,0,1`) looks like a row: then there is one too many.
        if let (Opened::Csv(table), None) = (&self.content, &self.names)
            && self.rows == rows + 1
            && is_header(table, classes)
        {
            let csv = read_csv(&self.path, Some(true), None)?;
            (self.rows, self.names) = (csv.table.rows, Some(names_of(&csv.table)));
            self.content = Opened::Csv(csv.table);
        }
        let path = self.path.clone();
        let problem = |problem: String| DataError::format(&path, Place::File, problem);
        self.check_rows(rows)?;
        if self.rows != rows {
            return Err(problem(format!("the {rows} labels have no row for its last row, and its first is no header")));
        }
        let found = match &self.names {
            Some(names) => ClassColumns::find(names, classes).map_err(problem)?,
            None if self.width == classes.len() => ClassColumns::in_order(classes.len()),
            None => {
                let wanted = format!("probabilities must have a column for each of the {} classes", classes.len());
                let shown: Vec<&str> = classes.iter().take(8).map(String::as_str).collect();
                return Err(problem(format!("{wanted} ({}), got {}", shown.join(", "), self.width)));
            }
        };
        Ok((self.with_columns(&found.columns)?, found))
    }

    /// Takes these columns, in this order, each for a class.
    ///
    /// # Errors
    /// One of them holds text.
    pub(super) fn with_columns(self, columns: &[usize]) -> Result<ProbabilityFile> {
        let (path, rows) = (self.path, self.rows);
        let text = |name: &str| {
            let problem = format!("probabilities must be numbers: column '{name}' is not");
            DataError::format(&path, Place::File, problem)
        };
        let content = match self.content {
            Opened::Npy(stored) => Content::Npy(stored),
            Opened::Npz(array) => Content::of_array(&array, columns)?,
            Opened::Parquet(groups) => Content::Parquet(groups.choose(columns).map_err(|name| text(&name))?),
            Opened::Csv(table) => {
                let cells = columns.iter().map(|&at| numbers(&table.columns[at]).ok_or(&table.columns[at].name));
                let cells = cells.collect::<std::result::Result<Vec<_>, _>>().map_err(|name| text(name))?;
                Content::of_columns(&cells, rows)
            }
        };
        Ok(ProbabilityFile::new(rows, columns.len(), content))
    }
}

fn names_of(table: &RawTable) -> Vec<String> {
    table.columns.iter().map(|column| column.name.clone()).collect()
}

/// Whether the only row without a header is one: names of all classes, every one once.
fn is_header(table: &RawTable, classes: &[String]) -> bool {
    let first = |column: &Column| match &column.values {
        Values::Numbers(cells) => cells.first().map(|&cell| number_text(cell)),
        Values::Text { codes, levels } => codes.first().and_then(|&code| levels.get(code as usize).cloned()),
    };
    let mut names: Vec<Option<String>> = table.columns.iter().map(first).collect();
    let mut classes: Vec<Option<String>> = classes.iter().cloned().map(Some).collect();
    names.sort();
    classes.sort();
    names == classes
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

/// The array of probabilities of an archive, and the names of the classes if it has them.
fn npz_array(path: &Path) -> Result<(Array, Option<Vec<String>>)> {
    let mut npz = Npz::open(path)?;
    let names = npz.names();
    let usual = |wanted: &[&str]| {
        wanted.iter().find_map(|wanted| names.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned())
    };
    let matrix = match names.as_slice() {
        [only] => Some(only.clone()),
        _ => usual(&ARRAY_NAMES),
    };
    let Some(matrix) = matrix else {
        let problem = format!("no array is called probs among {}", names.join(", "));
        return Err(DataError::format(path, Place::File, problem));
    };
    let classes = match usual(&CLASS_ARRAY_NAMES).filter(|name| *name != matrix) {
        Some(name) => Some(npz.array(&name)?.texts()?),
        None => None,
    };
    let array = npz.array(&matrix)?;
    let width = array.header().shape.get(1).copied();
    if let Some(classes) = &classes
        && width != Some(classes.len())
    {
        let problem = format!("must name every column of {matrix}, got {} names", classes.len());
        return Err(DataError::format(path, Place::Part("array of class names".to_owned()), problem));
    }
    Ok((array, classes))
}

fn check_matrix(path: &Path, shape: &[usize], is_number: bool) -> Result<()> {
    if shape.len() == 2 && is_number {
        return Ok(());
    }
    let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    let problem = format!("probabilities must be numbers, rows x classes, got an array of {shape}");
    Err(DataError::format(path, Place::File, problem))
}
