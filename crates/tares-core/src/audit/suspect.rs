//! [`Suspect`]: a label that is probably wrong, and why. All detectors use this type.

use crate::dataset::Label;

/// A label that is probably wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Suspect {
    /// Row of the data set.
    pub index: usize,
    /// Its label.
    pub given: Label,
    /// What it should probably be.
    pub suggested: Label,
    /// Quality of the given label, 0 (certainly wrong) to 1.
    pub score: f64,
    /// Why it is suspected.
    pub evidence: Evidence,
}

/// Why a label is suspected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Evidence {
    /// What a classifier says that was not trained on the row.
    Probabilities {
        /// Its probability of the given label.
        given: f64,
        /// Its probability of the suggested one.
        suggested: f64,
    },
    /// What a network shows that was trained on the row, **in-sample**: it may have learnt the wrong label.
    Training {
        /// Its probability of the suggested label after training, if it is known.
        confidence: Option<f64>,
        /// The margin of the given label, averaged over epochs.
        mean_margin: f64,
        /// How often the row was kept …
        kept: u32,
        /// … of how many times it was seen.
        seen: u32,
    },
}

impl Suspect {
    /// The evidence in words; `name` is what a class is called.
    ///
    /// ```
    /// use tares_core::audit::{Evidence, Suspect};
    /// let evidence = Evidence::Probabilities { given: 0.04, suggested: 0.9 };
    /// let suspect = Suspect { index: 7, given: 0, suggested: 1, score: 0.02, evidence };
    /// let reason = suspect.reason(|class| ["cat", "dog"][class as usize].to_owned());
    /// assert_eq!(reason, "classifier says dog 90.0 % and cat 4.0 %");
    /// ```
    pub fn reason(&self, name: impl Fn(Label) -> String) -> String {
        match self.evidence {
            Evidence::Probabilities { given, suggested } => format!(
                "classifier says {} {:.1} % and {} {:.1} %",
                name(self.suggested),
                100.0 * suggested,
                name(self.given),
                100.0 * given
            ),
            Evidence::Training { confidence, mean_margin, kept, seen } => {
                let sure = confidence.map_or(String::new(), |part| format!("answer {:.1} % sure; ", 100.0 * part));
                format!("in-sample: {sure}kept {kept} of {seen} times; mean margin {mean_margin:.2}")
            }
        }
    }
}
