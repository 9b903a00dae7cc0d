//! [`ProbabilityTables`]: probabilities with the labels, and perhaps the ids, of their rows in the same files, of which there may be many.

use super::agree::{agree_classes, is_aside};
use super::read_labels::{GIVEN_NAMES, label_leaf, parquet_labels, read_labels_of};
use super::table_ids::IdColumn;
use super::{Agreed, ClassColumns, FileKind, LabelList, ProbabilityFile, ProbabilitySource, TableIds};
use crate::error::{DataError, Place, Result};
use crate::format::parquet::ParquetFile;
use crate::table::columns::{LABEL_NAMES, difference};
use std::path::{Path, PathBuf};
use tares_core::estimate::MissingRows;

/// Opened tables of probabilities that have the same columns.
#[derive(Debug)]
pub struct ProbabilityTables {
    pub(super) sources: Vec<ProbabilitySource>,
    pub(super) labels: LabelList,
    /// What the column of labels is called in each file.
    pub(super) label_columns: Vec<String>,
    pub(super) ids: Option<TableIds>,
}

/// Which columns are what, and what is done where a label is missing.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// The column of labels; a usual name (`label`, `given`, `y`, …) if nothing is said.
    pub label: Option<&'a str>,
    /// The column that names the rows.
    pub id: Option<&'a str>,
    /// The seed of the rows that are drawn by their ids.
    pub seed: u64,
    /// What is done with rows that have no label.
    pub missing: MissingRows,
}

/// Tables whose classes are known.
#[derive(Debug)]
pub struct ClassTables {
    /// The probabilities of all files, one after the other.
    pub file: ProbabilityFile,
    /// Names of the classes, and the class of every row.
    pub agreed: Agreed,
    /// Which columns are the classes, in the first file.
    pub columns: ClassColumns,
    /// What its columns are called.
    pub names: Option<Vec<String>>,
    /// Names of the rows.
    pub ids: Option<TableIds>,
    /// The files and their first rows.
    pub places: Vec<(PathBuf, usize)>,
}

impl ProbabilityTables {
    /// Opens the files and reads their labels. Files without rows count as well.
    ///
    /// # Errors
    /// Files that cannot be read, have no such column, or other columns than the first; a row without a label.
    pub fn open(paths: &[PathBuf], options: TableOptions<'_>) -> Result<Self> {
        let (mut sources, mut labels, mut ids) = (Vec::new(), LabelList::Numbers(Vec::new()), Vec::new());
        let mut label_columns = Vec::new();
        let usual = [&GIVEN_NAMES[..], &LABEL_NAMES].concat();
        let known_rows: Vec<Option<usize>> = paths.iter().map(|path| rows_of_parquet(path)).collect::<Result<_>>()?;
        labels.reserve(known_rows.iter().flatten().fold(0, |sum, &rows| sum.saturating_add(rows)));
        for (path, rows) in paths.iter().zip(known_rows) {
            // A partition without rows may lack what is told from rows.
            if rows == Some(0) {
                continue;
            }
            let source = ProbabilitySource::open(path)?;
            let label = match source.parquet() {
                Some(file) => {
                    let leaf = label_leaf(file, options.label, &usual)?;
                    labels.append(parquet_labels(file, &leaf, options.missing)?);
                    leaf.name
                }
                None => {
                    let names = source.names().unwrap_or_default().to_vec();
                    let called =
                        |wanted: &str| names.iter().find(|name| name.trim().eq_ignore_ascii_case(wanted)).cloned();
                    let label = match options.label {
                        Some(label) => called(label),
                        None => usual.iter().find_map(|usual| called(usual)),
                    };
                    let Some(label) = label else {
                        let problem =
                            "has no label column: name it with --label, or give the labels in a file of their own";
                        return Err(DataError::format(path, Place::File, problem));
                    };
                    labels.append(read_labels_of(path, Some(&label), options.missing)?);
                    label
                }
            };
            if let Some(id) = options.id {
                ids.push(id_column(&source, id)?);
            }
            let mut aside: Vec<&str> = std::iter::once(label.as_str()).chain(options.id).collect();
            // A column that counts or names the rows is no class, also where nobody said so.
            let names = source.names().unwrap_or_default().to_vec();
            let usual_aside = |name: &&str| is_aside(name, &[]) && !aside.contains(name);
            let counting: Vec<&str> = names.iter().map(String::as_str).filter(usual_aside).collect();
            if !counting.is_empty() {
                let used = labels.names();
                aside.extend(counting.into_iter().filter(|name| is_aside(name, &used)));
            }
            let source = source.without(&aside)?;
            if let Some(first) = sources.first() {
                same_columns(first, &source)?;
            }
            label_columns.push(label);
            sources.push(source);
        }
        if sources.is_empty() {
            let named = paths.first().map_or(Path::new("."), PathBuf::as_path);
            return Err(DataError::format(named, Place::File, "holds no rows"));
        }
        let ids = options.id.map(|_| TableIds::new(ids, options.seed));
        Ok(Self { sources, labels, label_columns, ids })
    }

    /// Brings labels and columns together.
    ///
    /// # Errors
    /// Labels that fit the columns in no way; columns that hold no numbers.
    pub fn with_classes(self) -> Result<ClassTables> {
        let Self { sources, labels, label_columns, ids } = self;
        let agreed = agree_classes(labels, sources[0].path(), &sources[0])
            .map_err(|error| other_labels(&sources, &label_columns).unwrap_or(error))?;
        let names = sources[0].names().map(<[String]>::to_vec);
        class_tables(sources, agreed, names, ids)
    }
}

/// The first file whose labels are not among those of the first file, if there is one. Labels are read again: this is only asked when
/// something is wrong with them.
fn other_labels(sources: &[ProbabilitySource], columns: &[String]) -> Option<DataError> {
    let mut first: Option<(&Path, Vec<String>)> = None;
    for (source, column) in sources.iter().zip(columns) {
        let path = source.path();
        let labels = match source.parquet() {
            Some(file) => parquet_labels(file, &label_leaf(file, Some(column), &[]).ok()?, MissingRows::Skip).ok()?,
            None => read_labels_of(path, Some(column), MissingRows::Skip).ok()?,
        };
        let names = labels.names();
        let Some((before, classes)) = &first else {
            first = Some((path, agree_classes(labels, path, source).ok()?.classes));
            continue;
        };
        if let Some(name) = names.iter().find(|name| !classes.contains(name)) {
            let shown: Vec<&str> = classes.iter().take(8).map(String::as_str).collect();
            let more = if classes.len() > 8 { ", …" } else { "" };
            let problem =
                format!("label \"{name}\" is none of the classes of {}: {}{more}", before.display(), shown.join(", "));
            return Some(DataError::format(path, Place::File, problem));
        }
    }
    None
}

/// Finds the columns of the classes among `names`, which are those of the first file, and takes the columns called so from every file:
/// where names say nothing about classes, the order of the first file counts for all.
pub(super) fn class_tables(
    sources: Vec<ProbabilitySource>,
    agreed: Agreed,
    names: Option<Vec<String>>,
    ids: Option<TableIds>,
) -> Result<ClassTables> {
    let classes = &agreed.classes;
    let columns = match &names {
        Some(names) => ClassColumns::find(names, classes)
            .map_err(|problem| DataError::format(sources[0].path(), Place::File, problem))?,
        None => ClassColumns::in_order(classes.len()),
    };
    let called: Option<Vec<&String>> =
        names.as_ref().map(|names| columns.columns.iter().map(|&at| &names[at]).collect());
    let (mut files, mut places, mut start) = (Vec::new(), Vec::new(), 0);
    for source in sources {
        let (path, rows) = (source.path().to_owned(), source.rows());
        let here = called.as_ref().zip(source.names()).and_then(|(called, here)| {
            called.iter().map(|name| here.iter().position(|other| other == *name)).collect::<Option<Vec<usize>>>()
        });
        let file = match here {
            Some(columns) => source.with_columns(&columns)?,
            None => source.with_classes(classes, rows)?.0,
        };
        places.push((path, start));
        start += rows;
        files.push(file);
    }
    let file = ProbabilityFile::join(files, classes.len());
    Ok(ClassTables { file, agreed, columns, names, ids, places })
}

impl ClassTables {
    /// The file of a row, and its row there.
    pub fn locate(&self, row: usize) -> (&Path, usize) {
        let at = self.places.partition_point(|(_, start)| *start <= row).saturating_sub(1);
        (&self.places[at].0, row - self.places[at].1)
    }
}

/// The rows of a Parquet file; of other files they are not known before they are read.
pub(super) fn rows_of_parquet(path: &Path) -> Result<Option<usize>> {
    match FileKind::of(path)? {
        FileKind::Parquet => Ok(Some(ParquetFile::open(path)?.rows())),
        _ => Ok(None),
    }
}

/// The column of ids of an opened file.
fn id_column(source: &ProbabilitySource, id: &str) -> Result<IdColumn> {
    let missing = |names: &[String]| {
        let problem = format!("has no column '{id}' that names the rows: there are {}", names.join(", "));
        DataError::format(source.path(), Place::File, problem)
    };
    match source.parquet() {
        Some(file) => {
            let leaves = file.leaves();
            let names: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
            let leaf = leaves.into_iter().find(|leaf| leaf.name == id).ok_or_else(|| missing(&names))?;
            IdColumn::of_parquet(source.path(), leaf)
        }
        None => {
            let texts = source.texts(id).ok_or_else(|| missing(source.names().unwrap_or_default()))?;
            Ok(IdColumn::Listed(texts))
        }
    }
}

/// Refuses a file whose columns are not those of the first.
fn same_columns(first: &ProbabilitySource, other: &ProbabilitySource) -> Result<()> {
    let differ = |what: String| {
        let problem = format!("must have the columns of {}: {what}", first.path().display());
        Err(DataError::format(other.path(), Place::File, problem))
    };
    match (first.names(), other.names()) {
        (None, None) if first.width() == other.width() => Ok(()),
        (None, None) => differ(format!("{} classes there, {} here", first.width(), other.width())),
        (Some(names), Some(here)) => difference(names, here).map_or(Ok(()), differ),
        (Some(_), None) => differ("a column per class there, a column of lists here".to_owned()),
        (None, Some(_)) => differ("a column of lists there, a column per class here".to_owned()),
    }
}
