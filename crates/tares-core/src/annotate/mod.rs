//! Several labels per row: what is the true one, who is good, and which rows are still unsure.
//!
//! N rows, K classes, A annotators; an [`Answer`] is one annotator's label of one row. Every annotator has a matrix
//! `T_a[true][answered]`, a classifier may add what it believes of each row. Its probabilities must be **out-of-sample**: trained on
//! the row's own consensus, it would count that consensus twice.
//!
//! 1. [`answers`]: who answered what.
//! 2. `majority`: votes, also the start of the rest.
//! 3. `confusion`, `belief` and `levels`: annotators, classifier, and easy and hard rows, fitted in turns with the true classes by `em`.
//! 4. `judged`: annotators who are drawn towards each other (`own_prior`), with or without a classifier (`calibration`).
//! 5. [`quality`] and [`confusions`]: annotators, and rows worth one more label; [`agreement`]: how often they agree.
//!
//! Annotators are taken as independent given the true class, unless some rows are found to be hard (`levels`). One who answers twice under two
//! names counts twice.

pub mod agreement;
pub mod answers;
mod belief;
mod calibration;
mod confusion;
pub mod confusions;
mod em;
mod judged;
mod levels;
mod majority;
mod own_prior;
mod pass;
pub mod quality;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, pair_agreement};
pub use answers::{Answer, Answers};
pub use confusions::{AnnotatorConfusions, ConfusionEntry};
pub use quality::AnnotatorQuality;

use crate::audit::audit;
use crate::dataset::Label;
use crate::error::{Error, Result, same_length};
use crate::estimate::row::largest;
use crate::estimate::{Detector, Overview, Probabilities, ProbabilityMatrix};
use crate::named::{Named, as_text};
use belief::Belief;
use confusion::{Columns, Model, normalise_rows};
use em::{Em, LEAST_GAIN};
use judged::drawn_together;
use majority::vote_shares;
use own_prior::OwnPrior;
use pass::expected_counts;
use rayon::prelude::*;
use std::fmt;
use std::str::FromStr;

/// Answers added to every class of a row before EM starts.
const VOTE_SMOOTHING: f64 = 0.1;
/// Pseudo-count of rows in each class.
const CLASS_PRIOR: f64 = 1.0;
/// Pseudo-answers per true class: of the matrix that all share, and of an annotator's own, drawn towards the shared one.
const SHARED_PRIOR: f64 = 5.0;
const OWN_PRIOR: f64 = 30.0;
/// Pseudo-answers of mean skill in everybody's own skill.
const SKILL_PRIOR: f64 = 10.0;
/// The same where annotators know nothing of each other.
const ALONE_PRIOR: f64 = 1.0;
/// How right an annotator is taken to be before anything is known.
const EXPECTED_SKILL: f64 = 0.8;
const COIN_PRIOR: [f64; 2] = [4.0, 1.0];

/// How answers become one label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "String", into = "String")
)]
pub enum Pooling {
    /// A matrix per annotator, drawn towards the one that all share, and the classifier's beliefs if there is one.
    #[default]
    Posterior,
    /// A matrix per annotator, each fitted alone (Dawid and Skene 1979, with pseudo-counts). No classifier.
    DawidSkene,
    /// One probability of being right per annotator. No classifier.
    OneCoin,
    /// The label that most gave. No classifier.
    Majority,
}

impl Pooling {
    /// Names, as [`FromStr`] takes them.
    pub const NAMES: [&'static str; 4] = ["posterior", "dawid-skene", "one-coin", "majority"];
}

impl FromStr for Pooling {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = Named::parse("way to a consensus", text)?;
        match named.name {
            "posterior" => named.plain(Self::Posterior),
            "dawid-skene" => named.plain(Self::DawidSkene),
            "one-coin" => named.plain(Self::OneCoin),
            "majority" => named.plain(Self::Majority),
            _ => Err(named.unknown(&Self::NAMES)),
        }
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

as_text!(Pooling);

/// One label per row, and what it rests on.
#[derive(Clone, Debug)]
pub struct Consensus {
    /// The likeliest class of each row; the first of several that are equally likely.
    pub labels: Vec<Label>,
    /// The probability of each class, `[row][class]`.
    pub posterior: Vec<f64>,
    /// How good each annotator is.
    pub annotators: Vec<AnnotatorQuality>,
    /// The matrix that all annotators share, `[true][answered]`.
    pub shared: Vec<f64>,
    /// What one more answer is expected to add to the probability that the consensus is right, per row.
    pub gain: Vec<f64>,
    /// The sharpness given to the classifier, if there was one.
    pub sharpness: Option<f64>,
    /// The log posterior density of the parameters after each step of EM, up to a constant; it never falls.
    pub objectives: Vec<f64>,
    classes: usize,
    columns_prior: OwnPrior,
}

/// The consensus of the answers alone. [`Pooling::Posterior`] then has no classifier to ask.
///
/// ```
/// use tares_core::annotate::{Answer, Answers, Pooling, consensus};
/// // Three annotators, four rows; the third always says 1.
/// let labels = [[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]];
/// let answers: Vec<Answer> = labels
///     .iter()
///     .enumerate()
///     .flat_map(|(row, labels)| (0..3).map(move |annotator| Answer { row, annotator, label: labels[annotator] }))
///     .collect();
/// let found = consensus(&Answers::new(4, 3, 2, &answers)?, Pooling::default())?;
/// assert_eq!(found.labels, [0, 1, 0, 1]);
/// assert!(found.annotators[2].quality < found.annotators[0].quality);
/// # Ok::<(), tares_core::Error>(())
/// ```
///
/// # Errors
/// None today; a caller must not rely on that.
pub fn consensus(answers: &Answers, pooling: Pooling) -> Result<Consensus> {
    let classes = answers.classes();
    let alone = |model: &Model<'_>| {
        let mut em = Em::new(answers, Belief::shares(classes, CLASS_PRIOR));
        let objectives = em.run(model, LEAST_GAIN);
        Consensus::of(&em, objectives, Some(OwnPrior::alike(&expected_matrix(classes, ALONE_PRIOR), classes)))
    };
    Ok(match pooling {
        Pooling::Majority => by_votes(answers),
        Pooling::OneCoin => alone(&Model::OneCoin { prior: COIN_PRIOR }),
        Pooling::DawidSkene => {
            let prior = OwnPrior::alike(&expected_matrix(classes, ALONE_PRIOR), classes);
            alone(&Model::Own { prior: &prior })
        }
        Pooling::Posterior => drawn_together(answers, None),
    })
}

/// The consensus of the answers and a classifier that was not trained on the rows' own labels.
///
/// A single annotator's answers are audited: two opinions cannot tell who is better, so the assumptions of
/// [`Posterior`](crate::estimate::Posterior) decide.
///
/// # Errors
/// Probabilities that are not one distribution over the classes per row.
pub fn consensus_with<P: Probabilities>(answers: &Answers, probs: &P) -> Result<Consensus> {
    let classes = answers.classes();
    same_length("rows of the probabilities", answers.rows(), probs.rows())?;
    same_length("columns of the probabilities", classes, probs.classes())?;
    let mut values = vec![P::Number::default(); answers.rows() * classes];
    probs.read(0, &mut values)?;
    let values: Vec<f64> = values.into_iter().map(Into::into).collect();
    let matrix = ProbabilityMatrix::new(&values, classes)?;
    let first = first_answers(answers);
    Overview::of(&matrix, &first)?;
    if answers.annotators() == 1 && answers.all().len() == answers.rows() {
        return of_one(answers, &values, &first);
    }
    Ok(drawn_together(answers, Some(&values)))
}

impl Consensus {
    /// `prior` is what is expected of annotators in their matrices; by default what all do together.
    fn of(em: &Em<'_>, objectives: Vec<f64>, prior: Option<OwnPrior>) -> Self {
        let found = em.found();
        let sharpness = em.belief.calibration().map(|calibration| calibration.sharpness);
        let (answers, classes) = (em.answers, em.answers.classes());
        let counts = expected_counts(answers, &em.columns, &found.posterior);
        let shared = shared_matrix(&em.columns, &counts, classes, 1);
        let prior = prior.unwrap_or_else(|| OwnPrior::fitted(&em.columns, &counts, classes, 1));
        let mut consensus = Self::from_posterior(answers, found.posterior, &found.right, shared, prior);
        (consensus.sharpness, consensus.objectives) = (sharpness, objectives);
        consensus
    }

    fn from_posterior(
        answers: &Answers,
        posterior: Vec<f64>,
        right: &[f64],
        shared: Vec<f64>,
        columns_prior: OwnPrior,
    ) -> Self {
        let classes = answers.classes();
        let (labels, gain) = labels_and_gain(&posterior, &shared, classes);
        let annotators = quality::annotators(answers, right, &labels);
        let (sharpness, objectives) = (None, Vec::new());
        Self { labels, posterior, annotators, shared, gain, sharpness, objectives, classes, columns_prior }
    }

    /// The probability that each consensus is right.
    pub fn confidence(&self) -> impl ExactSizeIterator<Item = f64> + '_ {
        let classes = self.classes;
        self.labels.iter().enumerate().map(move |(row, &label)| self.posterior[row * classes + label as usize])
    }

    /// What one annotator makes of each class, `[true][answered]`; the expectation for someone without answers.
    pub fn confusion(&self, answers: &Answers, annotator: usize) -> Vec<f64> {
        self.confusions(answers).matrix(annotator)
    }

    /// What every annotator makes of each class.
    pub fn confusions(&self, answers: &Answers) -> AnnotatorConfusions {
        AnnotatorConfusions::new(answers, &self.posterior, &self.columns_prior)
    }

    /// The consensus of more rows: `answered` are the places of the rows it was found for, `unanswered` those of the others, about
    /// which somebody may have `said` a label with its probability. Without that they get each class's share.
    #[must_use]
    pub fn with_unanswered(
        self,
        answers: &Answers,
        answered: &[usize],
        unanswered: &[usize],
        said: &[(Label, f64)],
    ) -> Self {
        let classes = self.classes;
        let mut shares = vec![0.0; classes];
        for row in self.posterior.chunks_exact(classes) {
            shares.iter_mut().zip(row).for_each(|(share, part)| *share += part / answered.len() as f64);
        }
        let mut posterior = vec![0.0; answers.rows() * classes];
        for (from, &to) in answered.iter().enumerate() {
            posterior[to * classes..][..classes].copy_from_slice(&self.posterior[from * classes..][..classes]);
        }
        for (place, &to) in unanswered.iter().enumerate() {
            let row = &mut posterior[to * classes..][..classes];
            match said.get(place) {
                Some(&(label, probability)) => {
                    row.fill((1.0 - probability) / (classes - 1) as f64);
                    row[label as usize] = probability;
                }
                None => row.copy_from_slice(&shares),
            }
        }
        let (labels, gain) = labels_and_gain(&posterior, &self.shared, classes);
        Self { labels, gain, posterior, ..self }
    }

    /// The answers that are probably wrong, worst first, each with the probability that it is right.
    pub fn doubtful(&self, answers: &Answers) -> Vec<(Answer, f64)> {
        let right = |answer: &Answer| self.posterior[answer.row * self.classes + answer.label as usize];
        let wrong = answers.all().iter().filter(|answer| self.labels[answer.row] != answer.label);
        let mut doubtful: Vec<(Answer, f64)> = wrong.map(|answer| (*answer, right(answer))).collect();
        doubtful.sort_by(|a, b| a.1.total_cmp(&b.1));
        doubtful
    }
}

/// The likeliest class of every row, and what one more answer is expected to add.
fn labels_and_gain(posterior: &[f64], shared: &[f64], classes: usize) -> (Vec<Label>, Vec<f64>) {
    let rows = posterior.par_chunks_exact(classes);
    rows.map(|row| (largest(row).0 as Label, quality::expected_gain(row, shared))).unzip()
}

/// The plain majority. Votes for the classes that are answered most often decide ties.
fn by_votes(answers: &Answers) -> Consensus {
    let classes = answers.classes();
    let mut posterior = vote_shares(answers, 0.0);
    let counts = answers.class_counts();
    let all = answers.all().len() as f64;
    for row in posterior.chunks_exact_mut(classes) {
        // Too little to outweigh an answer, enough to decide between equals.
        row.iter_mut().zip(&counts).for_each(|(share, count)| *share += 1e-9 * count / all);
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|share| *share /= sum);
    }
    let columns = Columns::new(answers);
    let shared = shared_matrix(&columns, &expected_counts(answers, &columns, &posterior), classes, 1);
    let right = quality::expected_right(answers, &posterior);
    let prior = OwnPrior::alike(&expected_matrix(classes, ALONE_PRIOR), classes);
    Consensus::from_posterior(answers, posterior, &right, shared, prior)
}

/// One annotator and a classifier: the audit.
fn of_one(answers: &Answers, values: &[f64], given: &[Label]) -> Result<Consensus> {
    let classes = answers.classes();
    let matrix = ProbabilityMatrix::new(values, classes)?;
    let audited = audit(&matrix, given, Detector::Posterior)?;
    let scores = audited.scores(&matrix, given, crate::audit::Score::default())?;
    let mut suggested: Vec<Option<Label>> = vec![None; given.len()];
    audited.suspects.iter().for_each(|suspect| suggested[suspect.index] = Some(suspect.suggested));
    let mut posterior = values.to_vec();
    for (row, posterior) in posterior.chunks_exact_mut(classes).enumerate() {
        // What the given label loses goes to the other classes in the classifier's proportions.
        let (label, right) = (given[row] as usize, scores[row].clamp(0.0, 1.0));
        // The audit's cut decides who is a suspect; the posterior must agree with it.
        let right = if suggested[row].is_some() { right.min(0.5) } else { right.max(0.5) };
        posterior[label] = 0.0;
        let others: f64 = posterior.iter().sum();
        for (class, part) in posterior.iter_mut().enumerate() {
            let share = if others > 0.0 { *part / others } else { 1.0 / (classes - 1) as f64 };
            *part = if class == label { right } else { (1.0 - right) * share };
        }
    }
    let columns = Columns::new(answers);
    let shared = shared_matrix(&columns, &expected_counts(answers, &columns, &posterior), classes, 1);
    let prior = OwnPrior::alike(&expected_matrix(classes, SHARED_PRIOR), classes);
    let right = quality::expected_right(answers, &posterior);
    let mut found = Consensus::from_posterior(answers, posterior, &right, shared, prior);
    for (row, suggested) in suggested.into_iter().enumerate() {
        found.labels[row] = suggested.unwrap_or(given[row]);
    }
    found.annotators = quality::annotators(answers, &right, &found.labels);
    Ok(found)
}

/// The first answer to each row, and the commonest class where there is none: labels to check probabilities with.
fn first_answers(answers: &Answers) -> Vec<Label> {
    let common = largest(&answers.class_counts()).0 as Label;
    (0..answers.rows()).map(|row| answers.of_row(row).first().map_or(common, |answer| answer.label)).collect()
}

/// What all annotators make of each class, `[level][true][answered]`.
fn shared_matrix(columns: &Columns, counts: &[f64], classes: usize, levels: usize) -> Vec<f64> {
    let mut shared = columns.pooled(counts, levels);
    let expected = expected_matrix(classes, SHARED_PRIOR);
    shared.iter_mut().zip(expected.iter().cycle()).for_each(|(count, expected)| *count += expected);
    normalise_rows(&mut shared, classes);
    shared
}

/// Pseudo-counts, `weight` per true class: right with [`EXPECTED_SKILL`], otherwise anything.
fn expected_matrix(classes: usize, weight: f64) -> Vec<f64> {
    let anything = (1.0 - EXPECTED_SKILL) / classes as f64;
    (0..classes * classes)
        .map(|at| weight * (anything + if at / classes == at % classes { EXPECTED_SKILL } else { 0.0 }))
        .collect()
}
