//! Columns of text that hold dates become columns of numbers, whatever the format of the file.

use super::{days, is_ambiguous};
use crate::table::columns::{Column, ColumnKind, RawTable, Values};
use crate::table::number::Notation;
use std::collections::HashMap;

/// Reads columns of dates as days since 1970. Columns that are `known` are read as they were in training.
pub(crate) fn read_dates(table: &mut RawTable, known: &HashMap<String, ColumnKind>) {
    let RawTable { columns, notes, .. } = table;
    for column in columns {
        let Values::Text { codes, levels } = &column.values else { continue };
        let notation = match known.get(&column.name) {
            Some(ColumnKind::Number(notation)) if notation.dates => Some(notation.clone()),
            Some(_) => continue,
            None => Notation::of_dates(codes, levels),
        };
        match notation.and_then(|notation| Some((notation.numbers(codes, levels).ok()?, notation))) {
            Some((numbers, notation)) => {
                if !known.contains_key(&column.name) {
                    notes.extend(notation.sentences(&column.name, codes, levels));
                }
                (column.values, column.notation) = (numbers, notation);
            }
            None if known.is_empty() => notes.extend(almost_dates(column, codes, levels)),
            None => {}
        }
    }
}

/// The note about a column of text that is nearly one of dates: most cells are, or would be in another notation.
fn almost_dates(column: &Column, codes: &[u32], levels: &[String]) -> Option<String> {
    let name = &column.name;
    let mostly = |is: &dyn Fn(&str) -> bool| -> Option<(usize, Option<&String>)> {
        let fits: Vec<bool> = levels.iter().map(|level| is(level)).collect();
        let (mut good, mut bad) = (0, 0);
        codes
            .iter()
            .filter_map(|&code| fits.get(code as usize))
            .for_each(|fit| *(if *fit { &mut good } else { &mut bad }) += 1);
        let odd = fits.iter().position(|fit| !fit).map(|code| &levels[code]);
        (good > bad).then_some((bad, odd))
    };
    if let Some((count, Some(odd))) = mostly(&|cell| days(cell).is_some()) {
        let cells = if count == 1 { "1 such cell".to_owned() } else { format!("{count} such cells") };
        return Some(format!("column \"{name}\" is read as text: \"{odd}\" is not a date ({cells})"));
    }
    mostly(&is_ambiguous)?;
    let example = levels.iter().find(|level| is_ambiguous(level))?;
    Some(format!(
        "column \"{name}\" is read as text: \"{example}\" looks like a date, but day and month may be either way round; write \
         dates as 2024-05-17"
    ))
}
