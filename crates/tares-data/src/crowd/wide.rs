//! Wide tables: a line per row, and a column per annotator.

use super::cells::Cells;
use super::{ALL_COLUMNS, CrowdAnswer, CrowdOptions, CrowdTable, ROW_NAMES, sorted};
use crate::error::Result;
use crate::table::columns::{Dictionary, MISSING};
use std::collections::HashSet;

pub(super) fn answers(cells: Cells, options: &CrowdOptions) -> Result<CrowdTable> {
    if let Some((name, _)) =
        [("--annotator", &options.annotator), ("--label", &options.label)].iter().find(|(_, typed)| typed.is_some())
    {
        return Err(cells.whole(format!("{name} is for long tables: in a wide one every column is an annotator")));
    }
    let row = match cells.wide {
        true => None,
        false => cells.find(options.row.as_deref(), &ROW_NAMES)?,
    };
    let columns = columns(&cells, row, options)?;
    let (rows, named) = match row.filter(|row| !columns.contains(row)) {
        Some(row) => (row_names(&cells, row)?, true),
        None => ((0..cells.len()).map(|row| row.to_string()).collect(), false),
    };
    let texts: Vec<_> = columns.iter().map(|&column| cells.text(column)).collect();
    let mut dictionary = Dictionary::default();
    texts.iter().flat_map(|(_, levels)| levels).for_each(|level| dictionary.push(level));
    let (codes, levels) = dictionary.into_parts();
    let (labels, order) = sorted(levels);
    let mut answers = Vec::with_capacity(cells.len() * columns.len());
    // Where the levels of each column begin among all.
    let starts: Vec<usize> = texts
        .iter()
        .scan(0, |sum, (_, levels)| {
            let start = *sum;
            *sum += levels.len();
            Some(start)
        })
        .collect();
    for line in 0..cells.len() {
        for (annotator, ((text, _), start)) in texts.iter().zip(&starts).enumerate() {
            if text[line] != MISSING {
                let label = order[codes[start + text[line] as usize] as usize];
                answers.push(CrowdAnswer { row: line as u32, annotator: annotator as u32, label });
            }
        }
    }
    let names = cells.names();
    let annotators = columns.iter().map(|&column| names[column].to_owned()).collect();
    let (truth, classes, notes) = (None, None, Vec::new());
    Ok(CrowdTable { path: cells.path.clone(), rows, named, annotators, labels, answers, truth, classes, notes })
}

fn columns(cells: &Cells, row: Option<usize>, options: &CrowdOptions) -> Result<Vec<usize>> {
    if options.wide.is_empty() || options.wide == [ALL_COLUMNS] {
        return Ok((0..cells.names().len()).filter(|&column| Some(column) != row).collect());
    }
    let mut columns = Vec::with_capacity(options.wide.len());
    for name in &options.wide {
        let column = cells.position(name)?;
        if columns.contains(&column) {
            return Err(cells.whole(format!("the annotator '{}' is named twice", cells.names()[column])));
        }
        columns.push(column);
    }
    Ok(columns)
}

fn row_names(cells: &Cells, column: usize) -> Result<Vec<String>> {
    let (codes, levels) = cells.text(column);
    let mut seen = HashSet::new();
    for (line, &code) in codes.iter().enumerate() {
        if code == MISSING {
            return Err(cells.at(line, format!("the row has no name in column '{}'", cells.names()[column])));
        }
        if !seen.insert(code) {
            let name = &levels[code as usize];
            return Err(cells.at(line, format!("row '{name}' is there twice; a wide table has one line per row")));
        }
    }
    Ok(codes.iter().map(|&code| levels[code as usize].clone()).collect())
}
