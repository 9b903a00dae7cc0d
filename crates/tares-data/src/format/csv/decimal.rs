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
    if let Some((value, after)) = short_decimal(cell) {
        let point = after > 0;
        let digits = cell.strip_prefix(b"-").unwrap_or(cell);
        let group = after == 3 && (5..=7).contains(&digits.len()) && digits[0] != b'0';
        return Number::Finite { value, point, group };
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

/// The fast path for numbers as most files have them: up to 15 digits and one point. Their digits and the power of ten are exact
/// 64-bit floats, so one division rounds correctly (Clinger 1990). Returns the number and how many digits follow the point;
/// `None` for anything else.
fn short_decimal(cell: &[u8]) -> Option<(f64, usize)> {
    const POWERS: [f64; 16] = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match cell {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let (mut value, mut point) = (0u64, None);
    for (place, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = value * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let after = match point {
        None if digits.len() == 16 => return None,
        None => 0,
        Some(_) if digits.len() == 1 => return None,
        Some(place) => digits.len() - 1 - place,
    };
    let value = value as f64 / POWERS[after];
    Some((if negative { -value } else { value }, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_gives_the_same_bits_as_the_long_way() {
        let mut stream = tares_core::stream(1, "decimals");
        for _ in 0..100_000 {
            let digits = stream.below(17);
            let mut text: String = (0..digits).map(|_| char::from(b'0' + stream.below(10) as u8)).collect();
            if stream.below(2) == 0 {
                text.insert(stream.below(text.len() + 1), '.');
            }
            if stream.below(2) == 0 {
                text.insert(0, '-');
            }
            if let Some((number, _)) = short_decimal(text.as_bytes()) {
                assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
            } else {
                assert!(text.parse::<f64>().is_err() || text.len() > 15, "{text}");
            }
        }
        assert_eq!(short_decimal(b"-0").map(|(number, _)| number.to_bits()), Some((-0.0f64).to_bits()));
        assert!(
            [&b""[..], b"-", b".", b"-.", b"1e5", b"0x1", b"1.2.3", b"+1"]
                .iter()
                .all(|cell| short_decimal(cell).is_none())
        );
    }
}
