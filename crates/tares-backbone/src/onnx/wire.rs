//! The fields of a Protocol Buffers message. Nothing is copied; a length that reaches beyond its message is an error.

/// One field: its number and what it holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field<'a> {
    pub number: u64,
    pub value: Wire<'a>,
}

/// A value as it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wire<'a> {
    /// An integer.
    Number(u64),
    /// Text, bytes, packed numbers or a message.
    Bytes(&'a [u8]),
    /// Four bytes: a 32-bit float.
    Four([u8; 4]),
    /// Eight bytes: a 64-bit float.
    Eight([u8; 8]),
}

/// The error for bytes that are not a message.
pub(crate) const BROKEN: &str = "is not an ONNX file, or is cut off";

/// All fields of a message, in order.
pub(crate) fn fields(mut bytes: &[u8]) -> Result<Vec<Field<'_>>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let value = match key & 7 {
            0 => Wire::Number(varint(&mut bytes)?),
            1 => Wire::Eight(fixed(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| BROKEN)?;
                let (inside, rest) = bytes.split_at_checked(length).ok_or(BROKEN)?;
                bytes = rest;
                Wire::Bytes(inside)
            }
            5 => Wire::Four(fixed(&mut bytes)?),
            _ => return Err(BROKEN.into()),
        };
        if key >> 3 == 0 {
            return Err(BROKEN.into());
        }
        found.push(Field { number: key >> 3, value });
    }
    Ok(found)
}

/// An integer of seven bits per byte.
pub(crate) fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0u64;
    for place in 0..10 {
        let (&byte, rest) = bytes.split_first().ok_or(BROKEN)?;
        *bytes = rest;
        value |= u64::from(byte & 127) << (7 * place);
        if byte < 128 {
            return Ok(value);
        }
    }
    Err(BROKEN.into())
}

fn fixed<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N], String> {
    let (first, rest) = bytes.split_first_chunk().ok_or(BROKEN)?;
    *bytes = rest;
    Ok(*first)
}

impl<'a> Field<'a> {
    pub fn bytes(&self) -> Result<&'a [u8], String> {
        match self.value {
            Wire::Bytes(bytes) => Ok(bytes),
            _ => Err(BROKEN.into()),
        }
    }

    pub fn text(&self) -> Result<String, String> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub fn number(&self) -> Result<i64, String> {
        match self.value {
            Wire::Number(number) => Ok(number as i64),
            _ => Err(BROKEN.into()),
        }
    }

    /// Integers, packed or one by one.
    pub fn push_numbers(&self, out: &mut Vec<i64>) -> Result<(), String> {
        match self.value {
            Wire::Number(number) => out.push(number as i64),
            Wire::Bytes(mut bytes) => {
                while !bytes.is_empty() {
                    out.push(varint(&mut bytes)? as i64);
                }
            }
            _ => return Err(BROKEN.into()),
        }
        Ok(())
    }

    /// 32-bit floats, packed or one by one.
    pub fn push_floats(&self, out: &mut Vec<f32>) -> Result<(), String> {
        match self.value {
            Wire::Four(bytes) => out.push(f32::from_le_bytes(bytes)),
            Wire::Bytes(bytes) => {
                let (floats, rest) = bytes.as_chunks::<4>();
                if !rest.is_empty() {
                    return Err(BROKEN.into());
                }
                out.extend(floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            }
            _ => return Err(BROKEN.into()),
        }
        Ok(())
    }
}
