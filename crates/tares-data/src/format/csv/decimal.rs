//! A cell → a number, the fast way where the cell is short and plain.

use crate::table::columns::is_missing;

/// What a cell holds, seen as a number.
pub(super) enum Number {
    /// `point`: it has a point; `group`: the point could separate thousands, as in `1.234`.
    Finite {
        value: f64,
        point: bool,
        group: bool,
    },
    Missing,
    Infinite,
    Text,
}

/// Reads a cell as a number with a decimal point.
pub(super) fn number(cell: &[u8]) -> Number {
    let cell = cell.trim_ascii();
    let mut window = [b' '; WINDOW + 1];
    if cell.len() < WINDOW {
        window[..cell.len()].copy_from_slice(cell);
        if let Some(Short { value, point, group, end }) = short(&window, 0)
            && end == cell.len()
        {
            return Number::Finite { value, point, group };
        }
    }
    let Ok(text) = std::str::from_utf8(cell) else { return Number::Text };
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Number::Finite { value, point: text.contains('.'), group: false },
        Ok(number) if number.is_nan() => Number::Missing,
        Ok(_) => Number::Infinite,
        Err(_) if is_missing(text) => Number::Missing,
        Err(_) => Number::Text,
    }
}

/// A short plain number.
pub(super) struct Short {
    pub value: f64,
    /// As in [`Number::Finite`].
    pub point: bool,
    pub group: bool,
    /// Where it ends: the first byte that does not belong to it.
    pub end: usize,
}

/// As many bytes are looked at together.
const WINDOW: usize = 16;

/// The same byte in every place of a window.
const fn each(byte: u8) -> u128 {
    u128::from_le_bytes([byte; WINDOW])
}

/// The fast path for numbers as most files have them: a sign, digits and one point, that begin at `start` and end within the
/// next 16 bytes. Their (at most 15) digits and the power of ten are exact 64-bit floats, so one division rounds correctly
/// (Clinger 1990). `None` for anything else.
///
/// All bytes are looked at together, because a branch on the length of numbers is mostly predicted wrong.
#[inline(always)]
pub(super) fn short(bytes: &[u8], start: usize) -> Option<Short> {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let negative = bytes.get(start) == Some(&b'-');
    let start = start + usize::from(negative);
    let window: &[u8; WINDOW] = bytes.get(start..)?.first_chunk()?;
    // Digits become 0 to 9; adding 0x76 sets the high bit of any other byte (and nothing below the first of them is disturbed).
    let values = u128::from_le_bytes(*window) ^ each(b'0');
    let others = (values.wrapping_add(each(0x76)) | values) & each(0x80);
    let first = others.trailing_zeros() as usize / 8;
    let has_point = window.get(first) == Some(&b'.');
    let later = (others & others.wrapping_sub(1)).trailing_zeros() as usize / 8;
    let length = if has_point { later } else { first };
    let digits = length - usize::from(has_point);
    if length == WINDOW || digits == 0 {
        return None;
    }
    // Close the gap of the point, then put the last digit into the last place: places in front of the first are zeros.
    let before = (1u128 << (8 * first)) - 1;
    let after_point = if has_point { values >> 8 } else { values };
    let joined = (values & before) | (after_point & !before);
    let placed = joined << (8 * (WINDOW - digits));
    let value = (eight_digits(placed as u64) * 100_000_000 + eight_digits((placed >> 64) as u64)) as f64;
    let after = digits - first;
    let sign = u64::from(negative) << 63;
    Some(Short {
        value: f64::from_bits((value / POWERS[after]).to_bits() | sign),
        point: after > 0,
        group: after == 3 && digits <= 6 && first > 0 && window[0] != b'0',
        end: start + length,
    })
}

/// Eight digits, the first in the lowest byte, as a number: neighbours are joined three times.
#[inline(always)]
fn eight_digits(digits: u64) -> u64 {
    let pairs = (digits.wrapping_mul(1 + (10 << 8)) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(1 + (100 << 16)) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(1 + (10_000 << 32)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the fast path makes of a whole cell.
    fn cell(text: &str) -> Option<Short> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend_from_slice(b",5.5,5.5,5.5,5.5,5.5");
        short(&bytes, 0).filter(|short| short.end == text.len())
    }

    #[test]
    fn the_short_way_gives_the_same_bits_as_the_long_way() {
        let mut stream = tares_core::stream(1, "decimals");
        for _ in 0..200_000 {
            let digits = stream.below(17);
            let mut text: String = (0..digits).map(|_| char::from(b'0' + stream.below(10) as u8)).collect();
            if stream.below(2) == 0 {
                text.insert(stream.below(text.len() + 1), '.');
            }
            let length = text.len();
            if stream.below(2) == 0 {
                text.insert(0, '-');
            }
            let number = text.parse::<f64>();
            match cell(&text) {
                Some(short) => {
                    assert_eq!(short.value.to_bits(), number.unwrap().to_bits(), "{text}");
                    let (whole, after) = text.trim_start_matches('-').split_once('.').unwrap_or((&text, ""));
                    assert_eq!(short.point, !after.is_empty(), "{text}");
                    let group = after.len() == 3 && (1..=3).contains(&whole.len()) && !whole.starts_with('0');
                    assert_eq!(short.group, group, "{text}");
                }
                None => assert!(number.is_err() || length > 15, "{text}"),
            }
        }
        assert_eq!(cell("-0").map(|short| short.value.to_bits()), Some((-0.0f64).to_bits()));
        let none =
            ["", "-", ".", "-.", "1e5", "0x1", "1.2.3", "+1", "--1", "1-", "1/", "1:", "\u{7f}", "\u{ff}1", "1\u{ff}"];
        assert!(none.iter().all(|text| cell(text).is_none()));
    }

    #[test]
    fn whatever_the_cell_the_number_is_what_the_standard_library_reads() {
        let mut stream = tares_core::stream(2, "cells");
        let letters = b"0123456789.-+eE nN%,/:";
        for _ in 0..200_000 {
            let text: String =
                (0..stream.below(22)).map(|_| char::from(letters[stream.below(letters.len())])).collect();
            let expected = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            let got = match number(text.as_bytes()) {
                Number::Finite { value, .. } => Some(value.to_bits()),
                _ => None,
            };
            assert_eq!(got, expected.map(f64::to_bits), "{text}");
        }
    }
}
