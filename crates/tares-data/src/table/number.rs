//! Numbers as people write them in text files: `3.75`, `3,75`, `3,750`, `18.7%`.
//!
//! A column of text is a column of numbers if every cell that has a value is a number in one [`Notation`]. A comma is a decimal
//! mark or stands between thousands; where a column fits both (`3,750`), the other columns of the file decide, then its
//! delimiter: files with semicolons come from places that write decimal commas. If at least nine in ten cells are numbers and
//! the others are all the same word without a digit (`unknown`), that word is a missing value.
//!
//! Dates are numbers too (`date.rs`): a column whose cells are all dates has the notation [`Notation::dates`].

use crate::table::columns::{MISSING, Values};
use crate::table::date;
use serde::{Deserialize, Serialize};

/// A word is a missing value if at most one cell in so many holds it and all others are numbers.
const WORD_SHARE: usize = 10;

/// How the numbers of a column are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Notation {
    /// The decimal mark.
    pub mark: DecimalMark,
    /// Whether every cell ends with a percent sign; `18.7%` is read as 18.7.
    pub percent: bool,
    /// A word that stands for "no value" in this column.
    pub missing_word: Option<String>,
    /// Whether the cells are dates, read as days since 1970; mark and percent then mean nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dates: bool,
}

/// What separates the whole part of a number from its fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecimalMark {
    /// `1234.5`.
    #[default]
    Point,
    /// `1,234.5`: a point, and commas between thousands.
    PointAndGroups,
    /// `1.234,5` or `1234,5`: a comma, and maybe points between thousands.
    Comma,
}

impl DecimalMark {
    const ALL: [Self; 3] = [Self::Point, Self::PointAndGroups, Self::Comma];

    fn parse(self, text: &str) -> Option<f64> {
        let number = match self {
            Self::Point => text.parse::<f64>(),
            Self::PointAndGroups => {
                let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
                let whole = ungrouped(whole, ',')?;
                match fraction {
                    Some(fraction) => format!("{whole}.{fraction}").parse(),
                    None => whole.parse(),
                }
            }
            Self::Comma => {
                let (whole, fraction) = text.split_once(',').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
                let whole = ungrouped(whole, '.')?;
                match fraction {
                    Some(fraction) if fraction.contains(['.', ',']) => return None,
                    Some(fraction) => format!("{whole}.{fraction}").parse(),
                    None => whole.parse(),
                }
            }
        };
        number.ok().filter(|number| number.is_finite())
    }
}

/// A whole number without the marks between its thousands: one to three digits, then groups of three.
fn ungrouped(whole: &str, mark: char) -> Option<String> {
    if !whole.contains(mark) {
        return Some(whole.to_owned());
    }
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let all_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = digits.split(mark);
    let first = groups.next().filter(|first| (1..=3).contains(&first.len()) && all_digits(first) && *first != "0");
    first?;
    groups.all(|group| group.len() == 3 && all_digits(group)).then(|| whole.replace(mark, ""))
}

impl Notation {
    /// The number a cell stands for; NaN for the missing word.
    pub(crate) fn parse(&self, cell: &str) -> Option<f64> {
        if self.missing_word.as_deref() == Some(cell) {
            return Some(f64::NAN);
        }
        if self.dates {
            return date::days(cell);
        }
        let text = if self.percent { cell.strip_suffix('%')?.trim_end() } else { cell };
        self.mark.parse(text)
    }

    /// A number of a column of dates as a date, to the minute.
    pub fn date(&self, number: f64) -> Option<String> {
        date::written(number).filter(|_| self.dates)
    }

    /// The notation of a column of dates, if this is one.
    pub(crate) fn of_dates(codes: &[u32], levels: &[String]) -> Option<Self> {
        let dates = Self { dates: true, ..Self::default() };
        match dates.failing(levels)[..] {
            [] if !levels.is_empty() => Some(dates),
            [code] if levels.len() > 1 => dates.with_word(code, codes, levels),
            _ => None,
        }
    }

    /// The first two texts that are no number in this notation.
    fn failing(&self, levels: &[String]) -> Vec<usize> {
        let failing = levels.iter().enumerate().filter(|(_, level)| self.parse(level).is_none());
        failing.map(|(code, _)| code).take(2).collect()
    }

    /// This notation with a text as the word for "no value", if that is rare enough and no number itself.
    fn with_word(self, code: usize, codes: &[u32], levels: &[String]) -> Option<Self> {
        let word = &levels[code];
        let present = codes.iter().filter(|&&cell| cell != MISSING).count();
        let count = codes.iter().filter(|&&cell| cell as usize == code).count();
        let rare = count * WORD_SHARE <= present && !word.bytes().any(|byte| byte.is_ascii_digit());
        rare.then(|| Self { missing_word: Some(word.clone()), ..self })
    }

    /// Turns text into numbers; the error is the code of the first text that is none.
    pub(crate) fn numbers(&self, codes: &[u32], levels: &[String]) -> Result<Values, u32> {
        let numbers = levels.iter().enumerate().map(|(code, level)| self.parse(level).ok_or(code as u32));
        let numbers = numbers.collect::<Result<Vec<f64>, u32>>()?;
        let number = |&code: &u32| if code == MISSING { f64::NAN } else { numbers[code as usize] };
        Ok(Values::Numbers(codes.iter().map(number).collect()))
    }

    /// The note about a column of this notation.
    pub(crate) fn sentences(&self, column: &str, codes: &[u32], levels: &[String]) -> Vec<String> {
        let example = |wanted: &dyn Fn(&str) -> bool| {
            let level = levels.iter().find(|level| self.missing_word.as_ref() != Some(level) && wanted(level))?;
            Some((level, self.parse(level)?))
        };
        let mut said = Vec::new();
        let (what, shown) = match (self.mark, self.percent) {
            _ if self.dates => ("holds dates (days since 1970)", example(&|_| true)),
            (DecimalMark::PointAndGroups, _) => ("has commas between thousands", example(&|level| level.contains(','))),
            (DecimalMark::Comma, _) => ("has decimal commas", {
                example(&|level| level.contains(',')).or_else(|| example(&|level| level.contains('.')))
            }),
            (DecimalMark::Point, true) => ("is in percent", example(&|_| true)),
            (DecimalMark::Point, false) => ("", None),
        };
        if let Some((cell, number)) = shown {
            said.push(format!("column \"{column}\" {what}: \"{cell}\" is read as {number}"));
        }
        if let Some(word) = &self.missing_word {
            let code = levels.iter().position(|level| level == word);
            let count = codes.iter().filter(|&&cell| Some(cell as usize) == code).count();
            let cells = if count == 1 { "1 cell".to_owned() } else { format!("{count} cells") };
            let what = if self.dates { "dates" } else { "numbers" };
            said.push(format!("column \"{column}\" holds {what}: \"{word}\" ({cells}) is read as a missing value"));
        }
        said
    }
}

/// The notations in which a column of text is a column of numbers.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Notations(Vec<Notation>);

/// What a comma means in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comma {
    Decimal,
    Thousands,
}

impl Notations {
    /// Tries every notation on the different texts of a column and their counts.
    pub(crate) fn of(codes: &[u32], levels: &[String]) -> Self {
        if levels.is_empty() {
            return Self::default();
        }
        let kinds = [false, true].into_iter().flat_map(|percent| DecimalMark::ALL.map(|mark| (mark, percent)));
        let kinds: Vec<Notation> =
            kinds.map(|(mark, percent)| Notation { mark, percent, ..Notation::default() }).collect();
        let whole: Vec<Notation> =
            kinds.iter().filter(|notation| notation.failing(levels).is_empty()).cloned().collect();
        if !whole.is_empty() {
            return Self(whole);
        }
        let with_word = |notation: Notation| {
            let [code] = notation.failing(levels)[..] else { return None };
            notation.with_word(code, codes, levels)
        };
        Self(kinds.into_iter().filter_map(with_word).collect())
    }

    /// What a comma must mean in this column, if it has only one meaning.
    pub(crate) fn comma(&self) -> Option<Comma> {
        let has = |mark: DecimalMark| self.0.iter().any(|notation| notation.mark == mark);
        match (has(DecimalMark::Point), has(DecimalMark::PointAndGroups), has(DecimalMark::Comma)) {
            (false, true, false) => Some(Comma::Thousands),
            (false, false, true) => Some(Comma::Decimal),
            _ => None,
        }
    }

    /// The notation of the column: what the file says a comma means, if another column of it leaves no doubt (`certain`); else
    /// plain numbers; else what a comma usually means in such files.
    pub(crate) fn choose(self, comma: Comma, certain: bool) -> Option<Notation> {
        let rank = |notation: &Notation| match (notation.mark, comma) {
            (DecimalMark::PointAndGroups, Comma::Thousands) | (DecimalMark::Comma, Comma::Decimal) if certain => 0,
            (DecimalMark::Point, _) => 1,
            (DecimalMark::PointAndGroups, Comma::Thousands) | (DecimalMark::Comma, Comma::Decimal) => 2,
            _ => 3,
        };
        self.0.into_iter().min_by_key(rank)
    }
}

/// How many cells of a column of text are plain numbers, and the first text that is none.
pub(crate) fn mostly_numbers<'a>(codes: &[u32], levels: &'a [String]) -> Option<(usize, &'a str)> {
    let plain: Vec<bool> = levels.iter().map(|level| DecimalMark::Point.parse(level).is_some()).collect();
    let odd = plain.iter().position(|plain| !plain)?;
    let present = codes.iter().filter(|&&code| code != MISSING).count();
    let numbers = codes.iter().filter(|&&code| code != MISSING && plain[code as usize]).count();
    (2 * numbers > present).then(|| (present - numbers, levels[odd].as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(cells: &[&str]) -> (Vec<u32>, Vec<String>) {
        let mut dictionary = crate::table::columns::Dictionary::default();
        cells.iter().for_each(|cell| dictionary.push(cell));
        dictionary.into_parts()
    }

    fn chosen(cells: &[&str], comma: Comma) -> Option<(Notation, Vec<f64>)> {
        let (codes, levels) = owned(cells);
        let notation = Notations::of(&codes, &levels).choose(comma, false)?;
        match notation.numbers(&codes, &levels) {
            Ok(Values::Numbers(numbers)) => Some((notation, numbers)),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_notation_is_read_as_the_number_it_means() {
        let cases: [(&[&str], Comma, &[f64]); 8] = [
            (&["3,750", "1,234,567.5", "-12", "0.5"], Comma::Decimal, &[3750.0, 1_234_567.5, -12.0, 0.5]),
            (&["3,75", "-0,5", "12"], Comma::Thousands, &[3.75, -0.5, 12.0]),
            (&["1.234,5", "1.000", "7"], Comma::Thousands, &[1234.5, 1000.0, 7.0]),
            (&["3,750", "1,250"], Comma::Thousands, &[3750.0, 1250.0]),
            (&["3,750", "1,250"], Comma::Decimal, &[3.75, 1.25]),
            (&["18.7%", "5 %", "100%"], Comma::Thousands, &[18.7, 5.0, 100.0]),
            (&["18,7 %", "5 %"], Comma::Thousands, &[18.7, 5.0]),
            (&["0,5", "0,750"], Comma::Thousands, &[0.5, 0.75]),
        ];
        for (cells, comma, numbers) in cases {
            assert_eq!(chosen(cells, comma).unwrap_or_else(|| panic!("{cells:?}")).1, numbers, "{cells:?}");
        }
    }

    #[test]
    fn what_is_no_number_in_one_notation_stays_text() {
        let cases: [&[&str]; 8] = [
            &["red", "1"],
            &["1,2,3", "4"],
            &["1.2.3", "4"],
            &["18.7%", "5"],
            &["3,75", "3.75"],
            &["12,34,567", "1"],
            &["$5", "$7"],
            &["3+", "1", "2", "0", "1", "2", "0", "1", "2", "0", "1"],
        ];
        for cells in cases {
            assert_eq!(chosen(cells, Comma::Thousands), None, "{cells:?}");
        }
    }

    #[test]
    fn one_word_among_many_numbers_is_a_missing_value() {
        let mut cells = vec!["1.5"; 10];
        cells.extend(["2", "unknown"]);
        let (notation, numbers) = chosen(&cells, Comma::Thousands).unwrap();
        assert_eq!(notation.missing_word.as_deref(), Some("unknown"));
        assert!(numbers[11].is_nan() && numbers[10] == 2.0);
        let (codes, levels) = owned(&cells);
        assert_eq!(
            notation.sentences("age", &codes, &levels),
            ["column \"age\" holds numbers: \"unknown\" (1 cell) is read as a missing value"]
        );
        cells.push("other");
        assert_eq!(chosen(&cells, Comma::Thousands), None, "two words are levels");
    }

    #[test]
    fn only_a_clear_column_says_what_a_comma_means() {
        let comma = |cells: &[&str]| {
            let (codes, levels) = owned(cells);
            Notations::of(&codes, &levels).comma()
        };
        assert_eq!(comma(&["3,75", "1"]), Some(Comma::Decimal));
        assert_eq!(comma(&["3,750.5", "1"]), Some(Comma::Thousands));
        assert_eq!(comma(&["3,750", "1"]), None);
        assert_eq!(comma(&["red"]), None);
    }
}
