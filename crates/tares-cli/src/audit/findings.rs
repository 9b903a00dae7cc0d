//! [`Findings`]: the result of an audit, before it is written to files.

use super::files::{AgainstTruth, AuditSummary, ClassSummary, RowNames, TransitionRecord, sentences};
use crate::ui::failure::Outcome;
use tares_core::Label;
use tares_core::audit::{Audited, Suspect};
use tares_core::estimate::Detector;
use tares_core::metric::{Retrieval, auroc, average_precision};

/// The result of an audit.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The content of `summary.json`.
    pub summary: AuditSummary,
    /// The labels that look wrong, worst first.
    pub suspects: Vec<Suspect>,
}

impl Findings {
    /// As [`of`](Self::of), but takes the suspects: millions of them are not held twice.
    pub fn taken(audited: &mut Audited, names: RowNames<'_>, method: Detector, origin: String) -> Self {
        let suspects = std::mem::take(&mut audited.suspects);
        let mut found = Self::of(audited, names, method, origin);
        found.summary.suspects = suspects.len();
        Self { suspects, ..found }
    }

    /// The result of an audit of probabilities; `origin` says where these came from.
    pub fn of(audited: &Audited, names: RowNames<'_>, method: Detector, origin: String) -> Self {
        let per_class = audited.per_class.iter().enumerate().map(|(class, quality)| ClassSummary {
            class: names.class(class as Label),
            rows: quality.rows,
            suspects: quality.suspects,
            missing: quality.missing,
        });
        let summary = AuditSummary {
            rows: audited.estimate.rows,
            classes: names.all(),
            method: method.to_string(),
            probabilities: origin,
            judges: Vec::new(),
            noise_rate: audited.estimate.rate,
            noise_rate_interval: audited.estimate.interval,
            matrix: TransitionRecord::of(&audited.estimate.transition),
            suspects: audited.suspects.len(),
            missing_rows: audited.missing,
            labels_missing: 0,
            per_class: per_class.collect(),
            warnings: sentences(&audited.cautions(), names),
            data_notes: Vec::new(),
            neighbours: None,
            against_truth: None,
        };
        Self { summary, suspects: audited.suspects.clone() }
    }

    /// Compares the suspects with the truth. `scores` holds the quality of every label; low means suspicious.
    ///
    /// # Errors
    /// A score is not a number.
    pub fn compare(&mut self, given: &[Label], truth: &[Label], scores: Vec<f64>) -> Outcome<()> {
        let wrong: Vec<bool> = given.iter().zip(truth).map(|(given, truth)| given != truth).collect();
        let positions: Vec<u32> = self.suspects.iter().map(|suspect| suspect.index as u32).collect();
        let retrieval = Retrieval::new(&positions, &wrong)?;
        let badness: Vec<f64> = scores.into_iter().map(|score| -score).collect();
        let found: Vec<&Suspect> = self.suspects.iter().filter(|suspect| wrong[suspect.index]).collect();
        let right = found.iter().filter(|suspect| suspect.suggested == truth[suspect.index]).count();
        self.summary.against_truth = Some(AgainstTruth {
            wrong: retrieval.wanted,
            noise_rate: retrieval.wanted as f64 / wrong.len() as f64,
            precision: retrieval.precision(),
            recall: retrieval.recall(),
            f1: retrieval.f1(),
            // Undefined when all labels are right, or all wrong.
            auroc: auroc(&badness, &wrong).ok(),
            average_precision: average_precision(&badness, &wrong).ok(),
            right_suggestions: (!found.is_empty()).then(|| right as f64 / found.len() as f64),
        });
        Ok(())
    }
}
