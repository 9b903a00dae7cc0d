//! A look through Thrift's compact encoding before Parquet's reader sees it: every size a header claims is checked against the
//! bytes that are there, because the reader takes memory on a header's word.

/// Structures inside structures, at most.
const MOST_DEPTH: usize = 32;

/// What is done with an integer and the field numbers that lead to it.
pub(crate) type ForNumber<'a> = dyn FnMut(&[i16], i64) -> Result<(), String> + 'a;

/// Walks over one structure at the start of `bytes` and returns its length.
///
/// `number` is told every integer with the field numbers that lead to it (list elements don't count as a level) and may
/// refuse it.
///
/// # Errors
/// A size that cannot be true; an encoding that does not exist; the refusal of `number`.
pub(crate) fn scan(bytes: &[u8], number: &mut ForNumber<'_>) -> Result<usize, String> {
    let mut scanner = Scanner { bytes, at: 0, path: Vec::new(), number };
    scanner.structure()?;
    Ok(scanner.at)
}

struct Scanner<'a, 'b> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<i16>,
    number: &'b mut ForNumber<'b>,
}

impl Scanner<'_, '_> {
    fn byte(&mut self) -> Result<u8, String> {
        let byte = *self.bytes.get(self.at).ok_or("ends inside a header")?;
        self.at += 1;
        Ok(byte)
    }

    fn varint(&mut self) -> Result<u64, String> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("has a number of more than 64 bits in a header".into())
    }

    fn zigzag(&mut self) -> Result<i64, String> {
        let value = self.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A claimed length, not more than the bytes that are left.
    fn length(&mut self) -> Result<usize, String> {
        let claimed = self.varint()?;
        let left = self.bytes.len() - self.at;
        usize::try_from(claimed)
            .ok()
            .filter(|&length| length <= left)
            .ok_or_else(|| format!("claims {claimed} elements or bytes in a header where {left} bytes are left"))
    }

    fn structure(&mut self) -> Result<(), String> {
        if self.path.len() >= MOST_DEPTH {
            return Err("has headers nested too deep".into());
        }
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.zigzag()? as i16,
                step => field.wrapping_add(i16::from(step)),
            };
            self.path.push(field);
            match head & 0x0f {
                1 | 2 => {} // a boolean is its type
                kind => self.value(kind)?,
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) -> Result<(), String> {
        match kind {
            1..=3 => {
                self.byte()?;
            }
            4..=6 => {
                let value = self.zigzag()?;
                (self.number)(&self.path, value)?;
            }
            7 => {
                for _ in 0..8 {
                    self.byte()?;
                }
            }
            8 => {
                let length = self.length()?;
                self.at += length;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.length()?,
                    count => usize::from(count),
                };
                for _ in 0..count {
                    self.value(head & 0x0f)?;
                }
            }
            11 => {
                let count = self.length()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.value(kinds >> 4)?;
                        self.value(kinds & 0x0f)?;
                    }
                }
            }
            12 => self.structure()?,
            kind => return Err(format!("has a header field of unknown type {kind}")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_with_their_path_and_lists_are_bounded() {
        // field 1: i32 -1; field 2: struct { field 3: i64 5 }; field 3: list of 2 i32: 1, 2.
        let bytes = [0x15, 1, 0x1c, 0x36, 10, 0, 0x19, 0x25, 2, 4, 0, 99];
        let mut seen = Vec::new();
        let length = scan(&bytes, &mut |path, value| {
            seen.push((path.to_vec(), value));
            Ok(())
        });
        assert_eq!(length, Ok(11));
        assert_eq!(seen, [(vec![1], -1), (vec![2, 3], 5), (vec![3], 1), (vec![3], 2)]);
        // A list that claims 2^28 elements in a few bytes.
        let lie = [0x19, 0xf5, 0x80, 0x80, 0x80, 0x80, 1, 0];
        assert!(scan(&lie, &mut |_, _| Ok(())).unwrap_err().contains("claims 268435456 elements"));
        // Endless nesting.
        assert!(scan(&[0x1c; 100], &mut |_, _| Ok(())).unwrap_err().contains("nested too deep"));
    }
}
