//! Dates and times that can be read in one way only: `2024-05-17`, `2024/5/17`, `2024-05-17T12:30:05.25+02:00`. They are numbers:
//! days since 1970, so that noon of 2 January 1970 is 1.5. Where a cell names an offset, it is taken off; where it names none, the
//! time is taken as it stands, as Parquet does.

pub(crate) mod columns;

/// Parts of a day: every time with nine digits of a second is a whole number of them.
const NANOSECONDS_PER_DAY: i64 = 86_400_000_000_000;

/// A whole number, and what follows it.
type Digits<'a> = Option<(i64, &'a [u8])>;

/// The days since 1970 that a cell stands for.
pub(crate) fn days(cell: &str) -> Option<f64> {
    let (day, rest) = date(cell.as_bytes())?;
    let nanoseconds = match rest {
        [] => 0,
        [b'T' | b't' | b' ', time @ ..] => time_of_day(time)?,
        _ => return None,
    };
    Some(in_days(day, nanoseconds, NANOSECONDS_PER_DAY))
}

/// A day and parts of a day as one number. Whole days and the rest are divided apart, so that milliseconds and nanoseconds of one
/// moment give the same bits.
pub(crate) fn in_days(day: i64, parts: i64, per_day: i64) -> f64 {
    let (days, rest) = (parts.div_euclid(per_day), parts.rem_euclid(per_day));
    (day + days) as f64 + rest as f64 / per_day as f64
}

/// Days since 1970 as people write them, to the minute: `2024-05-17`, or `2024-05-17 12:30`.
pub(crate) fn written(days: f64) -> Option<String> {
    // The years 0 to 9999: others have no four digits.
    if !(-719_528.0..2_932_897.0).contains(&days) {
        return None;
    }
    let minutes = (days * 1440.0).round() as i64;
    let (year, month, day) = civil(minutes.div_euclid(1440));
    let time = minutes.rem_euclid(1440);
    let date = format!("{year:04}-{month:02}-{day:02}");
    Some(if time == 0 { date } else { format!("{date} {:02}:{:02}", time / 60, time % 60) })
}

/// Whether a cell looks like a date whose parts may stand in another order: `17/05/2024`, `5.7.2024`, `5/7/24`.
pub(crate) fn is_ambiguous(cell: &str) -> bool {
    let parts = || {
        let (first, rest) = digits(cell.as_bytes(), 1, 2)?;
        let (&mark, rest) = rest.split_first().filter(|(mark, _)| matches!(mark, b'/' | b'.' | b'-'))?;
        let (second, rest) = digits(rest, 1, 2)?;
        let rest = rest.strip_prefix(&[mark])?;
        let year = digits(rest, 4, 4).or_else(|| digits(rest, 2, 2).filter(|_| mark == b'/'))?;
        let days = 1..=31;
        Some(days.contains(&first) && days.contains(&second) && matches!(year.1, [] | [b' ' | b'T' | b',', ..]))
    };
    parts() == Some(true)
}

/// The day of a date, and what follows it.
fn date(text: &[u8]) -> Digits<'_> {
    let (year, rest) = digits(text, 4, 4)?;
    let (&mark, rest) = rest.split_first().filter(|(mark, _)| matches!(mark, b'-' | b'/'))?;
    // ISO dates have two digits everywhere; 12-5-7 behind four digits is rather a number of something.
    let least = if mark == b'-' { 2 } else { 1 };
    let (month, rest) = digits(rest, least, 2)?;
    let (day, rest) = digits(rest.strip_prefix(&[mark])?, least, 2)?;
    let is_day = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    is_day.then(|| (day_number(year, month, day), rest))
}

/// The nanoseconds since midnight, less the offset: `12:30`, `12:30:05.25`, `12:30Z`, `12:30:05+02:00`.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let (hour, rest) = digits(text, 2, 2).filter(|(hour, _)| *hour < 24)?;
    let (minute, mut rest) = digits(rest.strip_prefix(b":")?, 2, 2).filter(|(minute, _)| *minute < 60)?;
    let (mut second, mut nanoseconds) = (0, 0);
    if let Some(more) = rest.strip_prefix(b":") {
        // A leap second is the first of the next minute.
        (second, rest) = digits(more, 2, 2).filter(|(second, _)| *second <= 60)?;
        if let Some(fraction) = rest.strip_prefix(b".") {
            let length = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            if length == 0 {
                return None;
            }
            let digit = |place: usize| fraction[..length].get(place).map_or(0, |byte| i64::from(byte - b'0'));
            nanoseconds = (0..9).fold(0, |sum, place| 10 * sum + digit(place));
            rest = &fraction[length..];
        }
    }
    let seconds = 3600 * hour + 60 * minute + second - offset(rest)?;
    Some(1_000_000_000 * seconds + nanoseconds)
}

/// The seconds by which a clock is ahead: of `Z`, ` UTC`, `+02:00`, `-0530`, `+01` or nothing.
fn offset(text: &[u8]) -> Option<i64> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let (sign, text) = match text {
        [] | b"Z" | b"z" | b"UTC" => return Some(0),
        [b'+', text @ ..] => (1, text),
        [b'-', text @ ..] => (-1, text),
        _ => return None,
    };
    let (hours, rest) = digits(text, 2, 2).filter(|(hours, _)| *hours < 24)?;
    let minutes = match rest {
        [] => 0,
        rest => {
            let (minutes, rest) = digits(rest.strip_prefix(b":").unwrap_or(rest), 2, 2)?;
            rest.is_empty().then_some(minutes).filter(|minutes| *minutes < 60)?
        }
    };
    Some(sign * (3600 * hours + 60 * minutes))
}

/// The whole number at the beginning of a text, of `least` to `most` digits.
fn digits(text: &[u8], least: usize, most: usize) -> Digits<'_> {
    let length = text.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    (length >= least).then(|| (digits.iter().fold(0, |sum, byte| 10 * sum + i64::from(byte - b'0')), rest))
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day is the last of its year (Hinnant, "chrono-compatible
/// low-level date algorithms").
fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The year, month and day of a day since 1970-01-01, by the same source.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    (year + 400 * era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_of_a_moment_is_the_same_number() {
        let cases: [(f64, &[&str]); 6] = [
            (0.0, &["1970-01-01", "1970/01/01", "1970/1/1", "1970-01-01T00:00", "1970-01-01 02:00:00+02:00"]),
            (19_860.0, &["2024-05-17", "2024/5/17", "2024-05-17T00:00:00Z", "2024-05-17 00:00:00.000 UTC"]),
            (19_782.0, &["2024-02-29", "2024-02-28T23:59:60Z"]),
            (-1.0, &["1969-12-31", "1969-12-30T23:30-0030"]),
            (1.5, &["1970-01-02 12:00", "1970-01-02t12:00:00.0z", "1970-01-02T13:00+01", "1970-01-02T06:30:00-05:30"]),
            (-719_528.0, &["0000-01-01"]),
        ];
        for (number, cells) in cases {
            for cell in cells {
                assert_eq!(days(cell), Some(number), "{cell}");
            }
        }
        assert_eq!(days("1970-01-01T00:00:00.25"), Some(0.25 / 86_400.0));
        // Parquet has milliseconds or nanoseconds of the same moment.
        let cell = days("2024-05-17T12:34:56.789Z").unwrap();
        let milliseconds = 1_715_949_296_789;
        assert_eq!(in_days(0, milliseconds, 86_400_000).to_bits(), cell.to_bits());
        assert_eq!(in_days(0, milliseconds * 1_000_000, NANOSECONDS_PER_DAY).to_bits(), cell.to_bits());
    }

    #[test]
    fn what_is_no_day_or_may_be_two_is_no_date() {
        let none = [
            "",
            "2024",
            "2024-5-17",
            "2024-02-30",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-10",
            "2024-01-00",
            "2024-04-31",
            "2024-05/17",
            "20240517",
            "2024-05-17T",
            "2024-05-17 ",
            "2024-05-17T12",
            "2024-05-17T24:00",
            "2024-05-17T12:60",
            "2024-05-17T12:30:61",
            "2024-05-17T12:30:00.",
            "2024-05-17T12:30+2",
            "2024-05-17x",
            "2024-05-171",
            "17/05/2024",
            "05-17-2024",
            "5.7.2024",
            "12024-05-17",
            "-2024-05-17",
            "2024-05-17T12:30+02:0",
        ];
        for cell in none {
            assert_eq!(days(cell), None, "{cell}");
        }
        assert!(["17/05/2024", "5/7/24", "5.7.2024 12:30", "05-17-2024"].iter().all(|cell| is_ambiguous(cell)));
        assert!(
            !["10.2.12", "32/1/2024", "1/2", "2024-05-17", "1-2-3", "555-12-1234"]
                .iter()
                .any(|cell| is_ambiguous(cell))
        );
    }

    #[test]
    fn every_day_is_read_as_it_is_written() {
        let mut last = days("1599-12-31").unwrap();
        for year in 1600..2101 {
            for month in 1..=12 {
                for day in 1..=days_of(year, month) {
                    let cell = format!("{year:04}-{month:02}-{day:02}");
                    last += 1.0;
                    assert_eq!(days(&cell), Some(last), "{cell}");
                    assert_eq!(written(last).as_deref(), Some(cell.as_str()));
                }
            }
        }
        assert_eq!(written(19_860.5).as_deref(), Some("2024-05-17 12:00"));
        assert_eq!((written(f64::NAN), written(1e9)), (None, None));
    }
}
