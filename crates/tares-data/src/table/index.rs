//! Columns that only number the rows: what pandas writes without `index=False`. They would show a network the order of the
//! file, which is no property of a row.

use crate::table::columns::{Column, LeftOut, RawTable, Values};

/// Fewer rows than this can count up by chance.
const MOST_BY_CHANCE: usize = 10;

/// Takes index columns out of a table.
///
/// - `__index_level_0__`, `__index_level_1__`, …: always, pandas says what they are;
/// - a column without a name, or called `Unnamed: 0`: if it holds whole numbers and no two are alike;
/// - `index` and `level_0`: if it counts 0, 1, 2, … or 1, 2, 3, ….
///
/// A column of another name that counts so stays, and is pointed out.
pub(crate) fn take_out(table: &mut RawTable) {
    let mut kept = Vec::with_capacity(table.columns.len());
    for column in std::mem::take(&mut table.columns) {
        let name = column.name.as_str();
        let why = if name.starts_with("__index_level_") && name.ends_with("__") {
            Some("the index of a pandas table")
        } else if (column.unnamed || name.starts_with("Unnamed: ")) && numbers_rows(&column) {
            Some("the index of a pandas table: every row has another number")
        } else if ["index", "level_0"].contains(&name) && counts(&column) {
            Some("only counts the rows")
        } else {
            None
        };
        match why {
            Some(why) => table.left_out.push(LeftOut { name: column.name, why: why.into() }),
            None => {
                if table.rows >= MOST_BY_CHANCE && counts(&column) {
                    let note = format!(
                        "column \"{name}\" counts the rows and is used as a feature: if it only names them, say so (id column)"
                    );
                    table.notes.push(note);
                }
                kept.push(column);
            }
        }
    }
    table.columns = kept;
}

/// Whether a column counts 0, 1, 2, … or 1, 2, 3, ….
fn counts(column: &Column) -> bool {
    let Values::Numbers(numbers) = &column.values else { return false };
    let first = numbers.first().copied().unwrap_or(f64::NAN);
    (first == 0.0 || first == 1.0) && numbers.iter().enumerate().all(|(row, &number)| number == first + row as f64)
}

/// Whether a column holds whole numbers, no two alike.
fn numbers_rows(column: &Column) -> bool {
    let Values::Numbers(numbers) = &column.values else { return false };
    let mut sorted = numbers.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.iter().all(|number| number.fract() == 0.0) && sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: Vec<(&str, Vec<f64>)>) -> RawTable {
        let rows = columns[0].1.len();
        let columns = columns.into_iter().map(|(name, numbers)| Column::new(name, Values::Numbers(numbers))).collect();
        RawTable { columns, rows, ..RawTable::default() }
    }

    fn names(table: &RawTable) -> Vec<&str> {
        table.columns.iter().map(|column| column.name.as_str()).collect()
    }

    #[test]
    fn what_pandas_writes_as_an_index_is_left_out() {
        let count = |from: usize| (from..from + 12).map(|row| row as f64).collect::<Vec<_>>();
        let mut drawn = count(40);
        drawn.swap(0, 7);
        let mut table = table(vec![
            ("__index_level_0__", vec![3.0; 12]),
            ("Unnamed: 0", drawn.clone()),
            ("index", count(1)),
            ("level_0", drawn),
            ("Unnamed: 3", vec![1.0; 12]),
            ("step", count(0)),
            ("column 1", count(0)),
        ]);
        table.columns[6].unnamed = true;
        take_out(&mut table);
        assert_eq!(names(&table), ["level_0", "Unnamed: 3", "step"]);
        let left_out: Vec<&str> = table.left_out.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(left_out, ["__index_level_0__", "Unnamed: 0", "index", "column 1"]);
        assert_eq!(table.notes.len(), 1);
        assert!(table.notes[0].starts_with("column \"step\" counts the rows"), "{}", table.notes[0]);
    }

    #[test]
    fn few_rows_that_count_are_no_reason_for_a_word() {
        let mut few = table(vec![("a", vec![1.0, 2.0, 3.0])]);
        take_out(&mut few);
        assert_eq!((names(&few), few.notes.len()), (vec!["a"], 0));
    }
}
