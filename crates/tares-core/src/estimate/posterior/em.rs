//! Expectation maximisation on the drawn rows.
//!
//! ```text
//! E-step   responsibility of class z for a row given y:  r_z ∝ b_z(x) T[z][y]
//! M-step   T[z][y] ∝ Σ r_z over the rows given y, plus pseudo-counts        M_z = mean of p over all rows, weighted by r_z
//!          π_z ∝ Σ r_z over all rows
//! ```
//!
//! b_z(x) is the class likelihood of `likelihood.rs`; T, the prototypes M and the shares π are the noise model of `noise_model.rs`.

use super::e_step::EStep;
use super::inputs::Inputs;
use super::lanes::FEW;
use super::likelihood::{ClassLikelihood, MOST_CLASSES};
use super::noise_model::{MStep, NoiseModel};
use super::row_posterior::{RowPosterior, RowPosteriors};
use super::sample::Rows;
use crate::dataset::Label;
use crate::widest::widest;
use rayon::prelude::*;
use std::ops::Range;

/// Rows are summed in at most this many parts of at least this many rows, whatever the number of threads, so that sums are
/// always the same bits.
const MOST_PARTS: usize = 16;
const LEAST_ROWS: usize = 1000;
/// Sharpness of the first step. With few classes it is high, or a rare class's first prototype would be made of the many rows of a
/// frequent class that is sometimes mistaken for it. With many, each class has too few rows to be that strict.
const FIRST_SHARPNESS: f64 = 4.0;
const FIRST_SHARPNESS_OF_MANY: f64 = 2.0;
/// Noise rate of the first T.
const FIRST_RATE: f64 = 0.1;

/// The drawn rows, ready for EM.
pub(crate) struct Em<'a> {
    /// Per given label.
    pub(crate) rows: &'a [Rows],
    /// Per given label.
    pub(crate) inputs: Vec<Inputs>,
    /// Labels whose rows are summed together.
    parts: Vec<Range<usize>>,
    pub(crate) classes: usize,
    /// How much the estimated class shares count: 0 for a classifier without skill, which never names a rare class, up to 1.
    trust: f64,
}

/// Where EM has arrived.
pub(crate) struct EmFit {
    pub(crate) noise: NoiseModel,
    /// Mean of ln P(given | x) over the rows, before the last M-step.
    pub(crate) log_likelihood: f64,
    /// The part of wrong labels.
    pub(crate) rate: f64,
}

impl<'a> Em<'a> {
    pub(crate) fn new(rows: &'a [Rows], trust: f64) -> Self {
        let classes = rows.len();
        let inputs = rows.par_iter().enumerate().map(|(label, rows)| Inputs::of(rows, label as Label, classes));
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
        Self { rows, inputs: inputs.collect(), parts, classes, trust }
    }

    /// Where EM begins: 10 % symmetric noise, prototypes and shares from the classifier's own answers.
    pub(crate) fn start(&self) -> NoiseModel {
        let classes = self.classes;
        // With a T that tells nothing, responsibilities are the classifier's answers. Only prototypes and shares are kept.
        let sharpness = if classes <= FEW { FIRST_SHARPNESS } else { FIRST_SHARPNESS_OF_MANY };
        let answers = ClassLikelihood::new(&[], &[], 0.0, sharpness, classes);
        let first = self.step(&NoiseModel::uninformative(classes), &answers);
        let mut noise = NoiseModel::symmetric(classes, FIRST_RATE);
        noise.prototypes = first.noise.prototypes;
        noise.class_shares = first.noise.class_shares;
        noise
    }

    /// `steps` EM steps at prototype share λ and sharpness c.
    pub(crate) fn run(&self, noise: &NoiseModel, share: f64, sharpness: f64, steps: usize) -> EmFit {
        let mut fit = EmFit { noise: noise.smoothed(), log_likelihood: 0.0, rate: 0.0 };
        for _ in 0..steps {
            fit = self.step(&fit.noise, &fit.noise.likelihood(share, sharpness));
        }
        fit
    }

    fn step(&self, noise: &NoiseModel, likelihood: &ClassLikelihood) -> EmFit {
        let size = self.prototype_size();
        let e_step = |labels: &Range<usize>| widest(EStep { em: self, labels: labels.clone(), noise, likelihood });
        let parts: Vec<_> = self.parts.par_iter().map(e_step).collect();
        let (mut predicted, mut log_likelihood) = (vec![0.0; size], 0.0);
        let mut counts = Vec::with_capacity(self.classes);
        for part in parts {
            predicted.iter_mut().zip(&part.predicted).for_each(|(total, value)| *total += value);
            log_likelihood += part.log_likelihood;
            counts.extend(part.counts);
        }
        let drawn = self.rows.iter().map(Rows::len).sum();
        let MStep { noise, rows, rate } = NoiseModel::m_step(counts, predicted, drawn, self.trust);
        EmFit { noise, log_likelihood: log_likelihood / rows, rate }
    }

    /// K², or 0 with so many classes that prototypes are not learnt.
    pub(crate) fn prototype_size(&self) -> usize {
        if self.classes <= MOST_CLASSES { self.classes * self.classes } else { 0 }
    }

    /// What the model says about every drawn row, at prototype share λ and sharpness c.
    pub(crate) fn row_posteriors(&self, noise: &NoiseModel, share: f64, sharpness: f64) -> Vec<RowPosterior> {
        let likelihood = &noise.likelihood(share, sharpness);
        let of_part =
            |labels: &Range<usize>| widest(RowPosteriors { em: self, labels: labels.clone(), noise, likelihood });
        self.parts.par_iter().map(of_part).collect::<Vec<_>>().concat()
    }
}
