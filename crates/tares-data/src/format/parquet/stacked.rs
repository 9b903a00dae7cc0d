//! The tables of several files as one.

use crate::table::columns::{Dictionary, MISSING, RawTable, Values};
use rayon::prelude::*;

/// The rows of tables with the same columns, one table below the other; `None` without a table. A column of numbers and text is
/// text.
pub(crate) fn stacked(tables: Vec<RawTable>) -> Option<RawTable> {
    let rows = tables.iter().map(|table| table.rows).sum();
    let mut tables = tables.into_iter();
    let mut all = RawTable { rows, ..tables.next()? };
    if tables.len() == 0 {
        return Some(all);
    }
    let take =
        |column: &mut crate::table::Column| vec![std::mem::replace(&mut column.values, Values::Numbers(Vec::new()))];
    let mut columns: Vec<Vec<Values>> = all.columns.iter_mut().map(take).collect();
    for table in tables {
        columns.iter_mut().zip(table.columns).for_each(|(parts, column)| parts.push(column.values));
    }
    let columns = all.columns.par_iter_mut().zip(columns).with_max_len(1);
    columns.for_each(|(column, parts)| column.values = joined(parts));
    Some(all)
}

/// The cells of one column.
fn joined(parts: Vec<Values>) -> Values {
    let length = |part: &Values| match part {
        Values::Numbers(numbers) => numbers.len(),
        Values::Text { codes, .. } => codes.len(),
    };
    let rows = parts.iter().map(length).sum();
    if parts.iter().all(|part| matches!(part, Values::Numbers(_))) {
        let mut all = Vec::with_capacity(rows);
        for part in parts {
            if let Values::Numbers(numbers) = part {
                all.extend(numbers);
            }
        }
        return Values::Numbers(all);
    }
    let mut dictionary = Dictionary::default();
    dictionary.reserve(rows);
    for part in parts {
        let (codes, levels) = part.into_text();
        // Texts get their codes in the order of the rows; a text that no row has gets none.
        let mut known = vec![MISSING; levels.len()];
        for code in codes {
            match known.get_mut(code as usize) {
                None => dictionary.push_missing(),
                Some(known) => {
                    if *known == MISSING {
                        *known = dictionary.code(&levels[code as usize]);
                    }
                    dictionary.push_code(*known);
                }
            }
        }
    }
    dictionary.into_values()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Column;

    fn table(number: Values, text: Values) -> RawTable {
        RawTable { rows: 2, columns: vec![Column::new("a", number), Column::new("b", text)], ..RawTable::default() }
    }

    fn text(cells: [&str; 2]) -> Values {
        let mut dictionary = Dictionary::default();
        // Another table's first level has no row here.
        dictionary.code("unused");
        cells.iter().for_each(|cell| if cell.is_empty() { dictionary.push_missing() } else { dictionary.push(cell) });
        dictionary.into_values()
    }

    #[test]
    fn rows_follow_each_other_and_numbers_beside_text_are_text() {
        let numbers = |numbers: [f64; 2]| Values::Numbers(numbers.to_vec());
        let tables = vec![
            table(numbers([1.0, 2.5]), numbers([3.0, f64::NAN])),
            table(numbers([-4.0, 5.0]), text(["x", "3"])),
            table(numbers([6.0, 7.0]), text(["", "x"])),
        ];
        let all = stacked(tables).unwrap();
        assert_eq!((all.rows, all.columns.len()), (6, 2));
        assert_eq!(all.columns[0].values, Values::Numbers(vec![1.0, 2.5, -4.0, 5.0, 6.0, 7.0]));
        let levels = ["3", "x"].map(String::from).to_vec();
        assert_eq!(all.columns[1].values, Values::Text { codes: vec![0, MISSING, 1, 0, MISSING, 1], levels });
        assert_eq!(stacked(Vec::new()), None);
    }
}
