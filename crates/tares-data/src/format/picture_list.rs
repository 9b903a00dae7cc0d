//! A list of pictures: CSV with a column of paths, relative to the list, and a column of labels.
//!
//! A column holds paths if all of its first cells end like picture files. If none of those files is there, a list has that column
//! and its label at most; with more columns it is a table that mentions pictures.

use crate::error::{DataError, Place, Result};
use crate::format::csv::{self, CsvOptions};
use crate::format::folder::{LabelledFiles, is_picture};
use crate::io::{Input, TreeFile};
use crate::table::rows::{TablePart, from_csv};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tares_core::Label;
use tares_core::estimate::NO_LABEL;

/// So many rows say what a column holds.
const LOOKED_AT: usize = 20;

/// Where a list is and which of its columns holds the paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureList {
    /// The CSV file.
    pub path: PathBuf,
    /// The column of the paths, from 0.
    column: usize,
    columns: usize,
    header: bool,
    /// The column of the labels, if the user named it.
    label: Option<String>,
}

/// The rows of a list.
pub(crate) struct ListedPictures {
    part: TablePart,
    files: Vec<TreeFile>,
}

impl PictureList {
    /// Whether a text is a list, by its beginning. `whole`: nothing follows it; `label`: the column of the labels, if somebody
    /// named it.
    pub fn recognise(path: &Path, head: &[u8], whole: bool, label: Option<&str>) -> Option<Self> {
        let of = |delimiter: u8| Self::with_delimiter(path, head, whole, delimiter);
        // With another delimiter than its own, a line is one long cell that may end like a picture as well.
        let list = [b',', b'\t', b';', b'|'].into_iter().filter_map(of).max_by_key(|list| list.columns)?;
        Some(Self { label: label.map(str::to_owned), ..list })
    }

    fn with_delimiter(path: &Path, head: &[u8], whole: bool, delimiter: u8) -> Option<Self> {
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).flexible(true).from_reader(head);
        let mut records: Vec<Vec<String>> = Vec::new();
        for record in reader.byte_records().take(LOOKED_AT + 1) {
            records.push(record.ok()?.iter().map(|cell| String::from_utf8_lossy(cell).trim().to_owned()).collect());
        }
        // The last record may be cut.
        if !whole && records.len() <= LOOKED_AT {
            records.pop();
        }
        let columns = records.first()?.len();
        let holds_paths = |column: &usize| {
            let mut cells = records.iter().skip(1).map(|record| record.get(*column));
            records.len() > 1 && cells.all(|cell| cell.is_some_and(|cell| is_picture(cell)))
        };
        let column = (0..columns).find(holds_paths)?;
        let header = !is_picture(&records[0][column]);
        let list = Self { path: path.into(), column, columns, header, label: None };
        let there = records.iter().skip(usize::from(header)).any(|record| list.place(&record[column]).is_file());
        (there || columns <= 2).then_some(list)
    }

    /// Where a picture of the list is.
    fn place(&self, picture: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(picture)
    }

    /// Reads the list.
    pub(crate) fn read(&self, label_needed: bool) -> Result<ListedPictures> {
        // Of two columns the other one is the label.
        let other = (self.columns == 2).then(|| format!("#{}", 2 - self.column));
        let options = CsvOptions {
            label: self.label.clone().or(other),
            id: Some(format!("#{}", self.column + 1)),
            header: Some(self.header),
            label_needed,
            ..CsvOptions::default()
        };
        let mut csv = csv::read(&|| Input::open(&self.path), &options)?;
        // Where no label is needed the reader takes the last column for it, and that may be the paths.
        if csv.label == csv.id {
            csv.label = None;
        }
        let part = from_csv(csv, &HashMap::new())?;
        let Some((_, ids)) = &part.ids else {
            return Err(DataError::format(&self.path, Place::File, "has no column of paths"));
        };
        let files = ids.iter().map(|id| TreeFile::listed(id, self.place(id))).collect();
        Ok(ListedPictures { part, files })
    }
}

impl ListedPictures {
    /// Files that are not there, each with its line.
    pub fn missing(&self) -> Vec<(PathBuf, String)> {
        let missing = self.files.iter().enumerate().filter(|(_, file)| !file.is_there());
        let line = |row: usize| match self.part.table.place(row) {
            Place::Line(line) => format!("line {line}: "),
            _ => String::new(),
        };
        missing.map(|(row, file)| (file.path.clone().into(), format!("{}there is no such file", line(row)))).collect()
    }

    /// The files that are there, with their labels, [`NO_LABEL`] where there is none. `training`: classes are checked.
    pub fn labelled(&self, training: bool) -> Result<(LabelledFiles<'_>, Vec<String>)> {
        let path = &self.part.table.path;
        let Some(column) = &self.part.label else {
            return Ok((LabelledFiles::unlabelled(self.files.iter().filter(|file| file.is_there())), Vec::new()));
        };
        let column_notes = if training { column.check(path)? } else { Vec::new() };
        let class_names = column.classes();
        let labels = column.labels_if_any(path, &class_names, &|row| self.part.table.place(row))?;
        if !training && labels.iter().all(Option::is_none) {
            return Ok((LabelledFiles::unlabelled(self.files.iter().filter(|file| file.is_there())), Vec::new()));
        }
        let rows = self.files.iter().zip(labels).filter(|(file, _)| file.is_there());
        let train: Vec<(&TreeFile, Label)> = rows.map(|(file, label)| (file, label.unwrap_or(NO_LABEL))).collect();
        // A list in the working folder has an empty parent.
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let notes = vec![format!("paths are relative to {}", folder.display())];
        Ok((LabelledFiles { train, test: Vec::new(), class_names, labelled: true, notes }, column_notes))
    }

    /// For every line of the list, the new class of its picture. `changes` are paths and classes in the order of the list.
    pub fn relabelled<'a>(&self, changes: &[(String, &'a str)]) -> Vec<Option<&'a str>> {
        let mut rest = changes.iter().peekable();
        let new = |file: &TreeFile| rest.next_if(|(path, _)| *path == file.path).map(|(_, class)| *class);
        self.files.iter().map(new).collect()
    }

    /// Delimiter, label column and header, as the writer of CSV needs them.
    pub fn dialect(&self) -> Option<(u8, &str, bool)> {
        Some((self.part.delimiter?, self.part.label.as_ref()?.name.as_str(), self.part.header))
    }
}
