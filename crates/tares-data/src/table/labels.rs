//! [`LabelColumn`]: the label of every row as text → classes and their numbers.

use crate::error::{DataError, Place, Result};
use crate::table::columns::MISSING;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use tares_core::{Error, Label};

/// More different numbers than this in a label column are looked at twice: are they a quantity?
const MOST_NUMBERS: usize = 20;

/// Whole numbers far apart with fewer rows each than this are a quantity.
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
}

impl LabelColumn {
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
        let mut rows = vec![0; self.levels.len()];
        self.codes.iter().filter(|&&code| code != MISSING).for_each(|&code| rows[code as usize] += 1);
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
        let class: HashMap<&str, Label> =
            class_names.iter().enumerate().map(|(class, name)| (name.as_str(), class as Label)).collect();
        let label_of: Vec<Option<Label>> = self.levels.iter().map(|level| class.get(level.as_str()).copied()).collect();
        let label = |(row, &code): (usize, &u32)| match code {
            MISSING => Ok(None),
            code => label_of[code as usize].map(Some).ok_or_else(|| {
                let (label, classes) = (&self.levels[code as usize], class_names.len());
                let problem = format!("label \"{label}\" is not one of the {classes} classes");
                DataError::format(path, place(row), problem)
            }),
        };
        self.codes.iter().enumerate().map(label).collect()
    }

    /// Refuses what cannot be classes, and says what a careful person should look at.
    ///
    /// # Errors
    /// Fewer than two classes; nearly as many classes as rows; numbers that measure something.
    pub fn check(&self, path: &Path) -> Result<Vec<String>> {
        let counts = self.counts();
        let (classes, rows) = (counts.len(), counts.values().sum::<usize>());
        let what = || format!("classes of label column \"{}\"", self.name);
        let refused = match classes {
            0 | 1 => Some(Error::value(what(), "at least 2", classes)),
            _ if rows >= 20 && classes * 2 > rows => {
                let got = format!("{classes} in {rows} rows");
                Some(Error::value(what(), "fewer than half of the rows (is it the label?)", got))
            }
            _ => None,
        };
        if let Some(error) = refused {
            return Err(DataError::content(path, error));
        }
        let mut notes = Vec::new();
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
        notes.extend(self.spellings(&counts));
        Ok(notes)
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
            let rows = |count| if count == 1 { "1 row".to_owned() } else { format!("{count} rows") };
            let names: Vec<String> =
                names.iter().map(|(name, count)| format!("\"{name}\" ({})", rows(*count))).collect();
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
        let span = last - first + 1.0;
        let rows: usize = counts.values().sum();
        if span > 2.0 * numbers.len() as f64 && rows < FEW_ROWS * numbers.len() {
            return Self::Quantity(last.to_string());
        }
        let counted = (first == 0.0 || first == 1.0) && span == numbers.len() as f64;
        if counted { Self::None } else { Self::Many }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(cells: &[&str]) -> LabelColumn {
        let mut dictionary = crate::table::columns::Dictionary::default();
        cells.iter().for_each(|cell| if cell.is_empty() { dictionary.push_missing() } else { dictionary.push(cell) });
        let (codes, levels) = dictionary.into_parts();
        LabelColumn { name: "y".into(), codes, levels }
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
