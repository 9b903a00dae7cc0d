//! Labels beside a probability file: numbers or names, and which class each one is.

use rayon::prelude::*;
use std::collections::{HashMap, HashSet};
use tares_core::Label;
use tares_core::estimate::NO_LABEL;

/// What labels that are true or false are called.
pub(super) const FALSE: &str = "false";
pub(super) const TRUE: &str = "true";

/// Labels as a file has them; [`NO_LABEL`] where a row has none.
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
            Self::Numbers(labels) => different(labels).iter().map(Label::to_string).collect(),
            Self::Names { levels, .. } => {
                let mut names = levels.clone();
                sort_classes(&mut names);
                names
            }
        }
    }

    /// Labels by name: numbers if all of them are.
    pub(super) fn of_names((codes, levels): (Vec<u32>, Vec<String>)) -> Self {
        let numbers: Option<Vec<Label>> = levels.iter().map(|level| level.parse().ok()).collect();
        // `007` is a name: the class 7 is called otherwise.
        let numbers =
            numbers.filter(|numbers| numbers.iter().zip(&levels).all(|(number, level)| number.to_string() == *level));
        let code = |code: u32, numbers: &[Label]| numbers.get(code as usize).copied().unwrap_or(NO_LABEL);
        match numbers {
            Some(numbers) => Self::Numbers(codes.iter().map(|&at| code(at, &numbers)).collect()),
            None => Self::Names { codes, levels },
        }
    }

    /// The different names, and the rows of each.
    pub(super) fn counts(&self) -> Vec<(String, usize)> {
        let (codes, levels) = self.clone().into_names();
        let mut counts = vec![0usize; levels.len()];
        codes.iter().for_each(|&code| counts.get_mut(code as usize).into_iter().for_each(|count| *count += 1));
        levels.into_iter().zip(counts).collect()
    }

    /// The class of every row, where it is known which class each name means.
    ///
    /// # Errors
    /// A name that is not known, with its row.
    pub(super) fn placed(self, places: &HashMap<String, Label>) -> Result<Vec<Label>, (usize, String)> {
        let (codes, levels) = self.into_names();
        let known: Vec<Option<Label>> = levels.iter().map(|name| places.get(name).copied()).collect();
        let label = |(row, code): (usize, u32)| match code {
            NO_LABEL => Ok(NO_LABEL),
            code => known[code as usize].ok_or_else(|| {
                let name = &levels[code as usize];
                (row, format!("label '{name}' was not there when the labels were counted"))
            }),
        };
        codes.into_iter().enumerate().map(label).collect()
    }

    /// Makes room for the labels of more rows, as far as there is memory: a list that grows is copied, and held twice.
    pub(super) fn reserve(&mut self, rows: usize) {
        // What a file claims may be absurd.
        let _ = match self {
            Self::Numbers(labels) => labels.try_reserve(rows.min(MOST_RESERVED)),
            Self::Names { codes, .. } => codes.try_reserve(rows.min(MOST_RESERVED)),
        };
    }

    /// Appends the labels of more rows.
    pub(super) fn append(&mut self, more: Self) {
        match (&mut *self, more) {
            (Self::Numbers(labels), Self::Numbers(more)) => labels.extend(more),
            (_, more) => {
                let (mut codes, mut levels) = std::mem::replace(self, Self::Numbers(Vec::new())).into_names();
                let (more_codes, more_levels) = more.into_names();
                let mut places: HashMap<String, u32> = levels.iter().cloned().zip(0..).collect();
                let place = |name: String| {
                    *places.entry(name).or_insert_with_key(|name| {
                        levels.push(name.clone());
                        levels.len() as u32 - 1
                    })
                };
                let moved: Vec<u32> = more_levels.into_iter().map(place).collect();
                codes.extend(more_codes.into_iter().map(|code| moved.get(code as usize).copied().unwrap_or(NO_LABEL)));
                *self = Self::Names { codes, levels };
            }
        }
    }

    /// Codes and names, also of numbers.
    fn into_names(self) -> (Vec<u32>, Vec<String>) {
        match self {
            Self::Names { codes, levels } => (codes, levels),
            Self::Numbers(labels) => {
                let different = different(&labels);
                let names = different.iter().map(Label::to_string).collect();
                // Numbers that count from 0 are their own codes.
                if different.iter().zip(0..).all(|(&label, code)| label == code) {
                    return (labels, names);
                }
                let code: HashMap<Label, u32> = different.iter().copied().zip(0..).collect();
                let codes = labels.iter().map(|label| code.get(label).copied().unwrap_or(NO_LABEL)).collect();
                (codes, names)
            }
        }
    }

    /// The class of every row: by name where all labels are names of classes; else numbers count classes from 0.
    ///
    /// # Errors
    /// A label that is neither, with its row.
    pub fn classes(self, classes: &[String]) -> Result<Vec<Label>, (usize, String)> {
        let place: HashMap<&str, Label> = classes.iter().map(String::as_str).zip(0..).collect();
        let unknown = |row: usize, label: &str| {
            let shown: Vec<String> = classes.iter().take(8).map(|class| format!("'{class}'")).collect();
            let more = if classes.len() > 8 { ", …" } else { "" };
            (row, format!("label '{label}' is not one of the {} classes ({}{more})", classes.len(), shown.join(", ")))
        };
        match self {
            Self::Names { codes, levels } => {
                let known: Vec<Option<Label>> = levels.iter().map(|name| place.get(name.as_str()).copied()).collect();
                let label = |(row, code): (usize, u32)| match code {
                    NO_LABEL => Ok(NO_LABEL),
                    code => known[code as usize].ok_or_else(|| unknown(row, &levels[code as usize])),
                };
                codes.into_iter().enumerate().map(label).collect()
            }
            Self::Numbers(labels) => {
                let most = labels.iter().copied().filter(|&label| label != NO_LABEL).max().unwrap_or(0);
                // Of every number once: there may be millions of rows.
                let class = |label: Label| (label, place.get(label.to_string().as_str()).copied());
                let named: HashMap<Label, Option<Label>> = different(&labels).into_iter().map(class).collect();
                if named.iter().all(|(&label, &class)| class == Some(label)) {
                    return Ok(labels);
                }
                if named.values().all(Option::is_some) {
                    let class = |label: Label| named.get(&label).copied().flatten().unwrap_or(NO_LABEL);
                    return Ok(labels.into_iter().map(class).collect());
                }
                if (most as usize) < classes.len() {
                    return Ok(labels);
                }
                let row = labels.iter().position(|label| *label == most).unwrap_or(0);
                Err(unknown(row, &most.to_string()))
            }
        }
    }
}

/// No more labels than this are reserved on a file's word.
const MOST_RESERVED: usize = 1 << 30;

/// The different numbers, ascending. Most labels are small: those are marked, not hashed.
fn different(labels: &[Label]) -> Vec<Label> {
    // Up to 64 classes, a bit each.
    let mark = |(marks, most): (u64, Label), &label: &Label| (marks | 1u64.wrapping_shl(label), most.max(label));
    let join = |a: (u64, Label), b: (u64, Label)| (a.0 | b.0, a.1.max(b.1));
    let parts = labels.par_chunks(1 << 16).map(|part| part.iter().fold((0, 0), mark));
    let (marks, most) = parts.reduce(|| (0, 0), join);
    if most < u64::BITS {
        return (0..u64::BITS).filter(|label| marks >> label & 1 == 1).collect();
    }
    const SMALL: usize = 1 << 16;
    let (mut small, mut large) = (vec![false; SMALL], HashSet::new());
    for &label in labels {
        match small.get_mut(label as usize) {
            Some(mark) => *mark = true,
            None => _ = large.insert(label),
        }
    }
    large.remove(&NO_LABEL);
    let mut large: Vec<Label> = large.into_iter().collect();
    large.sort_unstable();
    (0..).zip(small).filter(|(_, mark)| *mark).map(|(label, _)| label).chain(large).collect()
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
        assert_eq!(numbers.clone().classes(&owned(&["1", "2", "3"])), Ok(vec![0, 1, 0]));
        assert_eq!(numbers.clone().classes(&owned(&["0", "1", "2"])), Ok(vec![1, 2, 1]));
        assert_eq!(numbers.classes(&owned(&["cat", "cow", "dog"])), Ok(vec![1, 2, 1]));
        let (row, said) = LabelList::Numbers(vec![0, 2]).classes(&owned(&["cat", "dog"])).unwrap_err();
        assert!(row == 1 && said.contains("label '2'"), "{said}");
    }

    #[test]
    fn labels_of_several_files_are_one_list() {
        let mut list = LabelList::Numbers(vec![7, NO_LABEL]);
        list.append(LabelList::Numbers(vec![9]));
        assert_eq!(list, LabelList::Numbers(vec![7, NO_LABEL, 9]));
        list.append(names(&["cat", "7"]));
        assert_eq!(list.clone().classes(&owned(&["7", "9", "cat"])), Ok(vec![0, NO_LABEL, 1, 2, 0]));
        assert_eq!(list.names(), ["7", "9", "cat"]);
    }

    #[test]
    fn names_are_in_the_order_of_classes() {
        assert_eq!(names(&["10", "9", "-1"]).names(), ["-1", "9", "10"]);
        assert_eq!(names(&["dog", "cat"]).names(), ["cat", "dog"]);
    }
}
