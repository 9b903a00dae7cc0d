//! Which labels are wrong: count → score → suspects, worst first.
//!
//! N rows, K classes. Probabilities must be **out-of-sample**. They are gone through in a fixed number of passes over blocks
//! of rows; memory grows with K² and the suspects, not with N · K.

pub mod score;

pub use score::Score;
use score::Scorer;

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::check::Tally;
use crate::estimate::posterior::judge::JudgeBlock;
use crate::estimate::posterior::sample::Sample;
use crate::estimate::probabilities::sealed::Passes;
use crate::estimate::probabilities::{Number, Probabilities, first_choice, fold, largest, pick};
use crate::estimate::{ConfidentJoint, Estimate, Method, Overview, Posterior, Verdict};
use crate::noise::Transition;
use crate::widest::widest;
use rayon::prelude::*;

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
pub fn audit<P: Probabilities>(probs: &P, given: &[Label], method: Method) -> Result<Audit> {
    audit_ranked(probs, given, method, Score::default())
}

/// Audits labels; suspects are ranked by `score`.
///
/// # Errors
/// As [`audit`].
pub fn audit_ranked<P: Probabilities>(probs: &P, given: &[Label], method: Method, score: Score) -> Result<Audit> {
    P::Number::audit(probs, given, method, score)
}

pub(crate) fn audit_rows<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    method: Method,
    score: Score,
) -> Result<Audit> {
    let model = Posterior::of(&Sample::draw(probs, given)?);
    let (overview, estimate, mut suspects) = match method {
        // The default in a single pass: rows are checked and judged at one look.
        Method::Posterior if score != Score::ClassAdjusted => by_posterior(probs, given, &model, score, None)?,
        Method::Posterior => by_posterior(probs, given, &model, score, Some(&Overview::of(probs, given)?))?,
        Method::Confident => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_confidence(probs, given, &model, &scorer, &overview)?;
            (overview, estimate, suspects)
        }
        Method::Argmax => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_argmax(probs, given, &scorer)?;
            (overview, estimate, suspects)
        }
    };
    suspects.par_sort_unstable_by(|a, b| a.score.total_cmp(&b.score).then(a.index.cmp(&b.index)));
    let per_class = per_class(&overview, &suspects);
    Ok(Audit { overview, estimate, suspects, per_class, model })
}

impl Audit {
    /// The quality of every label, one more pass: for rankings of all rows.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn scores<P: Probabilities>(&self, probs: &P, given: &[Label], score: Score) -> Result<Vec<f64>> {
        P::Number::scores(probs, given, self, score)
    }
}

pub(crate) fn score_rows<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    audit: &Audit,
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

/// One pass; `known` is the overview if the scores cannot do without it.
fn by_posterior<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    model: &Posterior,
    score: Score,
    known: Option<&Overview>,
) -> Result<(Overview, Estimate, Vec<Suspect>)> {
    let classes = probs.classes();
    let scorer = Scorer::new(score, known, model);
    let (mut total, mut wrong, mut suspects) = (Tally::new(classes), 0.0, Vec::new());
    fold(
        probs,
        given,
        || (Tally::new(classes), 0.0, Vec::new()),
        |(tally, wrong, found), block| {
            let look = |index: usize, label: Label, row: &[P::Number], verdict: Verdict| {
                if verdict.contradicted {
                    let score = match scorer {
                        Scorer::Posterior(_) => verdict.right,
                        _ => scorer.of(row, label),
                    };
                    found.push(suspect(index, label, verdict.suggested, score, row));
                }
            };
            let (judge, cut) = (model.judges(), model.cut() as f32);
            *wrong += widest(JudgeBlock { judge, block, tally, cut, look });
            Ok(())
        },
        |(tally, part, found)| {
            total.merge(tally);
            wrong += part;
            suspects.extend(found);
            Ok(())
        },
    )?;
    let overview = total.finish(given.len())?;
    let rate = wrong / overview.rows as f64;
    let (low, high) = model.band();
    let transition = Transition::new(model.transition_rows())?;
    let struck = model.struck_rate().min(rate);
    let estimate = Estimate { rows: overview.rows, rate, band: (low.min(rate), high.max(rate)), struck, transition };
    Ok((overview, estimate, suspects))
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
    let rate = joint.wrong() as f64 / overview.rows as f64;
    let transition = Transition::new(joint.transition_rows())?;
    Ok((Estimate { rows: overview.rows, rate, band: luck(rate, overview.rows), struck: rate, transition }, suspects))
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
        || (vec![0usize; classes], Vec::new()),
        |(right, found), block| {
            for (index, label, row) in block.rows() {
                if first_choice(row, label as usize) {
                    right[label as usize] += 1;
                } else {
                    found.push(suspect(index, label, largest(row).0 as Label, scorer.of(row, label), row));
                }
            }
            Ok(())
        },
        |(part, found)| {
            right.iter_mut().zip(part).for_each(|(all, part)| *all += part);
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
    Ok((Estimate { rows: given.len(), rate, band: luck(rate, given.len()), struck: rate, transition }, suspects))
}

/// Two standard deviations of counting alone.
fn luck(rate: f64, rows: usize) -> (f64, f64) {
    let spread = 2.0 * (rate * (1.0 - rate) / rows as f64).sqrt();
    ((rate - spread).max(0.0), (rate + spread).min(1.0))
}

fn suspect<R: Number>(index: usize, given: Label, suggested: Label, score: f64, row: &[R]) -> Suspect {
    let (given_probability, suggested_probability) = (row[given as usize].into(), row[suggested as usize].into());
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
