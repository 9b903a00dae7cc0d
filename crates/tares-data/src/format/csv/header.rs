//! The first line of a CSV file: whether it is a header, and the names of the columns.

use crate::error::{DataError, Place, Result};
use crate::table::columns::is_missing;
use std::collections::HashMap;
use std::path::Path;

/// A first line is a header if none of its cells is a number, or if its numbers count the columns (0, 1, 2, …), as in arrays
/// that were saved as CSV.
pub(super) fn looks_like_header(cells: &[&str], label: Option<&str>) -> bool {
    if label.is_some_and(|label| cells.iter().any(|cell| cell.trim() == label)) {
        return true;
    }
    let numbers: Vec<&str> = cells.iter().map(|cell| cell.trim()).filter(|cell| cell.parse::<f64>().is_ok()).collect();
    let counting_from =
        |start: usize| numbers.iter().enumerate().all(|(place, cell)| *cell == (start + place).to_string());
    match numbers.len() {
        0 => cells.iter().any(|cell| !is_missing(cell.trim())),
        1 | 2 => false,
        _ => counting_from(0) || counting_from(1),
    }
}

/// The names of the columns; one without a name is called `column 3`.
///
/// # Errors
/// Two columns of one name.
pub(super) fn names(cells: &[&str], path: &Path, line: u64) -> Result<Vec<String>> {
    let mut names = Vec::with_capacity(cells.len());
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (place, cell) in cells.iter().enumerate() {
        let name = match cell.trim() {
            "" => format!("column {}", place + 1),
            name => name.to_owned(),
        };
        if let Some(first) = seen.insert(name.clone(), place) {
            let problem = format!("columns {} and {} are both called \"{name}\"", first + 1, place + 1);
            return Err(DataError::format(path, Place::Line(line), problem));
        }
        names.push(name);
    }
    Ok(names)
}
