//! Judges blocks of rows: many side by side with few classes, one at a time with many; counts them in the same pass.

use super::Verdict;
use super::judge::{Entries, Judge, Lanes, Results};
use super::lanes::{FEW, ROWS};
use crate::dataset::Label;
use crate::estimate::check::Tally;
use crate::estimate::pass::Block;
use crate::estimate::probabilities::Number;
use crate::estimate::row::RowSummary;
use crate::widest::Work;

/// The probability that a label is wrong is a multiple of 1 / [`WRONG_UNITS`]: it is 1 minus a 32-bit number. Sums of such
/// multiples are whole numbers, the same in every order and grouping of the rows.
pub(crate) const WRONG_UNITS: f64 = (1 << 24) as f64;

/// Counts and judges one block of rows. `look` gets the rows whose labels are at most `cut` likely to be right. `run` returns
/// the expected number of wrong labels, in [`WRONG_UNITS`].
pub(crate) struct JudgeBlock<'a, R, L> {
    pub(crate) judge: &'a Judge,
    pub(crate) block: &'a Block<'a, R>,
    pub(crate) tally: &'a mut Tally,
    pub(crate) cut: f32,
    pub(crate) look: L,
}

impl<R: Number, L: FnMut(usize, Label, &[R], Verdict)> Work for JudgeBlock<'_, R, L> {
    type Output = u64;

    #[inline(always)]
    fn run(mut self) -> u64 {
        // A 64-bit sum of these multiples is exact as long as it is below 2²⁹ rows. A block has some thousands.
        let wrong = if self.judge.classes() <= FEW { self.few_classes() } else { self.many_classes() };
        (wrong * WRONG_UNITS) as u64
    }
}

impl<R: Number, L: FnMut(usize, Label, &[R], Verdict)> JudgeBlock<'_, R, L> {
    #[inline(always)]
    fn few_classes(&mut self) -> f64 {
        let (classes, block) = (self.judge.classes(), self.block);
        let size = classes * ROWS;
        let (mut lanes, mut wrong) = (Lanes::new(), [0f64; ROWS]);
        let (groups, rest) = block.given.as_chunks::<ROWS>();
        for (group, labels) in groups.iter().enumerate() {
            let rows = &block.values[group * size..][..size];
            let results = self.judge.side_by_side(rows, labels, &mut lanes);
            self.count(block.first + group * ROWS, labels, ROWS, rows, &results);
            self.show(block.first + group * ROWS, labels, ROWS, rows, &results, &lanes);
            wrong.iter_mut().zip(results.right).for_each(|(wrong, right)| *wrong += f64::from(1.0 - right));
        }
        let mut wrong: f64 = wrong.iter().sum();
        if !rest.is_empty() {
            // The last group is filled up with copies of its first row, whose results are not used.
            let from = groups.len() * ROWS;
            let mut labels = [rest[0]; ROWS];
            labels[..rest.len()].copy_from_slice(rest);
            let mut rows = Vec::with_capacity(size);
            rows.extend_from_slice(&block.values[from * classes..]);
            while rows.len() < size {
                rows.extend_from_slice(&block.values[from * classes..][..classes]);
            }
            let results = self.judge.side_by_side(&rows, &labels, &mut lanes);
            self.count(block.first + from, &labels, rest.len(), &rows, &results);
            self.show(block.first + from, &labels, rest.len(), &rows, &results, &lanes);
            wrong += results.right[..rest.len()].iter().map(|&right| f64::from(1.0 - right)).sum::<f64>();
        }
        wrong
    }

    /// Counts the first `present` rows of a group.
    #[inline(always)]
    fn count(&mut self, first: usize, labels: &[Label; ROWS], present: usize, rows: &[R], results: &Results<ROWS>) {
        let classes = self.judge.classes();
        let Results { sums, maxima, minima, choices, .. } = results;
        if R::NARROW && present == ROWS {
            let mut fine = true;
            for lane in 0..ROWS {
                let (sum, max, min) = (sums[lane], maxima[lane], minima[lane]);
                fine &= RowSummary { sum, max, min }.is_fine() & ((labels[lane] as usize) < classes);
            }
            if fine {
                let own = std::array::from_fn(|lane| rows[lane * classes + labels[lane] as usize].narrow());
                return self.tally.count_fine(labels, &own, maxima, choices);
            }
        }
        for (lane, &label) in labels.iter().enumerate().take(present) {
            let row = &rows[lane * classes..][..classes];
            // 64-bit numbers that differ may be equal in 32 bits, so their first choice is found again.
            match R::NARROW {
                true => {
                    let (sum, max, min) = (sums[lane], maxima[lane], minima[lane]);
                    self.tally.count(first + lane, label, row, RowSummary { sum, max, min }, choices[lane] == label);
                }
                false => _ = self.tally.add(first + lane, label, row),
            }
        }
    }

    /// Shows the suspicious ones among the first `present` rows of a group.
    #[inline(always)]
    fn show(
        &mut self,
        first: usize,
        labels: &[Label; ROWS],
        present: usize,
        rows: &[R],
        results: &Results<ROWS>,
        lanes: &Lanes<ROWS>,
    ) {
        let classes = self.judge.classes();
        // Listed first, without a branch for each row, which would often be mispredicted.
        let (mut listed, mut count) = ([0; ROWS], 0);
        for lane in 0..present {
            listed[count] = lane;
            count += usize::from(results.right[lane] <= self.cut);
        }
        if count == 0 {
            return;
        }
        let suggested = lanes.suggested(labels, classes);
        for &lane in &listed[..count] {
            let row = &rows[lane * classes..][..classes];
            (self.look)(first + lane, labels[lane], row, results.verdict(lane, suggested[lane]));
        }
    }

    #[inline(always)]
    fn many_classes(&mut self) -> f64 {
        let (mut memory, mut wrong) = (Entries::default(), 0.0);
        for (index, label, row) in self.block.rows() {
            let (summary, _) = self.tally.add(index, label, row);
            // The tally remembers labels outside 0..K for the error message.
            if label as usize >= row.len() {
                continue;
            }
            let verdict = self.judge.entries(row, label, summary.max, self.cut, &mut memory);
            wrong += f64::from(1.0 - verdict.right as f32);
            if verdict.right <= f64::from(self.cut) {
                (self.look)(index, label, row, verdict);
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::posterior::judge::tests::case;
    use crate::estimate::{Posterior, ProbabilityMatrix};
    use crate::widest::widest;

    fn verdicts<R: Number>(judge: &Judge, values: &[R], given: &[Label], classes: usize) -> Vec<Verdict> {
        let (mut tally, mut seen) = (Tally::new(classes), Vec::new());
        let block = Block { first: 0, given, values, classes };
        let look = |index: usize, _: Label, _: &[R], verdict| {
            assert_eq!(index, seen.len());
            seen.push(verdict);
        };
        let wrong = widest(JudgeBlock { judge, block: &block, tally: &mut tally, cut: 1.0, look });
        assert!(tally.is_fine());
        assert!(
            (wrong as f64 / WRONG_UNITS - seen.iter().map(|verdict: &Verdict| 1.0 - verdict.right).sum::<f64>()).abs()
                < 1e-3
        );
        seen
    }

    #[test]
    fn a_row_is_judged_the_same_alone_in_company_and_in_either_width() {
        for (rows, classes) in [(1000, 2), (1003, 10), (1001, 32), (2005, 33), (2000, 300)] {
            let (probs, given) = case(rows, classes);
            let model = Posterior::fit(&ProbabilityMatrix::new(&probs, classes).unwrap(), &given).unwrap();
            let together = verdicts(&model.judge, &probs, &given, classes);
            let alone = probs.chunks_exact(classes).zip(&given).map(|(row, &label)| model.judge(row, label));
            assert_eq!(together, alone.collect::<Vec<_>>(), "{classes}");
            let wide: Vec<f64> = probs.iter().map(|&p| f64::from(p)).collect();
            assert_eq!(together, verdicts(&model.judge, &wide, &given, classes), "{classes}");
        }
    }
}
