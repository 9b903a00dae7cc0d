//! JSON Lines with other values under one key; every other byte stays.

use std::ops::Range;

/// Objects of a text: lines that are not blank.
pub(crate) fn rows(text: &[u8]) -> usize {
    text.split(|&byte| byte == b'\n').filter(|line| !without_mark(line).trim_ascii().is_empty()).count()
}

/// The text with the values of key `label` replaced where `names` has one and it differs from what stands there. The error is
/// a line, counted from 1, and what is wrong with it.
pub(crate) fn relabel(text: &[u8], label: &str, names: &[Option<&str>]) -> Result<Vec<u8>, (u64, String)> {
    let mut out = Vec::with_capacity(text.len() + 1024);
    let mut row = 0;
    for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        if without_mark(line).trim_ascii().is_empty() {
            out.extend_from_slice(line);
            continue;
        }
        match names.get(row).copied().flatten() {
            None => out.extend_from_slice(line),
            Some(name) => {
                let bad = |problem: &str| (number as u64 + 1, problem.to_owned());
                let value = value_of(line, label).ok_or_else(|| bad("has no label"))?;
                let old: serde_json::Value =
                    serde_json::from_slice(&line[value.clone()]).map_err(|_| bad("has a label that is no JSON"))?;
                out.extend_from_slice(&line[..value.start]);
                out.extend_from_slice(new_value(&old, name).as_bytes());
                out.extend_from_slice(&line[value.end..]);
            }
        }
        row += 1;
    }
    Ok(out)
}

/// The value for class `name`: a number or a boolean where one stood and the name is one, else text.
fn new_value(old: &serde_json::Value, name: &str) -> String {
    let text = serde_json::Value::String(name.to_owned()).to_string();
    match old {
        serde_json::Value::Number(number) => match name.parse::<f64>() {
            // As it stood: 1.0 is the class "1".
            Ok(value) if number.as_f64() == Some(value) => number.to_string(),
            Ok(value) if value.is_finite() => name.to_owned(),
            _ => text,
        },
        serde_json::Value::Bool(_) if matches!(name, "true" | "false") => name.to_owned(),
        _ => text,
    }
}

fn without_mark(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// Where the value of a key of the outermost object lies in a line of JSON that was read before.
fn value_of(line: &[u8], key: &str) -> Option<Range<usize>> {
    let mut at = line.iter().position(|&byte| byte == b'{')? + 1;
    loop {
        at = skip_space(line, at);
        let name = string_end(line, at)?;
        let found = serde_json::from_slice::<String>(&line[at..name]).is_ok_and(|name| name == key);
        at = skip_space(line, name);
        if line.get(at) != Some(&b':') {
            return None;
        }
        at = skip_space(line, at + 1);
        let end = value_end(line, at)?;
        if found {
            return Some(at..end);
        }
        at = skip_space(line, end);
        if line.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

fn skip_space(line: &[u8], from: usize) -> usize {
    from + line[from.min(line.len())..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// The end of the string that begins at `from`.
fn string_end(line: &[u8], from: usize) -> Option<usize> {
    if line.get(from) != Some(&b'"') {
        return None;
    }
    let mut escaped = false;
    for (offset, &byte) in line[from + 1..].iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(from + 2 + offset),
            _ => {}
        }
    }
    None
}

/// The end of the value that begins at `from`, of any kind.
fn value_end(line: &[u8], from: usize) -> Option<usize> {
    let (mut at, mut depth) = (from, 0usize);
    while let Some(&byte) = line.get(at) {
        match byte {
            b'"' => at = string_end(line, at)? - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    let value = line.get(from..at)?.trim_ascii_end();
    (!value.is_empty()).then_some(from + value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_labels_that_change_change() {
        let text = "{\"a\": [1, {\"label\": \"no\"}], \"label\" : \"cat\" , \"b\": \"}, \\\"label\\\": 3\"}\r\n\n{\"label\":2}\n{\"label\":1.0}";
        let names = [Some("a \"dog\""), Some("3"), Some("1")];
        assert_eq!(rows(text.as_bytes()), 3);
        let out = String::from_utf8(relabel(text.as_bytes(), "label", &names).unwrap()).unwrap();
        let expected = text.replace("\"cat\"", "\"a \\\"dog\\\"\"").replace(":2}", ":3}");
        assert_eq!(out, expected);
        assert_eq!(relabel(text.as_bytes(), "label", &[None, None, None]).unwrap(), text.as_bytes());
        assert_eq!(relabel(b"{\"a\":1}\n", "label", &[Some("x")]).unwrap_err(), (1, "has no label".to_owned()));
    }
}
