//! Just enough of Python's pickle to take NumPy integer arrays out of a dictionary, as `CIFAR-10_human.pt` holds them.
//!
//! Nothing is ever called: a reference to a Python function is a word on the stack, and only the three words NumPy's arrays
//! need (`_reconstruct`, `dtype`, `encode`) mean anything. Everything else is refused.

use std::collections::HashMap;
use std::rc::Rc;

/// Values on the stack and in the memo, at most.
const MOST_VALUES: usize = 10_000;

/// Tuples inside tuples, at most.
const MOST_DEPTH: usize = 8;

/// A value of the stack.
#[derive(Clone, Debug)]
enum Value {
    None,
    Bool,
    Int(i64),
    Text(Rc<[u8]>),
    Word(String),
    /// Shared, so that a tuple of tuples that repeats itself stays small.
    Tuple(Rc<[Value]>),
    Dict(usize),
    DType {
        size: usize,
        signed: bool,
    },
    Array(usize),
    Mark,
}

/// Takes every one-dimensional integer array, and every list of integers, out of a pickled dictionary.
///
/// # Errors
/// An instruction or object that such a dictionary does not need; a cut-off file.
pub fn integer_arrays(bytes: &[u8]) -> Result<HashMap<String, Vec<i64>>, String> {
    let mut machine =
        Machine { bytes, at: 0, stack: Vec::new(), memo: HashMap::new(), dicts: Vec::new(), arrays: Vec::new() };
    let root = machine.run()?;
    let Value::Dict(dict) = root else { return Err("holds no dictionary of arrays".into()) };
    let mut found = HashMap::new();
    for (name, value) in std::mem::take(&mut machine.dicts[dict]) {
        if let Value::Array(array) = value
            && let Some(values) = machine.arrays.get(array)
        {
            found.insert(name, values.clone());
        }
    }
    Ok(found)
}

struct Machine<'a> {
    bytes: &'a [u8],
    at: usize,
    stack: Vec<Value>,
    memo: HashMap<u32, Value>,
    dicts: Vec<Vec<(String, Value)>>,
    arrays: Vec<Vec<i64>>,
}

impl<'a> Machine<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], String> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len()).ok_or("is cut off")?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<u64, String> {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(self.take(N)?);
        Ok(u64::from_le_bytes(wide))
    }

    fn line(&mut self) -> Result<String, String> {
        let rest = &self.bytes[self.at..];
        let end = rest.iter().take(200).position(|&byte| byte == b'\n').ok_or("has a name without end")?;
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    fn pop(&mut self) -> Result<Value, String> {
        self.stack.pop().ok_or_else(|| "takes from an empty stack".into())
    }

    /// The values above the last mark.
    fn since_mark(&mut self) -> Result<Vec<Value>, String> {
        let mark = self.stack.iter().rposition(|value| matches!(value, Value::Mark)).ok_or("has no mark")?;
        let values = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(values)
    }

    fn tuple(&mut self, count: usize) -> Result<(), String> {
        let start = self.stack.len().checked_sub(count).ok_or("takes from an empty stack")?;
        let values = self.stack.split_off(start);
        self.push_tuple(values)
    }

    fn push_tuple(&mut self, values: Vec<Value>) -> Result<(), String> {
        if values.iter().map(depth).max().unwrap_or(0) >= MOST_DEPTH {
            return Err("nests tuples deeper than a file of labels needs".into());
        }
        self.stack.push(Value::Tuple(values.into()));
        Ok(())
    }

    fn run(&mut self) -> Result<Value, String> {
        loop {
            if self.stack.len() > MOST_VALUES || self.memo.len() > MOST_VALUES {
                return Err("holds more values than a file of labels needs".into());
            }
            match self.take(1)?[0] {
                0x80 => {
                    let version = self.number::<1>()?;
                    if version > 4 {
                        return Err(format!("is pickle version {version}, at most 4 is understood"));
                    }
                }
                0x95 => drop(self.number::<8>()?), // frame
                b'.' => return self.pop(),
                b'(' => self.stack.push(Value::Mark),
                b'}' => {
                    self.dicts.push(Vec::new());
                    self.stack.push(Value::Dict(self.dicts.len() - 1));
                }
                b']' => {
                    self.arrays.push(Vec::new());
                    self.stack.push(Value::Array(self.arrays.len() - 1));
                }
                b'e' => {
                    let values = self.since_mark()?;
                    self.append(values)?;
                }
                b'a' => {
                    let value = self.pop()?;
                    self.append(vec![value])?;
                }
                b')' => self.stack.push(Value::Tuple(Rc::new([]))),
                b'N' => self.stack.push(Value::None),
                0x88 | 0x89 => self.stack.push(Value::Bool),
                b'K' => self.push_int::<1>()?,
                b'M' => self.push_int::<2>()?,
                b'J' => {
                    let value = self.number::<4>()? as u32 as i32;
                    self.stack.push(Value::Int(i64::from(value)));
                }
                0x8a => {
                    let length = self.number::<1>()? as usize;
                    let bytes = self.take(length)?;
                    if length > 8 {
                        return Err("has an integer of more than 64 bits".into());
                    }
                    let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
                    let mut wide = [if negative { 0xff } else { 0 }; 8];
                    wide[..length].copy_from_slice(bytes);
                    self.stack.push(Value::Int(i64::from_le_bytes(wide)));
                }
                b'X' | b'T' | b'B' => {
                    let length = self.number::<4>()? as usize;
                    self.push_text(length)?;
                }
                0x8c | b'U' | b'C' => {
                    let length = self.number::<1>()? as usize;
                    self.push_text(length)?;
                }
                b'c' => {
                    let word = format!("{} {}", self.line()?, self.line()?);
                    self.stack.push(Value::Word(word));
                }
                0x93 => {
                    let (Value::Text(name), Value::Text(module)) = (self.pop()?, self.pop()?) else {
                        return Err("names a function by something that is not a text".into());
                    };
                    let word = format!("{} {}", String::from_utf8_lossy(&module), String::from_utf8_lossy(&name));
                    self.stack.push(Value::Word(word));
                }
                b'q' => self.remember::<1>()?,
                b'r' => self.remember::<4>()?,
                0x94 => {
                    let value = self.stack.last().ok_or("takes from an empty stack")?.clone();
                    self.memo.insert(self.memo.len() as u32, value);
                }
                b'h' => self.recall::<1>()?,
                b'j' => self.recall::<4>()?,
                0x85 => self.tuple(1)?,
                0x86 => self.tuple(2)?,
                0x87 => self.tuple(3)?,
                b't' => {
                    let values = self.since_mark()?;
                    self.push_tuple(values)?;
                }
                b'R' => self.reduce()?,
                b'b' => self.build()?,
                b'u' => {
                    let values = self.since_mark()?;
                    self.set_items(values)?;
                }
                b's' => {
                    let (value, key) = (self.pop()?, self.pop()?);
                    self.set_items(vec![key, value])?;
                }
                code => return Err(format!("uses pickle instruction {code:#04x}, which no file of labels needs")),
            }
        }
    }

    fn push_int<const N: usize>(&mut self) -> Result<(), String> {
        let value = self.number::<N>()?;
        self.stack.push(Value::Int(value as i64));
        Ok(())
    }

    fn push_text(&mut self, length: usize) -> Result<(), String> {
        let text = self.take(length)?;
        self.stack.push(Value::Text(text.into()));
        Ok(())
    }

    fn remember<const N: usize>(&mut self) -> Result<(), String> {
        let place = self.number::<N>()? as u32;
        let value = self.stack.last().ok_or("takes from an empty stack")?.clone();
        self.memo.insert(place, value);
        Ok(())
    }

    fn recall<const N: usize>(&mut self) -> Result<(), String> {
        let place = self.number::<N>()? as u32;
        let value = self.memo.get(&place).ok_or("recalls what was never remembered")?.clone();
        self.stack.push(value);
        Ok(())
    }

    /// "Calls" one of the words an array needs.
    fn reduce(&mut self) -> Result<(), String> {
        let (Value::Tuple(arguments), Value::Word(word)) = (self.pop()?, self.pop()?) else {
            return Err("calls something that is no function".into());
        };
        let value = match (word.as_str(), &arguments[..]) {
            ("numpy.core.multiarray _reconstruct" | "numpy._core.multiarray _reconstruct", _) => {
                self.arrays.push(Vec::new());
                Value::Array(self.arrays.len() - 1)
            }
            ("numpy dtype", [Value::Text(kind), ..]) => dtype(kind)?,
            // Python 3 writes bytes for Python 2 as the text whose Latin-1 form they are.
            ("_codecs encode", [Value::Text(text), Value::Text(_)]) => Value::Text(latin1(text)?.into()),
            _ => return Err(format!("refers to \"{word}\", which no file of labels needs")),
        };
        self.stack.push(value);
        Ok(())
    }

    /// Fills an array with `(version, shape, dtype, fortran, elements)`; the state of a dtype is checked for byte order.
    fn build(&mut self) -> Result<(), String> {
        let state = self.pop()?;
        match (self.stack.last(), state) {
            (Some(Value::DType { .. }), Value::Tuple(state)) => match state.get(1) {
                Some(Value::Text(order)) if matches!(&order[..], b"<" | b"|" | b"=") => Ok(()),
                _ => Err("holds integers with the most significant byte first".into()),
            },
            (Some(&Value::Array(array)), Value::Tuple(state)) => {
                let [_, Value::Tuple(shape), Value::DType { size, signed }, Value::Bool, Value::Text(bytes)] =
                    &state[..]
                else {
                    return Err("holds an array of no known form".into());
                };
                let [Value::Int(count)] = shape[..] else { return Err("holds an array of more than one size".into()) };
                if usize::try_from(count).ok().and_then(|count| count.checked_mul(*size)) != Some(bytes.len()) {
                    return Err(format!("holds an array of {count} integers of {size} bytes in {} bytes", bytes.len()));
                }
                let element = |bytes: &[u8]| {
                    let mut wide = [0; 8];
                    wide[..*size].copy_from_slice(bytes);
                    let unused = 64 - 8 * *size as u32;
                    let value = u64::from_le_bytes(wide);
                    if *signed { ((value << unused) as i64) >> unused } else { value as i64 }
                };
                self.arrays[array] = bytes.chunks_exact(*size).map(element).collect();
                Ok(())
            }
            _ => Err("fills an object that is no array".into()),
        }
    }

    /// Adds integers to a list.
    fn append(&mut self, values: Vec<Value>) -> Result<(), String> {
        let Some(&Value::Array(list)) = self.stack.last() else {
            return Err("adds to something that is not a list".into());
        };
        for value in values {
            let Value::Int(value) = value else { return Err("holds a list of something else than integers".into()) };
            self.arrays[list].push(value);
        }
        Ok(())
    }

    fn set_items(&mut self, values: Vec<Value>) -> Result<(), String> {
        let Some(&Value::Dict(dict)) = self.stack.last() else { return Err("adds items to no dictionary".into()) };
        let mut values = values.into_iter();
        while let Some(key) = values.next() {
            let (Value::Text(key), Some(value)) = (key, values.next()) else {
                return Err("has a dictionary whose keys are not text".into());
            };
            self.dicts[dict].push((String::from_utf8_lossy(&key).into_owned(), value));
        }
        Ok(())
    }
}

/// Walks at most [`MOST_DEPTH`] levels, because no deeper tuple is ever made.
fn depth(value: &Value) -> usize {
    match value {
        Value::Tuple(values) => 1 + values.iter().take(16).map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn dtype(kind: &[u8]) -> Result<Value, String> {
    let (signed, size) = match kind {
        b"i1" => (true, 1),
        b"i2" => (true, 2),
        b"i4" => (true, 4),
        b"i8" => (true, 8),
        b"u1" => (false, 1),
        b"u2" => (false, 2),
        b"u4" => (false, 4),
        _ => return Err(format!("holds arrays of \"{}\", not of integers", String::from_utf8_lossy(kind))),
    };
    Ok(Value::DType { size, signed })
}

/// UTF-8 text of characters below 256 → bytes.
fn latin1(text: &[u8]) -> Result<Vec<u8>, String> {
    let text = std::str::from_utf8(text).map_err(|_| "holds text that is not UTF-8".to_owned())?;
    let byte = |c: char| u8::try_from(u32::from(c)).map_err(|_| "holds bytes above 255".to_owned());
    text.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_called() {
        // cos\nsystem\n(X\x04\0\0\0trueuR. : what an attacker would write.
        let error = integer_arrays(b"cos\nsystem\nX\x04\0\0\0true\x85R.").unwrap_err();
        assert_eq!(error, "refers to \"os system\", which no file of labels needs");
    }

    #[test]
    fn a_dictionary_of_lists_is_read() {
        // pickle.dumps({'y': [3, 1]}, protocol=2)
        let bytes = b"\x80\x02}q\0X\x01\0\0\0yq\x01]q\x02(K\x03K\x01es.";
        assert_eq!(integer_arrays(bytes).unwrap()["y"], [3, 1]);
    }

    #[test]
    fn a_tuple_of_itself_stays_small() {
        let mut bytes = b"\x80\x02)q\0".to_vec();
        (0..1000).for_each(|_| bytes.extend(b"h\0h\0\x86q\0"));
        assert_eq!(integer_arrays(&bytes).unwrap_err(), "nests tuples deeper than a file of labels needs");
    }

    #[test]
    fn a_dictionary_of_arrays_is_read() {
        // {'y': np.array([3, 200, 1], dtype='i8')} as Python 3 writes it in protocol 2.
        let mut bytes = b"\x80\x02}q\0X\x01\0\0\0yq\x01".to_vec();
        bytes.extend(b"cnumpy.core.multiarray\n_reconstruct\nq\x02cnumpy\nndarray\nq\x03K\0\x85q\x04");
        bytes.extend(b"c_codecs\nencode\nq\x05X\x01\0\0\0bq\x06X\x06\0\0\0latin1q\x07\x86q\x08Rq\x09\x87q\nRq\x0b");
        bytes.extend(b"(K\x01K\x03\x85q\x0ccnumpy\ndtype\nq\rX\x02\0\0\0i8q\x0e\x89\x88\x87q\x0fRq\x10");
        bytes.extend(b"(K\x03X\x01\0\0\0<q\x11NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tq\x12b\x89h\x05");
        let elements: String = [3u8, 0, 0, 0, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]
            .iter()
            .map(|&byte| char::from(byte))
            .collect();
        bytes.extend(b"X");
        bytes.extend((elements.len() as u32).to_le_bytes());
        bytes.extend(elements.as_bytes());
        bytes.extend(b"q\x13h\x07\x86q\x14Rq\x15tq\x16bs.");
        let arrays = integer_arrays(&bytes).unwrap();
        assert_eq!(arrays["y"], [3, 200, 1]);
        for cut in 0..bytes.len() {
            assert!(integer_arrays(&bytes[..cut]).is_err(), "cut at {cut}");
        }
    }
}
