//! What the fitted model says about each drawn row: how sure its class is, and how likely its label is right.

use super::em::Em;
use super::inputs::Inputs;
use super::lanes::{FEW, ROWS};
use super::likelihood::ClassLikelihood;
use super::noise_model::NoiseModel;
use crate::widest::Work;
use std::ops::Range;

/// What the model says about a drawn row.
#[derive(Clone, Copy)]
pub(crate) struct RowPosterior {
    /// The class it looks most like.
    pub(crate) class: u32,
    /// The probability of that class, from the row alone.
    pub(crate) confidence: f64,
    /// The probability that the given label is right.
    pub(crate) right: f64,
    /// The number of rows of the data that it stands for.
    pub(crate) weight: f64,
}

impl RowPosterior {
    /// `sum` adds up b over the classes (the largest b is 1); `own` and `total` are b · T at the given label and summed.
    #[inline(always)]
    fn new(class: usize, sum: f32, own: f32, total: f32, weight: f64) -> Self {
        let right = if total > 0.0 { f64::from(own / total) } else { 0.0 };
        Self { class: class as u32, confidence: f64::from(1.0 / sum), right, weight }
    }
}

/// All drawn rows of some given labels.
pub(crate) struct RowPosteriors<'a> {
    pub(crate) em: &'a Em<'a>,
    pub(crate) labels: Range<usize>,
    pub(crate) noise: &'a NoiseModel,
    pub(crate) likelihood: &'a ClassLikelihood,
}

impl Work for RowPosteriors<'_> {
    type Output = Vec<RowPosterior>;

    #[inline(always)]
    fn run(self) -> Vec<RowPosterior> {
        let Self { em, labels, noise, likelihood } = self;
        let classes = em.classes;
        let (mut found, mut columns) = (Vec::new(), noise.columns());
        for label in labels {
            let (rows, column) = (&em.rows[label], columns.of(label));
            match &em.inputs[label] {
                Inputs::Lanes { log_ratios, informative, .. } => {
                    let mut b = [[0.0; ROWS]; FEW];
                    let groups = log_ratios.chunks_exact(classes).zip(informative.chunks_exact(classes));
                    for (group, (log_ratios, informative)) in groups.enumerate() {
                        likelihood.of_lanes(log_ratios, informative, &mut b[..classes]);
                        let (mut sums, mut totals) = ([0.0; ROWS], [0.0; ROWS]);
                        for (b, t) in b.iter().zip(column) {
                            for lane in 0..ROWS {
                                sums[lane] += b[lane];
                                totals[lane] += b[lane] * t;
                            }
                        }
                        for lane in 0..ROWS.min(rows.len() - group * ROWS) {
                            let class = b[..classes].iter().position(|b| b[lane] == 1.0).unwrap_or(label);
                            let own = b[label][lane] * column[label];
                            found.push(RowPosterior::new(class, sums[lane], own, totals[lane], rows.weight));
                        }
                    }
                }
                Inputs::Entries { log_ratios, .. } => {
                    let mut b = Vec::new();
                    for span in rows.spans() {
                        let names = &rows.classes()[span.clone()];
                        let others = likelihood.of_entries(names, &log_ratios[span], &mut b);
                        let (mut sum, mut total, mut own, mut most) = (others, 0.0, 0.0, label);
                        for (&b, &class) in b.iter().zip(names) {
                            let joint = b * column[class as usize];
                            sum += b;
                            total += joint;
                            own = if class as usize == label { joint } else { own };
                            most = if b == 1.0 { class as usize } else { most };
                        }
                        found.push(RowPosterior::new(most, sum, own, total, rows.weight));
                    }
                }
            }
        }
        found
    }
}
