//! [`LabelColumn`]: the label of every row as text → classes and their numbers.

use crate::error::{DataError, Place, Result};
use crate::table::columns::{CLASS_WORDS, MISSING, is_missing, is_no_label};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tares_core::{Error, Label};

/// Rows that one thread looks at before another may help: fewer are not worth the call.
const NEAR: usize = 1 << 15;

/// More different numbers than this in a label column are looked at twice: are they a quantity?
const MOST_NUMBERS: usize = 20;

/// Numbers that mostly have fewer rows than this are a quantity, unless they count the classes.
const FEW_ROWS: usize = 5;

/// Labels before they become numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LabelColumn {
    /// The column's name.
    pub name: String,
    /// One per row, into `levels`; [`MISSING`] where there is no label.
    pub codes: Vec<u32>,
    /// The different texts.
    pub levels: Vec<String>,
    /// Words that stand for "no label", and their rows.
    pub no_label: Vec<(String, usize)>,
}

impl LabelColumn {
    /// A column as a file has it. Of the words for "no value" only those that programs write mean "no label"; the others are classes.
    pub fn of(name: impl Into<String>, mut codes: Vec<u32>, levels: Vec<String>) -> Self {
        let mut rows: Vec<Option<usize>> = levels.iter().map(|level| is_no_label(level).then_some(0)).collect();
        // Most columns have no such word, and then no row is looked at.
        if rows.iter().any(Option::is_some) {
            for code in &mut codes {
                if let Some(Some(rows)) = rows.get_mut(*code as usize) {
                    *rows += 1;
                    *code = MISSING;
                }
            }
        }
        let words = levels.iter().zip(rows).filter_map(|(level, rows)| Some((level.clone(), rows?)));
        Self { name: name.into(), no_label: words.filter(|(_, rows)| *rows > 0).collect(), codes, levels }
    }

    /// The classes: whole numbers in order of size, anything else in alphabetical order.
    pub fn classes(&self) -> Vec<String> {
        let mut names: Vec<String> = self.counts().into_keys().map(str::to_owned).collect();
        names.sort_by(|a, b| match (a.parse::<i64>(), b.parse::<i64>()) {
            (Ok(x), Ok(y)) => x.cmp(&y).then_with(|| a.cmp(b)),
            (Ok(_), Err(_)) => std::cmp::Ordering::Less,
            (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
            (Err(_), Err(_)) => a.cmp(b),
        });
        names
    }

    /// Every text that is used, with its rows.
    fn counts(&self) -> BTreeMap<&str, usize> {
        let rows = count(&self.codes, self.levels.len());
        // Two codes may have one text, where numbers got names.
        let mut counts = BTreeMap::new();
        for (level, rows) in self.levels.iter().zip(rows).filter(|(_, rows)| *rows > 0) {
            *counts.entry(level.as_str()).or_default() += rows;
        }
        counts
    }

    /// The number of every row's class.
    ///
    /// # Errors
    /// A row without a label; a label that is no class. `place` says where a row is.
    pub fn labels(&self, path: &Path, class_names: &[String], place: &dyn Fn(usize) -> Place) -> Result<Vec<Label>> {
        let labels = self.labels_if_any(path, class_names, place)?;
        let label = |(row, label): (usize, &Option<Label>)| {
            label.ok_or_else(|| {
                let others = self.codes.iter().filter(|&&code| code == MISSING).count() - 1;
                let problem = format!("has no label ({others} more rows have none): label it or remove it");
                DataError::format(path, place(row), problem)
            })
        };
        labels.iter().enumerate().map(label).collect()
    }

    /// The same where rows may have no label.
    ///
    /// # Errors
    /// A label that is no class.
    pub fn labels_if_any(
        &self,
        path: &Path,
        class_names: &[String],
        place: &dyn Fn(usize) -> Place,
    ) -> Result<Vec<Option<Label>>> {
        let label_of = self.label_of_levels(path, class_names, place)?;
        let label = |&code: &u32| if code == MISSING { None } else { label_of[code as usize] };
        Ok(self.codes.par_iter().with_min_len(NEAR).map(label).collect())
    }

    /// The number of every row's class, 0 where there is no label, and the rows that have one.
    ///
    /// # Errors
    /// A label that is no class.
    pub fn numbered(
        &self,
        path: &Path,
        class_names: &[String],
        place: &dyn Fn(usize) -> Place,
    ) -> Result<(Vec<Label>, Vec<usize>)> {
        let label_of = self.label_of_levels(path, class_names, place)?;
        let label = |code: u32| if code == MISSING { None } else { label_of[code as usize] };
        let labels = self.codes.par_iter().with_min_len(NEAR).map(|&code| label(code).unwrap_or_default()).collect();
        // Nearly always every row has a label: then the list need not grow row by row.
        let complete = label_of.iter().all(Option::is_some) && !self.codes.contains(&MISSING);
        let labelled = match complete {
            true => (0..self.codes.len()).collect(),
            false => (0..self.codes.len()).filter(|&row| label(self.codes[row]).is_some()).collect(),
        };
        Ok((labels, labelled))
    }

    /// The number of every level's class, if it has one.
    ///
    /// # Errors
    /// A row whose label is no class.
    fn label_of_levels(
        &self,
        path: &Path,
        class_names: &[String],
        place: &dyn Fn(usize) -> Place,
    ) -> Result<Vec<Option<Label>>> {
        let class: HashMap<&str, Label> =
            class_names.iter().enumerate().map(|(class, name)| (name.as_str(), class as Label)).collect();
        let label_of: Vec<Option<Label>> = self.levels.iter().map(|level| class.get(level.as_str()).copied()).collect();
        // A model that has no class called so was trained when the word meant "no label".
        let is_foreign = |(level, label): (&String, &Option<Label>)| label.is_none() && !is_missing(level);
        let foreign: Vec<bool> = self.levels.iter().zip(&label_of).map(is_foreign).collect();
        if foreign.contains(&true)
            && let Some(row) = self.codes.iter().position(|&code| code != MISSING && foreign[code as usize])
        {
            let (label, classes) = (&self.levels[self.codes[row] as usize], class_names.len());
            let problem = format!("label \"{label}\" is not one of the {classes} classes");
            return Err(DataError::format(path, place(row), problem));
        }
        Ok(label_of)
    }

    /// Refuses what cannot be classes, and says what a careful person should look at.
    ///
    /// # Errors
    /// Fewer than two classes; nearly as many classes as rows; numbers that measure something.
    pub fn check(&self, path: &Path) -> Result<Vec<String>> {
        let counts = self.counts();
        let (classes, rows) = (counts.len(), counts.values().sum::<usize>());
        let what = || format!("classes of label column \"{}\"", self.name);
        if classes < 2 {
            let without = self.no_label_words().map_or(String::new(), |words| format!(" ({words} read as no label)"));
            return Err(DataError::content(path, Error::value(what(), "at least 2", format!("{classes}{without}"))));
        }
        let mut notes = self.words(&counts);
        match Numbers::of(&counts) {
            Numbers::Quantity(example) => {
                let problem = format!(
                    "holds {classes} different numbers, such as {example}: a quantity, not classes. Cut it into ranges \
                     (low, middle, high) or name another label column; numbers that are classes can be written as words"
                );
                return Err(DataError::format(path, Place::Part(format!("label column \"{}\"", self.name)), problem));
            }
            Numbers::Many => notes.push(format!(
                "label column \"{}\": each of its {classes} different numbers is a class of its own; if they measure \
                 something, cut them into ranges first",
                self.name
            )),
            Numbers::None => {}
        }
        if rows >= 20 && classes * 2 > rows {
            let got = format!("{classes} in {rows} rows");
            let error = Error::value(what(), "fewer than half of the rows (is it the label?)", got);
            return Err(DataError::content(path, error));
        }
        notes.extend(self.spellings(&counts));
        Ok(notes)
    }

    /// What was made of words that may stand for "no value".
    fn words(&self, counts: &BTreeMap<&str, usize>) -> Vec<String> {
        let classes = counts.iter().filter(|(name, _)| CLASS_WORDS.contains(name));
        let classes: Vec<String> = classes.map(|(name, rows)| word_and_rows(name, *rows)).collect();
        let name = &self.name;
        let class = (!classes.is_empty()).then(|| {
            let (words, kind) = (classes.join(" and "), if classes.len() == 1 { "a class" } else { "classes" });
            format!("label column \"{name}\": {words} read as {kind}; a row without a label has an empty cell")
        });
        let none = self.no_label_words().map(|words| {
            format!(
                "label column \"{name}\": {words} read as no label; if that is a class, give it another name, such as \
                 \"not applicable\""
            )
        });
        class.into_iter().chain(none).collect()
    }

    /// The words that were taken for "no label", with their rows.
    fn no_label_words(&self) -> Option<String> {
        let words: Vec<String> = self.no_label.iter().map(|(word, rows)| word_and_rows(word, *rows)).collect();
        (!words.is_empty()).then(|| words.join(" and "))
    }

    /// Classes that differ only in capitals, spaces, hyphens or underscores.
    fn spellings(&self, counts: &BTreeMap<&str, usize>) -> Vec<String> {
        let mut alike: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
        for (&name, &rows) in counts {
            let words = name.to_lowercase().replace(['_', '-'], " ");
            let plain = words.split_whitespace().collect::<Vec<_>>().join(" ");
            // A name of signs only (`-` and `_`) is like no other.
            let plain = if plain.is_empty() { name.to_owned() } else { plain };
            alike.entry(plain).or_default().push((name, rows));
        }
        let sentence = |names: Vec<(&str, usize)>| {
            let names: Vec<String> = names.iter().map(|(name, rows)| word_and_rows(name, *rows)).collect();
            format!(
                "label column \"{}\": {} differ only in spelling; if they are one class, give them one name",
                self.name,
                names.join(" and ")
            )
        };
        // Signs count in numbers: -1 and 1 are two classes.
        let number = |names: &[(&str, usize)]| names.iter().all(|(name, _)| name.parse::<f64>().is_ok());
        alike.into_values().filter(|names| names.len() > 1 && !number(names)).map(sentence).collect()
    }
}

/// How often each of `levels` codes comes; [`MISSING`] is not counted.
fn count(codes: &[u32], levels: usize) -> Vec<usize> {
    let counted = |part: &[u32]| {
        let mut rows = vec![0; levels];
        part.iter().filter(|&&code| code != MISSING).for_each(|&code| rows[code as usize] += 1);
        rows
    };
    // Every part counts for itself, so parts must be much longer than there are levels.
    let parts = codes.par_chunks(NEAR.max(16 * levels)).map(counted);
    let add = |mut rows: Vec<usize>, more: Vec<usize>| {
        rows.iter_mut().zip(more).for_each(|(rows, more)| *rows += more);
        rows
    };
    parts.reduce_with(add).unwrap_or_else(|| vec![0; levels])
}

/// `"NA" (3 rows)`.
fn word_and_rows(word: &str, rows: usize) -> String {
    format!("\"{word}\" ({rows} {})", if rows == 1 { "row" } else { "rows" })
}

/// What the numbers of a label column look like.
enum Numbers {
    /// Few, or words among them, or 0, 1, 2, …: classes.
    None,
    /// Many whole numbers that may be classes.
    Many,
    /// A measurement; one of the numbers.
    Quantity(String),
}

impl Numbers {
    fn of(counts: &BTreeMap<&str, usize>) -> Self {
        let numbers: Option<Vec<f64>> = counts.keys().map(|name| name.parse().ok()).collect();
        let Some(mut numbers) = numbers.filter(|numbers| numbers.len() > MOST_NUMBERS) else { return Self::None };
        if let Some(name) = counts.keys().find(|name| name.parse::<f64>().is_ok_and(|number| number.fract() != 0.0)) {
            return Self::Quantity((*name).to_owned());
        }
        numbers.sort_by(f64::total_cmp);
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        // Classes are counted from 0 or 1, and some of the numbers may have no rows.
        let (span, classes) = (last - first + 1.0, numbers.len() as f64);
        let counted = (first == 0.0 || first == 1.0) && span <= 1.1 * classes;
        let rare = counts.values().filter(|rows| **rows < FEW_ROWS).count();
        if !counted && 2 * rare > numbers.len() {
            return Self::Quantity(last.to_string());
        }
        if counted && span == classes { Self::None } else { Self::Many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> LabelColumn {
        let mut dictionary = crate::table::columns::Dictionary::default();
        cells.iter().for_each(|cell| if cell.is_empty() { dictionary.push_missing() } else { dictionary.push(cell) });
        let (codes, levels) = dictionary.into_parts();
        LabelColumn::of("y", codes, levels)
    }

    fn checked(cells: impl IntoIterator<Item = String>) -> std::result::Result<Vec<String>, String> {
        let cells: Vec<String> = cells.into_iter().collect();
        let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        column(&cells).check(Path::new("t.csv")).map_err(|error| error.to_string())
    }

    #[test]
    fn classes_are_ordered_as_numbers_or_as_words() {
        assert_eq!(column(&["10", "9", "-1"]).classes(), ["-1", "9", "10"]);
        let mut unused = column(&["dog", "cat", ""]);
        unused.levels.push("never used".into());
        assert_eq!(unused.classes(), ["cat", "dog"]);
    }

    #[test]
    fn a_quantity_is_no_label() {
        let prices = checked((0..1200).map(|row| format!("{}.5", row % 560)));
        let said = prices.unwrap_err();
        assert!(
            said.starts_with("t.csv: label column \"y\": holds 560 different numbers, such as 0.5: a quantity"),
            "{said}"
        );
        assert!(checked((0..1200).map(|row| (137 * (row % 560)).to_string())).unwrap_err().contains("a quantity"));
        // 100 classes counted from 0, ten ratings in halves, and codes with many rows each are classes.
        assert_eq!(checked((0..1000).map(|row| (row % 100).to_string())), Ok(Vec::new()));
        assert_eq!(checked((0..1000).map(|row| (f64::from(row % 10) / 2.0).to_string())), Ok(Vec::new()));
        let codes = checked((0..1000).map(|row| (row % 30 * 1000).to_string())).unwrap();
        assert!(codes[0].contains("each of its 30 different numbers is a class of its own"), "{codes:?}");
        let ages = checked((0..1000).map(|row| (18 + row % 60).to_string())).unwrap();
        assert!(ages[0].contains("each of its 60 different numbers"), "{ages:?}");
        // 214 scores in 442 rows lie close together, and most have a row or two; a score of every row is no "label of too many classes".
        let scores = checked((0..442).map(|row| format!("{}.0", 25 + (row * 137) % 214 * 3 / 2)));
        assert!(scores.unwrap_err().contains("a quantity, not classes. Cut it into ranges"));
        assert!(checked((0..442).map(|row| format!("{}", f64::from(row) * 0.37))).unwrap_err().contains("a quantity"));
        // Few rows each, but counted from 1: classes.
        assert_eq!(checked((0..90).map(|row| (1 + row % 30).to_string())), Ok(Vec::new()));
        let ids = checked((0..90).map(|row| row.to_string())).unwrap_err();
        assert!(ids.contains("fewer than half of the rows (is it the label?), got 90 in 90 rows"), "{ids}");
    }

    #[test]
    fn words_that_people_call_classes_are_classes_and_those_that_programs_write_are_no_label() {
        let cells = ["None", "mild", "none", "N/A", "NA", "NA", "nan", ""];
        let column = column(&cells);
        assert_eq!(column.classes(), ["N/A", "None", "mild", "none"]);
        assert_eq!(column.codes.iter().filter(|code| **code == MISSING).count(), 4);
        let notes = column.check(Path::new("t.csv")).unwrap();
        let said = "label column \"y\": \"N/A\" (1 row) and \"None\" (1 row) and \"none\" (1 row) read as classes; a row without a \
                    label has an empty cell";
        assert_eq!(notes[0], said);
        assert!(
            notes[1].contains("\"NA\" (2 rows) and \"nan\" (1 row) read as no label; if that is a class"),
            "{notes:?}"
        );
        let alone = checked(["NA", "mild", "NA"].map(String::from)).unwrap_err();
        assert_eq!(
            alone,
            "t.csv: classes of label column \"y\" must be at least 2, got 1 (\"NA\" (2 rows) read as no label)"
        );
    }

    #[test]
    fn a_word_that_the_model_has_no_class_for_is_no_label() {
        let (names, place) = (["mild".to_owned(), "severe".to_owned()], |_| Place::File);
        let labels = column(&["None", "mild", "severe"]).labels_if_any(Path::new("t.csv"), &names, &place).unwrap();
        assert_eq!(labels, [None, Some(0), Some(1)]);
        assert!(column(&["other"]).labels_if_any(Path::new("t.csv"), &names, &place).is_err());
    }

    #[test]
    fn spellings_of_one_class_are_pointed_out() {
        let cells = ["Adelie", "adelie", "Adelie", "Gentoo", "king penguin", "King-penguin"].map(String::from);
        assert_eq!(
            checked(cells).unwrap(),
            [
                "label column \"y\": \"Adelie\" (2 rows) and \"adelie\" (1 row) differ only in spelling; if they are one \
                 class, give them one name",
                "label column \"y\": \"King-penguin\" (1 row) and \"king penguin\" (1 row) differ only in spelling; if \
                 they are one class, give them one name",
            ]
        );
        assert_eq!(checked(["-1", "1", "-", "_"].map(String::from)), Ok(Vec::new()));
    }

    #[test]
    fn a_missing_label_is_refused_or_left_open() {
        let column = column(&["a", "", "b"]);
        let names = column.classes();
        let place = |row| Place::Line(row as u64 + 2);
        let refused = column.labels(Path::new("t.csv"), &names, &place).unwrap_err().to_string();
        assert_eq!(refused, "t.csv: line 3: has no label (0 more rows have none): label it or remove it");
        assert_eq!(column.labels_if_any(Path::new("t.csv"), &names, &place).unwrap(), [Some(0), None, Some(1)]);
    }
}
