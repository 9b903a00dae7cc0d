//! How much a packed file may hold. A few megabytes of zip or gzip can become terabytes, so what is unpacked into memory has a
//! limit: [`FLOOR`] bytes, or [`FACTOR`] times the packed size if that is more. Pictures don't shrink by much, tables by ten
//! or twenty times; who has data that really does shrink by more than a hundred sets `TARES_MOST_UNPACKED`.

use crate::error::{DataError, Place, Result};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// So many bytes may always be unpacked.
const FLOOR: u64 = 1 << 30;

/// So many times its packed size a file may always have.
const FACTOR: u64 = 100;

/// The environment variable that sets another limit: `8G`, `500M`, or a number of bytes.
const VARIABLE: &str = "TARES_MOST_UNPACKED";

/// What one packed file may still unpack to.
#[derive(Debug)]
pub(crate) struct Budget {
    path: PathBuf,
    most: u64,
    left: u64,
}

impl Budget {
    /// The budget of a file of `packed` bytes.
    pub fn new(path: &Path, packed: u64) -> Result<Self> {
        let setting = std::env::var(VARIABLE).ok();
        let most = limit(packed, setting.as_deref()).map_err(|problem| DataError::Value(Box::new(problem)))?;
        Ok(Self { path: path.to_owned(), most, left: most })
    }

    /// Refuses a claim before anything is unpacked.
    pub fn allow(&self, claimed: u64) -> Result<()> {
        if claimed <= self.left { Ok(()) } else { Err(self.exceeded(claimed)) }
    }

    /// Takes all bytes of a member. `claimed` is the archive's word, which is not trusted with memory.
    pub fn read(&mut self, member: impl Read, claimed: u64) -> Result<io::Result<Vec<u8>>> {
        self.allow(claimed)?;
        let mut bytes = Vec::new();
        let outcome = member.take(self.left.saturating_add(1)).read_to_end(&mut bytes);
        let length = bytes.len() as u64;
        if length > self.left {
            return Err(self.exceeded(length));
        }
        self.left -= length;
        Ok(outcome.map(|_| bytes))
    }

    /// Says that `unpacked` bytes, or more, are too many.
    fn exceeded(&self, unpacked: u64) -> DataError {
        DataError::format(&self.path, Place::File, self.problem(unpacked))
    }

    fn problem(&self, unpacked: u64) -> String {
        let (unpacked, most) = (self.most - self.left + unpacked, self.most);
        format!(
            "unpacks to {} or more, which is more than the {} that a file of its size may take; if it is not a trap, set \
             {VARIABLE}={}G",
            gigabytes(unpacked),
            gigabytes(most),
            (2 * unpacked).div_ceil(1 << 30)
        )
    }
}

/// A reader that unpacks, and stops where the budget ends.
pub(crate) struct Metered<R> {
    pub reader: R,
    pub budget: Budget,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        let budget = &mut self.budget;
        if count as u64 > budget.left {
            return Err(io::Error::new(io::ErrorKind::InvalidData, budget.problem(count as u64)));
        }
        budget.left -= count as u64;
        Ok(count)
    }
}

fn limit(packed: u64, setting: Option<&str>) -> tares_core::Result<u64> {
    let Some(text) = setting else { return Ok(FLOOR.max(packed.saturating_mul(FACTOR))) };
    let (number, unit) = match text.trim().split_at_checked(text.trim().len().saturating_sub(1)) {
        Some((number, "k" | "K")) => (number, 1 << 10),
        Some((number, "m" | "M")) => (number, 1 << 20),
        Some((number, "g" | "G")) => (number, 1 << 30),
        _ => (text.trim(), 1),
    };
    let number: Option<u64> = number.trim().parse().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| tares_core::Error::value(VARIABLE, "a number of bytes like 500M or 8G", text))
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / (1u64 << 30) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_a_floor_a_factor_or_what_was_set() {
        assert_eq!(limit(4_000_000, None).unwrap(), 1 << 30);
        assert_eq!(limit(1 << 30, None).unwrap(), 100 << 30);
        assert_eq!(limit(u64::MAX, None).unwrap(), u64::MAX);
        for (text, bytes) in [("8G", 8 << 30), (" 500m", 500 << 20), ("64 K", 64 << 10), ("12345", 12_345)] {
            assert_eq!(limit(1, Some(text)).unwrap(), bytes, "{text}");
        }
        for text in ["", "G", "-1", "8 gigabytes", "99999999999G"] {
            let error = limit(1, Some(text)).unwrap_err().to_string();
            assert!(error.starts_with("TARES_MOST_UNPACKED must be a number of bytes like 500M or 8G, got"), "{error}");
        }
    }

    fn small(most: u64) -> Budget {
        Budget { path: "a.zip".into(), most, left: most }
    }

    #[test]
    fn members_share_one_budget_and_a_lie_about_their_size_gains_nothing() {
        let mut budget = small(10);
        assert_eq!(budget.read(&b"12345"[..], 5).unwrap().unwrap(), b"12345");
        // Claims 1 byte, has 6.
        let error = budget.read(&b"123456"[..], 1).unwrap_err().to_string();
        assert!(error.starts_with("a.zip: unpacks to") && error.contains("set TARES_MOST_UNPACKED="), "{error}");
        // Claims 6, and nothing is read.
        assert!(budget.read(io::repeat(0), 6).is_err());
        assert_eq!(budget.read(&b"12345"[..], 5).unwrap().unwrap(), b"12345");
    }

    #[test]
    fn a_metered_reader_stops_at_the_budget() {
        let mut bytes = Vec::new();
        Metered { reader: &b"1234567890"[..], budget: small(10) }.read_to_end(&mut bytes).unwrap();
        let error = Metered { reader: io::repeat(0), budget: small(1 << 16) }.read_to_end(&mut bytes).unwrap_err();
        assert!(error.to_string().contains("may take"), "{error}");
    }
}
