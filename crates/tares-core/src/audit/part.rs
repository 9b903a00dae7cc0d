//! [`AuditPart`]: the second half of an audit, for any block of rows on any machine. Parts merge to the audit of all rows, in
//! whatever order and grouping.

use super::ClassQuality;
use super::score::{Score, Scorer};
use super::suspect::{Evidence, Suspect};
use crate::dataset::Label;
use crate::envelope::{Opened, Sealed};
use crate::error::{Error, Result};
use crate::estimate::pass::{Block, blocks};
use crate::estimate::posterior::judged::JudgedRows;
use crate::estimate::probabilities::sealed::{AnyWidth, Erase};
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::{Estimate, MissingRows, Overview, Posterior};

const KIND: &[u8; 4] = b"part";
const VERSION: u32 = 1;

/// What a part of the rows gave.
///
/// ```
/// use tares_core::audit::{AuditPart, Score};
/// use tares_core::estimate::{MissingRows, Posterior, ProbabilityMatrix};
/// let (probs, given) = ([0.9f32, 0.1, 0.2, 0.8, 0.95, 0.05, 0.1, 0.9], [0, 1, 1, 1]);
/// // (a) Fit the model once; to_bytes and from_bytes take it to other machines.
/// let model = Posterior::fit(&ProbabilityMatrix::new(&probs, 2)?, &given)?;
/// // (b) Judge any parts of the rows, anywhere.
/// let part = |rows: std::ops::Range<usize>| {
///     let probs = ProbabilityMatrix::new(&probs[2 * rows.start..2 * rows.end], 2)?;
///     AuditPart::judge(&model, rows.start, &probs, &given[rows], Score::Posterior, MissingRows::Refuse)
/// };
/// let (mut first, second) = (part(0..3)?, part(3..4)?);
/// first.merge(second);
/// assert_eq!(first.counts.finish(&model)?.estimate.rows, 4);
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AuditPart {
    /// Counts over its rows.
    pub counts: PartCounts,
    /// The suspects among them, in the order of the rows.
    pub suspects: Vec<Suspect>,
}

/// Counts over a part of the rows: all that is needed of it but its suspects.
#[derive(Clone, Debug, PartialEq)]
pub struct PartCounts {
    judged: JudgedRows,
    /// Per given class.
    suspects: Vec<usize>,
    /// Per suggested class.
    suggested: Vec<usize>,
}

/// What all counts together say.
#[derive(Clone, Debug, PartialEq)]
pub struct AuditTotals {
    /// Counts over all rows.
    pub overview: Overview,
    /// How many labels are wrong.
    pub estimate: Estimate,
    /// Per given class.
    pub per_class: Vec<ClassQuality>,
    /// Rows that were left out, because they lack a label or a probability.
    pub missing: usize,
}

impl AuditPart {
    /// No rows yet, of `classes` classes.
    pub fn new(classes: usize) -> Self {
        Self { counts: PartCounts::new(classes), suspects: Vec::new() }
    }

    /// Judges the rows of a part, on this thread alone; the first of them has the index `first`.
    ///
    /// # Errors
    /// Another number of classes or labels than the rows have; a score that needs to know all rows; rows that cannot be read.
    pub fn judge<P: Probabilities>(
        model: &Posterior,
        first: usize,
        probs: &P,
        given: &[Label],
        score: Score,
        missing: MissingRows,
    ) -> Result<Self> {
        if score == Score::ClassAdjusted {
            let others =
                "posterior, self-confidence, normalised-margin or entropy-adjusted where rows are judged in parts";
            return Err(Error::value("score", others, score));
        }
        if probs.classes() != model.classes() {
            return Err(Error::value(
                "number of classes",
                format!("the {} of the noise model", model.classes()),
                probs.classes(),
            ));
        }
        let scorer = Scorer::new(score, None, model);
        match P::Number::erase(probs) {
            AnyWidth::Narrow(probs) => Self::of_rows(model, first, probs, given, &scorer, missing),
            AnyWidth::Wide(probs) => Self::of_rows(model, first, probs, given, &scorer, missing),
        }
    }

    fn of_rows<P: Probabilities + ?Sized>(
        model: &Posterior,
        first: usize,
        probs: &P,
        given: &[Label],
        scorer: &Scorer<'_>,
        missing: MissingRows,
    ) -> Result<Self> {
        let mut part = Self::new(probs.classes());
        blocks(probs, given, |block| {
            part.judge_block(model, &Block { first: first + block.first, ..*block }, scorer, missing);
        })?;
        Ok(part)
    }

    /// Judges one block.
    pub(crate) fn judge_block<R: Number>(
        &mut self,
        model: &Posterior,
        block: &Block<'_, R>,
        scorer: &Scorer<'_>,
        missing: MissingRows,
    ) {
        let Self { counts, suspects } = self;
        model.judge_block(block, missing, &mut counts.judged, |index, given, row, verdict| {
            if verdict.contradicted {
                let score = match scorer {
                    Scorer::Posterior(_) => verdict.right,
                    _ => scorer.of(row, given),
                };
                counts.suspects[given as usize] += 1;
                counts.suggested[verdict.suggested as usize] += 1;
                suspects.push(suspect(index, given, verdict.suggested, score, row));
            }
        });
    }

    /// The rows of another part as well. The suspects are those of both; sort them by index where the order matters.
    pub fn merge(&mut self, other: Self) {
        self.counts.merge(other.counts);
        self.suspects.extend(other.suspects);
    }
}

impl PartCounts {
    fn new(classes: usize) -> Self {
        Self { judged: JudgedRows::new(classes), suspects: vec![0; classes], suggested: vec![0; classes] }
    }

    /// The counts of another part as well.
    pub fn merge(&mut self, other: Self) {
        self.judged.merge(other.judged);
        self.suspects.iter_mut().zip(other.suspects).for_each(|(a, b)| *a += b);
        self.suggested.iter_mut().zip(other.suggested).for_each(|(a, b)| *a += b);
    }

    /// Rows that were counted.
    pub fn rows(&self) -> usize {
        self.judged.tally.rows()
    }

    /// Rows that were left out.
    pub fn missing(&self) -> usize {
        self.judged.missing
    }

    /// Whether every row could be used.
    ///
    /// # Errors
    /// What is wrong with the first or the worst row that could not.
    pub fn check(&self) -> Result<()> {
        let tally = &self.judged.tally;
        if tally.is_fine() { Ok(()) } else { tally.clone().finish(tally.rows().max(1)).map(|_| ()) }
    }

    /// The result for all rows whose parts were merged.
    ///
    /// # Errors
    /// As [`check`](Self::check); no rows at all.
    pub fn finish(self, model: &Posterior) -> Result<AuditTotals> {
        self.check()?;
        if self.rows() == 0 {
            return Err(Error::empty("given labels"));
        }
        let missing = self.judged.missing;
        let (overview, estimate) = self.judged.finish(model)?;
        let of_class = |class: usize| ClassQuality {
            rows: overview.counts[class],
            suspects: self.suspects[class],
            missing: self.suggested[class],
            self_confidence: overview.self_confidence[class],
        };
        let per_class = (0..overview.counts.len()).map(of_class).collect();
        Ok(AuditTotals { overview, estimate, per_class, missing })
    }

    /// As bytes, to be sent elsewhere.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let mut out = Sealed::new(KIND, VERSION);
        self.judged.write(&mut out);
        for counts in [&self.suspects, &self.suggested] {
            out.list(counts, |out, count| out.u64(count as u64));
        }
        Ok(out.close())
    }

    /// From the bytes of [`to_bytes`](Self::to_bytes).
    ///
    /// # Errors
    /// Other bytes; damaged ones; those of a later version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut from = Opened::new("counts of a part", KIND, VERSION, bytes)?;
        let judged = JudgedRows::read(&mut from)?;
        let (suspects, suggested) = (from.list(Opened::size)?, from.list(Opened::size)?);
        if [&suspects, &suggested].iter().any(|counts| counts.len() != judged.tally.classes()) {
            return Err(from.bad("lists of different lengths"));
        }
        from.end()?;
        Ok(Self { judged, suspects, suggested })
    }
}

pub(super) fn suspect<R: Number>(index: usize, given: Label, suggested: Label, score: f64, row: &[R]) -> Suspect {
    let evidence =
        Evidence::Probabilities { given: row[given as usize].into(), suggested: row[suggested as usize].into() };
    Suspect { index, given, suggested, score, evidence }
}
