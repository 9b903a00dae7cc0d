//! [`TableLayout`]: tables that are read in parts, on several machines, which must agree on the classes.

use super::agree::agree_names;
use super::tables::{class_tables, rows_of_parquet};
use super::{Agreed, ClassColumns, ClassTables, LabelList, ProbabilityTables, TableIds, TableOptions, agree_classes};
use crate::error::{DataError, Place, Result};
use std::collections::HashMap;
use std::path::Path;
use tares_core::Label;

/// What the tables of one data set share, found on one machine and sent to all that read a part of them.
#[derive(Clone, Debug, PartialEq)]
pub struct TableLayout {
    /// Names of the classes, in the order of their numbers.
    pub classes: Vec<String>,
    /// Which class a label is.
    pub places: HashMap<String, Label>,
    /// What the columns of probabilities are called in the first table, if they have names.
    pub columns: Option<Vec<String>>,
}

impl TableLayout {
    /// Which labels are which of `width` columns, where another program reads the table; and the column of every class.
    ///
    /// # Errors
    /// Labels that fit the columns in no way.
    pub fn of_names(
        labels: Vec<String>,
        columns: Option<Vec<String>>,
        width: usize,
    ) -> std::result::Result<(Self, Vec<usize>), String> {
        let list = LabelList::of_names(((0..labels.len() as u32).collect(), labels.clone()));
        let Agreed { classes, given } = agree_names(list, columns.as_deref(), width)?;
        let found = match &columns {
            Some(names) => ClassColumns::find(names, &classes)?,
            None => ClassColumns::in_order(width),
        };
        Ok((Self { classes, places: labels.into_iter().zip(given).collect(), columns }, found.columns))
    }
}

/// For parts of a data set, each read on its own.
impl ProbabilityTables {
    /// Opens one file; nothing if it has no rows.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_part(path: &Path, options: TableOptions<'_>) -> Result<Option<Self>> {
        match rows_of_parquet(path)? {
            Some(0) => Ok(None),
            _ => Self::open(&[path.to_owned()], options).map(Some),
        }
    }

    /// Names of the rows, where a column of them was asked for.
    pub fn ids(&self) -> Option<&TableIds> {
        self.ids.as_ref()
    }

    /// The different labels, and the rows of each.
    pub fn label_counts(&self) -> Vec<(String, usize)> {
        self.labels.counts()
    }

    /// What these tables share with others whose labels are `names`.
    ///
    /// # Errors
    /// Labels that fit the columns in no way.
    pub fn layout(&self, names: Vec<String>) -> Result<TableLayout> {
        let source = &self.sources[0];
        let labels = LabelList::of_names(((0..names.len() as u32).collect(), names.clone()));
        let Agreed { classes, given } = agree_classes(labels, source.path(), source)?;
        let columns = source.names().map(<[String]>::to_vec);
        Ok(TableLayout { classes, places: names.into_iter().zip(given).collect(), columns })
    }

    /// Brings labels and columns together as in the other parts.
    ///
    /// # Errors
    /// Other columns than the layout's; labels that it does not know; columns that hold no numbers.
    pub fn with_layout(self, layout: &TableLayout) -> Result<ClassTables> {
        let Self { sources, labels, ids, .. } = self;
        let first = sources[0].path().to_owned();
        for source in &sources {
            let mut pair = [layout.columns.clone(), source.names().map(<[String]>::to_vec)];
            pair.iter_mut().flatten().for_each(|names| names.sort());
            if pair[0] != pair[1] {
                let shown = |names: &Option<Vec<String>>| {
                    names.as_ref().map_or("a column of lists".to_owned(), |names| names.join(", "))
                };
                let problem =
                    format!("must have the columns of the other tables ({}), got {}", shown(&pair[0]), shown(&pair[1]));
                return Err(DataError::format(source.path(), Place::File, problem));
            }
        }
        let given = labels.placed(&layout.places);
        let given = given.map_err(|(row, problem)| DataError::format(&first, Place::Row(row as u64), problem))?;
        class_tables(sources, Agreed { classes: layout.classes.clone(), given }, layout.columns.clone(), ids)
    }
}
