//! JSON Lines: one object per line → [`RawTable`]. Keys are columns, in the order in which they first appear.
//!
//! A column is a column of numbers if every value is a number, `true` or `false` (1 and 0); of text if one is a string. `null`
//! and an absent key are missing values, as are the [`MISSING_WORDS`](crate::table::MISSING_WORDS). A column that holds a list
//! or an object anywhere is left out.

use crate::error::{DataError, Place, Result};
use crate::io::Input;
use crate::table::columns::{Column, Dictionary, LeftOut, RawTable, Values, is_missing};
use crate::table::lines::Lines;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;
use std::io::{BufRead, Read};

/// No line may be longer.
const MOST_LINE: u64 = 1 << 26;

/// Whether the first bytes of a file are the beginning of JSON Lines.
pub(crate) fn is_jsonl(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    match head.iter().position(|&byte| byte == b'\n') {
        Some(end) => serde_json::from_slice::<Object>(&head[..end]).is_ok(),
        // One long line, or a file with one row.
        None => head.starts_with(b"{\"") || serde_json::from_slice::<Object>(head).is_ok(),
    }
}

/// Whether the first bytes of a file are JSON, but a list or an object over several lines.
pub(crate) fn is_other_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let next = head.get(1..).unwrap_or_default().trim_ascii_start().first();
    match head.first() {
        Some(b'[') => matches!(next, Some(b'{' | b'[')),
        Some(b'{') => matches!(next, Some(b'"')) && !is_jsonl(head),
        _ => false,
    }
}

/// Reads a file. Columns called one of `as_text` (labels, names of rows) are text, whatever they hold.
///
/// # Errors
/// A line that is no JSON object; no rows.
pub fn read(input: Input, as_text: &[&str]) -> Result<RawTable> {
    let mut input = input.text()?;
    let path = input.path().to_owned();
    let mut builders = Builders::default();
    let mut lines = Lines::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut input).take(MOST_LINE).read_until(b'\n', &mut line);
        let bad = |problem: &str| DataError::format(&path, Place::Line(number), problem);
        if read.map_err(|source| DataError::io(&path, "read", source))? == 0 {
            break;
        }
        if line.len() as u64 == MOST_LINE && line.last() != Some(&b'\n') {
            return Err(bad("is longer than 64 MB"));
        }
        let mark: &[u8] = if number == 1 { b"\xef\xbb\xbf" } else { b"" };
        let text = line.strip_prefix(mark).unwrap_or(&line).trim_ascii();
        if text.is_empty() {
            continue;
        }
        let object: Object = serde_json::from_slice(text)
            .map_err(|cause| DataError::decode(&path, Place::Line(number), "is no JSON object", cause))?;
        builders.push(object, as_text).map_err(|key| bad(&format!("has the key \"{key}\" twice")))?;
        lines.push(number);
    }
    if builders.rows == 0 {
        return Err(DataError::format(path, Place::File, "has no rows"));
    }
    let rows = builders.rows;
    let (columns, left_out) = builders.finish();
    Ok(RawTable { path, columns, rows, lines: Some(lines), left_out, notes: Vec::new() })
}

/// The columns read so far.
#[derive(Default)]
struct Builders {
    columns: Vec<Builder>,
    position: HashMap<String, usize>,
    rows: usize,
}

struct Builder {
    name: String,
    /// Numbers keep all their digits, `true` its name, and every word is one.
    exact: bool,
    cells: Growing,
    rows: usize,
}

enum Growing {
    Numbers(Vec<f64>),
    Text(Dictionary),
    /// A list or an object was seen.
    Nested,
}

impl Builders {
    /// Adds a row; the error is a key that comes twice.
    fn push(&mut self, object: Object, as_text: &[&str]) -> std::result::Result<(), String> {
        for (key, cell) in object.0 {
            let position = match self.position.get(&key) {
                Some(&position) => position,
                None => {
                    let text = as_text.contains(&key.as_str());
                    let cells = if text { Growing::Text(Dictionary::default()) } else { Growing::Numbers(Vec::new()) };
                    self.columns.push(Builder { name: key.clone(), exact: text, cells, rows: 0 });
                    self.position.insert(key.clone(), self.columns.len() - 1);
                    self.columns.len() - 1
                }
            };
            let column = &mut self.columns[position];
            if column.rows > self.rows {
                return Err(key);
            }
            column.fill(self.rows);
            column.push(cell);
        }
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self) -> (Vec<Column>, Vec<LeftOut>) {
        self.columns.iter_mut().for_each(|column| column.fill(self.rows));
        let (mut columns, mut left_out) = (Vec::new(), Vec::new());
        for Builder { name, cells, .. } in self.columns {
            match cells {
                Growing::Numbers(numbers) => columns.push(Column::new(name, Values::Numbers(numbers))),
                Growing::Text(dictionary) => columns.push(Column::new(name, dictionary.into_values())),
                Growing::Nested => left_out.push(LeftOut { name, why: "holds lists or objects".into() }),
            }
        }
        (columns, left_out)
    }
}

impl Builder {
    /// Missing values up to a row.
    fn fill(&mut self, rows: usize) {
        for _ in self.rows..rows {
            self.push(Cell::Missing);
        }
    }

    fn push(&mut self, cell: Cell) {
        self.rows += 1;
        match (&mut self.cells, cell) {
            (Growing::Nested, _) => {}
            (cells, Cell::Nested) => *cells = Growing::Nested,
            (Growing::Numbers(numbers), Cell::Number { value, .. }) => numbers.push(value),
            (Growing::Numbers(numbers), Cell::Missing) => numbers.push(f64::NAN),
            (Growing::Numbers(numbers), Cell::Text(text)) if is_missing(text.trim()) => numbers.push(f64::NAN),
            (Growing::Numbers(numbers), Cell::Text(text)) => {
                let (codes, levels) = Values::Numbers(std::mem::take(numbers)).into_text();
                let mut dictionary = Dictionary::from_parts(codes, levels);
                dictionary.push(text.trim());
                self.cells = Growing::Text(dictionary);
            }
            (Growing::Text(dictionary), Cell::Number { text, .. }) if self.exact => dictionary.push(&text),
            (Growing::Text(dictionary), Cell::Number { value, .. }) => dictionary.push(&value.to_string()),
            (Growing::Text(dictionary), Cell::Missing) => dictionary.push_missing(),
            (Growing::Text(dictionary), Cell::Text(text)) => match text.trim() {
                text if text.is_empty() || (!self.exact && is_missing(text)) => dictionary.push_missing(),
                text => dictionary.push(text),
            },
        }
    }
}

/// One value.
enum Cell {
    Missing,
    Number { value: f64, text: String },
    Text(String),
    Nested,
}

/// Keys and values in the file's order.
struct Object(Vec<(String, Cell)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Object;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object such as {\"height\": 1.5, \"label\": \"oak\"}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Object(pairs))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Cell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> std::result::Result<Cell, E> {
                Ok(Cell::Missing)
            }

            fn visit_bool<E>(self, value: bool) -> std::result::Result<Cell, E> {
                Ok(Cell::Number { value: f64::from(u8::from(value)), text: value.to_string() })
            }

            fn visit_u64<E>(self, value: u64) -> std::result::Result<Cell, E> {
                Ok(Cell::Number { value: value as f64, text: value.to_string() })
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Cell, E> {
                Ok(Cell::Number { value: value as f64, text: value.to_string() })
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Cell, E> {
                Ok(Cell::Number { value, text: value.to_string() })
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Cell, E> {
                Ok(Cell::Text(text.to_owned()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Cell, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::Nested)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Cell, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Nested)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<RawTable> {
        read(Input::from_bytes("t.jsonl", text.as_bytes().to_vec()).unwrap(), &["label"])
    }

    #[test]
    fn keys_are_columns_and_absent_or_null_is_missing() {
        let table = read_text(
            "{\"b\": 1.5, \"a\": \"x\", \"label\": 3}\n\n{\"a\": null, \"label\": true, \"late\": 7, \"b\": -2}\n{\"label\":\"w\"}",
        )
        .unwrap();
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!((names, table.rows), (vec!["b", "a", "label", "late"], 3));
        let Values::Numbers(b) = &table.columns[0].values else { panic!("numbers") };
        assert!(b[0] == 1.5 && b[1] == -2.0 && b[2].is_nan());
        assert_eq!(table.columns[1].values.missing(), 2);
        assert_eq!(table.columns[2].values.clone().into_text().1, ["3", "true", "w"]);
        let Values::Numbers(late) = &table.columns[3].values else { panic!("numbers") };
        assert!(late[0].is_nan() && late[1] == 7.0 && late[2].is_nan());
        // The blank line counts.
        assert_eq!((table.place(0), table.place(1)), (Place::Line(1), Place::Line(3)));
    }

    #[test]
    fn a_column_that_turns_to_text_or_lists_late_does_so_from_the_start() {
        let table =
            read_text("{\"a\":1,\"n\":2,\"label\":\"x\"}\n{\"a\":\"two\",\"n\":[1],\"label\":\"y\"}\n").unwrap();
        assert_eq!(table.columns[0].values.clone().into_text().1, ["1", "two"]);
        assert_eq!(table.left_out, [LeftOut { name: "n".into(), why: "holds lists or objects".into() }]);
    }

    #[test]
    fn says_line_and_reason() {
        let cases = [
            ("{\"a\":1}\n[1]\n", "t.jsonl: line 2: is no JSON object: invalid type: sequence"),
            ("{\"a\":1}\n{\"a\":\n", "t.jsonl: line 2: is no JSON object: EOF"),
            ("{\"a\":1,\"a\":2}\n", "t.jsonl: line 1: has the key \"a\" twice"),
            ("\n\n", "t.jsonl: has no rows"),
        ];
        for (text, said) in cases {
            let error = read_text(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }

    #[test]
    fn json_is_told_from_csv_by_its_first_line() {
        assert!(is_jsonl(b"{\"a\": 1}\n{\"a\""));
        assert!(is_jsonl(b"\xef\xbb\xbf{\"a\": 1}"));
        assert!(!is_jsonl(b"a,b\n1,2\n") && !is_other_json(b"a,b\n1,2\n"));
        assert!(is_other_json(b"[\n {\"a\": 1}]") && is_other_json(b"{\n \"a\": 1}\n"));
        assert!(!is_other_json(b"[a],b\n"));
    }
}
