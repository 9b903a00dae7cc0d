//! From tables, whatever the format, to training and test rows.

use crate::error::{DataError, Place, Result};
use crate::format::csv::{self, CsvOptions};
use crate::format::npz::Npz;
use crate::format::parquet::{self, ParquetFile};
use crate::format::{arrays, npy};
use crate::io::Input;
use crate::load::{LoadOptions, Loaded, NewRows};
use crate::reading::{Reading, RowShape};
use crate::source::{Format, Found, Origin, recognise};
use crate::table::columns::{ColumnKind, RawTable, difference, is_missing, label_position};
use crate::table::date::columns::read_dates;
use crate::table::index;
use crate::table::json_rows::from_jsonl;
use crate::table::labels::LabelColumn;
use crate::table::rules::TableRules;
use rayon::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tares_core::{Dataset, Label, stratified_split};

/// A table with its special columns taken out.
pub(crate) struct TablePart {
    pub table: RawTable,
    pub label: Option<LabelColumn>,
    /// The name of the id column, and of each row.
    pub ids: Option<(String, Vec<String>)>,
    pub header: bool,
    /// The character between the cells (CSV).
    pub delimiter: Option<u8>,
}

/// Training rows and the test rows that came with them.
pub(crate) struct TableParts {
    pub train: TablePart,
    pub test: Option<TablePart>,
}

/// Which columns are special, and what is known about the others.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    label: Option<&'a str>,
    id: Option<&'a str>,
    header: Option<bool>,
    /// False for rows to predict, which need neither labels nor names.
    label_needed: bool,
    known: &'a HashMap<String, ColumnKind>,
}

pub(crate) fn load(origin: Origin, options: &LoadOptions) -> Result<Loaded> {
    let nothing = HashMap::new();
    let wanted = Wanted {
        label: options.label.as_deref(),
        id: options.id_column.as_deref(),
        header: options.header,
        label_needed: options.classes.is_none(),
        known: &nothing,
    };
    let mut parts = read(&origin, wanted)?;
    parts.train.table.leave_out(&options.ignore)?;
    assemble(parts, origin, options)
}

/// From tables to data sets: classes, split, rules fitted on the training rows, features.
pub(crate) fn assemble(parts: TableParts, origin: Origin, options: &LoadOptions) -> Result<Loaded> {
    let TableParts { mut train, mut test } = parts;
    let path = train.table.path.clone();
    let (label, label_notes, names, labels, labelled) = match &options.classes {
        // Labels come from elsewhere: every row takes part, and has the first class until then.
        Some(classes) => {
            let label = train.label.take().unwrap_or_default();
            (label, Vec::new(), classes.clone(), vec![0; train.table.rows], (0..train.table.rows).collect())
        }
        None => {
            let label = train.labels()?.clone();
            let label_notes = label.check(&path)?;
            let names = label.classes();
            let (labels, labelled) = train.numbered(&names)?;
            (label, label_notes, names, labels, labelled)
        }
    };
    let label_name = (!label.name.is_empty()).then(|| label.name.clone());
    if let Some(path) = &options.test {
        let known = train.table.kinds();
        let wanted = Wanted {
            label: label_name.as_deref(),
            id: options.id_column.as_deref(),
            header: options.header,
            label_needed: true,
            known: &known,
        };
        test = Some(read(&recognise::recognise(path, options)?, wanted)?.train);
    }
    index::take_out(&mut train.table);

    // Which rows are for training must be known before the rules are fitted on them.
    let content = |source| DataError::content(&path, source);
    let mut notes = Vec::new();
    let (kept, held_out): (Option<Vec<usize>>, Option<Vec<usize>>) = if test.is_none() && options.test_fraction != 0.0 {
        let (fraction, seed) = (options.test_fraction, options.seed);
        notes.push(format!("no test part came with the data: {fraction} of every class was set aside (seed {seed})"));
        let known: Vec<Label> = labelled.iter().map(|&row| labels[row]).collect();
        let (train, test) = stratified_split(&known, names.len(), fraction, seed).map_err(content)?;
        let rows = |places: Vec<usize>| places.into_iter().map(|place| labelled[place]).collect();
        (Some(rows(train)), Some(rows(test)))
    } else {
        (None, None)
    };
    let fitted_on = kept.as_deref().unwrap_or(&labelled);
    if let Some(what) = special_text(options, &label.name, train.ids.as_ref().map(|(name, _)| name.as_str())) {
        let problem = format!("the {what} column cannot be a text column as well");
        return Err(DataError::format(&path, Place::File, problem));
    }
    let rules = TableRules {
        label: label_name,
        id: train.ids.as_ref().map(|(name, _)| name.clone()),
        header: train.header,
        delimiter: train.delimiter.map(char::from),
        columns: TableRules::fit(&train.table, fitted_on, &options.text, options.standardise)?,
    };
    if !train.header && origin.format() == Format::Csv {
        notes.push(format!("no header: columns are numbered, the labels are {}", label.name));
    }
    let guessed = train.header && options.label.is_none() && options.classes.is_none() && origin.has_named_columns();
    if let Some(label) = rules.label.as_ref().filter(|_| guessed) {
        notes.push(format!("the labels are column \"{label}\" (--label names another)"));
    }
    let columns = rules.found(&train.table, fitted_on.len());
    if columns.iter().any(|column| column.missing > 0) {
        notes.push(
            "missing numbers are marked: trees read them as missing, other models as the training mean; missing text is a level of \
             its own"
                .into(),
        );
    }

    let set_aside = held_out.is_some();
    let all = train.dataset(&rules, labels, &names)?;
    let unlabelled: Vec<usize> = match labelled.len() == all.len() {
        true => Vec::new(),
        false => (0..all.len()).filter(|row| labelled.binary_search(row).is_err()).collect(),
    };
    let without = |count: usize, part: &str| {
        let (rows, take) = if count == 1 { ("row has", "it takes") } else { ("rows have", "they take") };
        (count > 0).then(|| format!("{count} {part}{rows} no label: {take} no part in training, testing or audit"))
    };
    let mut column_notes: Vec<String> = rules.notes(&train.table).into_iter().chain(label_notes).collect();
    column_notes.extend(rules.other_labels());
    column_notes.extend(without(unlabelled.len(), ""));
    let test = match (test, held_out) {
        (Some(part), _) => {
            let (labels, labelled) = part.numbered(&names)?;
            column_notes.extend(without(labels.len() - labelled.len(), "test "));
            column_notes.extend(rules.unseen(&part.table, "test "));
            Some(rows_of(part.dataset(&rules, labels, &names)?, &labelled).map_err(content)?)
        }
        (None, Some(held_out)) => Some(all.subset(&held_out).map_err(content)?),
        (None, None) => None,
    };
    let unlabelled = match unlabelled.is_empty() {
        true => None,
        false => Some(all.subset(&unlabelled).map_err(content)?),
    };
    let data = rows_of(all, fitted_on).map_err(content)?;
    let mut found = Found::new(origin.format(), &data, test.as_ref());
    found.files = origin.files();
    found.test_set_aside = set_aside;
    found.columns = columns;
    found.notes = notes;
    found.column_notes = column_notes;
    let row = RowShape::Flat(rules.width());
    let reading =
        Reading { format: origin.format(), class_names: names, row, bytes: false, table: Some(rules), features: None };
    Ok(Loaded { train: data, test, unlabelled, found, reading, shown: None, origin })
}

/// Which special column was named as a text, if one was.
fn special_text(options: &LoadOptions, label: &str, id: Option<&str>) -> Option<&'static str> {
    let named = |name: &str| options.text.iter().any(|text| text == name);
    match id {
        _ if named(label) => Some("label"),
        Some(id) if named(id) => Some("id"),
        _ => None,
    }
}

pub(crate) fn load_with(
    origin: Origin,
    reading: &Reading,
    rules: &TableRules,
    options: &LoadOptions,
) -> Result<NewRows> {
    let wanted = Wanted {
        label: options.label.as_deref().or(rules.label.as_deref()),
        id: options.id_column.as_deref().or(rules.id.as_deref()),
        header: options.header.or(Some(rules.header)),
        label_needed: false,
        known: &rules.kinds(),
    };
    let part = read(&origin, wanted)?.train;
    let names = &reading.class_names;
    let rows = part.table.rows;
    let labels = match &part.label {
        Some(column) => column.labels_if_any(&part.table.path, names, &|row| part.table.place(row))?,
        None => vec![None; rows],
    };
    let numbered = labels.iter().map(|label| label.unwrap_or(0)).collect();
    let data = part.dataset(rules, numbered, names)?;
    let notes = unknown_columns(rules, &part.table).into_iter().chain(rules.unseen(&part.table, "")).collect();
    Ok(NewRows { data, labels, notes, skipped: Vec::new() })
}

/// Some rows of a data set; the data set itself if they are all.
fn rows_of(data: Dataset, rows: &[usize]) -> tares_core::Result<Dataset> {
    if rows.len() == data.len() { Ok(data) } else { data.subset(rows) }
}

/// A sentence for every column of new rows that training did not have.
fn unknown_columns(rules: &TableRules, table: &RawTable) -> Vec<String> {
    let known = |name: &str| rules.columns.iter().any(|column| column.name == name);
    let index = |name: &str| name.starts_with("Unnamed: ") || name.starts_with("__index_level_");
    let unknown = table.columns.iter().filter(|column| !known(&column.name) && !column.unnamed && !index(&column.name));
    unknown.map(|column| format!("column \"{}\" was not in the training data and is ignored", column.name)).collect()
}

impl TablePart {
    fn labels(&self) -> Result<&LabelColumn> {
        self.label.as_ref().ok_or_else(|| DataError::format(&self.table.path, Place::File, "has no labels"))
    }

    /// As [`LabelColumn::numbered`].
    fn numbered(&self, names: &[String]) -> Result<(Vec<Label>, Vec<usize>)> {
        self.labels()?.numbered(&self.table.path, names, &|row| self.table.place(row))
    }

    fn dataset(&self, rules: &TableRules, labels: Vec<Label>, names: &[String]) -> Result<Dataset> {
        rules.dataset(&self.table, labels, names, self.ids.as_ref().map(|(_, ids)| ids.clone()))
    }

    /// Takes label and id columns out of a table, and reads dates.
    pub fn of(
        mut table: RawTable,
        label: Option<String>,
        id: Option<String>,
        known: &HashMap<String, ColumnKind>,
    ) -> Result<Self> {
        let ids = id.map(|id| take_ids(&mut table, id)).transpose()?;
        let label = match label {
            Some(name) => {
                let (codes, levels) = table.take_text(&name)?;
                Some(LabelColumn::of(name, codes, levels))
            }
            None => None,
        };
        read_dates(&mut table, known);
        Ok(Self { table, label, ids, header: true, delimiter: None })
    }
}

fn take_ids(table: &mut RawTable, id: String) -> Result<(String, Vec<String>)> {
    let (codes, levels) = table.take_text(&id)?;
    let name = |(row, &code): (usize, &u32)| match levels.get(code as usize) {
        Some(name) if !is_missing(name) => name.clone(),
        _ => row.to_string(),
    };
    Ok((id, codes.iter().enumerate().map(name).collect()))
}

/// Reads the tables of an origin and takes label and id columns out.
fn read(origin: &Origin, wanted: Wanted<'_>) -> Result<TableParts> {
    match origin {
        Origin::Csv { train, test } => both(train, test.as_ref(), wanted, &|path, wanted| read_csv(path, wanted)),
        Origin::Jsonl { train, test } => both(train, test.as_ref(), wanted, &|path, wanted: Wanted<'_>| {
            from_jsonl(&|| Input::open(path), wanted.label, wanted.id, wanted.label_needed, wanted.known)
        }),
        Origin::Parquet { train, test, .. } => {
            let test = (!test.is_empty()).then_some(test);
            both(train, test, wanted, &|paths: &Vec<PathBuf>, wanted| read_parquet(paths, wanted))
        }
        Origin::Npy { files, .. } => {
            let array = |path: &PathBuf| npy::read(Input::open(path)?);
            let train = from_arrays(&array(&files.train.0)?, files.train.1.as_ref().map(array).transpose()?)?;
            let test = match &files.test {
                Some((x, y)) => Some(from_arrays(&array(x)?, Some(array(y)?))?),
                None => None,
            };
            Ok(TableParts { train, test })
        }
        Origin::Npz { path, names, .. } => {
            let mut npz = Npz::open(path)?;
            let labels = names.train.1.as_ref().map(|name| npz.array(name)).transpose()?;
            let train = from_arrays(&npz.array(&names.train.0)?, labels)?;
            let test = match &names.test {
                Some((x, y)) => Some(from_arrays(&npz.array(x)?, Some(npz.array(y)?))?),
                None => None,
            };
            Ok(TableParts { train, test })
        }
        other => Err(DataError::format(other.path(), Place::File, "holds pictures, not columns")),
    }
}

/// Reads the training part, and the test part with the same label column and the same kinds of columns.
fn both<P>(
    train: &P,
    test: Option<&P>,
    wanted: Wanted<'_>,
    read_part: &dyn Fn(&P, Wanted<'_>) -> Result<TablePart>,
) -> Result<TableParts> {
    let train = read_part(train, wanted)?;
    let test = match test {
        Some(test) => {
            let label = train.label.as_ref().map(|label| label.name.clone());
            let label = label.as_deref().or(wanted.label);
            Some(read_part(test, Wanted { label, known: &train.table.kinds(), ..wanted })?)
        }
        None => None,
    };
    Ok(TableParts { train, test })
}

pub(crate) fn from_arrays(features: &npy::Array, labels: Option<npy::Array>) -> Result<TablePart> {
    let table = arrays::table(features)?;
    let label = labels.map(|array| arrays::labels(&array, table.rows)).transpose()?;
    Ok(TablePart { table, label, ids: None, header: true, delimiter: None })
}

fn read_csv(path: &Path, wanted: Wanted<'_>) -> Result<TablePart> {
    let options = CsvOptions {
        label: wanted.label.map(str::to_owned),
        id: wanted.id.map(str::to_owned),
        header: wanted.header,
        label_needed: wanted.label_needed,
        known: wanted.known.clone(),
    };
    from_csv(csv::read(&|| Input::open(path), &options)?, wanted.known)
}

pub(crate) fn from_csv(csv: csv::Csv, known: &HashMap<String, ColumnKind>) -> Result<TablePart> {
    let csv::Csv { table, label, id, header, delimiter } = csv;
    Ok(TablePart { header, delimiter: Some(delimiter), ..TablePart::of(table, label, id, known)? })
}

/// Reads files of one table, on all cores.
fn read_parquet(paths: &[PathBuf], wanted: Wanted<'_>) -> Result<TablePart> {
    let Some((first, others)) = paths.split_first() else {
        return Err(DataError::format("", Place::File, "no Parquet file was named"));
    };
    let file = ParquetFile::open(first)?;
    let names: Vec<String> = cells_of(&file).into_iter().map(|leaf| leaf.name).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let label_name = match label_position(&columns, wanted.label, true) {
        Ok(position) => Some(names[position].clone()),
        Err(error) if wanted.label_needed => return Err(DataError::content(file.path(), error)),
        Err(_) => None,
    };
    let metadata = file.key_value("huggingface");
    let label_and_metadata = label_name.as_ref().zip(metadata);
    let class_names = label_and_metadata.and_then(|(label, data)| parquet::hugging_face_classes(&data, label));
    let special: Vec<&str> = label_name.as_deref().into_iter().chain(wanted.id).collect();
    let table_of = |file: &ParquetFile| {
        let own = cells_of(file);
        let own_names: Vec<String> = own.iter().map(|leaf| leaf.name.clone()).collect();
        if own_names != names {
            let difference = difference(&names, &own_names).unwrap_or_else(|| "in another order here".to_owned());
            let problem = format!("must have the columns of {}: {difference}", first.display());
            return Err(DataError::format(file.path(), Place::File, problem));
        }
        // A model from before moments were read as days knows the numbers that are stored.
        let stored = |leaf: &parquet::Leaf| match wanted.known.get(&leaf.name) {
            Some(ColumnKind::Number(notation)) => leaf.is_date() && !notation.dates,
            _ => false,
        };
        let leaves: Vec<_> = own.into_iter().map(|leaf| if stored(&leaf) { leaf.stored() } else { leaf }).collect();
        let table = file.table_with(&leaves, &special)?;
        Ok(RawTable { left_out: file.left_out(), ..table })
    };
    let mut tables = vec![table_of(&file)?];
    // Of several files that cannot be read, the first is named.
    let read = others.par_iter().with_max_len(1).map(|path| table_of(&ParquetFile::open(path)?));
    let read: Vec<Result<RawTable>> = read.collect();
    read.into_iter().try_for_each(|table| table.map(|table| tables.push(table)))?;
    let table = parquet::stacked(tables).unwrap_or_default();
    if table.rows == 0 {
        return Err(DataError::format(&table.path, Place::File, "has no rows"));
    }
    let named = |id: &&str| wanted.label_needed || table.position(id).is_ok();
    let id = wanted.id.filter(named).map(str::to_owned);
    let mut part = TablePart::of(table, label_name, id, wanted.known)?;
    if let Some(label) = &mut part.label {
        parquet::name_levels(&mut label.levels, class_names.as_deref());
    }
    Ok(part)
}

/// The columns of a file that can stand in a table.
fn cells_of(file: &ParquetFile) -> Vec<parquet::Leaf> {
    file.leaves().into_iter().filter(parquet::Leaf::is_cell).collect()
}
