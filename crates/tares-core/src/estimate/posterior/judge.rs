//! Judging rows: is the given label wrong, and what should it be? Eight rows side by side when there are few classes,
//! one row after the other when there are many.
//!
//! In 32-bit arithmetic, the same in either form and on every machine; numbers of 64 bits are rounded first.

use super::Verdict;
use super::lanes::{FEW, ROWS, tell};
use super::likelihood::{Likeness, heights};
use super::noise_model::Columns;
use super::sample::Telling;
use crate::dataset::Label;
use crate::estimate::check::Tally;
use crate::estimate::glance::{Glance, larger, smaller};
use crate::estimate::probabilities::{Block, Number};
use crate::widest::{Work, widest};

/// What judging needs to know of the model.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    classes: usize,
    likeness: Likeness,
    /// T with few classes, `[true][given]`: one class is looked up for many labels. Empty with many.
    by_class: Vec<[f32; FEW]>,
    /// T with many classes, `[given][true]`. Empty with few.
    by_label: Vec<f32>,
}

/// What is seen of rows side by side.
struct Seen<const L: usize> {
    sums: [f32; L],
    tops: [f32; L],
    lows: [f32; L],
    /// The first of the largest entries.
    choices: [u32; L],
    /// The probability that the given label is right.
    right: [f32; L],
    /// The belief in the given label, beside 1 for the most believed class.
    believed: [f32; L],
}

/// Room for the work on rows side by side, `[class][row]`.
struct Sheets<const L: usize> {
    values: [[f32; L]; FEW],
    heights: [[f32; L]; FEW],
    tells: [[f32; L]; FEW],
    beliefs: [[f32; L]; FEW],
}

impl<const L: usize> Sheets<L> {
    fn new() -> Self {
        let empty = [[0.0; L]; FEW];
        Self { values: empty, heights: empty, tells: empty, beliefs: empty }
    }
}

/// Room for the work on one row of many classes.
#[derive(Default)]
struct Room {
    telling: Telling,
    beliefs: Vec<f32>,
}

impl Judge {
    /// A judge of rows of `classes` classes.
    pub(crate) fn new(mut columns: Columns<'_>, classes: usize, likeness: Likeness) -> Self {
        let (mut by_class, mut by_label) = (Vec::new(), Vec::new());
        if classes <= FEW {
            by_class = vec![[0.0; FEW]; classes];
            for label in 0..classes {
                by_class.iter_mut().zip(columns.of(label)).for_each(|(class, &part)| class[label] = part);
            }
        } else {
            by_label.reserve_exact(classes * classes);
            (0..classes).for_each(|label| by_label.extend_from_slice(columns.of(label)));
        }
        Self { classes, likeness, by_class, by_label }
    }

    /// One row.
    pub(crate) fn row<R: Number>(&self, row: &[R], label: Label) -> Verdict {
        widest(JudgeRow { judge: self, row, label })
    }

    #[inline(always)]
    fn one<R: Number>(&self, row: &[R], label: Label) -> Verdict {
        if self.classes <= FEW {
            let mut sheets = Sheets::<1>::new();
            let seen = self.side_by_side(row, &[label], &mut sheets);
            return sheets.verdict(&seen, 0, label, self.classes);
        }
        self.entries(row, label, Glance::of(row).top, &mut Room::default())
    }

    #[inline(always)]
    fn entries<R: Number>(&self, row: &[R], label: Label, top: f32, room: &mut Room) -> Verdict {
        let Room { telling, beliefs } = room;
        telling.find(row, label as usize, top);
        let Telling { names, values, .. } = telling;
        heights(values, self.classes);
        self.likeness.of_entries(names, values, beliefs);
        let column = &self.by_label[label as usize * self.classes..][..self.classes];
        let (mut own, mut total, mut believed) = (0.0, 0.0, 0.0);
        let (mut best, mut suggested) = (-1.0, u32::from(label == 0));
        for (&class, &belief) in names.iter().zip(&*beliefs) {
            let weight = belief * column[class as usize];
            total += weight;
            if class == label {
                (own, believed) = (weight, belief);
            } else if weight > best {
                (best, suggested) = (weight, class);
            }
        }
        // Every weight can underflow only if the matrix says this label is never given: then it is wrong.
        let right = if total > 0.0 { own / total } else { 0.0 };
        Verdict { right: f64::from(right), suggested, contradicted: believed < 1.0 }
    }

    #[inline(always)]
    fn side_by_side<R: Number, const L: usize>(
        &self,
        rows: &[R],
        labels: &[Label; L],
        sheets: &mut Sheets<L>,
    ) -> Seen<L> {
        let classes = self.classes;
        let values = &mut sheets.values[..classes];
        for (class, values) in values.iter_mut().enumerate() {
            for (lane, value) in values.iter_mut().enumerate() {
                *value = rows[lane * classes + class].narrow();
            }
        }
        let (mut sums, mut tops, mut lows, mut choices) = (values[0], values[0], values[0], [0; L]);
        for (class, values) in values.iter().enumerate().skip(1) {
            for lane in 0..L {
                sums[lane] += values[lane];
                lows[lane] = smaller(lows[lane], values[lane]);
                choices[lane] = if values[lane] > tops[lane] { class as u32 } else { choices[lane] };
                tops[lane] = larger(tops[lane], values[lane]);
            }
        }
        let (heights, tells) = (&mut sheets.heights[..classes], &mut sheets.tells[..classes]);
        tell(values, &tops, labels, heights, tells);
        let beliefs = &mut sheets.beliefs[..classes];
        self.likeness.of_sheet(heights, tells, beliefs);
        let (mut totals, mut own, mut believed) = ([0.0; L], [0.0; L], [0.0; L]);
        for lane in 0..L {
            let label = labels[lane] as usize % FEW;
            if label < classes {
                believed[lane] = beliefs[label][lane];
                own[lane] = believed[lane] * self.by_class[label][label];
            }
        }
        for (beliefs, given) in beliefs.iter_mut().zip(&self.by_class) {
            // Looked up on its own, so that the rest stays side by side.
            let mut likely = [0.0; L];
            for lane in 0..L {
                likely[lane] = given[labels[lane] as usize % FEW];
            }
            for lane in 0..L {
                beliefs[lane] *= likely[lane];
                totals[lane] += beliefs[lane];
            }
        }
        let mut right = [0.0; L];
        for lane in 0..L {
            // As with many classes: nothing likely at all means wrong.
            right[lane] = if totals[lane] > 0.0 { own[lane] / totals[lane] } else { 0.0 };
        }
        Seen { sums, tops, lows, choices, right, believed }
    }
}

impl<const L: usize> Sheets<L> {
    /// All that is seen of one row.
    #[inline(always)]
    fn verdict(&self, seen: &Seen<L>, lane: usize, label: Label, classes: usize) -> Verdict {
        // What is left of the beliefs, times T, says what the label should be.
        let (mut best, mut suggested) = (-1.0, u32::from(label == 0));
        for (class, weights) in (0..).zip(&self.beliefs[..classes]) {
            if class != label && weights[lane] > best {
                (best, suggested) = (weights[lane], class);
            }
        }
        Verdict { right: f64::from(seen.right[lane]), suggested, contradicted: seen.believed[lane] < 1.0 }
    }
}

struct JudgeRow<'a, R> {
    judge: &'a Judge,
    row: &'a [R],
    label: Label,
}

impl<R: Number> Work for JudgeRow<'_, R> {
    type Output = Verdict;

    #[inline(always)]
    fn run(self) -> Verdict {
        self.judge.one(self.row, self.label)
    }
}

/// One block of rows: counted, judged, and those whose labels are at most `cut` likely to be right shown to `look` with the
/// verdict. `run` gives the expected number of wrong labels.
pub(crate) struct JudgeBlock<'a, R, L> {
    pub(crate) judge: &'a Judge,
    pub(crate) block: &'a Block<'a, R>,
    pub(crate) tally: &'a mut Tally,
    pub(crate) cut: f32,
    pub(crate) look: L,
}

impl<R: Number, L: FnMut(usize, Label, &[R], Verdict)> Work for JudgeBlock<'_, R, L> {
    type Output = f64;

    #[inline(always)]
    fn run(mut self) -> f64 {
        if self.judge.classes <= FEW { self.few_classes() } else { self.many_classes() }
    }
}

impl<R: Number, L: FnMut(usize, Label, &[R], Verdict)> JudgeBlock<'_, R, L> {
    #[inline(always)]
    fn few_classes(&mut self) -> f64 {
        let (classes, block) = (self.judge.classes, self.block);
        let height = classes * ROWS;
        let (mut sheets, mut wrong) = (Sheets::new(), [0.0; ROWS]);
        let (groups, rest) = block.given.as_chunks::<ROWS>();
        for (number, labels) in groups.iter().enumerate() {
            let rows = &block.values[number * height..][..height];
            let seen = self.judge.side_by_side(rows, labels, &mut sheets);
            self.take(block.first + number * ROWS, labels, rows, &seen, &sheets);
            wrong.iter_mut().zip(seen.right).for_each(|(wrong, right)| *wrong += 1.0 - right);
        }
        let mut wrong: f64 = wrong.iter().map(|&wrong| f64::from(wrong)).sum();
        if !rest.is_empty() {
            // The first of the last rows again and again, so that there are eight; only `rest.len()` are taken.
            let from = groups.len() * ROWS;
            let mut labels = [rest[0]; ROWS];
            labels[..rest.len()].copy_from_slice(rest);
            let mut rows = Vec::with_capacity(height);
            rows.extend_from_slice(&block.values[from * classes..]);
            while rows.len() < height {
                rows.extend_from_slice(&block.values[from * classes..][..classes]);
            }
            let seen = self.judge.side_by_side(&rows, &labels, &mut sheets);
            self.take(block.first + from, rest, &rows, &seen, &sheets);
            wrong += seen.right[..rest.len()].iter().map(|&right| f64::from(1.0 - right)).sum::<f64>();
        }
        wrong
    }

    #[inline(always)]
    fn take(&mut self, first: usize, labels: &[Label], rows: &[R], seen: &Seen<ROWS>, sheets: &Sheets<ROWS>) {
        let classes = self.judge.classes;
        for (lane, &label) in labels.iter().enumerate() {
            let row = &rows[lane * classes..][..classes];
            let glance = Glance { sum: seen.sums[lane], top: seen.tops[lane], low: seen.lows[lane] };
            // Numbers of 64 bits may be equal in 32 bits only.
            match R::NARROW {
                true => self.tally.count(first + lane, label, row, glance, seen.choices[lane] == label),
                false => _ = self.tally.add(first + lane, label, row),
            }
            if seen.right[lane] <= self.cut {
                (self.look)(first + lane, label, row, sheets.verdict(seen, lane, label, classes));
            }
        }
    }

    #[inline(always)]
    fn many_classes(&mut self) -> f64 {
        let (mut room, mut wrong) = (Room::default(), 0.0);
        for (index, label, row) in self.block.rows() {
            let (glance, _) = self.tally.add(index, label, row);
            // The tally keeps what is wrong with such a label.
            if label as usize >= row.len() {
                continue;
            }
            let verdict = self.judge.entries(row, label, glance.top, &mut room);
            wrong += 1.0 - verdict.right;
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
    use crate::estimate::{Posterior, ProbabilityMatrix};
    use crate::stream::stream;

    /// Rows of normal logits; labels at random.
    fn case(rows: usize, classes: usize) -> (Vec<f32>, Vec<Label>) {
        let mut draws = stream(7, "judge");
        let (mut probs, mut given) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            let truth = draws.below(classes);
            let weight = |class, z: f64| (2.0 * z + if class == truth { 5.0 } else { 0.0 }).exp();
            let weights: Vec<f64> = (0..classes).map(|class| weight(class, draws.normal())).collect();
            let total: f64 = weights.iter().sum();
            probs.extend(weights.iter().map(|w| (w / total) as f32));
            given.push(if draws.chance(0.2) { draws.below(classes) } else { truth } as Label);
        }
        (probs, given)
    }

    fn verdicts<R: Number>(judge: &Judge, values: &[R], given: &[Label], classes: usize) -> Vec<Verdict> {
        let (mut tally, mut seen) = (Tally::new(classes), Vec::new());
        let block = Block { first: 0, given, values, classes };
        let look = |index: usize, _: Label, _: &[R], verdict| {
            assert_eq!(index, seen.len());
            seen.push(verdict);
        };
        let wrong = widest(JudgeBlock { judge, block: &block, tally: &mut tally, cut: 1.0, look });
        assert!(tally.is_fine());
        assert!((wrong - seen.iter().map(|verdict: &Verdict| 1.0 - verdict.right).sum::<f64>()).abs() < 1e-3);
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

    /// The formulas of `posterior` and `likelihood.rs`, in 64 bits and without lanes.
    #[test]
    fn the_judgement_is_what_the_formulas_say() {
        use crate::estimate::posterior::{likelihood::FLOOR, noise_model::Noise};
        let classes = 4;
        let (probs, given) = case(500, classes);
        let prototypes: Vec<f64> = (0..16).map(|place| if place / 4 == place % 4 { 0.7 } else { 0.1 }).collect();
        let likely = |given: usize, class: usize| if given == class { 0.85 } else { 0.05 };
        let noise = Noise::even(classes, 0.15);
        let (share, sharpness) = (0.5, 2.5);
        let judge = Judge::new(noise.columns(), classes, Likeness::new(&prototypes, share, sharpness, classes));
        for (row, &label) in probs.chunks_exact(classes).zip(&given) {
            // Rows with negligible entries are the subject of another test.
            if row.iter().any(|&p| p < 2e-3) {
                continue;
            }
            let belief = |class: usize| {
                let mixed = |s: usize| share * prototypes[class * 4 + s] + if s == class { 1.0 - share } else { 0.0 };
                let far: f64 = (0..4).map(|s| mixed(s) * (mixed(s) / (f64::from(row[s]) + FLOOR)).ln()).sum();
                (-sharpness * far).exp()
            };
            let weight = |class: usize| belief(class) * likely(label as usize, class);
            let right = weight(label as usize) / (0..4).map(weight).sum::<f64>();
            let got = judge.row(row, label);
            assert!((got.right - right).abs() < 1e-5 * right.max(1e-3), "{} {right}", got.right);
            let others = (0..4).filter(|&class| class != label as usize);
            let best = others.max_by(|&a, &b| weight(a).total_cmp(&weight(b))).unwrap();
            assert_eq!(got.suggested as usize, best);
            assert_eq!(got.contradicted, (0..4).any(|class| belief(class) > belief(label as usize)));
        }
    }
}
