//! The one error type: what was wrong, what is allowed, what came, and where.

use std::fmt;

/// A value from a person or a file that the mathematics cannot accept.
///
/// Every variant answers the same four questions; `at` is the position (row, class, …) when there is one.
///
/// ```
/// use tares_core::Error;
/// let error = Error::value("noise rate", "in [0, 1]", 1.2);
/// assert_eq!(error.to_string(), "noise rate must be in [0, 1], got 1.2");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number outside its domain.
    #[error("{what} must be {allowed}, got {got}{}", Place(at))]
    Value {
        /// The quantity, in the user's words.
        what: String,
        /// Its domain.
        allowed: String,
        /// What came instead.
        got: String,
        /// Where: a row, a class, a cell.
        at: Option<String>,
    },
    /// Two things that must have the same length do not.
    #[error("{what} must have {expected} entries, got {got}")]
    Length {
        /// The list that is too short or too long.
        what: String,
        /// The length it must have.
        expected: usize,
        /// The length it has.
        got: usize,
    },
    /// Something that needs at least one element has none.
    #[error("{what} must not be empty")]
    Empty {
        /// The list that is empty.
        what: String,
    },
    /// An unknown name.
    #[error("unknown {what} '{got}': {}", Way(allowed, suggestion))]
    Unknown {
        /// The kind of thing named.
        what: String,
        /// The name that came.
        got: String,
        /// The known names.
        allowed: Vec<String>,
        /// The known name that is nearest to what came, if one is near.
        suggestion: Option<String>,
    },
    /// Rows that should have arrived and cannot be read, in the words of whoever read them.
    #[error("{0}")]
    Unreadable(String),
}

/// The result of everything in this crate that takes values from people.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A value outside its domain.
    pub fn value(what: impl Into<String>, allowed: impl Into<String>, got: impl fmt::Display) -> Self {
        Self::Value { what: what.into(), allowed: allowed.into(), got: got.to_string(), at: None }
    }

    /// Says where the bad value stands: `.at("row 17")`. Other variants are returned as they are.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        if let Self::Value { at, .. } = &mut self {
            *at = Some(place.to_string());
        }
        self
    }

    /// A list of the wrong length.
    pub fn length(what: impl Into<String>, expected: usize, got: usize) -> Self {
        Self::Length { what: what.into(), expected, got }
    }

    /// A list without an element.
    pub fn empty(what: impl Into<String>) -> Self {
        Self::Empty { what: what.into() }
    }

    /// A name that is not among `allowed`; the nearest one is suggested when it is at most two edits away.
    pub fn unknown(what: impl Into<String>, got: &str, allowed: &[&str]) -> Self {
        let suggestion = allowed
            .iter()
            .map(|name| (edits(got, name), *name))
            .min()
            .filter(|(distance, name)| *distance <= 2 && *distance < name.chars().count())
            .map(|(_, name)| name.to_owned());
        Self::Unknown {
            what: what.into(),
            got: got.to_owned(),
            allowed: allowed.iter().map(|&name| name.to_owned()).collect(),
            suggestion,
        }
    }
}

/// Checks that two lists that belong together are equally long.
pub(crate) fn same_length(what: &str, expected: usize, got: usize) -> Result<()> {
    if expected == got { Ok(()) } else { Err(Error::length(what, expected, got)) }
}

/// Checks a probability-like value.
pub(crate) fn unit_interval(what: &str, value: f64) -> Result<()> {
    if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(Error::value(what, "in [0, 1]", value)) }
}

struct Place<'a>(&'a Option<String>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(place) => write!(f, " at {place}"),
            None => Ok(()),
        }
    }
}

struct Way<'a>(&'a [String], &'a Option<String>);

impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(name) => write!(f, "did you mean {name}?"),
            None => write!(f, "known are {}", self.0.join(", ")),
        }
    }
}

/// How many letters to change, add or drop, or neighbours to swap (optimal string alignment distance).
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut row = vec![i + 1];
        for j in 0..b.len() {
            let mut least = (above[j] + usize::from(a[i] != b[j])).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_allowed_got_and_where() {
        let error = Error::value("base loss", "a number >= 0", f64::NAN).at("row 3");
        assert_eq!(error.to_string(), "base loss must be a number >= 0, got NaN at row 3");
        assert_eq!(Error::length("labels", 4, 3).to_string(), "labels must have 4 entries, got 3");
    }

    #[test]
    fn suggests_the_nearest_name_only_when_it_is_near() {
        let known = ["npcl", "standard", "gce"];
        for typed in ["npcll", "ncpl", "npc"] {
            let said = Error::unknown("method", typed, &known).to_string();
            assert_eq!(said, format!("unknown method '{typed}': did you mean npcl?"));
        }
        assert_eq!(
            Error::unknown("method", "zzzzzz", &known).to_string(),
            "unknown method 'zzzzzz': known are npcl, standard, gce"
        );
    }
}
