//! Rows that are in memory already: what another program (Python) hands over in place of a file.
//!
//! A table becomes features by the same rules as a table in a file, so that a model does not depend on which of the two it was trained
//! from.

use crate::error::{DataError, Result};
use crate::reading::Reading;
use crate::source::Format;
use crate::table::date::columns::read_dates;
use crate::table::index;
use crate::table::rules::TableRules;
use crate::table::{Column, RawTable, Values};
use std::collections::HashMap;
use std::path::Path;
use tares_core::{Dataset, Features, Label, Shape};

/// Messages about rows in memory name this in place of a file.
const NAME: &str = "table";

/// An array with more columns than this is taken for features that a network computed.
const WIDEST_TABLE: usize = 100;

/// Rows from memory.
#[derive(Clone, Debug)]
pub struct InMemory {
    /// The rows with a label.
    pub train: Dataset,
    /// The rows without one; their given labels mean nothing.
    pub unlabelled: Option<Dataset>,
    /// How to read new rows the same way.
    pub reading: Reading,
    /// A sentence for every column that is not used as it stands, and for rows without a label.
    pub notes: Vec<String>,
}

impl InMemory {
    /// A table beside its labels. Columns named in `texts` are read by their words; others are recognised.
    ///
    /// # Errors
    /// Columns of different lengths, no column that says anything, a number that is not finite; labels outside the classes, no labels.
    pub fn table(
        columns: Vec<Column>,
        labels: &[Option<Label>],
        class_names: Vec<String>,
        ids: Option<Vec<String>>,
        texts: &[String],
    ) -> Result<Self> {
        let mut table = raw(columns, labels.len())?;
        read_dates(&mut table, &HashMap::new());
        index::take_out(&mut table);
        let labelled: Vec<usize> = (0..labels.len()).filter(|&row| labels[row].is_some()).collect();
        let rules = TableRules {
            label: None,
            id: None,
            header: true,
            delimiter: None,
            columns: TableRules::fit(&table, &labelled, texts, true)?,
        };
        let notes = rules.notes(&table);
        let all = rules.dataset(&table, filled(labels), &class_names, ids)?;
        let shape = Shape::Flat(rules.width());
        let reading = Reading {
            format: Format::Memory,
            class_names,
            row: shape.into(),
            bytes: false,
            table: Some(rules),
            features: None,
        };
        Self::parted(&all, labels, reading, notes)
    }

    /// An array beside its labels: pictures, a table of numbers, or, if it is wider than tables are, features that some network made.
    ///
    /// # Errors
    /// Features that don't divide into rows or are not finite; labels outside the classes, no labels.
    pub fn array(features: Features, shape: Shape, labels: &[Option<Label>], class_names: Vec<String>) -> Result<Self> {
        let all = Dataset::new(features, shape, filled(labels), class_names.iter().cloned()).map_err(content)?;
        let features = match shape {
            Shape::Flat(width) if width > WIDEST_TABLE => Some(width),
            Shape::Flat(_) | Shape::Image { .. } => None,
        };
        let bytes = all.is_bytes();
        let reading = Reading { format: Format::Memory, class_names, row: shape.into(), bytes, table: None, features };
        Self::parted(&all, labels, reading, Vec::new())
    }

    /// The rows with a label and those without.
    fn parted(all: &Dataset, labels: &[Option<Label>], reading: Reading, mut notes: Vec<String>) -> Result<Self> {
        let (labelled, rest): (Vec<usize>, Vec<usize>) = (0..labels.len()).partition(|&row| labels[row].is_some());
        if rest.is_empty() {
            return Ok(Self { train: all.clone(), unlabelled: None, reading, notes });
        }
        notes.push(format!("{} rows have no label: they take no part in training or audit", rest.len()));
        let part = |rows: &[usize]| all.subset(rows).map_err(content);
        Ok(Self { train: part(&labelled)?, unlabelled: Some(part(&rest)?), reading, notes })
    }
}

/// Labels for a data set: those of rows without one mean nothing.
fn filled(labels: &[Option<Label>]) -> Vec<Label> {
    labels.iter().map(|label| label.unwrap_or(0)).collect()
}

/// New rows of a table, read like the training rows. Their given labels mean nothing.
///
/// # Errors
/// A column of training is not there, or holds text instead of numbers.
pub fn new_table(columns: Vec<Column>, rows: usize, reading: &Reading) -> Result<Dataset> {
    let Some(rules) = &reading.table else {
        let error = tares_core::Error::value("rows", "arrays like those of training", "a table");
        return Err(content(error));
    };
    let mut table = raw(columns, rows)?;
    read_dates(&mut table, &rules.kinds());
    rules.dataset(&table, vec![0; rows], &reading.class_names, None)
}

fn raw(columns: Vec<Column>, rows: usize) -> Result<RawTable> {
    for column in &columns {
        let (cells, infinite) = match &column.values {
            Values::Numbers(numbers) => (numbers.len(), numbers.iter().position(|number| number.is_infinite())),
            Values::Text { codes, .. } => (codes.len(), None),
        };
        let what = || format!("column \"{}\"", column.name);
        if cells != rows {
            return Err(content(tares_core::Error::value(
                what(),
                format!("as long as the labels, {rows} rows"),
                cells,
            )));
        }
        if let Some(row) = infinite {
            let error = tares_core::Error::value(what(), "finite numbers, or missing", "infinity");
            return Err(content(error.at(format!("row {row}"))));
        }
    }
    Ok(RawTable { path: NAME.into(), columns, rows, ..RawTable::default() })
}

fn content(error: tares_core::Error) -> DataError {
    DataError::content(Path::new(NAME), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![
            Column::new("age", Values::Numbers(vec![1.0, f64::NAN, 3.0, 5.0])),
            Column::new(
                "town",
                Values::Text { codes: vec![0, 1, u32::MAX, 0], levels: vec!["Rome".into(), "Oslo".into()] },
            ),
        ]
    }

    #[test]
    fn a_table_in_memory_is_read_as_the_same_table_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, "age,town,label\n1,Rome,a\n,Oslo,b\n3,,a\n5,Rome,b\n").unwrap();
        let options = crate::LoadOptions::default().with(|options| options.test_fraction = 0.0);
        let file = crate::load(path.to_str().unwrap(), &options, &mut |_| {}).unwrap();
        let labels = [Some(0), Some(1), Some(0), Some(1)];
        let here = InMemory::table(columns(), &labels, vec!["a".into(), "b".into()], None, &[]).unwrap();
        assert_eq!(here.train, file.train);
        assert_eq!(here.reading.table.as_ref().unwrap().columns, file.reading.table.unwrap().columns);
        assert_eq!(new_table(columns(), 4, &here.reading).unwrap().row(2), file.train.row(2));
    }

    #[test]
    fn rows_without_a_label_stand_apart_and_shape_no_rule() {
        let labels = [Some(0), Some(1), None, Some(1)];
        let here = InMemory::table(columns(), &labels, vec!["a".into(), "b".into()], None, &[]).unwrap();
        assert_eq!((here.train.len(), here.unlabelled.unwrap().len()), (3, 1));
        assert_eq!(here.train.stored(2), 3);
        assert!(here.notes.iter().any(|note| note.contains("1 rows have no label")), "{:?}", here.notes);
    }

    #[test]
    fn rows_of_an_array_may_lack_labels_too() {
        let classes = vec!["a".to_owned(), "b".to_owned()];
        let of = |labels: &[Option<Label>]| {
            InMemory::array(vec![0f32, 1.0, 2.0, 3.0].into(), Shape::Flat(1), labels, classes.clone())
        };
        let here = of(&[Some(1), None, Some(0), None]).unwrap();
        let rest = here.unlabelled.unwrap();
        assert_eq!((here.train.given(), here.train.stored(1)), (&[1, 0][..], 2));
        assert_eq!([rest.row(0), rest.row(1)], [tares_core::Row::Floats(&[1.0]), tares_core::Row::Floats(&[3.0])]);
        assert!(of(&[None; 4]).is_err());
    }

    #[test]
    fn a_narrow_array_is_a_table_and_a_wide_one_features() {
        let of = |width: usize| {
            let array = InMemory::array(
                vec![0f32; 2 * width].into(),
                Shape::Flat(width),
                &[Some(0), Some(1)],
                vec!["a".into(), "b".into()],
            );
            array.unwrap().reading.features
        };
        assert_eq!([of(9), of(100), of(101)], [None, None, Some(101)]);
    }

    #[test]
    fn lengths_and_infinities_are_refused_by_column() {
        let two = |columns| InMemory::table(columns, &[Some(0); 4], vec!["a".into(), "b".into()], None, &[]);
        let short = vec![Column::new("age", Values::Numbers(vec![1.0]))];
        let error = two(short).unwrap_err().to_string();
        assert_eq!(error, "table: column \"age\" must be as long as the labels, 4 rows, got 1");
        let endless = vec![Column::new("age", Values::Numbers(vec![1.0, 2.0, f64::INFINITY, 0.0]))];
        assert!(two(endless).unwrap_err().to_string().contains("row 2"));
    }
}
