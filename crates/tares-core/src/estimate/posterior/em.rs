//! Expectation maximisation of the noise on drawn rows: which class is each row, what does each class look like, and how
//! are its labels mistaken?

use super::lanes::{FEW, ROWS, tell};
use super::likelihood::{Likeness, MOST_CLASSES, heights};
use super::noise_model::{Learnt, Noise};
use super::sample::Rows;
use crate::dataset::Label;
use crate::estimate::glance::{larger, log2};
use crate::widest::{Work, widest};
use rayon::prelude::*;

/// Rows are gone through in at most this many parts of at least so many rows, whatever the number of threads: so sums are
/// always the same.
const MOST_PARTS: usize = 16;
const LEAST_ROWS: usize = 1000;
/// First sharpness: that of a classifier that is neither too sure nor too modest of noisy labels.
const FIRST_SHARPNESS: f64 = 2.0;
/// No label is less likely than this.
const UNLIKELY: f32 = 1e-30;

/// Drawn rows, ready to be fitted to.
pub(crate) struct Fitting<'a> {
    rows: &'a [Rows],
    told: Vec<Told>,
    /// Labels whose rows are gone through together.
    parts: Vec<std::ops::Range<usize>>,
    classes: usize,
}

/// What the rows of one given label tell.
enum Told {
    /// Of few classes, eight rows side by side, K lanes for each eight.
    Sheets {
        /// Probabilities; 0 where they tell nothing.
        values: Vec<[f32; ROWS]>,
        heights: Vec<[f32; ROWS]>,
        tells: Vec<[f32; ROWS]>,
    },
    /// Of many classes.
    Entries {
        /// Of every entry.
        heights: Vec<f32>,
        /// The classes that have an entry, in order.
        named: Vec<u32>,
    },
}

/// What one step says about the noise it began with.
pub(crate) struct Step {
    pub(crate) noise: Noise,
    /// Mean of ln P(given | x) over the rows.
    pub(crate) likelihood: f64,
    /// The part of wrong labels.
    pub(crate) rate: f64,
}

/// Sums of one part of the rows.
struct Sums {
    /// Rows of each class among those given a label, for each label of the part.
    expected: Vec<Vec<(u32, f64)>>,
    /// `[true][shown]`.
    shown: Vec<f64>,
    likelihood: f64,
}

impl<'a> Fitting<'a> {
    pub(crate) fn new(rows: &'a [Rows]) -> Self {
        let classes = rows.len();
        let read = |(label, rows): (usize, &Rows)| widest(Read { rows, label: label as Label, classes });
        let told = rows.par_iter().enumerate().map(read).collect();
        let all: usize = rows.iter().map(Rows::len).sum();
        let wanted = (all / MOST_PARTS).max(LEAST_ROWS);
        let (mut parts, mut first, mut count) = (Vec::new(), 0, 0);
        for (label, rows) in rows.iter().enumerate() {
            count += rows.len();
            if count >= wanted || label + 1 == classes {
                parts.push(first..label + 1);
                (first, count) = (label + 1, 0);
            }
        }
        Self { rows, told, parts, classes }
    }

    /// Nine labels of ten are right, and rows are what the classifier says they are.
    pub(crate) fn start(&self) -> Noise {
        let classes = self.classes;
        // Only the prototypes of this step are kept: every label is as good as any other to them.
        let level = self.step(&Noise::level(classes), &Likeness::new(&[], 0.0, FIRST_SHARPNESS, classes));
        let mut noise = Noise::even(classes, 0.1);
        noise.prototypes = level.noise.prototypes;
        noise
    }

    /// `turns` steps at one sharpness c and share λ.
    pub(crate) fn settled(&self, noise: &Noise, share: f64, sharpness: f64, turns: usize) -> Step {
        let mut noise = noise.softened();
        let (mut likelihood, mut rate) = (0.0, 0.0);
        for _ in 0..turns {
            let step = self.step(&noise, &noise.likeness(share, sharpness));
            (noise, likelihood, rate) = (step.noise, step.likelihood, step.rate);
        }
        Step { noise, likelihood, rate }
    }

    fn step(&self, noise: &Noise, likeness: &Likeness) -> Step {
        let classes = self.classes;
        let visit =
            |labels: &std::ops::Range<usize>| widest(Visit { fitting: self, labels: labels.clone(), noise, likeness });
        let parts: Vec<Sums> = self.parts.par_iter().map(visit).collect();
        let (mut shown, mut likelihood) = (vec![0.0; if self.learns() { classes * classes } else { 0 }], 0.0);
        let mut expected = Vec::with_capacity(classes);
        for sums in parts {
            shown.iter_mut().zip(&sums.shown).for_each(|(total, value)| *total += value);
            likelihood += sums.likelihood;
            expected.extend(sums.expected);
        }
        let drawn = self.rows.iter().map(Rows::len).sum();
        let Learnt { noise, rows, rate } = Noise::learnt(&expected, shown, drawn);
        Step { noise, likelihood: likelihood / rows, rate }
    }

    /// Whether prototypes are learnt.
    fn learns(&self) -> bool {
        self.classes <= MOST_CLASSES
    }

    /// What is seen of every drawn row at one sharpness c and share λ.
    pub(crate) fn sights(&self, noise: &Noise, share: f64, sharpness: f64) -> Vec<Sight> {
        let likeness = &noise.likeness(share, sharpness);
        let of_part =
            |labels: &std::ops::Range<usize>| widest(Look { fitting: self, labels: labels.clone(), noise, likeness });
        self.parts.par_iter().map(of_part).collect::<Vec<_>>().concat()
    }
}

/// What is seen of a drawn row.
#[derive(Clone, Copy)]
pub(crate) struct Sight {
    /// The class it looks most like.
    pub(crate) class: u32,
    /// The belief in that class.
    pub(crate) sure: f64,
    /// The probability that the given label is right.
    pub(crate) right: f64,
    /// The rows it stands for.
    pub(crate) weight: f64,
}

impl Sight {
    /// `sum` is that of all beliefs, the largest of which is 1; `own` and `total` are the given label's and the sum of the
    /// beliefs times T.
    #[inline(always)]
    fn new(class: usize, sum: f32, own: f32, total: f32, weight: f64) -> Self {
        let right = if total > 0.0 { f64::from(own / total) } else { 0.0 };
        Self { class: class as u32, sure: f64::from(1.0 / sum), right, weight }
    }
}

/// The drawn rows of one given label, to be read.
struct Read<'a> {
    rows: &'a Rows,
    label: Label,
    classes: usize,
}

impl Work for Read<'_> {
    type Output = Told;

    #[inline(always)]
    fn run(self) -> Told {
        let Self { rows, label, classes } = self;
        if classes > FEW {
            let (mut entries, mut named) = (rows.values().to_vec(), rows.classes().to_vec());
            rows.spans().for_each(|span| heights(&mut entries[span], classes));
            named.sort_unstable();
            named.dedup();
            return Told::Entries { heights: entries, named };
        }
        let size = rows.len().div_ceil(ROWS) * classes;
        let (mut values, mut heights, mut tells) =
            (vec![[0.0; ROWS]; size], vec![[0.0; ROWS]; size], vec![[0.0; ROWS]; size]);
        for (row, span) in rows.spans().enumerate() {
            let sheet = &mut values[row / ROWS * classes..][..classes];
            for (&class, &value) in rows.classes()[span.clone()].iter().zip(&rows.values()[span]) {
                sheet[class as usize][row % ROWS] = value;
            }
        }
        let sheets = values.chunks_exact(classes).zip(heights.chunks_exact_mut(classes));
        for ((values, heights), tells) in sheets.zip(tells.chunks_exact_mut(classes)) {
            let tops = values.iter().fold([0.0; ROWS], |mut tops, values| {
                (0..ROWS).for_each(|lane| tops[lane] = larger(tops[lane], values[lane]));
                tops
            });
            tell(values, &tops, &[label; ROWS], heights, tells);
        }
        Told::Sheets { values, heights, tells }
    }
}

/// One step on the rows of some given labels.
struct Visit<'a> {
    fitting: &'a Fitting<'a>,
    labels: std::ops::Range<usize>,
    noise: &'a Noise,
    likeness: &'a Likeness,
}

impl Work for Visit<'_> {
    type Output = Sums;

    #[inline(always)]
    fn run(self) -> Sums {
        let Self { fitting, labels, noise, likeness } = self;
        let classes = fitting.classes;
        let learnt = if fitting.learns() { classes * classes } else { 0 };
        let mut sums = Sums { expected: Vec::with_capacity(labels.len()), shown: vec![0.0; learnt], likelihood: 0.0 };
        let mut shown = vec![[0.0; ROWS]; if classes <= FEW { learnt } else { 0 }];
        let (mut columns, mut counts) = (noise.columns(), vec![0.0; classes]);
        for label in labels {
            let (rows, column) = (&fitting.rows[label], columns.of(label));
            let likelihood = match &fitting.told[label] {
                Told::Sheets { values, heights, tells } => {
                    eight_at_a_time(rows, [values, heights, tells], column, likeness, &mut counts, &mut shown)
                }
                Told::Entries { heights, .. } => {
                    one_at_a_time(rows, heights, column, likeness, &mut counts, &mut sums.shown)
                }
            };
            sums.likelihood += likelihood * rows.weight;
            let mut take = |class: u32| (class, std::mem::take(&mut counts[class as usize]));
            sums.expected.push(match &fitting.told[label] {
                Told::Sheets { .. } => (0..classes as u32).map(take).collect(),
                Told::Entries { named, .. } => named.iter().map(|&class| take(class)).collect(),
            });
        }
        sums.shown.iter_mut().zip(shown).for_each(|(all, lanes)| *all += f64::from(sum(lanes)));
        sums
    }
}

/// Adds what rows of one label say; the sum of their log-likelihoods.
#[inline(always)]
fn eight_at_a_time(
    rows: &Rows,
    sheets: [&[[f32; ROWS]]; 3],
    column: &[f32],
    likeness: &Likeness,
    expected: &mut [f64],
    shown: &mut [[f32; ROWS]],
) -> f64 {
    let classes = column.len();
    let [values, heights, tells] = sheets.map(|sheet| sheet.chunks_exact(classes));
    let weight = rows.weight as f32;
    let (mut likelihood, mut left) = (0.0, rows.len());
    let (mut beliefs, mut counted) = ([[0.0; ROWS]; FEW], [[0.0; ROWS]; FEW]);
    for ((values, heights), tells) in values.zip(heights).zip(tells) {
        likeness.of_sheet(heights, tells, &mut beliefs[..classes]);
        let (mut sums, mut totals) = ([0.0; ROWS], [0.0; ROWS]);
        for (beliefs, likely) in beliefs.iter_mut().zip(column) {
            for lane in 0..ROWS {
                sums[lane] += beliefs[lane];
                beliefs[lane] *= likely;
                totals[lane] += beliefs[lane];
            }
        }
        let (mut shares, mut logs) = ([0.0; ROWS], [0.0; ROWS]);
        for lane in 0..ROWS {
            // The last eight may be fewer.
            let there = if lane < left { 1.0 } else { 0.0 };
            logs[lane] = there * log2(larger(totals[lane] / sums[lane], UNLIKELY));
            shares[lane] = there / larger(totals[lane], UNLIKELY);
        }
        likelihood += f64::from(sum(logs));
        left = left.saturating_sub(ROWS);
        for class in 0..classes {
            let mut part = beliefs[class];
            for lane in 0..ROWS {
                part[lane] *= shares[lane];
                counted[class][lane] += part[lane];
                part[lane] *= weight;
            }
            for (shown, values) in shown[class * classes..][..classes].iter_mut().zip(values) {
                let mut new = *shown;
                for lane in 0..ROWS {
                    new[lane] = part[lane].mul_add(values[lane], new[lane]);
                }
                *shown = new;
            }
        }
    }
    for (expected, counted) in expected.iter_mut().zip(counted) {
        *expected += f64::from(sum(counted)) * rows.weight;
    }
    likelihood * std::f64::consts::LN_2
}

/// The same with many classes.
#[inline(always)]
fn one_at_a_time(
    rows: &Rows,
    heights: &[f32],
    column: &[f32],
    likeness: &Likeness,
    expected: &mut [f64],
    shown: &mut [f64],
) -> f64 {
    let classes = column.len();
    let (mut beliefs, mut likelihood) = (Vec::new(), 0.0);
    for span in rows.spans() {
        let names = &rows.classes()[span.clone()];
        let (mut sum, mut total) = (likeness.of_entries(names, &heights[span.clone()], &mut beliefs), 0.0);
        for (belief, &class) in beliefs.iter_mut().zip(names) {
            sum += *belief;
            *belief *= column[class as usize];
            total += *belief;
        }
        likelihood += f64::from(log2(larger(total / sum, UNLIKELY)));
        let share = rows.weight / f64::from(larger(total, UNLIKELY));
        for (&belief, &class) in beliefs.iter().zip(names) {
            let part = f64::from(belief) * share;
            expected[class as usize] += part;
            // What is less than a thousandth of a row cannot move a prototype.
            if !shown.is_empty() && part > 1e-3 * rows.weight {
                let row = &mut shown[class as usize * classes..][..classes];
                for (&name, &value) in names.iter().zip(&rows.values()[span.clone()]) {
                    row[name as usize] += part * f64::from(value);
                }
            }
        }
    }
    likelihood * std::f64::consts::LN_2
}

/// A look at every row of some given labels.
struct Look<'a> {
    fitting: &'a Fitting<'a>,
    labels: std::ops::Range<usize>,
    noise: &'a Noise,
    likeness: &'a Likeness,
}

impl Work for Look<'_> {
    type Output = Vec<Sight>;

    #[inline(always)]
    fn run(self) -> Vec<Sight> {
        let Self { fitting, labels, noise, likeness } = self;
        let classes = fitting.classes;
        let (mut seen, mut columns) = (Vec::new(), noise.columns());
        for label in labels {
            let (rows, column) = (&fitting.rows[label], columns.of(label));
            match &fitting.told[label] {
                Told::Sheets { heights, tells, .. } => {
                    let mut beliefs = [[0.0; ROWS]; FEW];
                    let sheets = heights.chunks_exact(classes).zip(tells.chunks_exact(classes));
                    for (number, (heights, tells)) in sheets.enumerate() {
                        likeness.of_sheet(heights, tells, &mut beliefs[..classes]);
                        let (mut sums, mut totals) = ([0.0; ROWS], [0.0; ROWS]);
                        for (beliefs, likely) in beliefs.iter().zip(column) {
                            for lane in 0..ROWS {
                                sums[lane] += beliefs[lane];
                                totals[lane] += beliefs[lane] * likely;
                            }
                        }
                        for lane in 0..ROWS.min(rows.len() - number * ROWS) {
                            let class = beliefs[..classes].iter().position(|beliefs| beliefs[lane] == 1.0);
                            let own = beliefs[label][lane] * column[label];
                            seen.push(Sight::new(class.unwrap_or(label), sums[lane], own, totals[lane], rows.weight));
                        }
                    }
                }
                Told::Entries { heights, .. } => {
                    let mut beliefs = Vec::new();
                    for span in rows.spans() {
                        let names = &rows.classes()[span.clone()];
                        let others = likeness.of_entries(names, &heights[span], &mut beliefs);
                        let (mut sum, mut total, mut own, mut most) = (others, 0.0, 0.0, label);
                        for (&belief, &class) in beliefs.iter().zip(names) {
                            let weight = belief * column[class as usize];
                            sum += belief;
                            total += weight;
                            own = if class as usize == label { weight } else { own };
                            most = if belief == 1.0 { class as usize } else { most };
                        }
                        seen.push(Sight::new(most, sum, own, total, rows.weight));
                    }
                }
            }
        }
        seen
    }
}

/// The sum of the lanes, always in the same order.
#[inline(always)]
fn sum(lanes: [f32; ROWS]) -> f32 {
    let halves = [lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]];
    (halves[0] + halves[2]) + (halves[1] + halves[3])
}
