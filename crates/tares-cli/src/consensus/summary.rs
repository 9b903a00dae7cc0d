//! [`ConsensusSummary`]: the result as `summary.json` has it.

use super::crowd::Crowd;
use super::rounds::{RoundSummary, outvoted};
use serde::Serialize;
use tares_core::Label;
use tares_core::annotate::{Agreement, Consensus, Pooling, pair_agreement};

/// The agreement matrix shows this many annotators: those with the most answers.
pub const MOST_SHOWN: usize = 30;
/// A row is worth one more label if that is expected to add this much to the probability that its consensus is right.
pub const LEAST_GAIN: f64 = 0.05;

/// `summary.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConsensusSummary {
    /// Number of rows.
    pub rows: usize,
    /// Rows that nobody labelled.
    pub rows_without_answers: usize,
    /// Number of annotators.
    pub annotators: usize,
    /// Answers that count.
    pub answers: usize,
    /// Answers that a later one of the same annotator to the same row replaced.
    pub replaced: usize,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// How the consensus was found.
    pub method: String,
    /// What was used besides the annotators: judges or a file of probabilities.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub probabilities: Option<String>,
    /// The rounds of judges, if judges were trained.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundSummary>,
    /// Rows of each class, by consensus.
    pub per_class: Vec<usize>,
    /// The mean probability that a consensus is right.
    pub confidence: f64,
    /// Of the pairs of answers to one row, the fraction that agrees.
    pub pair_agreement: Option<f64>,
    /// Rows whose consensus has fewer answers than another label.
    pub against_majority: usize,
    /// Rows that are worth one more label.
    pub worth_asking: usize,
    /// Answers that are probably wrong.
    pub doubtful_answers: usize,
    /// The mean quality of the answers.
    pub mean_quality: f64,
    /// The confusion matrix of all annotators together, `[true][answered]`.
    pub confusion: Vec<Vec<f64>>,
    /// How good each annotator is, best first.
    pub annotator_quality: Vec<AnnotatorSummary>,
    /// Agreement of those with the most answers, as `[one, other, common rows, same label]`, names by place in `agreement_of`.
    pub agreement: Vec<(usize, usize, usize, usize)>,
    /// The annotators of `agreement`.
    pub agreement_of: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Compared with the truth, if it was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against_truth: Option<TruthSummary>,
}

/// How good one annotator is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnnotatorSummary {
    /// The name.
    pub annotator: String,
    /// Answers that count.
    pub answers: usize,
    /// The expected fraction of them that is right.
    pub quality: f64,
    /// Its interval: two standard deviations to either side.
    pub interval: (f64, f64),
    /// The fraction that agrees with the consensus; absent without answers.
    pub agreement: Option<f64>,
    /// The most frequent mistake: true class, answer, and the fraction of that class's rows that get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mistake: Option<(String, String, f64)>,
}

/// The consensus beside the truth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TruthSummary {
    /// The fraction of rows whose consensus is the truth.
    pub accuracy: f64,
    /// The same for the majority's label.
    pub majority_accuracy: f64,
    /// The fraction of answers that are the truth.
    pub answer_accuracy: f64,
}

impl ConsensusSummary {
    /// The summary of a consensus; `majority` is each row's most frequent label.
    pub fn of(crowd: &Crowd, found: &Consensus, pooling: Pooling, majority: &[Label]) -> Self {
        let (answers, classes) = (&crowd.answers, &crowd.classes);
        let mut per_class = vec![0; classes.len()];
        found.labels.iter().for_each(|&label| per_class[label as usize] += 1);
        let against = |row: &usize| outvoted(answers, *row, found.labels[*row]);
        let confusions = found.confusions(answers);
        let mut quality: Vec<AnnotatorSummary> = found
            .annotators
            .iter()
            .enumerate()
            .map(|(who, one)| {
                let wrong = confusions.entries(who).into_iter().filter(|entry| entry.truth != entry.answered);
                let most = wrong.max_by(|a, b| a.rows.total_cmp(&b.rows).then(b.truth.cmp(&a.truth)));
                let name = |label: Label| classes[label as usize].clone();
                AnnotatorSummary {
                    annotator: crowd.annotators[who].clone(),
                    answers: one.answers,
                    quality: one.quality,
                    interval: one.interval,
                    agreement: one.agreement,
                    mistake: most.map(|entry| (name(entry.truth), name(entry.answered), entry.share)),
                }
            })
            .collect();
        let mut busiest: Vec<usize> =
            (0..answers.annotators()).filter(|&who| found.annotators[who].answers > 0).collect();
        busiest.sort_by_key(|&who| std::cmp::Reverse(found.annotators[who].answers));
        busiest.truncate(MOST_SHOWN);
        busiest.sort_unstable();
        quality.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        let agreement = Agreement::of(answers, &busiest);
        let pairs = (0..busiest.len()).flat_map(|one| (one + 1..busiest.len()).map(move |other| (one, other)));
        let pairs = pairs.filter(|&(one, other)| agreement.common[one][other] > 0);
        let count = answers.all().len() as f64;
        let right = found.annotators.iter().map(|one| one.quality * one.answers as f64).sum::<f64>();
        Self {
            rows: answers.rows(),
            rows_without_answers: crowd.unanswered(),
            annotators: answers.annotators(),
            answers: answers.all().len(),
            replaced: answers.replaced(),
            classes: classes.clone(),
            method: pooling.to_string(),
            probabilities: None,
            rounds: Vec::new(),
            per_class,
            confidence: found.confidence().sum::<f64>() / answers.rows() as f64,
            pair_agreement: pair_agreement(answers),
            against_majority: (0..answers.rows()).filter(against).count(),
            worth_asking: found.gain.iter().filter(|&&gain| gain >= LEAST_GAIN).count(),
            doubtful_answers: found.doubtful(answers).len(),
            mean_quality: right / count,
            confusion: found.shared.chunks_exact(classes.len()).map(<[f64]>::to_vec).collect(),
            annotator_quality: quality,
            agreement: pairs.map(|(a, b)| (a, b, agreement.common[a][b], agreement.same[a][b])).collect(),
            agreement_of: busiest.iter().map(|&who| crowd.annotators[who].clone()).collect(),
            notes: crowd.notes.clone(),
            against_truth: crowd.truth.as_ref().map(|truth| {
                let part = |labels: &[Label]| {
                    labels.iter().zip(truth).filter(|(a, b)| a == b).count() as f64 / truth.len() as f64
                };
                let right = answers.all().iter().filter(|answer| truth[answer.row] == answer.label).count();
                TruthSummary {
                    accuracy: part(&found.labels),
                    majority_accuracy: part(majority),
                    answer_accuracy: right as f64 / count,
                }
            }),
        }
    }
}
