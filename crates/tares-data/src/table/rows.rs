//! From tables, whatever the format, to training and test rows.

use crate::error::{DataError, Place, Result};
use crate::format::csv::{self, Columns};
use crate::format::npz::Npz;
use crate::format::parquet::{self, ParquetFile};
use crate::format::{arrays, npy};
use crate::io::Input;
use crate::load::{LoadOptions, Loaded, NewRows};
use crate::source::Origin;
use crate::source::recognise;
use crate::source::{Format, Found};
use crate::table::columns::{self, MISSING, Table};
use crate::table::rules::{Preparation, RowShape, TableRules};
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Error, Shape};

/// A table with its special columns taken out.
pub(crate) struct Part {
    pub table: Table,
    /// The label of each row: codes and levels.
    pub label: Option<(String, Vec<u32>, Vec<String>)>,
    /// The name of each row.
    pub ids: Option<(String, Vec<String>)>,
    pub header: bool,
}

/// Training rows and the test rows that came with them.
pub(crate) struct Parts {
    pub train: Part,
    pub test: Option<Part>,
}

pub(crate) fn load(origin: Origin, options: &LoadOptions) -> Result<Loaded> {
    let parts = read(&origin, options, true)?;
    assemble(parts, origin, options)
}

/// From tables to data sets: classes, split, rules fitted on the training rows, features.
pub(crate) fn assemble(parts: Parts, origin: Origin, options: &LoadOptions) -> Result<Loaded> {
    let Parts { train, mut test } = parts;
    let path = train.table.path.clone();
    let Some((label_name, codes, levels)) = &train.label else {
        return Err(DataError::format(&path, Place::File, "has no labels"));
    };
    let names = columns::classes(codes, levels);
    check_classes(&path, label_name, names.len(), codes.len())?;
    let labels = train.table.labels(codes, levels, &names)?;
    if let Some(path) = &options.test {
        let other = recognise::recognise(path, options)?;
        let with_label = LoadOptions { label: Some(label_name.clone()), ..options.clone() };
        test = Some(read(&other, &with_label, true)?.train);
    }

    // Which rows are for training must be known before the rules are fitted on them.
    let content = |source| DataError::content(&path, source);
    let mut notes = Vec::new();
    let rows = Dataset::new(vec![0u8; labels.len()], Shape::Flat(1), labels.clone(), names.clone()).map_err(content)?;
    let split = if test.is_none() && options.test_fraction != 0.0 {
        let (fraction, seed) = (options.test_fraction, options.seed);
        let (train, test) = rows.split(fraction, seed).map_err(content)?;
        notes.push(format!("no test part came with the data: {fraction} of every class was set aside (seed {seed})"));
        let stored = |part: &Dataset| (0..part.len()).map(|index| part.stored(index)).collect::<Vec<_>>();
        Some((stored(&train), stored(&test)))
    } else {
        None
    };
    let all: Vec<usize>;
    let fitted_on = match &split {
        Some((train, _)) => train,
        None => {
            all = (0..labels.len()).collect();
            &all
        }
    };
    let rules = TableRules {
        label: Some(label_name.clone()),
        id: train.ids.as_ref().map(|(name, _)| name.clone()),
        header: train.header,
        columns: TableRules::fit(&train.table, fitted_on, options.standardise)?,
    };
    if !train.header && origin.format() == Format::Csv {
        notes.push(format!("no header: columns are numbered, the labels are {label_name}"));
    }
    if train.table.columns.iter().any(|column| column.values.missing() > 0) {
        notes
            .push("missing numbers became the training mean and are marked; missing text is a level of its own".into());
    }

    let columns = rules.found(&train.table);
    let data = dataset(&rules, &train, labels, &names)?;
    let test = match (test, &split) {
        (Some(part), _) => Some(labelled(&rules, &part, &names)?),
        (None, Some((_, test))) => Some(data.subset(test).map_err(content)?),
        (None, None) => None,
    };
    let data = match &split {
        Some((train, _)) => data.subset(train).map_err(content)?,
        None => data,
    };
    let mut found = Found::new(origin.format(), &data, test.as_ref());
    found.files = origin.files();
    found.test_set_aside = split.is_some();
    found.columns = columns;
    found.notes = notes;
    let row = RowShape::Flat(rules.width());
    let preparation =
        Preparation { format: origin.format(), class_names: names, row, bytes: false, table: Some(rules) };
    Ok(Loaded { train: data, test, found, preparation, origin })
}

pub(crate) fn load_with(
    origin: Origin,
    preparation: &Preparation,
    rules: &TableRules,
    options: &LoadOptions,
) -> Result<NewRows> {
    let options = LoadOptions {
        label: options.label.clone().or_else(|| rules.label.clone()),
        id_column: options.id_column.clone().or_else(|| rules.id.clone()),
        header: options.header.or(Some(rules.header)),
        ..options.clone()
    };
    let part = read(&origin, &options, false)?.train;
    let names = &preparation.class_names;
    let has_labels = part.label.as_ref().is_some_and(|(_, codes, _)| codes.iter().any(|&code| code != MISSING));
    let data = if has_labels {
        labelled(rules, &part, names)?
    } else {
        let rows = part.table.rows;
        dataset(rules, &part, vec![0; rows], names)?
    };
    Ok(NewRows { data, labelled: has_labels, skipped: Vec::new() })
}

fn labelled(rules: &TableRules, part: &Part, names: &[String]) -> Result<Dataset> {
    let Some((_, codes, levels)) = &part.label else {
        return Err(DataError::format(&part.table.path, Place::File, "has no labels"));
    };
    dataset(rules, part, part.table.labels(codes, levels, names)?, names)
}

fn dataset(rules: &TableRules, part: &Part, labels: Vec<u32>, names: &[String]) -> Result<Dataset> {
    let features = rules.features(&part.table)?;
    let make = || {
        let data = Dataset::new(features, Shape::Flat(rules.width()), labels, names.iter().cloned())?;
        match &part.ids {
            Some((_, ids)) => data.with_ids(ids.clone()),
            None => Ok(data),
        }
    };
    make().map_err(|source| DataError::content(&part.table.path, source))
}

/// A column with nearly as many values as rows is a number or a name, not a class.
fn check_classes(path: &Path, label: &str, classes: usize, rows: usize) -> Result<()> {
    let what = || format!("classes of label column \"{label}\"");
    let error = match classes {
        0 | 1 => Error::value(what(), "at least 2", classes),
        _ if rows >= 20 && classes * 2 > rows => {
            Error::value(what(), "fewer than half of the rows (is it the label?)", format!("{classes} in {rows} rows"))
        }
        _ => return Ok(()),
    };
    Err(DataError::content(path, error))
}

/// Reads the tables of an origin and takes label and id columns out.
fn read(origin: &Origin, options: &LoadOptions, label_needed: bool) -> Result<Parts> {
    match origin {
        Origin::Csv { train, test } => {
            let read_part = |path: &Path, label: Option<&String>| {
                let wanted = Columns {
                    label: label.or(options.label.as_ref()).cloned(),
                    id: options.id_column.clone(),
                    header: options.header,
                    label_needed,
                };
                read_csv(path, &wanted)
            };
            let train = read_part(train, None)?;
            let label = train.label.as_ref().map(|(name, ..)| name.clone());
            let test = test.as_ref().map(|test| read_part(test, label.as_ref())).transpose()?;
            Ok(Parts { train, test })
        }
        Origin::Parquet { train, test, .. } => {
            let train = read_parquet(train, options, options.label.as_ref(), label_needed)?;
            let label = train.label.as_ref().map(|(name, ..)| name.clone());
            let test = match test.is_empty() {
                true => None,
                false => Some(read_parquet(test, options, label.as_ref(), label_needed)?),
            };
            Ok(Parts { train, test })
        }
        Origin::Npy { files, .. } => {
            let array = |path: &PathBuf| npy::read(Input::open(path)?);
            let train = from_arrays(&array(&files.train.0)?, files.train.1.as_ref().map(array).transpose()?)?;
            let test = match &files.test {
                Some((x, y)) => Some(from_arrays(&array(x)?, Some(array(y)?))?),
                None => None,
            };
            Ok(Parts { train, test })
        }
        Origin::Npz { path, names, .. } => {
            let mut npz = Npz::open(path)?;
            let labels = names.train.1.as_ref().map(|name| npz.array(name)).transpose()?;
            let train = from_arrays(&npz.array(&names.train.0)?, labels)?;
            let test = match &names.test {
                Some((x, y)) => Some(from_arrays(&npz.array(x)?, Some(npz.array(y)?))?),
                None => None,
            };
            Ok(Parts { train, test })
        }
        other => Err(DataError::format(other.path(), Place::File, "holds pictures, not columns")),
    }
}

pub(crate) fn from_arrays(features: &npy::Array, labels: Option<npy::Array>) -> Result<Part> {
    let table = arrays::table(features)?;
    let label = match labels {
        Some(array) => {
            let (codes, levels) = arrays::labels(&array, table.rows)?;
            Some(("labels".to_owned(), codes, levels))
        }
        None => None,
    };
    Ok(Part { table, label, ids: None, header: true })
}

/// Reads files of one table, one after the other.
fn read_parquet(paths: &[PathBuf], options: &LoadOptions, label: Option<&String>, label_needed: bool) -> Result<Part> {
    let mut all: Option<Table> = None;
    let mut names = None;
    let (mut label_name, mut class_names) = (None, None);
    for path in paths {
        let file = ParquetFile::open(path)?;
        let path = file.path();
        let leaves: Vec<_> = file.leaves().into_iter().filter(|leaf| leaf.is_number() || leaf.text).collect();
        let own: Vec<String> = leaves.iter().map(|leaf| leaf.name.clone()).collect();
        let columns: Vec<&str> = own.iter().map(String::as_str).collect();
        if label_name.is_none() {
            label_name = match columns::label_position(&columns, label.map(String::as_str), true) {
                Ok(position) => Some(own[position].clone()),
                Err(error) if label_needed => return Err(DataError::content(path, error)),
                Err(_) => None,
            };
            let metadata = file.key_value("huggingface");
            class_names = label_name
                .as_ref()
                .zip(metadata)
                .and_then(|(label, metadata)| parquet::hugging_face_classes(&metadata, label));
        }
        if *names.get_or_insert_with(|| own.clone()) != own {
            let problem = format!("has other columns than {}", paths[0].display());
            return Err(DataError::format(path, Place::File, problem));
        }
        let table = file.table(&leaves)?;
        all = Some(match all {
            Some(before) => before.append(table),
            None => table,
        });
    }
    let Some(mut table) = all else { return Err(DataError::format("", Place::File, "no Parquet file was named")) };
    if table.rows == 0 {
        return Err(DataError::format(&table.path, Place::File, "has no rows"));
    }
    let named = |id: &String| label_needed || table.position(id).is_ok();
    let ids = options.id_column.clone().filter(named).map(|id| take_ids(&mut table, id)).transpose()?;
    let label = match label_name {
        Some(label) => {
            let (codes, levels) = table.take_text(&label)?;
            Some((label, codes, named_levels(levels, class_names)))
        }
        None => None,
    };
    Ok(Part { table, label, ids, header: true })
}

/// Names for numbered levels, where the file has them.
fn named_levels(levels: Vec<String>, class_names: Option<Vec<String>>) -> Vec<String> {
    let Some(names) = class_names else { return levels };
    let named: Option<Vec<String>> =
        levels.iter().map(|level| names.get(level.parse::<usize>().ok()?).cloned()).collect();
    named.unwrap_or(levels)
}

fn read_csv(path: &Path, wanted: &Columns) -> Result<Part> {
    part(csv::read(&|| Input::open(path), wanted)?)
}

/// Takes label and id columns out of a CSV file.
pub(crate) fn part(csv: csv::Csv) -> Result<Part> {
    let csv::Csv { mut table, label, id, header } = csv;
    let ids = id.map(|id| take_ids(&mut table, id)).transpose()?;
    let label = match label {
        Some(label) => {
            let (codes, levels) = table.take_text(&label)?;
            Some((label, codes, levels))
        }
        None => None,
    };
    Ok(Part { table, label, ids, header })
}

pub(crate) fn take_ids(table: &mut Table, id: String) -> Result<(String, Vec<String>)> {
    let (codes, levels) = table.take_text(&id)?;
    let name = |(row, &code): (usize, &u32)| match code {
        MISSING => row.to_string(),
        code => levels[code as usize].clone(),
    };
    Ok((id, codes.iter().enumerate().map(name).collect()))
}
