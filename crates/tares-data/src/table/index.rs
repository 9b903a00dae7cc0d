//! Columns that only number the rows: what pandas writes without `index=False`, and ids. They would show a model the order of the
//! file, which is no property of a row, and which tells the label where a file is sorted by it.

use crate::table::columns::{Column, LeftOut, RawTable, Values};

/// Fewer rows than this can count up by chance.
const MOST_BY_CHANCE: usize = 10;
/// Names of columns that number or name rows.
const NAMES: [&str; 14] = [
    "id",
    "ids",
    "idx",
    "index",
    "key",
    "level_0",
    "no",
    "nr",
    "number",
    "row",
    "rowid",
    "rownum",
    "row number",
    "row no",
];

/// Takes index columns out of a table.
///
/// - `__index_level_0__`, `__index_level_1__`, …: always, pandas says what they are;
/// - a column without a name, or called `Unnamed: 0`: if it holds whole numbers and no two are alike;
/// - `index` and `level_0`: if it counts 0, 1, 2, … or 1, 2, 3, …;
/// - any name of an id (`id`, `nr`, `row`, `customer_id`, …): if it holds whole numbers that rise or fall from every row to the next.
///
/// A column of another name that rises or falls so stays, since it may be a time or a dose, and is pointed out.
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
        } else if table.rows >= MOST_BY_CHANCE && names_rows(name) && rises_or_falls(&column) {
            Some("named like an id, with a number that rises or falls from every row to the next")
        } else {
            None
        };
        match why {
            Some(why) => table.left_out.push(LeftOut { name: column.name, why: why.into() }),
            None => {
                if table.rows >= MOST_BY_CHANCE && rises_or_falls(&column) {
                    let what =
                        if counts(&column) { "counts the rows" } else { "rises or falls from every row to the next" };
                    table.notes.push(format!(
                        "column \"{name}\" {what} and is used as a feature: if it only names the rows, say so with --id-column"
                    ));
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

/// Whether a column is called like an id: `nr`, `Row`, `customer_id`, `PassengerId`.
fn names_rows(name: &str) -> bool {
    let small = name.trim().to_lowercase().replace(['_', '-', '.'], " ");
    let before_id = name.strip_suffix("Id").or_else(|| name.strip_suffix("ID"));
    let is_camel = before_id.is_some_and(|before| before.ends_with(char::is_lowercase));
    is_camel || small.ends_with(" id") || NAMES.iter().any(|known| known.replace('_', " ") == small)
}

/// Whether a column holds whole numbers, each above the one before or each below it.
fn rises_or_falls(column: &Column) -> bool {
    let Values::Numbers(numbers) = &column.values else { return false };
    numbers.iter().all(|number| number.fract() == 0.0)
        && (numbers.is_sorted_by(|a, b| a < b) || numbers.is_sorted_by(|a, b| a > b))
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
    fn ids_with_gaps_are_left_out_and_other_rising_columns_are_pointed_out() {
        let rising = |step: usize| (0..12).map(|row| (1000 + step * row + row / 5) as f64).collect::<Vec<_>>();
        let falling: Vec<f64> = rising(2).into_iter().rev().collect();
        let mut drawn = rising(1);
        drawn.swap(2, 9);
        let halves = rising(1).into_iter().map(|number| number + 0.5).collect();
        let mut table = table(vec![
            ("Id", rising(1)),
            ("customer_id", falling.clone()),
            ("PassengerId", rising(7)),
            ("time", rising(3)),
            ("dose", falling),
            ("id", drawn),
            ("nr", halves),
            ("paid", rising(1)),
        ]);
        take_out(&mut table);
        assert_eq!(names(&table), ["time", "dose", "id", "nr", "paid"]);
        let pointed_out: Vec<&str> = table.notes.iter().filter_map(|note| note.split('"').nth(1)).collect();
        assert_eq!(pointed_out, ["time", "dose", "paid"]);
        assert!(table.notes.iter().all(|note| note.contains("--id-column")), "{:?}", table.notes);
    }

    #[test]
    fn few_rows_that_count_are_no_reason_for_a_word() {
        let mut few = table(vec![("a", vec![1.0, 2.0, 3.0])]);
        take_out(&mut few);
        assert_eq!((names(&few), few.notes.len()), (vec!["a"], 0));
    }
}
