//! JSON for people: indented, one value per line, but each row of a matrix on one line.

use crate::ui::failure::{Failure, Outcome};
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{Result, Write};

/// Indented JSON with a final newline.
///
/// # Errors
/// A value that JSON cannot hold.
pub fn to_json(value: &impl Serialize) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let layout = Layout { pretty: PrettyFormatter::new(), arrays: 0 };
    value.serialize(&mut Serializer::with_formatter(&mut bytes, layout)).map_err(Failure::new)?;
    bytes.push(b'\n');
    Ok(bytes)
}

struct Layout {
    pretty: PrettyFormatter<'static>,
    /// How many arrays enclose the current position.
    arrays: usize,
}

impl Layout {
    /// Whether the current position is in a row of a matrix: an array inside an array.
    fn in_row(&self) -> bool {
        self.arrays > 1
    }
}

impl Formatter for Layout {
    fn begin_array<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        self.arrays += 1;
        if self.in_row() { out.write_all(b"[") } else { self.pretty.begin_array(out) }
    }

    fn end_array<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        let in_row = self.in_row();
        self.arrays -= 1;
        if in_row { out.write_all(b"]") } else { self.pretty.end_array(out) }
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> Result<()> {
        match (self.in_row(), first) {
            (true, true) => Ok(()),
            (true, false) => out.write_all(b", "),
            (false, _) => self.pretty.begin_array_value(out, first),
        }
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        if self.in_row() { Ok(()) } else { self.pretty.end_array_value(out) }
    }

    fn begin_object<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        self.pretty.begin_object(out)
    }

    fn end_object<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        self.pretty.end_object(out)
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.pretty.begin_object_key(out, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        self.pretty.begin_object_value(out)
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, out: &mut W) -> Result<()> {
        self.pretty.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_matrices_are_lines_and_the_rest_is_indented() {
        let value = serde_json::json!({ "a": [[1, 2], [3]], "b": [], "c": [{ "d": [0.5, "x"] }], "e": [[]] });
        let text = String::from_utf8(to_json(&value).unwrap()).unwrap();
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        let wanted = "{\n  \"a\": [\n    [1, 2],\n    [3]\n  ],\n  \"b\": [],\n  \"c\": [\n    {\n      \"d\": [0.5, \"x\"]\n    }\n  ],\n  \"e\": [\n    []\n  ]\n}\n";
        assert_eq!(text, wanted);
    }
}
