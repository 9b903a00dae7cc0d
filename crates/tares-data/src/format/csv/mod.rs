//! CSV and TSV → [`RawTable`].
//!
//! The delimiter (comma, tab, semicolon, bar) is recognised by the file's name and first line. A column is a column of numbers
//! if every cell that has a value is a number in one [`Notation`](crate::table::Notation), otherwise text. A cell has no value
//! if it is empty or one of [`MISSING_WORDS`](crate::table::MISSING_WORDS). Without a header, columns are called `column 1`,
//! `column 2`, …. The text is UTF-8, or UTF-16 with a byte-order mark.

mod block;
mod blocks;
mod decimal;
mod delimiter;
mod header;
mod pass;
mod record;

use crate::error::Result;
use crate::io::Input;
use crate::table::columns::{ColumnKind, RawTable};
use pass::{Growing, Pass};
use std::collections::HashMap;

/// How to read a CSV file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CsvOptions {
    /// The label column, by name or `#number`.
    pub label: Option<String>,
    /// The column that names the rows.
    pub id: Option<String>,
    /// Whether the first line is a header; `None`: decided by the line itself.
    pub header: Option<bool>,
    /// False if the file may have no label and no id column at all (new rows to predict).
    pub label_needed: bool,
    /// What some columns hold, where new rows must be read like the training rows. Other columns are judged by their cells.
    pub known: HashMap<String, ColumnKind>,
}

/// The content of a CSV file.
#[derive(Clone, Debug, PartialEq)]
pub struct Csv {
    /// All columns; label and id columns are always text.
    pub table: RawTable,
    /// The name of the label column.
    pub label: Option<String>,
    /// The name of the id column.
    pub id: Option<String>,
    /// Whether the first line was a header.
    pub header: bool,
    /// The character between the cells.
    pub delimiter: u8,
}

/// Reads a CSV file. `open` is called again if a column of numbers turns out to be text further down.
///
/// # Errors
/// An empty file; a repeated column name; a row with more or fewer cells than the header; text that is neither UTF-8 nor marked
/// UTF-16; a number that is not finite; no label column.
pub fn read(open: &dyn Fn() -> Result<Input>, options: &CsvOptions) -> Result<Csv> {
    let mut as_text: Vec<bool> = Vec::new();
    loop {
        let mut pass = Pass::start(open()?, options, &as_text)?;
        pass.read_rows()?;
        let conflict = pass.columns.iter().any(|column| column.conflict);
        // In a file with decimal commas, `1.234` means 1234: read such a column again as text, then decide.
        let grouped = !conflict && pass.columns.iter().any(Growing::is_grouped) && pass.has_decimal_commas();
        if !conflict && !grouped {
            return Ok(pass.finish(options));
        }
        let is_text = |column: &Growing| column.is_text() || column.conflict || (grouped && column.is_grouped());
        as_text = pass.columns.iter().map(is_text).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::columns::Values;

    fn read_text(text: &str) -> Result<Csv> {
        read(
            &|| Input::from_bytes("t.csv", text.as_bytes().to_vec()),
            &CsvOptions { label_needed: true, ..CsvOptions::default() },
        )
    }

    fn column<'a>(csv: &'a Csv, name: &str) -> &'a Values {
        &csv.table.columns[csv.table.position(name).unwrap()].values
    }

    #[test]
    fn cells_stay_in_their_row_and_column() {
        let csv = read_text("a,b,label\n1,2,x\n3,7.5,y\n").unwrap();
        assert_eq!(column(&csv, "b"), &Values::Numbers(vec![2.0, 7.5]));
        assert_eq!(column(&csv, "a"), &Values::Numbers(vec![1.0, 3.0]));
        assert_eq!(csv.label.as_deref(), Some("label"));
    }

    #[test]
    fn a_column_that_turns_to_text_late_is_text_from_the_start() {
        let csv = read_text("a,label\n1,x\n2,x\nthree,y\n").unwrap();
        let levels = ["1", "2", "three"].map(String::from).to_vec();
        assert_eq!(column(&csv, "a"), &Values::Text { codes: vec![0, 1, 2], levels });
    }

    #[test]
    fn quotes_delimiters_and_byte_order_marks_are_understood() {
        let csv = read_text("\u{feff}a;b;label\n\"1\";\"x;y\";\"said \"\"no\"\"\"\n2;z;q\n").unwrap();
        assert_eq!(csv.table.columns[0].name, "a");
        assert_eq!(column(&csv, "b"), &Values::Text { codes: vec![0, 1], levels: vec!["x;y".into(), "z".into()] });
        assert_eq!(column(&csv, "label").clone().into_text().1[0], "said \"no\"");
    }

    #[test]
    fn a_first_line_with_numbers_is_data_unless_it_counts() {
        let csv = read_text("1.5,2,a\n3,4,b\n").unwrap();
        assert_eq!((csv.header, csv.label.as_deref()), (false, Some("column 3")));
        assert_eq!(column(&csv, "column 1"), &Values::Numbers(vec![1.5, 3.0]));
        assert!(read_text("0,1,2,label\n5,6,7,a\n8,9,1,b\n").unwrap().header);
    }

    #[test]
    fn missing_words_are_missing() {
        let csv = read_text("a,c,label\n1,red,x\n,?,y\nNA, blue ,x\n").unwrap();
        assert_eq!(column(&csv, "a").missing(), 2);
        assert_eq!(column(&csv, "c").missing(), 1);
    }

    /// A file of many blocks: numbers of all kinds, quoted line ends, missing cells, blank lines, words and names. And the line
    /// on which each row begins.
    fn long_text(rows: usize) -> (String, Vec<u64>) {
        let mut stream = tares_core::stream(3, "long text");
        let mut text = String::from("a,b,words,name,label\n");
        let (mut line, mut lines) = (2, Vec::new());
        for row in 0..rows {
            let a = format!("{:.6}", stream.normal());
            let b = match stream.below(8) {
                0 => "NA".to_owned(),
                1 => format!("{:e}", stream.normal()),
                2 => format!("\"{}\"", stream.below(1000)),
                _ => stream.below(100_000).to_string(),
            };
            let words = ["red", " blue", "\"said \"\"no\"\"\"", "\"two\nlines, one cell\"", ""][stream.below(5)];
            let end = ["\n", "\r\n", "\n\n", "\r"][stream.below(4)];
            let record = format!("{a},{b},{words},row {row},class {}{end}", stream.below(3));
            lines.push(line);
            line += record.matches('\n').count() as u64;
            text.push_str(&record);
        }
        (text, lines)
    }

    #[test]
    fn many_blocks_give_what_the_csv_crate_gives_on_any_number_of_cores() {
        let (text, lines) = long_text(30_000);
        for cores in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build().unwrap();
            let table = pool.install(|| read_text(&text)).unwrap().table;
            let mut reader = ::csv::Reader::from_reader(text.as_bytes());
            for (row, record) in reader.records().map(std::result::Result::unwrap).enumerate() {
                for (cell, column) in record.iter().map(str::trim).zip(&table.columns) {
                    match &column.values {
                        Values::Numbers(numbers) => {
                            let number: f64 = cell.parse().unwrap_or(f64::NAN);
                            assert_eq!(numbers[row].to_bits(), number.to_bits(), "{cell}");
                        }
                        Values::Text { codes, levels } => {
                            assert_eq!(levels.get(codes[row] as usize).map_or("", String::as_str), cell);
                        }
                    }
                }
            }
            let said: Vec<u64> = (0..table.rows).map(|row| table.lines.as_ref().unwrap().of(row)).collect();
            assert_eq!(said, lines);
        }
    }

    #[test]
    fn far_down_the_line_is_right_and_the_first_fault_counts() {
        let (good, _) = long_text(20_000);
        let good = format!("{}\n", good.trim_end());
        let line = 1 + good.matches('\n').count();
        let cases = [
            ("1,2,3\n", format!("line {line}: 3 cells, but the first line has 5")),
            ("1,inf,x,y,z\n", format!("line {line}: column \"b\" must hold finite numbers, got inf")),
            // In one row the count is what is wrong; of two rows, the first.
            ("1,inf,x,y\n", format!("line {line}: 4 cells, but the first line has 5")),
            ("1,inf,x,y,z\n1\n", format!("line {line}: column \"b\" must hold finite numbers, got inf")),
            ("1,2,x,y,\"z\nz\"\n1\n", format!("line {}: 1 cells, but the first line has 5", line + 2)),
        ];
        for (bad, message) in cases {
            let text = format!("{good}{bad}{}", good.split_once('\n').unwrap().1);
            assert_eq!(read_text(&text).unwrap_err().to_string(), format!("t.csv: {message}"));
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_text_among_text() {
        let mut text = String::from("a,label\n");
        (0..50_000).for_each(|row| text.push_str(&format!("{row},{}\n", row % 2)));
        let late = format!("{text}inf,1\nword,0\n");
        assert_eq!(column(&read_text(&late).unwrap(), "a").clone().into_text().1.len(), 50_002);
        let alone = format!("{text}inf,1\n");
        let message = "t.csv: line 50002: column \"a\" must hold finite numbers, got inf";
        assert_eq!(read_text(&alone).unwrap_err().to_string(), message);
    }

    #[test]
    fn says_line_and_reason() {
        let cases = [
            ("", "t.csv: is empty"),
            ("a,label\n", "t.csv: has a header but no rows"),
            ("a,label\n1,x\n2\n", "t.csv: line 3: 1 cells, but the first line has 2"),
            ("a,a,label\n1,2,x\n", "t.csv: line 1: columns 1 and 2 are both called \"a\""),
            ("a,label\n1,x\ninf,y\n", "t.csv: line 3: column \"a\" must hold finite numbers, got inf"),
        ];
        for (text, message) in cases {
            assert_eq!(read_text(text).unwrap_err().to_string(), message);
        }
        let error = read(
            &|| Input::from_bytes("t.csv", b"a,label\n1,x\n2,caf\xe9\n".to_vec()),
            &CsvOptions { label_needed: true, ..CsvOptions::default() },
        );
        let error = error.unwrap_err().to_string();
        assert!(error.starts_with("t.csv: line 3: \"caf\u{fffd}\" is not UTF-8. Is the file Latin-1"), "{error}");
    }
}
