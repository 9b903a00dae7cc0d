//! Blends several answers: each is calibrated, and the weights are those that predict the given labels best together.

use super::answer::{JudgeAnswer, Setting};
use crate::calibrate;
use crate::error::{Result, same_length};
use crate::softmax::{first_choice, log_loss};
use tares_core::Label;

/// How well one judge predicted.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeScore {
    /// Which judge.
    pub judge: String,
    /// Out-of-fold log-loss of the given labels, after calibration. Wrong labels count like any other.
    pub log_loss: f64,
    /// The fraction of given labels that it predicted out-of-fold.
    pub agreement: f64,
    /// Its calibration.
    pub temperature: f64,
    /// Its share in the blend.
    pub weight: f64,
    /// What was chosen by out-of-fold log-loss: `penalty 3`, `57 rounds`.
    pub setting: Option<Setting>,
    /// Seconds of wall time.
    pub seconds: f64,
}

/// The panel's predictions for rows that it was not trained on.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// N × K blended probabilities, row after row; every row sums to 1.
    pub probs: Vec<f64>,
    /// K.
    pub classes: usize,
    /// Judge by judge.
    pub scores: Vec<JudgeScore>,
    /// Out-of-fold log-loss of the blend.
    pub log_loss: f64,
    /// The fraction of given labels that the blend predicted.
    pub agreement: f64,
}

impl Judgement {
    /// Calibrates every answer and blends them.
    ///
    /// # Errors
    /// No answer; answers about other rows or classes; labels outside 0..K; numbers that are not finite.
    pub fn of(
        mut answers: Vec<JudgeAnswer>,
        labels: &[Label],
        classes: usize,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        if answers.is_empty() {
            return Err(tares_core::Error::empty("list of judges").into());
        }
        let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let loss = |log_probs: &[f64]| log_loss(log_probs, labels, classes, weight);
        let mut scores = Vec::with_capacity(answers.len());
        for answer in &mut answers {
            same_length("answer of a judge", labels.len() * classes, answer.log_probs.len())?;
            let temperature = calibrate::temperature(&answer.log_probs, labels, classes)?;
            calibrate::apply(&mut answer.log_probs, classes, temperature);
            scores.push(JudgeScore {
                judge: answer.judge.clone(),
                log_loss: loss(&answer.log_probs),
                agreement: agreement(&answer.log_probs, labels, classes),
                temperature,
                weight: 0.0,
                setting: answer.setting,
                seconds: answer.seconds,
            });
        }
        let answers: Vec<Vec<f64>> = answers.into_iter().map(|answer| answer.log_probs).collect();
        let weights = blend_weights(&answers, labels, classes, weight);
        scores.iter_mut().zip(&weights).for_each(|(score, &weight)| score.weight = weight);
        let probs = blend(&answers, &weights);
        let log_probs: Vec<f64> = probs.iter().map(|p| p.ln()).collect();
        Ok(Self { log_loss: loss(&log_probs), agreement: agreement(&probs, labels, classes), classes, probs, scores })
    }
}

fn agreement(scores: &[f64], labels: &[Label], classes: usize) -> f64 {
    let rows = scores.chunks_exact(classes).zip(labels);
    rows.filter(|(row, label)| first_choice(row) == **label as usize).count() as f64 / labels.len() as f64
}

/// The shares, each ≥ 0 and together 1, with which the blend Σ share · p has the least log-loss: EM for a mixture, each
/// iteration of which lowers the loss. Pseudo-counts of equal shares keep a judge from being dropped when rows are few.
fn blend_weights(answers: &[Vec<f64>], labels: &[Label], classes: usize, weight: impl Fn(usize) -> f64) -> Vec<f64> {
    const PSEUDO_ROWS: f64 = 4.0;
    let judges = answers.len();
    let own: Vec<f64> = (0..labels.len())
        .flat_map(|row| {
            let place = row * classes + labels[row] as usize;
            answers.iter().map(move |log_probs| log_probs[place].exp())
        })
        .collect();
    let mut weights = vec![1.0 / judges as f64; judges];
    for _ in 0..200 {
        let mut shares = vec![PSEUDO_ROWS / judges as f64; judges];
        for (row, own) in own.chunks_exact(judges).enumerate() {
            let total: f64 = weights.iter().zip(own).map(|(weight, p)| weight * p).sum();
            if total > 0.0 {
                let scale = weight(row) / total;
                shares.iter_mut().zip(&weights).zip(own).for_each(|((share, w), p)| *share += scale * w * p);
            }
        }
        let total: f64 = shares.iter().sum();
        weights = shares.into_iter().map(|share| share / total).collect();
    }
    weights
}

/// Σ weight · p.
pub(super) fn blend(answers: &[Vec<f64>], weights: &[f64]) -> Vec<f64> {
    let mix =
        |place: usize| answers.iter().zip(weights).map(|(log_probs, weight)| weight * log_probs[place].exp()).sum();
    (0..answers[0].len()).map(mix).collect()
}
