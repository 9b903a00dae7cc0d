//! Expectation maximisation of the noise on drawn rows: which class is each row, what does each class look like, and how
//! are its labels mistaken?

use super::likeness::{Likeness, MOST_CLASSES, heights};
use super::sample::Rows;
use rayon::prelude::*;

/// Rows worth of belief, in every class, that labels are right and that the class looks like itself.
const TRUST: f64 = 1.0;
/// Rows worth of belief in every kind of mistake together, per class.
const DOUBT: f64 = 0.01;
/// Rows are gone through in at most this many parts, so that sums are the same whatever the number of threads.
const PARTS: usize = 16;
/// First sharpness: that of a classifier that is neither too sure nor too modest of noisy labels.
const FIRST_SHARPNESS: f64 = 2.0;

/// What is fitted.
#[derive(Clone)]
pub(crate) struct Noise {
    /// `[given][true]`: column `given` of the transition matrix lies together.
    pub(crate) columns: Vec<f64>,
    /// M, `[true][shown]`; empty with more than [`MOST_CLASSES`].
    pub(crate) prototypes: Vec<f64>,
}

/// Drawn rows, ready to be fitted to.
pub(crate) struct Fitting<'a> {
    rows: &'a [Rows],
    heights: Vec<Vec<f64>>,
    classes: usize,
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
    /// `[given of the part][true]`.
    expected: Vec<f64>,
    /// `[true][shown]`.
    shown: Vec<f64>,
    likelihood: f64,
}

impl<'a> Fitting<'a> {
    pub(crate) fn new(rows: &'a [Rows]) -> Self {
        let classes = rows.len();
        Self { rows, heights: rows.par_iter().map(|rows| heights(rows, classes)).collect(), classes }
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Nine labels of ten are right, and rows are what the classifier says they are.
    pub(crate) fn start(&self) -> Noise {
        let classes = self.classes;
        let other = 0.1 / (classes as f64 - 1.0);
        let entry = |place: usize| if place / classes == place % classes { 0.9 } else { other };
        let columns: Vec<f64> = (0..classes * classes).map(entry).collect();
        // Only the prototypes of this step are kept: every label is as good as any other to them.
        let level = Noise { columns: vec![1.0; classes * classes], prototypes: Vec::new() };
        let prototypes = self.step(&level, &Likeness::new(&[], 0.0, FIRST_SHARPNESS, classes)).noise.prototypes;
        Noise { columns, prototypes }
    }

    /// `turns` steps at one sharpness c and share λ.
    pub(crate) fn settled(&self, noise: &Noise, share: f64, sharpness: f64, turns: usize) -> Step {
        let mut noise = noise.softened(self.classes);
        let (mut likelihood, mut rate) = (0.0, 0.0);
        for _ in 0..turns {
            let step = self.step(&noise, &Likeness::new(&noise.prototypes, share, sharpness, self.classes));
            (noise, likelihood, rate) = (step.noise, step.likelihood, step.rate);
        }
        Step { noise, likelihood, rate }
    }

    fn step(&self, noise: &Noise, likeness: &Likeness) -> Step {
        let classes = self.classes;
        let learns = classes <= MOST_CLASSES;
        let labels: Vec<usize> = (0..classes).collect();
        let parts: Vec<Sums> = labels
            .par_chunks(classes.div_ceil(PARTS))
            .map(|labels| {
                let mut sums = Sums {
                    expected: vec![0.0; labels.len() * classes],
                    shown: vec![0.0; if learns { classes * classes } else { 0 }],
                    likelihood: 0.0,
                };
                for (&label, expected) in labels.iter().zip(sums.expected.chunks_exact_mut(classes)) {
                    let column = &noise.columns[label * classes..(label + 1) * classes];
                    sums.likelihood += self.visit(label, column, likeness, expected, &mut sums.shown);
                }
                sums
            })
            .collect();
        let (mut totals, mut all, mut right) = (vec![TRUST + DOUBT; classes], 0.0, 0.0);
        let (mut shown, mut likelihood) = (vec![0.0; if learns { classes * classes } else { 0 }], 0.0);
        for sums in &parts {
            shown.iter_mut().zip(&sums.shown).for_each(|(total, value)| *total += value);
            likelihood += sums.likelihood;
        }
        let expected = parts.iter().flat_map(|sums| sums.expected.chunks_exact(classes));
        for (label, expected) in expected.clone().enumerate() {
            totals.iter_mut().zip(expected).for_each(|(total, value)| *total += value);
            all += expected.iter().sum::<f64>();
            right += expected[label];
        }
        let doubt = DOUBT / classes as f64;
        let mut columns = Vec::with_capacity(classes * classes);
        for (label, expected) in expected.enumerate() {
            let entry = |(truth, (value, total)): (usize, (&f64, &f64))| {
                (value + doubt + if truth == label { TRUST } else { 0.0 }) / total
            };
            columns.extend(expected.iter().zip(&totals).enumerate().map(entry));
        }
        (0..classes).for_each(|class| keep_right_first(&mut columns, class, classes));
        for (class, row) in shown.chunks_exact_mut(classes).enumerate() {
            row[class] += TRUST;
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|value| *value /= sum);
        }
        let all = all.max(f64::MIN_POSITIVE);
        Step { noise: Noise { columns, prototypes: shown }, likelihood: likelihood / all, rate: 1.0 - right / all }
    }

    /// Adds what the rows given `label` say; the sum of their log-likelihoods.
    fn visit(&self, label: usize, column: &[f64], likeness: &Likeness, expected: &mut [f64], shown: &mut [f64]) -> f64 {
        let (rows, heights, classes) = (&self.rows[label], &self.heights[label], self.classes);
        let (mut beliefs, mut likelihood) = (Vec::new(), 0.0);
        for (span, _) in rows.spans() {
            let names = &rows.classes()[span.clone()];
            let values = &rows.values()[span.clone()];
            likeness.beliefs(names, &heights[span], &mut beliefs);
            let mut total = 0.0;
            for (belief, &class) in beliefs.iter_mut().zip(names) {
                *belief *= column[class as usize];
                total += *belief;
            }
            let total = total.max(f64::MIN_POSITIVE);
            likelihood += total.ln();
            let share = rows.weight / total;
            for (belief, &class) in beliefs.iter().zip(names) {
                let part = belief * share;
                expected[class as usize] += part;
                // What is less than a thousandth of a row cannot move a prototype.
                if !shown.is_empty() && part > 1e-3 * rows.weight {
                    let row = &mut shown[class as usize * classes..(class as usize + 1) * classes];
                    for (&name, &value) in names.iter().zip(values) {
                        row[name as usize] += part * f64::from(value);
                    }
                }
            }
        }
        likelihood * rows.weight
    }

    /// (probability that the label is wrong, rows it stands for) of every drawn row.
    pub(crate) fn wrong(&self, columns: &[f64], likeness: &Likeness) -> Vec<(f64, f64)> {
        let of_label = |label: usize| {
            let column = &columns[label * self.classes..(label + 1) * self.classes];
            self.each(label, likeness, |rows, names, own, beliefs, _| {
                let weight = |place: usize| beliefs[place] * column[names[place] as usize];
                let total: f64 = (0..names.len()).map(weight).sum();
                (if total > 0.0 { 1.0 - weight(own) / total } else { 1.0 }, rows.weight)
            })
        };
        (0..self.classes).into_par_iter().map(of_label).collect::<Vec<_>>().concat()
    }

    /// How sure of their class the surest rows are: all but `part` of the rows are at most this sure.
    pub(crate) fn surest(&self, likeness: &Likeness, part: f64) -> f64 {
        let of_label = |label: usize| self.each(label, likeness, |rows, _, _, _, top| (top, rows.weight));
        let mut sure: Vec<(f64, f64)> = (0..self.classes).into_par_iter().map(of_label).collect::<Vec<_>>().concat();
        sure.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut left: f64 = part * sure.iter().map(|(_, weight)| weight).sum::<f64>();
        for &(top, weight) in &sure {
            left -= weight;
            if left <= 0.0 {
                return top;
            }
        }
        sure.last().map_or(1.0, |last| last.0)
    }

    /// `look` at (rows, classes, place of the given one, beliefs, largest belief) of every row given `label`.
    fn each<T>(
        &self,
        label: usize,
        likeness: &Likeness,
        look: impl Fn(&Rows, &[u32], usize, &[f64], f64) -> T,
    ) -> Vec<T> {
        let (rows, heights) = (&self.rows[label], &self.heights[label]);
        let mut beliefs = Vec::new();
        let mut found = Vec::with_capacity(rows.len());
        for (span, own) in rows.spans() {
            let names = &rows.classes()[span.clone()];
            let own = own - span.start;
            let top = likeness.beliefs(names, &heights[span], &mut beliefs);
            found.push(look(rows, names, own, &beliefs, top));
        }
        found
    }
}

/// No mistake is commoner than the right label: otherwise classes could change their names, and nobody would notice.
fn keep_right_first(columns: &mut [f64], class: usize, classes: usize) {
    let place = |given: usize| given * classes + class;
    let others = (0..classes).filter(|&given| given != class);
    if let Some(most) = others.max_by(|&a, &b| columns[place(a)].total_cmp(&columns[place(b)]))
        && columns[place(most)] > columns[place(class)]
    {
        let mean = (columns[place(most)] + columns[place(class)]) / 2.0;
        columns[place(most)] = mean;
        columns[place(class)] = mean;
    }
}

impl Noise {
    /// Makes everything possible again.
    fn softened(&self, classes: usize) -> Self {
        let columns = self.columns.iter().map(|value| 0.98 * value + 0.02 / classes as f64).collect();
        Self { columns, prototypes: self.prototypes.clone() }
    }
}
