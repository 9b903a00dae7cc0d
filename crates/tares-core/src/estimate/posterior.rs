//! The default estimate: how likely is each given label wrong, after all that the data say about the noise?
//!
//! What a classifier says about a row is taken as a belief about its **true** class, up to its sharpness, and the given
//! label as a draw from that class's row of the transition matrix:
//!
//! ```text
//! b_z(x) ∝ (p_z(x) + ε)^s          P(given = y | x) = Σ_z b_z(x) T[z][y]
//! P(label right | x, y) = b_y T[y][y] / Σ_z b_z T[z][y]
//! ```
//!
//! `T` is fitted by expectation maximisation for each sharpness `s`. The likelihood alone tells noise that strikes all
//! rows of a class alike (T) from rows the classifier is unsure of (b). People, however, err on the very rows a
//! classifier finds hard; then "the classifier is unsure" and "the label is wrong" explain the data equally well and
//! the likelihood chooses the former. So the belief is sharpened beyond the likeliest `s`, more so the more labels
//! disagree with the classifier (the `boldness` function below: the one thing here that was set by experiment; `results/`
//! has the figures), and `T` is fitted once more. The spread between no and much sharpening is the band that is reported.

use super::glance::{Glance, LANES, across, exp2, lanes, larger, log2};
use super::probabilities::{Number, Probabilities};
use super::sample::{NEGLIGIBLE, Rows, Sample, telling};
use crate::dataset::Label;
use crate::error::Result;
use rayon::prelude::*;

/// ε: keeps a class the classifier excludes from being impossible.
const FLOOR: f64 = 1e-4;
/// Rows worth of belief, in every class, that labels are right.
const TRUST: f64 = 1.0;
/// Rows worth of belief in every kind of mistake together, per class.
const DOUBT: f64 = 0.01;
/// How far a quick judgement may be from the exact one.
pub(crate) const QUICK_ERROR: f64 = 1e-3;
const LEAST_SHARPNESS: f64 = 0.5;
const MOST_SHARPNESS: f64 = 40.0;
/// Sharpening at the upper end of the band.
const MOST_BOLD: f64 = 5.0;

/// How much sharper than the likelihood says the beliefs are taken.
///
/// More when many labels disagree with the classifier: then they are the less reliable witness. And more when the likeliest
/// model explains only a small part (`explained`) of many disagreements: it has taken the classifier, not the labels, for
/// the one that errs.
fn boldness(disagreement: f64, explained: f64) -> f64 {
    1.4 + 20.0 * (disagreement - 0.17).max(0.0).powi(2)
        + 90.0 * (0.3 - explained).max(0.0) * disagreement * disagreement
}

/// The fitted model.
#[derive(Clone, Debug)]
pub struct Posterior {
    classes: usize,
    sharpness: f64,
    /// `[given][true]`: column `given` of the transition matrix lies together.
    columns: Vec<f64>,
    /// The same in 32 bits, columns padded to whole lanes with zeros.
    narrow: Vec<f32>,
    cut: f64,
    low: f64,
    high: f64,
}

/// What the model says about one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Probability that the given label is wrong.
    pub wrong: f64,
    /// The likeliest class other than the given one.
    pub suggested: Label,
}

impl Posterior {
    /// Fits the model: one pass over the rows and some work on a part of them.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn fit<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        Ok(Self::of(&Sample::draw(probs, given)?))
    }

    /// Fits the model to rows that were drawn.
    pub(crate) fn of(sample: &Sample) -> Self {
        let Sample { rows: sample, overview } = sample;
        let classes = sample.len();
        let logs: Vec<Vec<f64>> = sample.par_iter().map(logarithms).collect();
        let mut steps: Vec<Step> = Vec::new();
        // From sharp to dull: a matrix that has become the identity could not find its way back.
        let mut columns = first_guess(classes);
        for step in (0..=8).rev() {
            let sharpness = LEAST_SHARPNESS * (16f64).powf(f64::from(step) / 8.0);
            let beliefs = Beliefs::new(sample, &logs, sharpness);
            columns = softened(columns, classes);
            let mut likelihood = 0.0;
            for turn in 0..10 {
                (columns, likelihood, _) = beliefs.improved(&columns, classes, turn == 9);
            }
            steps.push(Step { sharpness, likelihood, columns: columns.clone() });
        }
        let (likeliest, start) = peak(steps);
        let settle = |boldness: f64, start: Vec<f64>| {
            let sharpness = (likeliest * boldness).min(MOST_SHARPNESS);
            let beliefs = Beliefs::new(sample, &logs, sharpness);
            let (mut columns, mut rate) = (softened(start, classes), 0.0);
            for _ in 0..15 {
                (columns, _, rate) = beliefs.improved(&columns, classes, false);
            }
            (sharpness, beliefs, columns, rate)
        };
        let (.., modest, low) = settle(1.0, start);
        let disagreement = overview.disagreement();
        let bold = boldness(disagreement, low / disagreement.max(1e-3));
        let (sharpness, beliefs, columns, rate) = settle(bold, modest);
        let (.., high) = settle(MOST_BOLD, columns.clone());
        let cut = best_cut(beliefs.wrong(&columns, classes));
        // What drawing other rows from the same source would change.
        let luck = 2.0 * (rate * (1.0 - rate) / overview.rows as f64).sqrt();
        Self {
            classes,
            sharpness,
            narrow: narrowed(&columns, classes),
            columns,
            cut,
            low: (low.min(rate) - luck).max(0.0),
            high: (high.max(rate) + luck).min(1.0),
        }
    }

    /// The probability that the given label is wrong, and what it should be.
    pub fn judge<R: Number>(&self, row: &[R], given: Label) -> Verdict {
        let label = given as usize;
        let column = &self.columns[label * self.classes..(label + 1) * self.classes];
        let top = row.iter().fold(0.0, |top: f64, &p| top.max(p.into()));
        let scale = (top + FLOOR).ln();
        let (mut own, mut total, mut best) = (0.0, 0.0, (-1.0, usize::from(label == 0)));
        telling(row, label, top, |class, p| {
            let weight = (self.sharpness * ((p + FLOOR).ln() - scale)).exp() * column[class];
            total += weight;
            if class == label {
                own = weight;
            } else if weight > best.0 {
                best = (weight, class);
            }
        });
        // Every weight can underflow only if the matrix says this label is never given: then it is wrong.
        let wrong = if total > 0.0 { 1.0 - own / total } else { 1.0 };
        Verdict { wrong, suggested: best.1 as Label }
    }

    /// About [`Verdict::wrong`] of [`judge`](Self::judge), some twenty times as fast: to `QUICK_ERROR`.
    #[inline]
    pub(crate) fn judge_quickly<R: Number>(&self, row: &[R], given: Label, glance: Glance) -> f32 {
        let label = given as usize;
        let stride = self.classes.next_multiple_of(LANES);
        let column = &self.narrow[label * stride..(label + 1) * stride];
        let (floor, sharpness) = (FLOOR as f32, self.sharpness as f32);
        let least = glance.top * NEGLIGIBLE as f32;
        let scale = log2(glance.top + floor);
        let (mut total, mut own) = ([0.0; LANES], 0.0);
        for (number, column) in column.as_chunks::<LANES>().0.iter().enumerate() {
            let values = lanes(row, number, -1.0);
            let mine = label / LANES == number;
            if !mine && across(values, larger) < least {
                continue;
            }
            let mut weights = [0.0; LANES];
            for lane in 0..LANES {
                let weight = exp2(sharpness * (log2(larger(values[lane] + floor, 1e-30)) - scale)) * column[lane];
                weights[lane] = if values[lane] >= least { weight } else { 0.0 };
            }
            if mine {
                let p = larger(values[label % LANES] + floor, 1e-30);
                own = exp2(sharpness * (log2(p) - scale)) * column[label % LANES];
                weights[label % LANES] = own;
            }
            for lane in 0..LANES {
                total[lane] += weights[lane];
            }
        }
        let total = across(total, |a, b| a + b);
        if total > 0.0 { 1.0 - own / total } else { 1.0 }
    }

    /// Labels at least this likely to be wrong are suspects: the cut with the largest expected F1.
    pub fn cut(&self) -> f64 {
        self.cut
    }

    /// s.
    pub fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// The noise rate lies in here, as far as probabilities alone can tell.
    pub fn band(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// `T[true][given]`.
    pub fn transition_rows(&self) -> Vec<Vec<f64>> {
        let entry = |truth: usize, given: usize| self.columns[given * self.classes + truth];
        (0..self.classes)
            .map(|truth| {
                let row: Vec<f64> = (0..self.classes).map(|given| entry(truth, given)).collect();
                let sum: f64 = row.iter().sum();
                row.into_iter().map(|value| value / sum).collect()
            })
            .collect()
    }
}

struct Step {
    sharpness: f64,
    likelihood: f64,
    columns: Vec<f64>,
}

/// ln(p + ε) of every entry.
fn logarithms(rows: &Rows) -> Vec<f64> {
    rows.values().iter().map(|&p| (f64::from(p) + FLOOR).ln()).collect()
}

/// The columns in 32 bits, padded to whole lanes.
fn narrowed(columns: &[f64], classes: usize) -> Vec<f32> {
    let stride = classes.next_multiple_of(LANES);
    let mut narrow = vec![0.0; classes * stride];
    for (to, from) in narrow.chunks_exact_mut(stride).zip(columns.chunks_exact(classes)) {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
    }
    narrow
}

/// The beliefs b of all drawn rows at one sharpness.
struct Beliefs<'a> {
    sample: &'a [Rows],
    values: Vec<Vec<f64>>,
}

impl<'a> Beliefs<'a> {
    fn new(sample: &'a [Rows], logs: &[Vec<f64>], sharpness: f64) -> Self {
        let of_rows = |(rows, logs): (&Rows, &Vec<f64>)| {
            let mut values: Vec<f64> = logs.iter().map(|&log| (log * sharpness).exp()).collect();
            for (span, _) in rows.spans() {
                let row = &mut values[span];
                let sum: f64 = row.iter().sum();
                row.iter_mut().for_each(|value| *value /= sum);
            }
            values
        };
        Self { sample, values: sample.par_iter().zip(logs).map(of_rows).collect() }
    }

    /// One step of expectation maximisation: the new matrix, the log-likelihood of the old one, the part of wrong labels.
    /// The likelihood costs a logarithm per row: 0 unless it is `wanted`.
    fn improved(&self, columns: &[f64], classes: usize, wanted: bool) -> (Vec<f64>, f64, f64) {
        let per_label: Vec<(Vec<f64>, f64)> = self
            .sample
            .par_iter()
            .zip(&self.values)
            .enumerate()
            .map(|(label, (rows, beliefs))| {
                let column = &columns[label * classes..(label + 1) * classes];
                let (mut expected, mut likelihood) = (vec![0.0; classes], 0.0);
                for (span, _) in rows.spans() {
                    let names = &rows.classes()[span.clone()];
                    let beliefs = &beliefs[span];
                    let total: f64 = names.iter().zip(beliefs).map(|(&class, b)| b * column[class as usize]).sum();
                    if wanted {
                        likelihood += total.max(f64::MIN_POSITIVE).ln();
                    }
                    let share = rows.weight / total.max(f64::MIN_POSITIVE);
                    for (&class, b) in names.iter().zip(beliefs) {
                        expected[class as usize] += b * column[class as usize] * share;
                    }
                }
                (expected, likelihood * rows.weight)
            })
            .collect();
        let likelihood = per_label.iter().map(|(_, likelihood)| likelihood).sum();
        let mut totals = vec![TRUST + DOUBT; classes];
        let (mut all, mut right) = (0.0, 0.0);
        for (label, (expected, _)) in per_label.iter().enumerate() {
            totals.iter_mut().zip(expected).for_each(|(total, value)| *total += value);
            all += expected.iter().sum::<f64>();
            right += expected[label];
        }
        let doubt = DOUBT / classes as f64;
        let mut new = Vec::with_capacity(columns.len());
        for (label, (expected, _)) in per_label.iter().enumerate() {
            new.extend(
                expected
                    .iter()
                    .zip(&totals)
                    .enumerate()
                    .map(|(truth, (value, total))| (value + doubt + if truth == label { TRUST } else { 0.0 }) / total),
            );
        }
        (new, likelihood, 1.0 - right / all)
    }

    /// (probability that the label is wrong, rows it stands for) of every drawn row.
    fn wrong(&self, columns: &[f64], classes: usize) -> Vec<(f64, f64)> {
        let mut all = Vec::new();
        for (label, (rows, beliefs)) in self.sample.iter().zip(&self.values).enumerate() {
            let column = &columns[label * classes..(label + 1) * classes];
            for (span, own) in rows.spans() {
                let weight = |place: usize| beliefs[place] * column[rows.classes()[place] as usize];
                let total: f64 = span.map(weight).sum();
                all.push((if total > 0.0 { 1.0 - weight(own) / total } else { 1.0 }, rows.weight));
            }
        }
        all
    }
}

/// The probability from which on labels are suspects so that the expected F1, 2 · hits / (suspects + wrong), is largest.
fn best_cut(mut wrong: Vec<(f64, f64)>) -> f64 {
    wrong.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    let expected: f64 = wrong.iter().map(|(p, weight)| p * weight).sum();
    let (mut hits, mut suspects, mut best, mut cut) = (0.0, 0.0, 0.0, 1.0);
    for (p, weight) in wrong {
        hits += p * weight;
        suspects += weight;
        let f1 = 2.0 * hits / (suspects + expected);
        if f1 > best {
            (best, cut) = (f1, p);
        }
    }
    cut
}

/// Nine labels of ten are right; `[given][true]`.
fn first_guess(classes: usize) -> Vec<f64> {
    let other = 0.1 / (classes as f64 - 1.0);
    let entry = |place: usize| if place / classes == place % classes { 0.9 } else { other };
    (0..classes * classes).map(entry).collect()
}

/// Makes everything possible again.
fn softened(columns: Vec<f64>, classes: usize) -> Vec<f64> {
    columns.into_iter().map(|value| 0.98 * value + 0.02 / classes as f64).collect()
}

/// The likeliest sharpness, between the steps by a parabola, and the matrix of the step nearest to it.
fn peak(mut steps: Vec<Step>) -> (f64, Vec<f64>) {
    let best =
        (0..steps.len()).max_by(|&a, &b| steps[a].likelihood.total_cmp(&steps[b].likelihood)).unwrap_or_default();
    let mut sharpness = steps[best].sharpness;
    if best > 0 && best + 1 < steps.len() {
        let (left, middle, right) = (steps[best - 1].likelihood, steps[best].likelihood, steps[best + 1].likelihood);
        let bend = left - 2.0 * middle + right;
        if bend < 0.0 {
            let shift = (0.5 * (left - right) / bend).clamp(-0.5, 0.5);
            sharpness *= (steps[best + 1].sharpness / sharpness).powf(shift);
        }
    }
    (sharpness, steps.swap_remove(best).columns)
}
