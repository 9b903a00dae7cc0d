//! Labels beside a probability file: numbers or names, and which class each one is.

use std::collections::{HashMap, HashSet};
use tares_core::Label;

/// Labels as a file has them.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelList {
    /// Whole numbers from 0 on.
    Numbers(Vec<Label>),
    /// Anything else, by name.
    Names {
        /// One per row, into `levels`.
        codes: Vec<u32>,
        /// The different names.
        levels: Vec<String>,
    },
}

impl LabelList {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(labels) => labels.len(),
            Self::Names { codes, .. } => codes.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The different names, in the order classes have: numbers by size, words by alphabet.
    pub(crate) fn names(&self) -> Vec<String> {
        match self {
            Self::Numbers(labels) => {
                let different: HashSet<Label> = labels.iter().copied().collect();
                let mut numbers: Vec<Label> = different.into_iter().collect();
                numbers.sort_unstable();
                numbers.iter().map(Label::to_string).collect()
            }
            Self::Names { levels, .. } => {
                let mut names = levels.clone();
                sort_classes(&mut names);
                names
            }
        }
    }

    /// The class of every row: by name where all labels are names of classes; else numbers count classes from 0.
    ///
    /// # Errors
    /// A label that is neither, with its row.
    pub fn classes(&self, classes: &[String]) -> Result<Vec<Label>, (usize, String)> {
        let place: HashMap<&str, Label> = classes.iter().map(String::as_str).zip(0..).collect();
        let unknown = |row: usize, label: &str| {
            let shown: Vec<String> = classes.iter().take(8).map(|class| format!("'{class}'")).collect();
            let more = if classes.len() > 8 { ", …" } else { "" };
            (row, format!("label '{label}' is not one of the {} classes ({}{more})", classes.len(), shown.join(", ")))
        };
        match self {
            Self::Names { codes, levels } => {
                let known: Vec<Option<Label>> = levels.iter().map(|name| place.get(name.as_str()).copied()).collect();
                let label = |(row, &code): (usize, &u32)| {
                    known[code as usize].ok_or_else(|| unknown(row, &levels[code as usize]))
                };
                codes.iter().enumerate().map(label).collect()
            }
            Self::Numbers(labels) => {
                let most = labels.iter().copied().max().unwrap_or(0);
                // Of every number once: there may be millions of rows.
                let mut named: HashMap<Label, Option<Label>> = HashMap::new();
                labels.iter().for_each(|&label| {
                    named.entry(label).or_insert_with(|| place.get(label.to_string().as_str()).copied());
                });
                if named.values().all(Option::is_some) {
                    return Ok(labels.iter().map(|label| named[label].unwrap_or_default()).collect());
                }
                if (most as usize) < classes.len() {
                    return Ok(labels.clone());
                }
                let row = labels.iter().position(|label| *label == most).unwrap_or(0);
                Err(unknown(row, &most.to_string()))
            }
        }
    }
}

/// The usual order of classes: numbers by size, then words by alphabet.
pub(crate) fn sort_classes(names: &mut [String]) {
    names.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => std::cmp::Ordering::Less,
        (Err(_), Ok(_)) => std::cmp::Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(cells: &[&str]) -> LabelList {
        let mut levels: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
        levels.sort();
        levels.dedup();
        let code = |cell: &&str| levels.iter().position(|level| level == cell).unwrap() as u32;
        LabelList::Names { codes: cells.iter().map(code).collect(), levels }
    }

    fn owned(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_the_classes_called_so() {
        assert_eq!(names(&["dog", "cat", "dog"]).classes(&owned(&["cat", "cow", "dog"])), Ok(vec![2, 0, 2]));
        let (row, said) = names(&["dog", "mouse"]).classes(&owned(&["cat", "dog"])).unwrap_err();
        assert_eq!((row, said.as_str()), (1, "label 'mouse' is not one of the 2 classes ('cat', 'dog')"));
    }

    /// Classes called 1, 2, 3: the label 1 is the first of them, as `tares corrupt` writes it.
    #[test]
    fn numbers_are_names_where_classes_are_called_so_and_positions_elsewhere() {
        let numbers = LabelList::Numbers(vec![1, 2, 1]);
        assert_eq!(numbers.classes(&owned(&["1", "2", "3"])), Ok(vec![0, 1, 0]));
        assert_eq!(numbers.classes(&owned(&["0", "1", "2"])), Ok(vec![1, 2, 1]));
        assert_eq!(numbers.classes(&owned(&["cat", "cow", "dog"])), Ok(vec![1, 2, 1]));
        let (row, said) = LabelList::Numbers(vec![0, 2]).classes(&owned(&["cat", "dog"])).unwrap_err();
        assert!(row == 1 && said.contains("label '2'"), "{said}");
    }

    #[test]
    fn names_are_in_the_order_of_classes() {
        assert_eq!(names(&["10", "9", "-1"]).names(), ["-1", "9", "10"]);
        assert_eq!(names(&["dog", "cat"]).names(), ["cat", "dog"]);
    }
}
