//! [`Published`]: the numbers of the paper's tables, exactly as printed.

use super::recipe::known_names;
use crate::ui::failure::Outcome;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use tares_core::Error;

/// A printed number: `93.78 ± 0.04`, or without a deviation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Printed {
    /// As it is printed.
    text: String,
    /// The number itself, in per cent.
    pub mean: f64,
}

impl fmt::Display for Printed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Printed {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        let number = text.split('±').next().unwrap_or_default().trim();
        match number.parse::<f64>() {
            Ok(mean) if (0.0..=100.0).contains(&mean) => Ok(Self { mean, text }),
            _ => Err(Error::value("published number", "as in \"93.78 ± 0.04\" or \"89.49\", in per cent", text)),
        }
    }
}

/// What the paper prints: per row one number per column, or `""` where it prints none.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Published(BTreeMap<String, Vec<Entry>>);

/// A place in a table that may be empty.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
struct Entry(Option<Printed>);

impl TryFrom<String> for Entry {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        if text.is_empty() { Ok(Self(None)) } else { Ok(Self(Some(Printed::try_from(text)?))) }
    }
}

impl Published {
    /// The number of a row in a column.
    pub fn at(&self, row: &str, column: usize) -> Option<&Printed> {
        self.0.get(row)?.get(column)?.0.as_ref()
    }

    /// Whether a column has a number.
    pub fn has(&self, column: usize) -> bool {
        self.0.keys().any(|row| self.at(row, column).is_some())
    }

    /// Refuses rows that the recipe does not have, and rows of another length.
    ///
    /// # Errors
    /// The first row that does not fit.
    pub fn check(&self, rows: &[String], columns: usize) -> Outcome<()> {
        known_names("published row", self.0.keys(), rows)?;
        match self.0.iter().find(|(_, entries)| entries.len() != columns) {
            Some((row, entries)) => {
                Err(Error::length(format!("published numbers of {row}"), columns, entries.len()).into())
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_as_they_are_printed() {
        let published: Published = toml::from_str("NPCL = [\"66.2\", \"\", \"99.41 ± 0.01\"]").unwrap();
        assert_eq!(published.at("NPCL", 0).unwrap().to_string(), "66.2");
        assert_eq!(published.at("NPCL", 1), None);
        assert_eq!(published.at("NPCL", 2).unwrap().mean, 99.41);
        assert!(published.has(0) && !published.has(1) && published.at("GCE", 0).is_none());
    }

    #[test]
    fn what_does_not_fit_the_table_is_refused() {
        let published: Published = toml::from_str("NPCL = [\"66.2\"]").unwrap();
        let rows = ["NPCL".to_owned()];
        published.check(&rows, 1).unwrap();
        assert!(published.check(&rows, 2).unwrap_err().to_string().contains("published numbers of NPCL"));
        let error = published.check(&["NPCl".to_owned()], 1).unwrap_err().to_string();
        assert!(error.contains("did you mean NPCl?"), "{error}");
        assert!(toml::from_str::<Published>("NPCL = [\"many\"]").is_err());
    }
}
