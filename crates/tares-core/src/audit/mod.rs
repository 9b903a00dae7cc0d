//! Which labels are wrong: count → score → suspects, worst first.
//!
//! N rows, K classes. Probabilities must be **out-of-sample**. They are gone through in a fixed number of passes over blocks
//! of rows; memory grows with K² and the suspects, not with N · K.

pub mod score;

pub use score::Score;
use score::Scorer;

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::probabilities::{Probabilities, fold, largest};
use crate::estimate::{ConfidentJoint, Estimate, Method, Overview, Posterior};
use crate::noise::Transition;

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
    /// The classifier's probability of the given label.
    pub given_probability: f64,
    /// The classifier's probability of the suggested one.
    pub suggested_probability: f64,
}

/// What is said about the rows given one class.
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
pub struct Audit {
    /// What the first pass counted.
    pub overview: Overview,
    /// How many labels are wrong.
    pub estimate: Estimate,
    /// The suspects, worst first.
    pub suspects: Vec<Suspect>,
    /// Per given class.
    pub per_class: Vec<ClassQuality>,
    model: Posterior,
}

/// Audits labels with the method's own ranking.
///
/// ```
/// use tares_core::audit::audit;
/// use tares_core::estimate::{Method, Table};
/// let probs = [0.95, 0.05, 0.9, 0.1, 0.98, 0.02, 0.04, 0.96, 0.1, 0.9, 0.97, 0.03];
/// let found = audit(&Table::new(&probs, 2)?, &[0, 0, 0, 1, 1, 1], Method::Confident)?;
/// assert_eq!((found.suspects.len(), found.suspects[0].index, found.suspects[0].suggested), (1, 5, 0));
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// Everything [`Overview::of`] finds.
pub fn audit<P: Probabilities + ?Sized>(probs: &P, given: &[Label], method: Method) -> Result<Audit> {
    audit_ranked(probs, given, method, Score::default())
}

/// Audits labels; suspects are ranked by `score`.
///
/// # Errors
/// As [`audit`].
pub fn audit_ranked<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    method: Method,
    score: Score,
) -> Result<Audit> {
    let overview = Overview::of(probs, given)?;
    let model = Posterior::fit(probs, given, &overview)?;
    let (estimate, mut suspects) = {
        let scorer = Scorer::new(score, &overview, &model);
        match method {
            Method::Posterior => by_posterior(probs, given, &model, &scorer, &overview)?,
            Method::Confident => by_confidence(probs, given, &model, &scorer, &overview)?,
            Method::Argmax => by_argmax(probs, given, &scorer)?,
        }
    };
    suspects.sort_unstable_by(|a, b| a.score.total_cmp(&b.score).then(a.index.cmp(&b.index)));
    let per_class = per_class(&overview, &suspects);
    Ok(Audit { overview, estimate, suspects, per_class, model })
}

impl Audit {
    /// The quality of every label, one more pass: for rankings of all rows.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn scores<P: Probabilities + ?Sized>(&self, probs: &P, given: &[Label], score: Score) -> Result<Vec<f64>> {
        let scorer = Scorer::new(score, &self.overview, &self.model);
        let mut scores = Vec::with_capacity(given.len());
        fold(
            probs,
            given,
            |block| Ok(block.rows().map(|(_, label, row)| scorer.of(row, label)).collect::<Vec<_>>()),
            |part| {
                scores.extend(part);
                Ok(())
            },
        )?;
        Ok(scores)
    }
}

fn by_posterior<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    model: &Posterior,
    scorer: &Scorer<'_>,
    overview: &Overview,
) -> Result<(Estimate, Vec<Suspect>)> {
    let (mut wrong, mut suspects) = (0.0, Vec::new());
    fold(
        probs,
        given,
        |block| {
            let (mut wrong, mut found) = (0.0, Vec::new());
            for (index, label, row) in block.rows() {
                let verdict = model.judge(row, label);
                wrong += verdict.wrong;
                if verdict.wrong >= model.cut() && largest(row).0 != label as usize {
                    let score = match scorer {
                        Scorer::Posterior(_) => 1.0 - verdict.wrong,
                        other => other.of(row, label),
                    };
                    found.push(suspect(index, label, verdict.suggested, score, row));
                }
            }
            Ok((wrong, found))
        },
        |(part, found)| {
            wrong += part;
            suspects.extend(found);
            Ok(())
        },
    )?;
    let rate = wrong / overview.rows as f64;
    let (low, high) = model.band();
    let transition = Transition::new(model.transition_rows())?;
    Ok((Estimate { rows: overview.rows, rate, band: (low.min(rate), high.max(rate)), transition }, suspects))
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
    fold(
        probs,
        given,
        |block| {
            let from = rows.partition_point(|&row| row < block.first);
            let mut listed = rows[from..].iter().copied().peekable();
            let mut found = Vec::new();
            for (index, label, row) in block.rows() {
                if listed.next_if_eq(&index).is_some() {
                    let suggested = model.judge(row, label).suggested;
                    found.push(suspect(index, label, suggested, scorer.of(row, label), row));
                }
            }
            Ok(found)
        },
        |found| {
            suspects.extend(found);
            Ok(())
        },
    )?;
    let rate = joint.wrong() as f64 / overview.rows as f64;
    let transition = Transition::new(joint.transition_rows())?;
    Ok((Estimate { rows: overview.rows, rate, band: luck(rate, overview.rows), transition }, suspects))
}

fn by_argmax<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    scorer: &Scorer<'_>,
) -> Result<(Estimate, Vec<Suspect>)> {
    let classes = probs.classes();
    let (mut right, mut suspects) = (vec![0usize; classes], Vec::new());
    fold(
        probs,
        given,
        |block| {
            let (mut right, mut found) = (Vec::new(), Vec::new());
            for (index, label, row) in block.rows() {
                let best = largest(row).0;
                if best == label as usize {
                    right.push(label);
                } else {
                    found.push(suspect(index, label, best as Label, scorer.of(row, label), row));
                }
            }
            Ok((right, found))
        },
        |(labels, found)| {
            labels.iter().for_each(|&label| right[label as usize] += 1);
            suspects.extend(found);
            Ok(())
        },
    )?;
    let mut counts = vec![vec![0.0; classes]; classes];
    right.iter().enumerate().for_each(|(class, &count)| counts[class][class] = count as f64);
    suspects.iter().for_each(|s| counts[s.suggested as usize][s.given as usize] += 1.0);
    for (class, row) in counts.iter_mut().enumerate() {
        let total: f64 = row.iter().sum();
        match total > 0.0 {
            true => row.iter_mut().for_each(|count| *count /= total),
            false => row[class] = 1.0,
        }
    }
    let rate = suspects.len() as f64 / given.len() as f64;
    let transition = Transition::new(counts)?;
    Ok((Estimate { rows: given.len(), rate, band: luck(rate, given.len()), transition }, suspects))
}

/// Two standard deviations of counting alone.
fn luck(rate: f64, rows: usize) -> (f64, f64) {
    let spread = 2.0 * (rate * (1.0 - rate) / rows as f64).sqrt();
    ((rate - spread).max(0.0), (rate + spread).min(1.0))
}

fn suspect(index: usize, given: Label, suggested: Label, score: f64, row: &[f64]) -> Suspect {
    let (given_probability, suggested_probability) = (row[given as usize], row[suggested as usize]);
    Suspect { index, given, suggested, score, given_probability, suggested_probability }
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
