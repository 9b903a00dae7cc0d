//! The two tables an audit leaves behind, as fast as the disk takes them: lines are put together on all cores and written in
//! order, a few hundred kilobytes at a time, so that a table of millions of rows takes little memory.

use crate::atomic;
use crate::error::Result;
use rayon::prelude::*;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

/// Lines that one thread puts together at a time.
const STEP: usize = 1 << 13;

/// `index,id,given,suggested` of every row. `classes` are cells as they stand in the file; `id` gives those of the rows, the
/// row's number if there is none.
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
    write_lines(path, b"index,id,given,suggested\n", given.len().min(suggested.len()), &|rows, text| {
        for index in rows {
            let start = text.len();
            push_number(text, index as u64);
            let end = text.len();
            text.push(b',');
            match id {
                Some(id) => text.extend_from_slice(id(index).as_bytes()),
                None => text.extend_from_within(start..end),
            }
            for label in [given[index], suggested[index]] {
                text.push(b',');
                text.extend_from_slice(classes[label as usize].as_bytes());
            }
            text.push(b'\n');
        }
    })
}

/// One line of [`write_suspects`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SuspectLine {
    /// Row of the data.
    pub index: usize,
    /// Its label.
    pub given: u32,
    /// What it should probably be.
    pub suggested: u32,
    /// Quality of the given label, 0 to 1.
    pub score: f64,
    /// The classifier's probability of the given label.
    pub given_probability: f64,
    /// The classifier's probability of the suggested label.
    pub suggested_probability: f64,
}

/// `index,id,given,suggested,score,reason` of `count` suspects, in their order. `classes` are cells that need no quotes.
///
/// # Errors
/// The file cannot be written.
pub fn write_suspects(
    path: &Path,
    classes: &[String],
    count: usize,
    line: &(dyn Fn(usize) -> SuspectLine + Sync),
    id: Option<&(dyn Fn(usize) -> String + Sync)>,
) -> Result<()> {
    write_lines(path, b"index,id,given,suggested,score,reason\n", count, &|rows, text| {
        for line in rows.map(line) {
            let (given, suggested) =
                (classes[line.given as usize].as_bytes(), classes[line.suggested as usize].as_bytes());
            let start = text.len();
            push_number(text, line.index as u64);
            let end = text.len();
            text.push(b',');
            match id {
                Some(id) => text.extend_from_slice(id(line.index).as_bytes()),
                None => text.extend_from_within(start..end),
            }
            for part in [b",", given, b",", suggested, b","] {
                text.extend_from_slice(part);
            }
            push_decimal(text, line.score, 6);
            for (words, class, p) in [
                (&b",classifier says "[..], suggested, line.suggested_probability),
                (&b" and "[..], given, line.given_probability),
            ] {
                text.extend_from_slice(words);
                text.extend_from_slice(class);
                text.push(b' ');
                push_decimal(text, 100.0 * p, 1);
                text.extend_from_slice(b" %");
            }
            text.push(b'\n');
        }
    })
}

/// Writes `count` lines; `format` appends those of a range.
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
        // While one wave is written the next one is put together.
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

/// Appends a whole number: the formatting machinery would take most of the time.
fn push_number(text: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[at..]);
}

/// Appends a number from 0 on with so many places behind the point.
fn push_decimal(text: &mut Vec<u8>, value: f64, places: u32) {
    let unit = 10u64.pow(places);
    let scaled = value * unit as f64;
    if !(0.0..1e15).contains(&scaled) {
        let _ = write!(text, "{value:.*}", places as usize);
        return;
    }
    let scaled = (scaled + 0.5) as u64;
    push_number(text, scaled / unit);
    text.push(b'.');
    let (mut rest, mut place) = (scaled % unit, unit / 10);
    while place > 0 {
        text.push(b'0' + (rest / place) as u8);
        (rest, place) = (rest % place, place / 10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        for value in [0, 7, 10, 1234567890, u64::MAX] {
            let mut text = Vec::new();
            push_number(&mut text, value);
            assert_eq!(String::from_utf8(text).unwrap(), value.to_string());
        }
        for value in [0.0, 0.1234564, 0.9999996, 1.0, 12.25, 99.96, 1e-9, -0.25, 1e300] {
            let mut text = Vec::new();
            push_decimal(&mut text, value, 6);
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
        let line = SuspectLine {
            index: 7,
            given: 0,
            suggested: 0,
            score: 0.25,
            given_probability: 0.0312,
            suggested_probability: 0.9,
        };
        write_suspects(&path, &classes, 1, &|_| line, Some(&|index| format!("row {index}"))).unwrap();
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "index,id,given,suggested,score,reason\n7,row 7,cat,cat,0.250000,classifier says cat 90.0 % and cat 3.1 %\n"
        );
    }
}
