//! Which labels are wrong: estimate → scores → suspects, worst first.
//!
//! N rows, K classes. Probabilities must be **out-of-sample**: a model has learnt the wrong labels of the rows it was trained
//! on. They are read in a fixed number of passes; memory grows with K² and the number of suspects, not with N · K.
//!
//! An audit has two halves: a model of the noise is fitted to a sample of the rows ([`Posterior`]), then every block of rows is
//! judged with it ([`AuditPart`]). [`audit`] runs both on this machine; on many machines the model is sent as bytes, and parts are
//! merged as they come.

mod options;
mod part;
pub mod score;
mod suspect;

pub use options::AuditOptions;
use part::suspect;
pub use part::{AuditPart, AuditTotals, PartCounts};
pub use score::Score;
use score::Scorer;
pub use suspect::{Evidence, Suspect};

use crate::dataset::Label;
use crate::error::{Error, Result};
use crate::estimate::argmax;
use crate::estimate::pass::{SHARDS, fold, pick};
use crate::estimate::posterior::sample::Sample;
use crate::estimate::probabilities::Probabilities;
use crate::estimate::probabilities::sealed::{AnyWidth, Erase};
use crate::estimate::{Caution, ConfidentJoint, Detector, Estimate, MissingRows, Overview, Posterior, surest};
use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

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
    /// Rows that were left out, because they lack a label or a probability.
    pub missing: usize,
    /// Suspects that [`refine`](Self::refine) took off the list.
    pub merely_hard: usize,
    /// Whether it is certain that the probabilities are out-of-sample, because the caller trained the models on folds itself. Full
    /// agreement then means that the labels are easy to predict.
    pub out_of_fold: bool,
    /// What the caller found in the rows themselves: copies, a column that tells the label.
    pub about_rows: Vec<Caution>,
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
    audit_with(probs, given, &AuditOptions { detector, score, ..AuditOptions::default() })
}

/// Audits labels, with everything that can be chosen.
///
/// # Errors
/// As [`audit`]; missing rows that are to be left out, with another detector than [`Detector::Posterior`]; ids that cannot be read.
pub fn audit_with<P: Probabilities>(probs: &P, given: &[Label], options: &AuditOptions<'_>) -> Result<Audited> {
    audit_any(P::Number::erase(probs), given, options)
}

fn audit_any(probs: AnyWidth<'_>, given: &[Label], options: &AuditOptions<'_>) -> Result<Audited> {
    match probs {
        AnyWidth::Narrow(probs) => audit_rows(probs, given, options),
        AnyWidth::Wide(probs) => audit_rows(probs, given, options),
    }
}

fn audit_rows<P: Probabilities + ?Sized>(probs: &P, given: &[Label], options: &AuditOptions<'_>) -> Result<Audited> {
    let AuditOptions { detector, score, missing, ids } = *options;
    if missing == MissingRows::Skip && (detector != Detector::Posterior || score == Score::ClassAdjusted) {
        let only = "refused with another detector than posterior, and with the score class-adjusted";
        return Err(Error::value("rows without label or probability", only, "the wish to leave them out"));
    }
    let model = Posterior::of(&Sample::draw(probs, given, ids, missing)?);
    let (totals, mut suspects) = match detector {
        // The default needs a single pass, which checks and judges each row.
        Detector::Posterior => {
            let known = match score {
                Score::ClassAdjusted => Some(Overview::of(probs, given)?),
                _ => None,
            };
            let part = by_posterior(probs, given, &model, &Scorer::new(score, known.as_ref(), &model), missing)?;
            (part.counts.finish(&model)?, part.suspects)
        }
        Detector::Confident => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_confidence(probs, given, &model, &scorer, &overview)?;
            (AuditTotals::counted(overview, estimate, &suspects), suspects)
        }
        Detector::Argmax => {
            let overview = Overview::of(probs, given)?;
            let scorer = Scorer::new(score, Some(&overview), &model);
            let (estimate, suspects) = by_argmax(probs, given, &scorer)?;
            (AuditTotals::counted(overview, estimate, &suspects), suspects)
        }
    };
    suspects.par_sort_unstable_by(|a, b| a.score.total_cmp(&b.score).then(a.index.cmp(&b.index)));
    let AuditTotals { overview, estimate, per_class, missing } = totals;
    Ok(Audited {
        overview,
        estimate,
        suspects,
        per_class,
        missing,
        merely_hard: 0,
        out_of_fold: false,
        about_rows: Vec::new(),
        model,
    })
}

impl Audited {
    /// What should be known before rate and suspects are trusted.
    pub fn cautions(&self) -> Vec<Caution> {
        let mut found = cautions(&self.overview, &self.estimate, &self.per_class);
        found.retain(|caution| !(self.out_of_fold && matches!(caution, Caution::InSample { .. })));
        let told = self.about_rows.iter().any(|caution| matches!(caution, Caution::GivenAway { .. }));
        if self.out_of_fold && !told {
            found.extend(Caution::hardly_any_doubt(&self.overview));
        }
        found.extend(self.about_rows.iter().cloned());
        if self.merely_hard > 0 {
            found.push(Caution::MerelyHard { left_out: self.merely_hard, rate: self.estimate.rate });
        }
        found
    }

    /// Corrects the rate by the rows that the judge is surest of ([`surest`]), and keeps no more suspects than a lowered rate says,
    /// worst first. Where classes overlap, rows that are merely hard would otherwise be most of the list.
    ///
    /// # Errors
    /// As [`surest::refine`].
    pub fn refine(&mut self, probs: &[f64], given: &[Label]) -> Result<()> {
        let before = self.estimate.rate;
        surest::refine(&mut self.estimate, probs, given)?;
        let most = (self.estimate.rate * given.len() as f64).round() as usize;
        if self.estimate.rate < before && most < self.suspects.len() {
            self.merely_hard = self.suspects.len() - most;
            self.suspects.truncate(most);
            self.per_class = per_class(&self.overview, &self.suspects);
        }
        Ok(())
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

/// No shard makes room for more suspects than this.
const MOST_ROOM: usize = 1 << 18;

/// Both halves on this machine: every block judged, the parts merged in the order of the rows.
fn by_posterior<P: Probabilities + ?Sized>(
    probs: &P,
    given: &[Label],
    model: &Posterior,
    scorer: &Scorer<'_>,
    missing: MissingRows,
) -> Result<AuditPart> {
    let mut all = AuditPart::new(probs.classes());
    // A list that grows is copied, and held twice, in new memory that the system clears. Room that is not used takes no memory; without
    // room the list grows.
    let expected = 1.2 * model.high * probs.rows() as f64;
    let _ = all.suspects.try_reserve(expected as usize);
    let shards = match probs.natural_starts().len() {
        0 => SHARDS,
        parts => parts.min(SHARDS),
    };
    let of_shard = (expected / shards as f64) as usize;
    // The lists of shards that were merged are filled again: the system clears new memory, which takes longer than filling it.
    let emptied = Mutex::new(Vec::new());
    let begin = || {
        let mut part = AuditPart::new(probs.classes());
        part.suspects = emptied.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let _ = part.suspects.try_reserve(of_shard.min(MOST_ROOM));
        part
    };
    fold(
        probs,
        given,
        begin,
        |part, block| {
            part.judge_block(model, block, scorer, missing);
            Ok(())
        },
        |part| {
            let AuditPart { counts, mut suspects } = part;
            all.counts.merge(counts);
            all.suspects.append(&mut suspects);
            emptied.lock().unwrap_or_else(PoisonError::into_inner).push(suspects);
            Ok(())
        },
    )?;
    Ok(all)
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

impl AuditTotals {
    /// What should be known before rate and suspects are trusted.
    pub fn cautions(&self) -> Vec<Caution> {
        cautions(&self.overview, &self.estimate, &self.per_class)
    }

    fn counted(overview: Overview, estimate: Estimate, suspects: &[Suspect]) -> Self {
        let per_class = per_class(&overview, suspects);
        Self { overview, estimate, per_class, missing: 0 }
    }
}

fn cautions(overview: &Overview, estimate: &Estimate, per_class: &[ClassQuality]) -> Vec<Caution> {
    let mut found = Caution::about(overview, estimate);
    found.extend(Caution::emptied(per_class.iter().map(|class| (class.rows, class.suspects))));
    found
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
