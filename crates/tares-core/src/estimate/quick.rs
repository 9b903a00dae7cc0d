//! Judging rows quickly: sixteen rows side by side when there are few classes, sixteen classes when there are many.
//!
//! The answer is that of [`Posterior::judge`](super::Posterior::judge) in 32-bit arithmetic. Rows that could be suspects are
//! judged once more, exactly; of all others only the sum of their probabilities of being wrong is used.

use super::check::Tally;
use super::glance::{Glance, LANES, Lanes, across, exp2, lanes, larger, log2, smaller};
use super::likeness::{FLOOR, Likeness};
use super::probabilities::{Block, Number};
use super::sample::NEGLIGIBLE;
use crate::dataset::Label;
use crate::widest::Work;

/// How far a quick judgement may be from the exact one.
pub(crate) const QUICK_ERROR: f64 = 1e-3;

/// Up to this many classes rows lie side by side.
const FEW: usize = 32;

/// What a quick judgement needs to know of the model.
#[derive(Clone, Debug)]
pub(crate) struct Quick {
    classes: usize,
    sharpness: f32,
    /// `[given][true]`, each column padded to whole lanes with zeros.
    columns: Vec<f32>,
    stride: usize,
    /// If there are few classes: `[true][given]`, `[true][shown]`, and the offsets in base 2.
    by_class: Vec<[f32; FEW]>,
    pull: Vec<[f32; FEW]>,
    offset: Vec<f32>,
    /// Whether a row of many classes can be judged quickly: only without prototypes.
    plain: bool,
}

impl Quick {
    /// `columns` is `[given][true]`.
    pub(crate) fn new(columns: &[f64], classes: usize, likeness: &Likeness) -> Self {
        let stride = classes.next_multiple_of(LANES);
        let mut narrow = vec![0.0; classes * stride];
        for (to, from) in narrow.chunks_exact_mut(stride).zip(columns.chunks_exact(classes)) {
            to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
        }
        let (mut by_class, mut pull) = (Vec::new(), Vec::new());
        let plain = likeness.pull.is_empty();
        if classes <= FEW {
            by_class = vec![[0.0; FEW]; classes];
            pull = vec![[0.0; FEW]; classes];
            for class in 0..classes {
                for other in 0..classes {
                    by_class[class][other] = columns[other * classes + class] as f32;
                    pull[class][other] = match plain {
                        true if class == other => likeness.sharpness as f32,
                        true => 0.0,
                        false => likeness.pull[class * classes + other] as f32,
                    };
                }
            }
        }
        let offset = likeness.offset.iter().map(|&offset| (offset * std::f64::consts::LOG2_E) as f32).collect();
        Self { classes, sharpness: likeness.sharpness as f32, columns: narrow, stride, by_class, pull, offset, plain }
    }

    /// About the probability that the label is wrong, on a row of many classes and without prototypes.
    #[inline(always)]
    fn of_row<R: Number>(&self, row: &[R], label: usize, top: f32) -> f32 {
        let column = &self.columns[label * self.stride..(label + 1) * self.stride];
        let (floor, least) = (FLOOR as f32, top * NEGLIGIBLE as f32);
        let scale = log2(top + floor);
        let (mut totals, mut own) = ([0.0; LANES], 0.0);
        for (number, column) in column.as_chunks::<LANES>().0.iter().enumerate() {
            let values = lanes(row, number, -1.0);
            let mine = label / LANES == number;
            let mut highest = [0.0; LANES / 2];
            (0..LANES / 2).for_each(|lane| highest[lane] = larger(values[lane], values[lane + LANES / 2]));
            let any = highest.iter().fold(0u32, |any, &value| any | u32::from(value >= least));
            if any == 0 && !mine {
                continue;
            }
            let mut powers = [0.0; LANES];
            for lane in 0..LANES {
                let p = larger(values[lane] + floor, 1e-30);
                powers[lane] = exp2(self.sharpness * (log2(p) - scale)) * column[lane];
            }
            if mine {
                own = powers[label % LANES];
            }
            for lane in 0..LANES {
                totals[lane] += if values[lane] >= least { powers[lane] } else { 0.0 };
            }
            if mine && values[label % LANES] < least {
                totals[label % LANES] += own;
            }
        }
        let total = across(totals, |a, b| a + b);
        if total > 0.0 { 1.0 - own / total } else { 1.0 }
    }

    /// The same of sixteen rows of few classes, each a lane, with what a glance at each says and its first choice.
    #[inline(always)]
    fn of_rows<R: Number>(&self, rows: &[R], labels: &[Label; LANES]) -> Sixteen {
        let (classes, floor) = (self.classes, FLOOR as f32);
        let mut across_rows = [[0.0f32; LANES]; FEW];
        for (class, values) in across_rows[..classes].iter_mut().enumerate() {
            for (lane, value) in values.iter_mut().enumerate() {
                *value = rows[lane * classes + class].narrow();
            }
        }
        let across_rows = &across_rows[..classes];
        let mut seen = Sixteen {
            sums: across_rows[0],
            tops: across_rows[0],
            lows: across_rows[0],
            choices: [0; LANES],
            wrong: [0.0; LANES],
        };
        for (class, values) in across_rows.iter().enumerate().skip(1) {
            for (lane, &value) in values.iter().enumerate() {
                seen.sums[lane] += value;
                seen.lows[lane] = smaller(seen.lows[lane], value);
                seen.choices[lane] = if value > seen.tops[lane] { class as u32 } else { seen.choices[lane] };
                seen.tops[lane] = larger(seen.tops[lane], value);
            }
        }
        // Which entries tell something, and the mean of those that don't.
        let mut tells = [[0.0f32; LANES]; FEW];
        let (mut told, mut telling) = ([0.0; LANES], [0.0; LANES]);
        for (class, values) in across_rows.iter().enumerate() {
            for (lane, &value) in values.iter().enumerate() {
                let large = if value >= seen.tops[lane] * NEGLIGIBLE as f32 { 1.0 } else { 0.0 };
                let one = if labels[lane] == class as u32 { 1.0 } else { large };
                tells[class][lane] = one;
                told[lane] += one * value;
                telling[lane] += one;
            }
        }
        let mut ground = [0.0; LANES];
        for lane in 0..LANES {
            let missing = classes as f32 - telling[lane];
            let mean = larger(1.0 - told[lane], 0.0) / larger(missing, 1.0);
            ground[lane] = log2(if missing > 0.0 { mean + floor } else { floor });
        }
        let mut heights = [[0.0f32; LANES]; FEW];
        for (class, values) in across_rows.iter().enumerate() {
            for (lane, &value) in values.iter().enumerate() {
                let height = log2(larger(value + floor, 1e-30)) - ground[lane];
                heights[class][lane] = height * tells[class][lane];
            }
        }
        let (mut beliefs, mut most) = ([[0.0f32; LANES]; FEW], [f32::MIN; LANES]);
        for class in 0..classes {
            let mut belief = [self.offset[class]; LANES];
            for (shown, height) in heights[..classes].iter().enumerate() {
                let pull = self.pull[class][shown];
                (0..LANES).for_each(|lane| belief[lane] += pull * height[lane]);
            }
            for lane in 0..LANES {
                let one = if tells[class][lane] > 0.0 { belief[lane] } else { f32::MIN };
                most[lane] = larger(most[lane], one);
            }
            beliefs[class] = belief;
        }
        let (mut totals, mut own) = ([0.0; LANES], [0.0; LANES]);
        for class in 0..classes {
            // Looked up on its own, so that the rest stays side by side.
            let mut likely = [0.0; LANES];
            (0..LANES).for_each(|lane| likely[lane] = self.by_class[class][labels[lane] as usize % FEW]);
            for lane in 0..LANES {
                let weight = exp2(beliefs[class][lane] - most[lane]) * likely[lane] * tells[class][lane];
                totals[lane] += weight;
                own[lane] += if labels[lane] == class as u32 { weight } else { 0.0 };
            }
        }
        for lane in 0..LANES {
            let wrong = 1.0 - own[lane] / totals[lane];
            seen.wrong[lane] = if totals[lane] > 0.0 { wrong } else { 1.0 };
        }
        seen
    }
}

/// What is seen of sixteen rows.
struct Sixteen {
    sums: Lanes,
    tops: Lanes,
    lows: Lanes,
    choices: [u32; LANES],
    wrong: Lanes,
}

/// One block of rows: counted, judged, and those that could be suspects shown to `look`, which judges them exactly and
/// returns the probability that the label is wrong. `run` gives the sum of these probabilities.
pub(crate) struct JudgeBlock<'a, R, L> {
    pub(crate) quick: &'a Quick,
    pub(crate) block: &'a Block<'a, R>,
    pub(crate) tally: &'a mut Tally,
    /// Below this a label is no suspect, whatever the exact judgement.
    pub(crate) interesting: f32,
    pub(crate) look: L,
}

impl<R: Number, L: FnMut(usize, Label, &[R]) -> f64> Work for JudgeBlock<'_, R, L> {
    type Output = f64;

    #[inline(always)]
    fn run(mut self) -> f64 {
        if self.quick.classes <= FEW { self.few_classes() } else { self.many_classes() }
    }
}

impl<R: Number, L: FnMut(usize, Label, &[R]) -> f64> JudgeBlock<'_, R, L> {
    #[inline(always)]
    fn few_classes(&mut self) -> f64 {
        let (classes, block) = (self.quick.classes, self.block);
        let height = classes * LANES;
        let (groups, rest) = block.given.as_chunks::<LANES>();
        let mut wrong = 0.0;
        for (number, labels) in groups.iter().enumerate() {
            let rows = &block.values[number * height..][..height];
            let seen = self.quick.of_rows(rows, labels);
            wrong += self.take(block.first + number * LANES, labels, rows, &seen);
        }
        if !rest.is_empty() {
            // The last rows once more, so that there are sixteen; only the first `rest.len()` are taken.
            let from = groups.len() * LANES;
            let mut labels = [rest[0]; LANES];
            labels[..rest.len()].copy_from_slice(rest);
            let mut rows = Vec::with_capacity(height);
            rows.extend_from_slice(&block.values[from * classes..]);
            while rows.len() < height {
                rows.extend_from_slice(&block.values[from * classes..][..classes]);
            }
            let seen = self.quick.of_rows(&rows, &labels);
            wrong += self.take(block.first + from, rest, &rows, &seen);
        }
        wrong
    }

    #[inline(always)]
    fn take(&mut self, first: usize, labels: &[Label], rows: &[R], seen: &Sixteen) -> f64 {
        let classes = self.quick.classes;
        let mut wrong = 0.0;
        for (lane, &label) in labels.iter().enumerate() {
            let row = &rows[lane * classes..][..classes];
            let glance = Glance { sum: seen.sums[lane], top: seen.tops[lane], low: seen.lows[lane] };
            // Numbers of 64 bits may be equal in 32 bits only.
            match R::NARROW {
                true => self.tally.count(first + lane, label, row, glance, seen.choices[lane] == label),
                false => _ = self.tally.add(first + lane, label, row),
            }
            wrong += match seen.wrong[lane] < self.interesting {
                true => f64::from(seen.wrong[lane]),
                false => (self.look)(first + lane, label, row),
            };
        }
        wrong
    }

    #[inline(always)]
    fn many_classes(&mut self) -> f64 {
        let mut wrong = 0.0;
        for (index, label, row) in self.block.rows() {
            let (glance, _) = self.tally.add(index, label, row);
            if self.quick.plain {
                let quick = self.quick.of_row(row, label as usize, glance.top);
                if quick < self.interesting {
                    wrong += f64::from(quick);
                    continue;
                }
            }
            wrong += (self.look)(index, label, row);
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Posterior, Table};
    use crate::stream::stream;
    use crate::widest::widest;

    /// Rows of normal logits; labels at random.
    fn case(rows: usize, classes: usize) -> (Vec<f32>, Vec<Label>) {
        let mut draws = stream(7, "quick");
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

    #[test]
    fn quick_and_exact_judgements_agree() {
        for (rows, classes) in [(1000, 2), (1003, 10), (1001, 32), (2005, 33), (2000, 300)] {
            let (probs, given) = case(rows, classes);
            let model = Posterior::fit(&Table::new(&probs, classes).unwrap(), &given).unwrap();
            let quick = model.quick();
            let wide: Vec<f64> = probs.iter().map(|&p| f64::from(p)).collect();
            let mut exact = 0.0;
            for (row, &label) in probs.chunks_exact(classes).zip(&given) {
                let wanted = model.judge(row, label).wrong;
                if classes > FEW && quick.plain {
                    let got = f64::from(quick.of_row(row, label as usize, Glance::of(row).top));
                    assert!((got - wanted).abs() < QUICK_ERROR / 10.0, "{classes}: {got} {wanted}");
                }
                exact += wanted;
            }
            for (rows, labels) in probs.chunks_exact(classes * LANES).zip(given.as_chunks::<LANES>().0) {
                if classes <= FEW {
                    let seen = quick.of_rows(rows, labels);
                    for (lane, row) in rows.chunks_exact(classes).enumerate() {
                        let (got, wanted) = (f64::from(seen.wrong[lane]), model.judge(row, labels[lane]).wrong);
                        assert!((got - wanted).abs() < QUICK_ERROR / 3.0, "{classes}: {got} {wanted}");
                    }
                }
            }
            // Whole blocks, in either width, with every row or with none judged exactly.
            let sum = |narrow: bool, interesting: f32| {
                let mut tally = Tally::new(classes);
                let wrong = match narrow {
                    true => {
                        let block = Block { first: 0, given: &given, values: &probs, classes };
                        let look = |_: usize, label: Label, row: &[f32]| model.judge(row, label).wrong;
                        widest(JudgeBlock { quick: &quick, block: &block, tally: &mut tally, interesting, look })
                    }
                    false => {
                        let block = Block { first: 0, given: &given, values: &wide, classes };
                        let look = |_: usize, label: Label, row: &[f64]| model.judge(row, label).wrong;
                        widest(JudgeBlock { quick: &quick, block: &block, tally: &mut tally, interesting, look })
                    }
                };
                (wrong, tally.finish(rows).unwrap())
            };
            for interesting in [2.0, 0.0] {
                let (wrong, overview) = sum(true, interesting);
                assert!((wrong - exact).abs() < 1e-4 * rows as f64, "{classes}: {wrong} {exact}");
                assert_eq!(sum(false, interesting), (wrong, overview), "{classes}");
            }
        }
    }
}
