//! Which row of the data each named row of a [`CrowdTable`] is.

use super::CrowdTable;
use crate::error::{DataError, Place, Result};
use std::collections::HashMap;

/// Rows named by numbers from 0 on are taken as numbered if at least this part of the numbers is there.
const LEAST_FILLED: f64 = 0.5;

impl CrowdTable {
    /// The place of every row when nothing but the table is known: its number, if rows are named by whole numbers from 0 on;
    /// otherwise its place in the order of first appearance. Also how many rows there are then.
    pub fn own_places(&self) -> (Vec<usize>, usize) {
        let in_order = || ((0..self.rows.len()).collect(), self.rows.len());
        let Some(numbers) = self.numbers() else { return in_order() };
        let (least, most) = (numbers.iter().min().copied(), numbers.iter().max().copied());
        match (least, most) {
            (Some(0), Some(most)) if self.rows.len() as f64 >= LEAST_FILLED * (most as f64 + 1.0) => {
                (numbers, most + 1)
            }
            _ => in_order(),
        }
    }

    /// The place of every row among `rows` rows of data; `id` gives the names of those rows, if they have names.
    ///
    /// # Errors
    /// A row of the table that the data does not have; two rows of the data with one name.
    pub fn places(&self, rows: usize, id: Option<&dyn Fn(usize) -> String>) -> Result<Vec<usize>> {
        if !self.named {
            return match self.rows.len() == rows {
                true => Ok((0..rows).collect()),
                false => {
                    let problem = format!("has {} rows, but the data has {rows}", self.rows.len());
                    Err(DataError::format(&self.path, Place::File, problem))
                }
            };
        }
        if let Some(id) = id {
            let mut known: HashMap<String, usize> = HashMap::with_capacity(rows);
            let mut twice = None;
            for row in 0..rows {
                if known.insert(id(row), row).is_some() {
                    twice = Some(id(row));
                }
            }
            let places: Option<Vec<usize>> = self.rows.iter().map(|name| known.get(name).copied()).collect();
            if let Some(places) = places {
                return match twice {
                    None => Ok(places),
                    Some(name) => {
                        let problem =
                            format!("two rows of the data are called '{name}', so the answers cannot be told apart");
                        Err(DataError::format(&self.path, Place::File, problem))
                    }
                };
            }
        }
        let numbers = self.numbers().filter(|numbers| numbers.iter().all(|&number| number < rows));
        numbers.ok_or_else(|| {
            let known = |name: &&String| (0..rows).any(|row| id.is_some_and(|id| id(row) == **name));
            let number = |name: &&String| name.parse::<usize>().is_ok_and(|number| number < rows);
            let unknown = self.rows.iter().find(|name| !known(name) && !number(name)).or(self.rows.first());
            let unknown = unknown.map_or("", String::as_str);
            let names = if id.is_some() { "neither the name of a row of the data nor" } else { "not" };
            let problem = format!("row '{unknown}' is {names} a row number in 0..{rows}");
            DataError::format(&self.path, Place::File, problem)
        })
    }

    /// The names of the rows as numbers, if all of them are.
    fn numbers(&self) -> Option<Vec<usize>> {
        let number = |name: &String| name.parse::<usize>().ok().filter(|number| number.to_string() == *name);
        self.rows.iter().map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&str]) -> CrowdTable {
        CrowdTable {
            path: "crowd.csv".into(),
            rows: rows.iter().map(|name| (*name).to_owned()).collect(),
            named: true,
            annotators: vec!["a".into()],
            labels: vec!["x".into(), "y".into()],
            answers: Vec::new(),
            truth: None,
            classes: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn numbers_from_0_are_places_and_other_names_are_in_order() {
        assert_eq!(table(&["3", "0", "2"]).own_places(), (vec![3, 0, 2], 4));
        assert_eq!(table(&["1", "2", "3"]).own_places(), (vec![0, 1, 2], 3));
        assert_eq!(table(&["0", "900"]).own_places(), (vec![0, 1], 2));
        assert_eq!(table(&["b", "0"]).own_places(), (vec![0, 1], 2));
    }

    #[test]
    fn rows_are_found_by_name_and_else_by_number() {
        let id = |row: usize| ["a", "b", "c"][row].to_owned();
        assert_eq!(table(&["c", "a"]).places(3, Some(&id)).unwrap(), [2, 0]);
        assert_eq!(table(&["1", "0"]).places(3, Some(&id)).unwrap(), [1, 0]);
        assert_eq!(table(&["1", "0"]).places(3, None).unwrap(), [1, 0]);
        let error = table(&["a", "d"]).places(3, Some(&id)).unwrap_err().to_string();
        assert_eq!(error, "crowd.csv: row 'd' is neither the name of a row of the data nor a row number in 0..3");
        let error = table(&["0", "3"]).places(3, None).unwrap_err().to_string();
        assert_eq!(error, "crowd.csv: row '3' is not a row number in 0..3");
        let same = |_: usize| "a".to_owned();
        assert!(table(&["a"]).places(2, Some(&same)).unwrap_err().to_string().contains("two rows of the data"));
    }
}
