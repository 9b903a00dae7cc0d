//! [`Claim`]: a sentence of the paper, and the law that runs must obey for it to hold.

use super::recipe::known_names;
use crate::record::RunRecord;
use crate::report::summary::Summary;
use crate::ui::failure::Outcome;
use serde::Deserialize;
use tares_core::Error;
use tares_core::metric::mean_of_last;

/// A sentence, and what it says about numbers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Claim {
    /// In the paper's words as far as possible.
    pub says: String,
    /// The noises it is about; all of them if empty.
    #[serde(default)]
    pub on: Vec<String>,
    /// The number it is about.
    #[serde(default)]
    pub metric: Metric,
    /// What it says about that number.
    pub law: Law,
}

/// A number of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Mean test accuracy of the last epochs.
    #[default]
    TestAccuracy,
    /// Mean label precision of the same epochs.
    LabelPrecision,
    /// Mean accuracy on the training rows and their given labels, over the same epochs.
    TrainAccuracy,
}

impl Metric {
    /// In per cent; `None` if the run does not have it.
    pub fn of(self, run: &RunRecord) -> Option<f64> {
        let part = match self {
            Self::TestAccuracy => Summary::of(run)?.test_accuracy_last10,
            Self::LabelPrecision => Summary::of(run)?.label_precision_last10?,
            Self::TrainAccuracy => {
                mean_of_last(&run.epochs.iter().map(|epoch| epoch.train_accuracy).collect::<Vec<_>>())?
            }
        };
        Some(100.0 * part)
    }

    /// Its name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            Self::TestAccuracy => "test accuracy",
            Self::LabelPrecision => "label precision",
            Self::TrainAccuracy => "training accuracy",
        }
    }
}

/// What a claim says about the numbers. Everything is judged seed by seed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Law {
    /// The first is better than each of the others by more than `by` points (a negative `by`: not much worse).
    Beats {
        /// The better row.
        first: String,
        /// The others.
        others: Vec<String>,
        /// Points.
        #[serde(default)]
        by: f64,
    },
    /// The two are at most `within` points apart.
    Similar {
        /// One row.
        first: String,
        /// The other.
        second: String,
        /// Points.
        within: f64,
    },
    /// The lead of the first over the second is larger under the noise `to` than under `from`.
    LeadGrows {
        /// The row that leads.
        first: String,
        /// The other.
        second: String,
        /// The lesser noise.
        from: String,
        /// The greater noise.
        to: String,
    },
    /// The rows lie further apart (best minus worst) under each of the noises `to` than under `from`.
    SpreadGrows {
        /// The rows.
        rows: Vec<String>,
        /// The noise of the smaller spread.
        from: String,
        /// The noises of the larger spread.
        to: Vec<String>,
    },
    /// The number is above the fraction of right labels in the data: selecting helps.
    AboveCleanPart {
        /// The rows.
        rows: Vec<String>,
    },
}

impl Claim {
    /// The noises it is about.
    pub fn noises(&self, columns: &[String]) -> Vec<String> {
        if self.on.is_empty() { columns.to_vec() } else { self.on.clone() }
    }

    /// Refuses rows and noises that the recipe does not have.
    ///
    /// # Errors
    /// The first unknown name.
    pub fn check(&self, rows: &[String], columns: &[String]) -> Outcome<()> {
        known_names("noise", &self.on, columns)?;
        let (named, noises): (Vec<&String>, Vec<&String>) = match &self.law {
            Law::Beats { first, others, .. } => (std::iter::once(first).chain(others).collect(), Vec::new()),
            Law::Similar { first, second, .. } => (vec![first, second], Vec::new()),
            Law::LeadGrows { first, second, from, to } => (vec![first, second], vec![from, to]),
            Law::SpreadGrows { rows, from, to } => (rows.iter().collect(), std::iter::once(from).chain(to).collect()),
            Law::AboveCleanPart { rows } => (rows.iter().collect(), Vec::new()),
        };
        if named.is_empty() {
            return Err(Error::empty("rows of the law").into());
        }
        known_names("row", named, rows)?;
        known_names("noise", noises, columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_is_a_table_and_unknown_names_are_refused() {
        let text = "says = \"s\"\non = [\"pair:0.35\"]\nlaw.beats = { first = \"NPCL\", others = [\"GCE\"] }\n";
        let claim: Claim = toml::from_str(text).unwrap();
        let (rows, columns) = (["NPCL".to_owned(), "GCE".to_owned()], ["pair:0.35".to_owned()]);
        claim.check(&rows, &columns).unwrap();
        assert!(claim.check(&rows[..1], &columns).unwrap_err().to_string().contains("GCE"));
        assert!(claim.check(&rows, &[]).unwrap_err().to_string().contains("pair:0.35"));
        assert!(toml::from_str::<Claim>(&text.replace("others", "other")).is_err());
    }
}
