//! The default estimate: for each row, the posterior probability that its given label is wrong.
//!
//! The classifier's answer p(x) gives a likelihood b_z(x) for each **true** class z (`likelihood.rs`). The given label is a draw
//! from row z of the transition matrix T:
//!
//! ```text
//! P(given = y | x) = Σ_z b_z(x) T[z][y]          P(label right | x, y) = b_y T[y][y] / Σ_z b_z T[z][y]
//! ```
//!
//! with b normalised to sum 1. T and the prototypes are fitted by expectation maximisation (`em.rs`). The sharpness c and the
//! prototype share λ are those with the largest likelihood of the given labels.
//!
//! The likelihood alone underrates the noise. A classifier that answers (0.6, 0.4) for every row may be unsure of every row,
//! or sure of all and trained on labels of which 40 % are wrong: both have the same likelihood. Two assumptions decide.
//!
//! 1. **Some rows are easy.** Every data set worth labelling has rows that nobody doubts. If the model is sure of no row, the
//!    doubt comes from the labels: sharpness is raised until the surest fifth of the rows is 99 % sure.
//! 2. **People err on hard rows**, where a classifier trained on their labels is unsure, too. If easy rows have fewer wrong
//!    labels than others, sharpness is raised once more (`sharpening.rs`).
//!
//! The reported interval reaches from the rate at the likeliest sharpness to the rate at seven times the sharpness of step 1.
//! How these choices were made, and how they did on data sets they were not made on: `results/estimate/`.

mod e_step;
mod em;
mod inputs;
mod judge;
mod judge_block;
pub(crate) mod judged;
mod label_columns;
mod lanes;
mod likelihood;
mod noise_model;
mod row_posterior;
pub(crate) mod sample;
mod sharpening;
mod stored;

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::check::LEAST_SKILL;
use crate::estimate::probabilities::{Number, Probabilities};
use crate::estimate::{MissingRows, counting_interval};
use em::{Em, EmFit};
use judge::Judge;
use lanes::FEW;
use likelihood::MOST_CLASSES;
use noise_model::NoiseModel;
use row_posterior::RowPosterior;
use sample::{Rows, Sample};

/// Rows used by the search, rows used by the last fit, and at least this many rows per class.
const SEARCH_ROWS: usize = 4000;
const FIT_ROWS: usize = 10_000;
const LEAST_PER_CLASS: usize = 6;
/// The grid of the search: 1.8 · 1.5^i, i from −3 to 4.
const SHARPNESSES: [f64; 8] = [0.533, 0.8, 1.2, 1.8, 2.7, 4.05, 6.075, 9.1125];
const GRID_RATIO: f64 = 1.5;
/// EM steps at one sharpness, and when EM starts near its end.
const STEPS: usize = 8;
const FEW_STEPS: usize = 5;
const MOST_SHARPNESS: f64 = 60.0;
/// The part of the rows that is easy, and how sure the model must be of them.
const EASY: f64 = 0.2;
const EASY_CONFIDENCE: f64 = 0.99;
/// On the way there, sharpness grows by this factor, at most this many times.
const STRIDE: f64 = 1.3;
const MOST_STRIDES: usize = 9;
/// Prototypes are useless if the model is less sure of the easy rows than this.
const LEAST_CONFIDENCE: f64 = 0.7;
/// A suspect's label is at least this likely to be wrong. Where hardly any label is wrong, the best expected F1 alone would suspect
/// every row that looks like another class, such as all rows of a rare class that the classifier does not know.
const LEAST_DOUBT: f64 = 0.25;
/// The factor on the sharpness at the upper end of the interval.
const UPPER_FACTOR: f64 = 7.0;

/// The fitted model.
#[derive(Clone, Debug)]
pub struct Posterior {
    sharpness: f64,
    noise: NoiseModel,
    judge: Judge,
    /// λ.
    share: f64,
    /// Sharpness and noise at the two ends of the interval.
    ends: [(f64, NoiseModel); 2],
    cut: f64,
    uniform_rate: f64,
    low: f64,
    pub(crate) high: f64,
}

/// What the model says about one row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Probability that the given label is right.
    pub right: f64,
    /// The likeliest class other than the given one.
    pub suggested: Label,
    /// Whether the row looks more like another class than like the given one.
    pub contradicted: bool,
}

impl Posterior {
    /// Fits the model: one pass over the rows, then work on a sample of them.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn fit<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        Ok(Self::of(&Sample::draw(probs, given, None, MissingRows::Refuse)?))
    }

    /// Fits the model to rows that were drawn.
    pub(crate) fn of(sample: &Sample) -> Self {
        let Sample { rows, overview } = sample;
        let classes = rows.len();
        let few = thinned(rows, SEARCH_ROWS);
        let trust = (overview.skill() / LEAST_SKILL).clamp(0.0, 1.0);
        // With many classes each has too few rows to know its share.
        let share_trust = if classes <= FEW { trust } else { 0.0 };
        let em = Em::new(&few, share_trust);
        let start = em.start();
        let Peak { share, sharpness, fit } = search(&em, &start, classes);
        let likeliest = em.run(&fit.noise, share, sharpness, STEPS);
        let likeliest_sharpness = sharpness;
        let (sharpness, noise) = make_easy_rows_sure(&em, &start, &likeliest.noise, share, sharpness);
        let uniform = em.run(&noise, share, sharpness, FEW_STEPS);
        // With many classes each has too few easy rows to compare.
        let factor = match classes <= FEW {
            true => {
                let twice = em.run(&noise, share, (2.0 * sharpness).min(MOST_SHARPNESS), FEW_STEPS).rate;
                let growth = twice / uniform.rate.max(f64::MIN_POSITIVE);
                let factor = sharpening::factor(em.row_posteriors(&uniform.noise, share, sharpness), growth);
                sharpening::with_skill(factor, growth, overview.skill())
            }
            false => sharpening::UNKNOWN,
        };
        let upper_sharpness = (sharpness * UPPER_FACTOR).min(MOST_SHARPNESS);
        let sharpness = (sharpness * factor).min(MOST_SHARPNESS);
        let rows = thinned(rows, FIT_ROWS);
        let last = Em::new(&rows, share_trust);
        let (upper, fit) = rayon::join(
            || em.run(&noise, share, upper_sharpness, STEPS),
            || last.run(&noise, share, sharpness, FEW_STEPS),
        );
        let EmFit { noise, rate, .. } = fit;
        let cut = best_cut(last.row_posteriors(&noise, share, sharpness));
        // What another sample from the same source would change.
        let (low, _) = counting_interval(likeliest.rate.min(rate), overview.rows);
        let (_, high) = counting_interval(upper.rate.max(rate), overview.rows);
        Self {
            sharpness,
            judge: Judge::new(noise.columns(), classes, noise.likelihood(share, sharpness)),
            noise,
            share,
            ends: [(likeliest_sharpness, likeliest.noise), (upper_sharpness, upper.noise)],
            cut,
            uniform_rate: uniform.rate,
            // All that a classifier without skill disagrees with may be its own mistakes.
            low: low * trust,
            high,
        }
    }

    /// The probability that the given label is right, and what it should be otherwise.
    pub fn judge<R: Number>(&self, row: &[R], given: Label) -> Verdict {
        self.judge.row(row, given)
    }

    /// The model itself, and as it would be at the two ends of the interval.
    pub(crate) fn judges(&self) -> [Judge; 3] {
        let classes = self.judge.classes();
        let [low, high] = self
            .ends
            .each_ref()
            .map(|(sharpness, noise)| Judge::new(noise.columns(), classes, noise.likelihood(self.share, *sharpness)));
        [self.judge.clone(), low, high]
    }

    /// Labels at most this likely to be right, on rows that look more like another class, are suspects: the cut with the
    /// largest expected F1.
    pub fn cut(&self) -> f64 {
        self.cut
    }

    /// c.
    pub fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// Where the noise rate lies, as far as probabilities alone can tell.
    pub fn interval(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The rate of noise that does not depend on difficulty: without the additional mistakes people make on hard rows.
    pub fn uniform_rate(&self) -> f64 {
        self.uniform_rate
    }
}

/// The prototype share λ and sharpness c with the largest likelihood, and the fit there.
struct Peak {
    share: f64,
    sharpness: f64,
    fit: EmFit,
}

/// Finds the peak of the likelihood on the grid: every second sharpness first, then uphill from the best of them, with λ = ½ and
/// λ = 1. The likelihood can have two peaks, one for an unsure classifier and one for wrong labels, so climbing from a single
/// point could end on the lower one.
fn search(em: &Em<'_>, start: &NoiseModel, classes: usize) -> Peak {
    // Without prototypes only T is learnt, which takes fewer steps.
    let steps = if classes > MOST_CLASSES { FEW_STEPS } else { STEPS };
    let peak_of = |share: f64| {
        let mut fits: [Option<EmFit>; SHARPNESSES.len()] = [const { None }; SHARPNESSES.len()];
        let mut likelihood =
            |at: usize| fits[at].get_or_insert_with(|| em.run(start, share, SHARPNESSES[at], steps)).log_likelihood;
        let mut at = 1;
        for place in (3..SHARPNESSES.len()).step_by(2) {
            if likelihood(place) > likelihood(at) {
                at = place;
            }
        }
        loop {
            let here = likelihood(at);
            if at + 1 < SHARPNESSES.len() && likelihood(at + 1) > here {
                at += 1;
            } else if at > 0 && likelihood(at - 1) > here {
                at -= 1;
            } else {
                break;
            }
        }
        let sharpness = SHARPNESSES[at] * parabola_peak(&fits, at);
        let fit = fits[at].take().unwrap_or_else(|| em.run(start, share, sharpness, steps));
        Peak { share, sharpness, fit }
    };
    if classes > MOST_CLASSES {
        return peak_of(0.0);
    }
    let (half, whole) = rayon::join(|| peak_of(0.5), || peak_of(1.0));
    // With λ = 1 two classes that are often confused may get the same prototype, and then the model is sure of neither.
    let is_sure = |peak: &Peak| {
        let rows = em.row_posteriors(&peak.fit.noise, peak.share, peak.sharpness);
        confidence_of_surest(rows, EASY) > LEAST_CONFIDENCE
    };
    if whole.fit.log_likelihood > half.fit.log_likelihood && is_sure(&whole) { whole } else { half }
}

/// Where the peak lies between the grid points, by a parabola through three of them: a factor on the sharpness.
fn parabola_peak(fits: &[Option<EmFit>], at: usize) -> f64 {
    let likelihood = |at: usize| fits.get(at).and_then(Option::as_ref).map(|fit| fit.log_likelihood);
    let (Some(left), Some(middle), Some(right)) =
        (at.checked_sub(1).and_then(likelihood), likelihood(at), likelihood(at + 1))
    else {
        return 1.0;
    };
    let bend = left - 2.0 * middle + right;
    if bend < 0.0 { GRID_RATIO.powf((0.5 * (left - right) / bend).clamp(-0.5, 0.5)) } else { 1.0 }
}

/// Raises the sharpness until the model is sure of the easy rows. EM restarts each time: it cannot leave T = I.
fn make_easy_rows_sure(
    em: &Em<'_>,
    start: &NoiseModel,
    noise: &NoiseModel,
    share: f64,
    sharpness: f64,
) -> (f64, NoiseModel) {
    let doubt_at = |noise: &NoiseModel, sharpness: f64| {
        1.0 - confidence_of_surest(em.row_posteriors(noise, share, sharpness), EASY)
    };
    let (mut sharpness, mut noise) = (sharpness, noise.clone());
    let mut doubt = doubt_at(&noise, sharpness);
    for _ in 0..MOST_STRIDES {
        if doubt <= 1.0 - EASY_CONFIDENCE || sharpness >= MOST_SHARPNESS {
            break;
        }
        let next = em.run(start, share, sharpness * STRIDE, STEPS).noise;
        let less = doubt_at(&next, sharpness * STRIDE);
        // Doubt falls about exponentially, so the last stride is shortened by interpolating its logarithm.
        let wanted = (doubt.ln() - (1.0 - EASY_CONFIDENCE).ln()) / (doubt.ln() - less.max(1e-300).ln());
        let stride = if less < doubt { wanted.clamp(0.0, 1.0) } else { 1.0 };
        (sharpness, noise, doubt) = (sharpness * STRIDE.powf(stride), next, less);
    }
    (sharpness, noise)
}

/// Every n-th row of each label, about `wanted` in all.
fn thinned(rows: &[Rows], wanted: usize) -> Vec<Rows> {
    let all: usize = rows.iter().map(Rows::len).sum();
    let every = |rows: &Rows| (all / wanted).min(rows.len() / LEAST_PER_CLASS).max(1);
    rows.iter().map(|rows| rows.thinned(every(rows))).collect()
}

/// The confidence that a `part` of the rows reaches or exceeds: an upper quantile.
fn confidence_of_surest(mut rows: Vec<RowPosterior>, part: f64) -> f64 {
    rows.sort_unstable_by(|a, b| b.confidence.total_cmp(&a.confidence));
    let mut left = part * rows.iter().map(|row| row.weight).sum::<f64>();
    for row in &rows {
        left -= row.weight;
        if left <= 0.0 {
            return row.confidence;
        }
    }
    rows.last().map_or(1.0, |last| last.confidence)
}

/// The cut on the probability of being right with the largest expected F1 = 2 · hits / (suspects + wrong). It lies half-way between two
/// rows, so that rounding, which depends on the order of the classes, moves none of them across it.
fn best_cut(mut rows: Vec<RowPosterior>) -> f64 {
    rows.sort_unstable_by(|a, b| a.right.total_cmp(&b.right));
    let wrong: f64 = rows.iter().map(|row| (1.0 - row.right) * row.weight).sum();
    let (mut hits, mut suspects, mut best, mut cut) = (0.0, 0.0, 0.0, 0.0);
    for (place, &RowPosterior { right, weight, .. }) in rows.iter().enumerate() {
        hits += (1.0 - right) * weight;
        suspects += weight;
        let f1 = 2.0 * hits / (suspects + wrong);
        if f1 > best && right <= 1.0 - LEAST_DOUBT {
            let next = rows.get(place + 1).map_or(right, |next| next.right);
            (best, cut) = (f1, (0.5 * (right + next)).min(1.0 - LEAST_DOUBT));
        }
    }
    cut
}
