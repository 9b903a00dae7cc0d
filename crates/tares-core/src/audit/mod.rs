//! Which labels are wrong: estimate → scores → suspects, worst first.
//!
//! N rows, K classes. Probabilities must be **out-of-sample**: a model has learnt the wrong labels of the rows it was trained
//! on. They are read in a fixed number of passes; memory grows with K² and the number of suspects, not with N · K.

pub mod score;
mod suspect;

pub use score::Score;
use score::Scorer;
pub use suspect::{Evidence, Suspect};

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::argmax;
use crate::estimate::pass::{fold, pick};
use crate::estimate::posterior::sample::Sample;
use crate::estimate::probabilities::sealed::{AnyWidth, Erase};
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::{Caution, ConfidentJoint, Detector, Estimate, Overview, Posterior};
use rayon::prelude::*;

/// How good the labels of one class are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassQuality {
    /// Rows with this label.
    pub rows: usize,
    /// Suspects among them.
    pub suspects: usize,
    /// Rows with another label that should probably have this one.
    pub missing: usize,
    /// Mean probability of the given label; `None` without rows.
    pub self_confidence: Option<f64>,
}

/// The result of an audit.
#[derive(Clone, Debug)]
pub struct Audited {
    /// Counts over all rows.
    pub overview: Overview,
    /// How many labels are wrong.
    pub estimate: Estimate,
    /// The suspects, worst first.
    pub suspects: Vec<Suspect>,
    /// Per given class.
    pub per_class: Vec<ClassQuality>,
    model: Posterior,
}

/// Audits labels with the detector's own ranking.
///
/// ```
/// use tares_core::audit::audit;
/// use tares_core::estimate::{Detector, ProbabilityMatrix};
/// let probs = [0.95, 0.05, 0.9, 0.1, 0.98, 0.02, 0.04, 0.96, 0.1, 0.9, 0.97, 0.03];
/// let found = audit(&ProbabilityMatrix::new(&probs, 2)?, &[0, 0, 0, 1, 1, 1], Detector::Confident)?;
/// assert_eq!((found.suspects.len(), found.suspects[0].index, found.suspects[0].suggested), (1, 5, 0));
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Everything [`Overview::of`] finds.
pub fn audit<P: Probabilities>(probs: &P, given: &[Label], detector: Detector) -> Result<Audited> {
    audit_ranked(probs, given, detector, Score::default())
}

/// Audits labels; suspects are ranked by `score`.
///
/// # Errors
/// As [`audit`].
pub fn audit_ranked<P: Probabilities>(probs: &P, given: &[Label], detector: Detector, score: Score) -> Result<Audited> {
    audit_any(P::Number::erase(probs), given, detector, score)
}

fn audit_any(probs: AnyWidth<'_>, given: &[Label], detector: Detector, score: Score) -> Result<Audited> {
    match probs {
        AnyWidth::Narrow(probs) => audit_rows(probs, given, detector, score),
        AnyWidth::Wide(probs) => audit_rows(probs, given, detector, score),
    }
}

fn audit_rows<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    detector: Detector,
    score: Score,
) -> Result<Audited> {
    let model = Posterior::of(&Sample::draw(probs, given)?);
    let (overview, estimate, mut suspects) = match detector {
        // The default needs a single pass, which checks and judges each row.
        Detector::Posterior if score != Score::ClassAdjusted => by_posterior(probs, given, &model, score, None)?,
        Detector::Posterior => by_posterior(probs, given, &model, score, Some(&Overview::of(probs, given)?))?,
        Detector::Confident => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_confidence(probs, given, &model, &scorer, &overview)?;
            (overview, estimate, suspects)
        }
        Detector::Argmax => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_argmax(probs, given, &scorer)?;
            (overview, estimate, suspects)
        }
    };
    suspects.par_sort_unstable_by(|a, b| a.score.total_cmp(&b.score).then(a.index.cmp(&b.index)));
    let per_class = per_class(&overview, &suspects);
    Ok(Audited { overview, estimate, suspects, per_class, model })
}

impl Audited {
    /// What should be known before rate and suspects are trusted.
    pub fn cautions(&self) -> Vec<Caution> {
        let mut found = Caution::about(&self.overview, &self.estimate);
        found.extend(Caution::emptied(self.per_class.iter().map(|class| (class.rows, class.suspects))));
        found
    }

    /// The score of every row, to rank all of them; takes one more pass.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn scores<P: Probabilities>(&self, probs: &P, given: &[Label], score: Score) -> Result<Vec<f64>> {
        score_any(P::Number::erase(probs), given, self, score)
    }
}

fn score_any(probs: AnyWidth<'_>, given: &[Label], audit: &Audited, score: Score) -> Result<Vec<f64>> {
    match probs {
        AnyWidth::Narrow(probs) => score_rows(probs, given, audit, score),
        AnyWidth::Wide(probs) => score_rows(probs, given, audit, score),
    }
}

fn score_rows<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    audit: &Audited,
    score: Score,
) -> Result<Vec<f64>> {
    let scorer = Scorer::new(score, Some(&audit.overview), &audit.model);
    let mut scores = Vec::with_capacity(given.len());
    fold(
        probs,
        given,
        Vec::new,
        |part, block| {
            part.extend(block.rows().map(|(_, label, row)| scorer.of(row, label)));
            Ok(())
        },
        |part| {
            scores.extend(part);
            Ok(())
        },
    )?;
    Ok(scores)
}

/// One pass; `known` is the overview if the score needs it.
fn by_posterior<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    model: &Posterior,
    score: Score,
    known: Option<&Overview>,
) -> Result<(Overview, Estimate, Vec<Suspect>)> {
    let scorer = Scorer::new(score, known, model);
    model.judge_all(probs, given, |found, index, label, row, verdict| {
        if verdict.contradicted {
            let score = match scorer {
                Scorer::Posterior(_) => verdict.right,
                _ => scorer.of(row, label),
            };
            found.push(suspect(index, label, verdict.suggested, score, row));
        }
    })
}

fn by_confidence<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    model: &Posterior,
    scorer: &Scorer<'_>,
    overview: &Overview,
) -> Result<(Estimate, Vec<Suspect>)> {
    let joint = ConfidentJoint::of(probs, given, overview)?;
    let rows = joint.suspects(probs, given, overview)?;
    let mut suspects = Vec::with_capacity(rows.len());
    pick(
        probs,
        &rows,
        Vec::new,
        |found, place, row| {
            let (index, label) = (rows[place], given[rows[place]]);
            found.push(suspect(index, label, model.judge(row, label).suggested, scorer.of(row, label), row));
        },
        |found| suspects.extend(found),
    )?;
    Ok((joint.estimate()?, suspects))
}

fn by_argmax<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    scorer: &Scorer<'_>,
) -> Result<(Estimate, Vec<Suspect>)> {
    argmax::disagreements(probs, given, |found, index, label, choice, row| {
        found.push(suspect(index, label, choice, scorer.of(row, label), row));
    })
}

fn suspect<R: Number>(index: usize, given: Label, suggested: Label, score: f64, row: &[R]) -> Suspect {
    let evidence =
        Evidence::Probabilities { given: row[given as usize].into(), suggested: row[suggested as usize].into() };
    Suspect { index, given, suggested, score, evidence }
}

fn per_class(overview: &Overview, suspects: &[Suspect]) -> Vec<ClassQuality> {
    let mut quality: Vec<ClassQuality> = overview
        .counts
        .iter()
        .zip(&overview.self_confidence)
        .map(|(&rows, &self_confidence)| ClassQuality { rows, suspects: 0, missing: 0, self_confidence })
        .collect();
    for suspect in suspects {
        quality[suspect.given as usize].suspects += 1;
        quality[suspect.suggested as usize].missing += 1;
    }
    quality
}

#[cfg(test)]
mod tests;
