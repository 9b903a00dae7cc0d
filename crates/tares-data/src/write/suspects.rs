//! The two tables of an audit: the labels of every row, and the suspects. All cores format blocks of lines, and the blocks are
//! written in order, so memory does not grow with the number of rows.

use crate::error::Result;
use crate::io::atomic;
use rayon::prelude::*;
use std::io::Write;
use std::ops::Range;
use std::path::Path;
use tares_core::audit::{Evidence, Suspect};

/// Lines per block.
const STEP: usize = 1 << 12;

/// Writes `index,id,given,suggested` for every row. `classes` holds each class name as a finished CSV cell; `id` gives the id
/// cell of a row, by default its index. A label that is no class is a row without a label.
///
/// # Errors
/// The file cannot be written.
pub fn write_labels(
    path: &Path,
    classes: &[String],
    given: &[u32],
    suggested: &[u32],
    id: Option<&(dyn Fn(usize) -> String + Sync)>,
) -> Result<()> {
    let cells = |end: &str| classes.iter().map(|class| Piece::new(&format!(",{class}{end}"))).collect::<Vec<Piece>>();
    let unchanged: Vec<Piece> = classes.iter().map(|class| Piece::new(&format!(",{class},{class}\n"))).collect();
    let (before, after) = (cells(""), cells("\n"));
    write_lines(path, b"index,id,given,suggested\n", given.len().min(suggested.len()), &|rows, text| {
        let mut number = Short::number(rows.start as u64);
        for index in rows {
            match id {
                Some(id) => {
                    number.push_to(text);
                    text.push(b',');
                    text.extend_from_slice(id(index).as_bytes());
                }
                None => number.push_twice_to(text),
            }
            let (old, new) = (given[index] as usize, suggested[index] as usize);
            if old == new {
                match unchanged.get(old) {
                    Some(cells) => cells.push_to(text),
                    // A row without a label.
                    None => text.extend_from_slice(b",,\n"),
                }
            } else {
                before[old].push_to(text);
                after[new].push_to(text);
            }
            number = number.after(index as u64);
        }
    })
}

/// Writes `index,id,given,suggested,score,reason` for every suspect, in their order. `classes` and `id` are as in [`write_labels`].
/// `reason` gives the reason cell of a suspect. Without it, the evidence must be probabilities and class names must need no
/// quotes; then the reason is put together without allocating, which is many times faster.
///
/// # Errors
/// The file cannot be written.
pub fn write_suspects(
    path: &Path,
    classes: &[String],
    suspects: &[Suspect],
    id: Option<&(dyn Fn(usize) -> String + Sync)>,
    reason: Option<&(dyn Fn(&Suspect) -> String + Sync)>,
) -> Result<()> {
    let pieces = |before: &str, after: &str| -> Vec<Piece> {
        classes.iter().map(|class| Piece::new(&format!("{before}{class}{after}"))).collect()
    };
    let (cells, says, and) = (pieces(",", ""), pieces(",classifier says ", " "), pieces(" % and ", " "));
    write_lines(path, b"index,id,given,suggested,score,reason\n", suspects.len(), &|rows, text| {
        for suspect in &suspects[rows] {
            let (given, suggested) = (suspect.given as usize, suspect.suggested as usize);
            let number = Short::number(suspect.index as u64);
            match id {
                Some(id) => {
                    number.push_to(text);
                    text.push(b',');
                    text.extend_from_slice(id(suspect.index).as_bytes());
                }
                None => number.push_twice_to(text),
            }
            cells[given].push_to(text);
            cells[suggested].push_to(text);
            text.push(b',');
            push_decimal::<6>(text, suspect.score);
            let (own, other) = match (reason, &suspect.evidence) {
                (None, Evidence::Probabilities { given, suggested }) => (*given, *suggested),
                _ => {
                    let reason = reason.map_or(String::new(), |reason| reason(suspect));
                    text.extend_from_slice(format!(",{reason}\n").as_bytes());
                    continue;
                }
            };
            says[suggested].push_to(text);
            push_decimal::<1>(text, 100.0 * other);
            and[given].push_to(text);
            push_decimal::<1>(text, 100.0 * own);
            text.extend_from_slice(b" %\n");
        }
    })
}

/// Writes a header and `count` lines; `format` appends the lines of a range to a buffer.
fn write_lines(
    path: &Path,
    header: &[u8],
    count: usize,
    format: &(dyn Fn(Range<usize>, &mut Vec<u8>) + Sync),
) -> Result<()> {
    atomic::write(path, |out| {
        out.write_all(header)?;
        let wave = 2 * rayon::current_num_threads();
        let (mut ready, mut next) = (vec![Vec::new(); wave], vec![Vec::new(); wave]);
        let mut first = 0;
        // The next blocks are formatted while these are written.
        loop {
            let fill = |texts: &mut Vec<Vec<u8>>| {
                texts.par_iter_mut().enumerate().for_each(|(number, text)| {
                    text.clear();
                    let start = (first + number * STEP).min(count);
                    format(start..(start + STEP).min(count), text);
                });
            };
            let mut write = |texts: &[Vec<u8>]| texts.iter().try_for_each(|text| out.write_all(text));
            let (_, written) = rayon::join(|| fill(&mut next), || write(&ready));
            written?;
            if first >= count {
                return Ok(());
            }
            first += wave * STEP;
            std::mem::swap(&mut ready, &mut next);
        }
    })
}

/// At most 16 bytes. Appending always appends 16 bytes, then truncates: a copy of known length is one instruction, one of any
/// length a call, and tables of millions of lines consist of little else.
#[derive(Clone, Copy)]
struct Short {
    bytes: u128,
    length: usize,
}

impl Short {
    fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        Some(Self { bytes: u128::from_le_bytes(bytes), length: text.len() })
    }

    /// A number as decimal digits (the last 16 of them).
    #[inline]
    fn number(mut value: u64) -> Self {
        let (mut bytes, mut length) = (0, 0);
        loop {
            bytes = bytes << 8 | u128::from(b'0' + (value % 10) as u8);
            (value, length) = (value / 10, length + 1);
            if value == 0 || length == 16 {
                return Self { bytes, length };
            }
        }
    }

    /// The digits of `value + 1`, where these are the digits of `value`. Nine times in ten only the last one changes.
    #[inline]
    fn after(self, value: u64) -> Self {
        let last = 8 * (self.length - 1);
        match (self.bytes >> last) as u8 {
            b'9' => Self::number(value + 1),
            _ => Self { bytes: self.bytes + (1 << last), length: self.length },
        }
    }

    /// Appends the number twice with a comma between, as in `7,7`.
    #[inline]
    fn push_twice_to(self, text: &mut Vec<u8>) {
        if self.length > 7 {
            self.push_to(text);
            text.push(b',');
            return self.push_to(text);
        }
        let comma = u128::from(b',') << (8 * self.length);
        let bytes = self.bytes | comma | self.bytes << (8 * self.length + 8);
        Self { bytes, length: 2 * self.length + 1 }.push_to(text);
    }

    #[inline]
    fn push_to(self, text: &mut Vec<u8>) {
        let end = text.len() + self.length;
        text.extend_from_slice(&self.bytes.to_le_bytes());
        text.truncate(end);
    }
}

/// Text that is appended to many lines.
enum Piece {
    Short(Short),
    /// Up to 32 bytes.
    Two(Short, Short),
    Long(Vec<u8>),
}

impl Piece {
    fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let (first, rest) = bytes.split_at(bytes.len().min(16));
        match (Short::new(first), Short::new(rest)) {
            (Some(first), _) if rest.is_empty() => Self::Short(first),
            (Some(first), Some(rest)) => Self::Two(first, rest),
            _ => Self::Long(bytes.to_vec()),
        }
    }

    #[inline]
    fn push_to(&self, text: &mut Vec<u8>) {
        match self {
            Self::Short(short) => short.push_to(text),
            Self::Two(first, rest) => {
                first.push_to(text);
                rest.push_to(text);
            }
            Self::Long(bytes) => text.extend_from_slice(bytes),
        }
    }
}

/// Appends a number with `PLACES` decimals. Numbers from 0 to 10¹⁵ take the fast way.
fn push_decimal<const PLACES: usize>(text: &mut Vec<u8>, value: f64) {
    let unit = const { 10u64.pow(PLACES as u32) };
    let scaled = value * unit as f64;
    if !(0.0..1e15).contains(&scaled) {
        let _ = write!(text, "{value:.PLACES$}");
        return;
    }
    let scaled = (scaled + 0.5) as u64;
    Short::number(scaled / unit).push_to(text);
    // A leading 1 keeps the zeros of the decimals (0.05 as 105); then the point takes its place.
    let places = Short::number(unit + scaled % unit);
    let point = u128::from(b'1' ^ b'.');
    Short { bytes: places.bytes ^ point, ..places }.push_to(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for value in [0, 7, 9, 10, 99, 12_999, 1234567890, 9_999_999_999_999_998] {
            let mut text = Vec::new();
            let number = Short::number(value);
            number.push_to(&mut text);
            text.push(b' ');
            number.after(value).push_twice_to(&mut text);
            let next = value + 1;
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value} {next},{next}"));
        }
        for length in [0, 1, 15, 16, 17, 31, 32, 33, 70] {
            let (words, mut text) = ("x".repeat(length), b"a".to_vec());
            Piece::new(&words).push_to(&mut text);
            assert_eq!(String::from_utf8(text).unwrap(), format!("a{words}"));
        }
        for value in [0.0, 0.1234564, 0.9999996, 1.0, 12.25, 99.96, 1e-9, -0.25, 1e300] {
            let mut text = Vec::new();
            push_decimal::<6>(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), format!("{value:.6}"));
        }
    }

    #[test]
    fn every_line_is_there_once_and_in_order_on_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.csv");
        let classes = ["cat".to_owned(), "\"a, b\"".to_owned()];
        for count in [0usize, 1, STEP, 5 * STEP + 3, 70_001] {
            let given: Vec<u32> = (0..count).map(|i| u32::from(i % 3 == 0)).collect();
            let suggested: Vec<u32> = (0..count).map(|i| u32::from(i % 5 == 0)).collect();
            for threads in [1, 3] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| write_labels(&path, &classes, &given, &suggested, None).unwrap());
                let text = std::fs::read_to_string(&path).unwrap();
                let mut lines = text.lines();
                assert_eq!(lines.next(), Some("index,id,given,suggested"));
                for index in 0..count {
                    let (old, new) = (&classes[given[index] as usize], &classes[suggested[index] as usize]);
                    assert_eq!(lines.next(), Some(format!("{index},{index},{old},{new}").as_str()));
                }
                assert_eq!(lines.next(), None);
            }
        }
        let evidence = Evidence::Probabilities { given: 0.0312, suggested: 0.9 };
        let suspects = [Suspect { index: 7, given: 0, suggested: 0, score: 0.25, evidence }];
        write_suspects(&path, &classes, &suspects, Some(&|index| format!("row {index}")), None).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "index,id,given,suggested,score,reason\n7,row 7,cat,cat,0.250000,classifier says cat 90.0 % and cat 3.1 %\n"
        );
        let because = |suspect: &Suspect| format!("because of {}", suspect.index);
        write_suspects(&path, &classes, &suspects, None, Some(&because)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("\n7,7,cat,cat,0.250000,because of 7\n"), "{text}");
    }
}
