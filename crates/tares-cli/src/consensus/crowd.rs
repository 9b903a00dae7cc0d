//! [`Crowd`]: the answers, matched to the rows of the data and to its classes.

use crate::backbone::described::{load_described, say_backbone};
use crate::backbone::options::FeatureSource;
use crate::ui::failure::{Failure, Outcome};
use crate::ui::terminal::{Screen, plain};
use std::path::Path;
use tares_core::annotate::{Answer, Answers};
use tares_core::{Dataset, Label};
use tares_data::crowd::{CrowdOptions, CrowdTable};
use tares_data::probabilities::{ProbabilitySource, agree_classes, in_classes, read_truth};
use tares_data::{LoadOptions, Loaded, Reading};

/// Answers to the rows of one data set.
pub struct Crowd {
    /// Who answered what. Rows, annotators and classes are positions in the lists below.
    pub answers: Answers,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// The names of the annotators.
    pub annotators: Vec<String>,
    /// The names of the rows, if they have other names than their numbers.
    pub ids: Option<Vec<String>>,
    /// The data, if it was named.
    pub data: Option<(Dataset, Reading)>,
    /// The rows to show to people, where the data holds features in their place.
    pub shown: Option<Dataset>,
    /// The true labels, if they are known.
    pub truth: Option<Vec<Label>>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Crowd {
    /// Reads answers without data. If there are probabilities, their columns define the classes; they are returned opened.
    ///
    /// # Errors
    /// Answers that cannot be read or don't fit the probabilities.
    pub fn of_answers(
        source: &str,
        options: &CrowdOptions,
        probs: Option<&ProbabilitySource>,
        known: &[String],
    ) -> Outcome<Self> {
        let table = CrowdTable::read(source, options)?;
        let (classes, labels) = match (probs, known) {
            (_, [_, ..]) => (known.to_vec(), numbered(&table, known)?),
            (Some(probs), []) if table.classes.is_none() => {
                let agreed = agree_classes(table.label_list(), &table.path, probs)?;
                (agreed.classes, agreed.given)
            }
            _ => own_classes(&table)?,
        };
        let (places, rows) = match probs {
            Some(probs) => (table.places(probs.rows(), None)?, probs.rows()),
            None => table.own_places(),
        };
        let answers = gathered(&table, &places, rows, &classes, &labels)?;
        let mut ids = table.named.then(|| vec![String::new(); rows]);
        if let Some(ids) = &mut ids {
            (0..rows).for_each(|row| ids[row] = row.to_string());
            places.iter().zip(&table.rows).for_each(|(&place, name)| ids[place].clone_from(name));
        }
        let truth = table.truth.clone();
        let (annotators, notes) = (table.annotators, table.notes);
        Ok(Self { answers, classes, annotators, ids, data: None, shown: None, truth, notes })
    }

    /// The answers to the rows of `data`.
    ///
    /// # Errors
    /// Answers or data that cannot be read or don't fit each other.
    pub fn of_data(
        source: &str,
        options: &CrowdOptions,
        data: &str,
        load: &LoadOptions,
        features: &FeatureSource,
        known: &[String],
        screen: &Screen,
    ) -> Outcome<Self> {
        let table = CrowdTable::read(source, options)?;
        let (classes, labels) = match known {
            [] => own_classes(&table)?,
            known => (known.to_vec(), numbered(&table, known)?),
        };
        let mut load = load.clone().with(|load| {
            load.classes = Some(classes.clone());
            load.test_fraction = 0.0;
        });
        if same_file(source, data) {
            // The answers are columns of the data itself, and no judge may see them.
            load.ignore.extend(table.annotators.iter().cloned());
        }
        let (mut loaded, _) = load_described(data, &load, features, screen)?;
        if features.is_none() {
            say_backbone(&mut loaded, screen);
        }
        let rows = loaded.train.len();
        let id = |row: usize| loaded.train.id(row);
        let id: Option<&dyn Fn(usize) -> String> = if loaded.train.has_ids() { Some(&id) } else { None };
        let places = match same_file(source, data) {
            true if table.rows.len() == rows => (0..rows).collect(),
            _ => table.places(rows, id)?,
        };
        let answers = gathered(&table, &places, rows, &classes, &labels)?;
        let ids = loaded.train.has_ids().then(|| (0..rows).map(|row| loaded.train.id(row)).collect());
        let truth = table.truth.clone().filter(|truth| truth.len() == rows);
        let mut notes = table.notes;
        notes.extend(loaded.found.column_notes);
        Ok(Self {
            answers,
            classes,
            annotators: table.annotators,
            ids,
            data: Some((loaded.train, loaded.reading)),
            shown: loaded.shown,
            truth,
            notes,
        })
    }

    /// Matches a table of answers to data that was read already. Returns the answers to all rows of the source, test rows and
    /// rows without a label included, and the place of each row that the table names.
    ///
    /// # Errors
    /// Answers that cannot be read or don't fit the data and its classes.
    pub fn about(
        source: &str,
        options: &CrowdOptions,
        loaded: &Loaded,
        classes: &[String],
    ) -> Outcome<(Answers, Vec<usize>)> {
        let table = CrowdTable::read(source, options)?;
        let labels = numbered(&table, classes)?;
        let rows = all_rows(loaded);
        let parts = || {
            [Some(&loaded.train), loaded.test.as_ref().filter(|_| loaded.found.test_set_aside)].into_iter().flatten()
        };
        let mut names: Vec<String> = (0..rows).map(|row| row.to_string()).collect();
        for part in parts() {
            (0..part.len()).for_each(|row| names[part.stored(row)] = part.id(row));
        }
        let id = |row: usize| names[row].clone();
        let id: Option<&dyn Fn(usize) -> String> = if loaded.train.has_ids() { Some(&id) } else { None };
        let places = table.places(rows, id)?;
        Ok((gathered(&table, &places, rows, classes, &labels)?, places))
    }

    /// Reads the true labels.
    ///
    /// # Errors
    /// They cannot be read, are no classes, or are not one per row.
    pub fn read_truth(&mut self, path: &Path) -> Outcome<()> {
        let truth = in_classes(read_truth(path)?, path, &self.classes)?;
        if truth.len() != self.answers.rows() {
            return Err(Failure::new(format!(
                "{}: must have a true label for each of the {} rows, got {}",
                path.display(),
                self.answers.rows(),
                truth.len()
            )));
        }
        self.truth = Some(truth);
        Ok(())
    }

    /// The name of a row.
    pub fn row(&self, index: usize) -> String {
        self.ids.as_ref().map_or_else(|| index.to_string(), |ids| ids[index].clone())
    }

    /// Rows that nobody labelled.
    pub fn unanswered(&self) -> usize {
        (0..self.answers.rows()).filter(|&row| self.answers.of_row(row).is_empty()).count()
    }
}

/// How many rows the data has, with those set aside for testing and those without a label.
pub fn all_rows(loaded: &Loaded) -> usize {
    let aside = loaded.test.as_ref().filter(|_| loaded.found.test_set_aside);
    let parts = [Some(&loaded.train), aside, loaded.unlabelled.as_ref()].into_iter().flatten();
    let last = |part: &Dataset| (0..part.len()).map(|row| part.stored(row) + 1).max().unwrap_or(0);
    parts.map(last).max().unwrap_or(0).max(loaded.train.stored_rows())
}

/// Whether two paths are the same file.
fn same_file(one: &str, other: &str) -> bool {
    let real = |name: &str| std::fs::canonicalize(name).ok();
    real(one).is_some_and(|one| real(other) == Some(one))
}

/// The classes of the table itself, and the class of each of its labels.
fn own_classes(table: &CrowdTable) -> Outcome<(Vec<String>, Vec<Label>)> {
    let classes = table.classes.clone().unwrap_or_else(|| table.labels.clone());
    if let [only] = classes.as_slice() {
        return Err(Failure::new(format!(
            "{}: every answer is '{}': a consensus needs at least two classes",
            table.path.display(),
            plain(only)
        ))
        .way_out("name all classes with --classes, as in --classes no,yes"));
    }
    let labels = numbered(table, &classes)?;
    Ok((classes, labels))
}

/// The class of each label of the table.
fn numbered(table: &CrowdTable, classes: &[String]) -> Outcome<Vec<Label>> {
    if let Some((_, twice)) = classes.iter().enumerate().find(|(at, name)| classes[..*at].contains(name)) {
        return Err(Failure::new(format!("classes must be different from each other, got '{}' twice", plain(twice))));
    }
    let label = |name: &String| {
        classes.iter().position(|class| class == name).map(|class| class as Label).ok_or_else(|| {
            let shown: Vec<String> = classes.iter().take(8).map(|class| format!("'{}'", plain(class))).collect();
            let more = if classes.len() > 8 { ", …" } else { "" };
            Failure::new(format!(
                "{}: label '{}' is not one of the {} classes ({}{more})",
                table.path.display(),
                plain(name),
                classes.len(),
                shown.join(", ")
            ))
        })
    };
    table.labels.iter().map(label).collect()
}

fn gathered(
    table: &CrowdTable,
    places: &[usize],
    rows: usize,
    classes: &[String],
    labels: &[Label],
) -> Outcome<Answers> {
    let answer = |answer: &tares_data::crowd::CrowdAnswer| Answer {
        row: places[answer.row as usize],
        annotator: answer.annotator as usize,
        label: labels[answer.label as usize],
    };
    let answers: Vec<Answer> = table.answers.iter().map(answer).collect();
    Ok(Answers::new(rows, table.annotators.len(), classes.len(), &answers)?)
}
