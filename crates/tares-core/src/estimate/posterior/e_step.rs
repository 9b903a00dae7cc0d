//! The E-step: responsibilities of the classes for every row, and the sufficient statistics that the M-step needs of them.

use super::em::Em;
use super::inputs::Inputs;
use super::lanes::{FEW, ROWS, sum_lanes};
use super::likelihood::ClassLikelihood;
use super::noise_model::{Column, NoiseModel};
use super::sample::Rows;
use crate::estimate::math32::{larger, log2};
use crate::estimate::row::{LANES, across};
use crate::widest::Work;
use std::f64::consts::LN_2;
use std::ops::Range;

/// No label is less likely than this.
const UNLIKELY: f32 = 1e-30;
/// A class responsible for less than this part of a row cannot move its prototype.
const LEAST_RESPONSIBILITY: f64 = 1e-3;

/// The E-step on the rows of some given labels.
pub(crate) struct EStep<'a> {
    pub(crate) em: &'a Em<'a>,
    pub(crate) labels: Range<usize>,
    pub(crate) noise: &'a NoiseModel,
    pub(crate) likelihood: &'a ClassLikelihood,
}

/// Sufficient statistics of the rows of some given labels.
pub(crate) struct Statistics {
    /// For each given label, a column of the expected counts: (true class, expected number of rows).
    pub(crate) counts: Vec<Column>,
    /// Sums of p weighted by responsibility, `[true][predicted]`; empty if no prototypes are learnt.
    pub(crate) predicted: Vec<f64>,
    /// Sum of ln P(given | x).
    pub(crate) log_likelihood: f64,
}

impl Work for EStep<'_> {
    type Output = Statistics;

    #[inline(always)]
    fn run(self) -> Statistics {
        let Self { em, labels, noise, likelihood } = self;
        let (classes, size) = (em.classes, em.prototype_size());
        let mut all =
            Statistics { counts: Vec::with_capacity(labels.len()), predicted: vec![0.0; size], log_likelihood: 0.0 };
        let mut predicted = vec![[0.0; LANES]; if classes <= FEW { size } else { 0 }];
        let (mut columns, mut counts) = (noise.columns(), vec![0.0; classes]);
        let mut entries = EntryMemory::default();
        for label in labels {
            let (rows, column) = (&em.rows[label], columns.of(label));
            match &em.inputs[label] {
                Inputs::Lanes { values, log_ratios, informative } => {
                    let lanes = [&values[..], log_ratios, informative];
                    let log_likelihood =
                        rows_side_by_side(rows, lanes, column, likelihood, &mut counts, &mut predicted);
                    all.log_likelihood += log_likelihood * rows.weight;
                }
                Inputs::Entries { log_ratios, .. } => {
                    let sums = [&mut counts[..], &mut all.predicted];
                    one_row_at_a_time(rows, log_ratios, column, likelihood, sums, &mut entries);
                }
            }
            let mut take = |class: u32| (class, std::mem::take(&mut counts[class as usize]));
            all.counts.push(match &em.inputs[label] {
                Inputs::Lanes { .. } => (0..classes as u32).map(take).collect(),
                Inputs::Entries { classes, .. } => classes.iter().map(|&class| take(class)).collect(),
            });
        }
        all.log_likelihood += entries.log_likelihood();
        all.predicted.iter_mut().zip(predicted).for_each(|(all, lanes)| *all += f64::from(across(lanes, |a, b| a + b)));
        all
    }
}

/// Adds the statistics of the rows of one label to `counts` and `predicted`; returns the sum of their log-likelihoods.
/// `lanes` are probabilities, log ratios and marks of informative classes.
#[inline(always)]
fn rows_side_by_side(
    rows: &Rows,
    lanes: [&[[f32; ROWS]]; 3],
    column: &[f32],
    likelihood: &ClassLikelihood,
    counts: &mut [f64],
    predicted: &mut [[f32; LANES]],
) -> f64 {
    let classes = column.len();
    let [values, log_ratios, informative] = lanes.map(|lanes| lanes.chunks_exact(classes));
    let weight = rows.weight as f32;
    let (mut log_likelihood, mut left) = (0.0, rows.len());
    let (mut joint, mut counted) = ([[0.0; ROWS]; FEW], [[0.0; ROWS]; FEW]);
    for ((values, log_ratios), informative) in values.zip(log_ratios).zip(informative) {
        likelihood.of_lanes(log_ratios, informative, &mut joint[..classes]);
        // b_z becomes b_z T[z][y].
        let (mut sums, mut totals) = ([0.0; ROWS], [0.0; ROWS]);
        for (joint, t) in joint.iter_mut().zip(column) {
            for lane in 0..ROWS {
                sums[lane] += joint[lane];
                joint[lane] *= t;
                totals[lane] += joint[lane];
            }
        }
        let (mut scales, mut logs) = ([0.0; ROWS], [0.0; ROWS]);
        for lane in 0..ROWS {
            // The last group may have fewer rows.
            let present = if lane < left { 1.0 } else { 0.0 };
            logs[lane] = present * log2(larger(totals[lane] / sums[lane], UNLIKELY));
            scales[lane] = present / larger(totals[lane], UNLIKELY);
        }
        log_likelihood += f64::from(sum_lanes(logs));
        left = left.saturating_sub(ROWS);
        for (joint, counted) in joint[..classes].iter_mut().zip(&mut counted) {
            for lane in 0..ROWS {
                let responsibility = joint[lane] * scales[lane];
                counted[lane] += responsibility;
                joint[lane] = responsibility * weight;
            }
        }
        for (responsibility, predicted) in joint.iter().zip(predicted.chunks_exact_mut(classes)) {
            for (predicted, values) in predicted.iter_mut().zip(values) {
                let mut new = *predicted;
                for (responsibility, values) in responsibility.as_chunks().0.iter().zip(values.as_chunks().0) {
                    new = add_products(new, responsibility, values);
                }
                *predicted = new;
            }
        }
    }
    for (count, counted) in counts.iter_mut().zip(counted) {
        *count += f64::from(sum_lanes(counted)) * rows.weight;
    }
    log_likelihood * LN_2
}

#[inline(always)]
fn add_products(mut sums: [f32; LANES], a: &[f32; LANES], b: &[f32; LANES]) -> [f32; LANES] {
    for lane in 0..LANES {
        sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
    }
    sums
}

/// Working memory for rows of many classes.
#[derive(Default)]
struct EntryMemory {
    joint: Vec<f32>,
    /// P(given | x) of every row.
    probabilities: Vec<f32>,
    /// For each label, the number of rows up to its last one, and the weight of each.
    labels: Vec<(usize, f64)>,
}

impl EntryMemory {
    /// Sum of ln P(given | x): logarithms side by side, then sums in the order of the rows.
    #[inline(always)]
    fn log_likelihood(mut self) -> f64 {
        for probability in &mut self.probabilities {
            *probability = log2(*probability);
        }
        let (mut all, mut first) = (0.0, 0);
        for (end, weight) in self.labels {
            let mut sum = 0.0;
            for &log in &self.probabilities[first..end] {
                sum += f64::from(log);
            }
            all += sum * LN_2 * weight;
            first = end;
        }
        all
    }
}

/// Adds the statistics of the rows of one label to `sums`, which are counts and sums of p, and remembers how likely the label is.
#[inline(always)]
fn one_row_at_a_time(
    rows: &Rows,
    log_ratios: &[f32],
    column: &[f32],
    likelihood: &ClassLikelihood,
    [counts, predicted]: [&mut [f64]; 2],
    EntryMemory { joint, probabilities, labels }: &mut EntryMemory,
) {
    let classes = column.len();
    for span in rows.spans() {
        let names = &rows.classes()[span.clone()];
        let (mut sum, mut total) = (likelihood.of_entries(names, &log_ratios[span.clone()], joint), 0.0);
        for (joint, &class) in joint.iter_mut().zip(names) {
            sum += *joint;
            *joint *= column[class as usize];
            total += *joint;
        }
        probabilities.push(larger(total / sum, UNLIKELY));
        let scale = rows.weight / f64::from(larger(total, UNLIKELY));
        for (&joint, &class) in joint.iter().zip(names) {
            let responsibility = f64::from(joint) * scale;
            counts[class as usize] += responsibility;
            if !predicted.is_empty() && responsibility > LEAST_RESPONSIBILITY * rows.weight {
                let row = &mut predicted[class as usize * classes..][..classes];
                for (&name, &value) in names.iter().zip(&rows.values()[span.clone()]) {
                    row[name as usize] += responsibility * f64::from(value);
                }
            }
        }
    }
    labels.push((probabilities.len(), rows.weight));
}
