//! The second half of an audit: rows judged block by block. What the blocks gave merges in any order and grouping.

use super::judge_block::{JudgeBlock, WRONG_UNITS};
use super::{Posterior, Verdict};
use crate::dataset::Label;
use crate::envelope::{Opened, Sealed};
use crate::error::Result;
use crate::estimate::check::{Overview, Tally};
use crate::estimate::pass::{Block, fold};
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::{Estimate, MissingRows};
use crate::widest::widest;

/// What judging a part of the rows gave.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JudgedRows {
    pub(crate) tally: Tally,
    /// The expected number of wrong labels, in [`WRONG_UNITS`].
    wrong: u128,
    /// Rows that were left out.
    pub(crate) missing: usize,
}

impl JudgedRows {
    pub(crate) fn new(classes: usize) -> Self {
        Self { tally: Tally::new(classes), wrong: 0, missing: 0 }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.wrong += other.wrong;
        self.missing += other.missing;
    }

    /// Overview and estimate of all rows.
    ///
    /// # Errors
    /// Rows that are not probabilities, or labels outside 0..K.
    pub(crate) fn finish(self, model: &Posterior) -> Result<(Overview, Estimate)> {
        let rows = self.tally.rows();
        let overview = self.tally.finish(rows)?;
        let rate = if rows > 0 { self.wrong as f64 / WRONG_UNITS / rows as f64 } else { 0.0 };
        let estimate = Estimate {
            rows,
            rate,
            interval: (model.low.min(rate), model.high.max(rate)),
            uniform_rate: model.uniform_rate.min(rate),
            transition: model.noise.transition()?,
        };
        Ok((overview, estimate))
    }

    pub(crate) fn write(&self, out: &mut Sealed) {
        self.tally.write(out);
        out.i128(self.wrong as i128);
        out.u64(self.missing as u64);
    }

    pub(crate) fn read(from: &mut Opened<'_>) -> Result<Self> {
        let (tally, wrong) = (Tally::read(from)?, from.i128()?);
        let wrong = u128::try_from(wrong).map_err(|_| from.bad("a negative number of wrong labels"))?;
        Ok(Self { tally, wrong, missing: from.size()? })
    }
}

impl Posterior {
    /// Checks, counts and judges one block of rows. `look` gets (index, given label, probabilities, verdict) of the rows whose
    /// labels are at most [`cut`](Self::cut) likely to be right.
    pub(crate) fn judge_block<R: Number>(
        &self,
        block: &Block<'_, R>,
        missing: MissingRows,
        judged: &mut JudgedRows,
        mut look: impl FnMut(usize, Label, &[R], Verdict),
    ) {
        let mut judge = |from: usize, to: usize| {
            let values = &block.values[from * block.classes..to * block.classes];
            let (first, given) = (block.first + from, &block.given[from..to]);
            let block = Block { first, given, values, classes: block.classes };
            let (judge, tally, cut) = (&self.judge, &mut judged.tally, self.cut as f32);
            judged.wrong += u128::from(widest(JudgeBlock { judge, block: &block, tally, cut, look: &mut look }));
        };
        if missing == MissingRows::Refuse {
            return judge(0, block.given.len());
        }
        // The stretches between missing rows are judged each on its own. Sums are exact, so this changes no result.
        let mut from = 0;
        for (at, (_, label, row)) in block.rows().enumerate() {
            if missing.leaves_out(label, row) {
                if from < at {
                    judge(from, at);
                }
                from = at + 1;
                judged.missing += 1;
            }
        }
        if from < block.given.len() {
            judge(from, block.given.len());
        }
    }

    /// Judges every row in one pass and counts.
    pub(crate) fn judge_all<P: Probabilities + ?Sized>(&self, probs: &P, given: &[Label]) -> Result<JudgedRows> {
        let mut total = JudgedRows::new(probs.classes());
        fold(
            probs,
            given,
            || JudgedRows::new(probs.classes()),
            |judged, block| {
                self.judge_block(block, MissingRows::Refuse, judged, |_, _, _, _| {});
                Ok(())
            },
            |judged| {
                total.merge(judged);
                Ok(())
            },
        )?;
        Ok(total)
    }
}
