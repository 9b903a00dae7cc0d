//! The default estimate: how likely is each given label wrong, after all that the data say about the noise?
//!
//! What a classifier says about a row is turned into a belief b about its **true** class: how much does the row look like
//! rows of each class (`likelihood.rs`)? The given label is a draw from that class's row of the transition
//! matrix:
//!
//! ```text
//! P(given = y | x) = Σ_z b_z(x) T[z][y]          P(label right | x, y) = b_y T[y][y] / Σ_z b_z T[z][y]
//! ```
//!
//! `T` and the prototypes are fitted by expectation maximisation; the sharpness c of the beliefs, and whether rows look
//! wholly or half like their class's prototype, are those that make the given labels likeliest.
//!
//! That alone is too modest. A classifier that says (0.6, 0.4) of every row may be unsure of every row, or sure of all and
//! taught by labels of which 40 % are wrong: to the likelihood it is the same. Two things settle it.
//!
//! 1. **Some rows are beyond doubt.** In every data set worth labelling there are easy rows. If the classifier seems to be
//!    sure of none, it is the labels that are unsure: beliefs are sharpened until the surest fifth of the rows is 99 % sure.
//! 2. **People err on hard rows**, where a classifier taught by them is unsure too. If easy rows have fewer wrong labels
//!    than others, beliefs are sharpened once more (`sharpening.rs`).
//!
//! The spread between the likeliest sharpness and seven times the one at which easy rows are beyond doubt is the interval that
//! is reported. How this was found, and how it did on sets it was not chosen on: `results/estimate/`.

mod em;
pub(crate) mod judge;
mod lanes;
mod likelihood;
mod noise_model;
pub(crate) mod sample;
mod sharpening;

use crate::dataset::Label;
use crate::error::Result;
use crate::estimate::Estimate;
use crate::estimate::check::{Overview, Tally};
use crate::estimate::probabilities::{Number, Probabilities, fold};
use crate::noise::Transition;
use crate::widest::widest;
use em::{Fitting, Sight, Step};
use judge::{Judge, JudgeBlock};
use lanes::FEW;
use likelihood::MOST_CLASSES;
use noise_model::Noise;
use sample::{Rows, Sample};
use sharpening::{UNTOLD, boldness};

/// Rows the search goes through, rows the last fit goes through, and at least so many of a class.
const SEARCHED: usize = 4000;
const FITTED: usize = 10_000;
const LEAST_PER_CLASS: usize = 6;
/// Sharpnesses tried: 1.8 · 1.5^i, i from −3 to 4.
const SHARPNESSES: [f64; 8] = [0.533, 0.8, 1.2, 1.8, 2.7, 4.05, 6.075, 9.1125];
/// Steps of expectation maximisation at one sharpness, and when it begins near its end.
const TURNS: usize = 8;
const FEW_TURNS: usize = 5;
const MOST_SHARPNESS: f64 = 60.0;
/// The part of rows that is beyond doubt, and how sure of its class it is.
const EASY: f64 = 0.2;
const BEYOND_DOUBT: f64 = 0.99;
/// Sharpening on the way there, per step and at most.
const STRIDE: f64 = 1.3;
const STRIDES: usize = 9;
/// Prototypes with which the surest rows are less sure than this are worth nothing.
const TOLD_APART: f64 = 0.7;
/// Sharpening at the upper end of the interval.
const MOST_BOLD: f64 = 7.0;

/// The fitted model.
#[derive(Clone, Debug)]
pub struct Posterior {
    sharpness: f64,
    noise: Noise,
    judge: Judge,
    cut: f64,
    uniform_rate: f64,
    low: f64,
    high: f64,
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
    /// Fits the model: one pass over the rows and some work on a part of them.
    ///
    /// # Errors
    /// Rows that cannot be read.
    pub fn fit<P: Probabilities + ?Sized>(probs: &P, given: &[Label]) -> Result<Self> {
        Ok(Self::of(&Sample::draw(probs, given)?))
    }

    /// Fits the model to rows that were drawn.
    pub(crate) fn of(sample: &Sample) -> Self {
        let Sample { rows, overview } = sample;
        let classes = rows.len();
        let thin = thinned(rows, SEARCHED);
        let part = Fitting::new(&thin);
        let start = part.start();
        let Found { share, sharpness, step } = search(&part, &start, classes);
        let modest = part.settled(&step.noise, share, sharpness, TURNS);
        let (sharpness, noise) = anchored(&part, &start, &modest.noise, share, sharpness);
        let uniform = part.settled(&noise, share, sharpness, FEW_TURNS);
        // With many classes the easy rows of each are too few to tell.
        let boldness = match classes <= FEW {
            true => {
                let twice = part.settled(&noise, share, (2.0 * sharpness).min(MOST_SHARPNESS), FEW_TURNS).rate;
                let sights = part.sights(&uniform.noise, share, sharpness);
                boldness(sights, twice / uniform.rate.max(f64::MIN_POSITIVE))
            }
            false => UNTOLD,
        };
        let boldest = (sharpness * MOST_BOLD).min(MOST_SHARPNESS);
        let sharpness = (sharpness * boldness).min(MOST_SHARPNESS);
        let rows = thinned(rows, FITTED);
        let whole = Fitting::new(&rows);
        let (bold, step) = rayon::join(
            || part.settled(&noise, share, boldest, TURNS),
            || whole.settled(&noise, share, sharpness, FEW_TURNS),
        );
        let Step { noise, rate, .. } = step;
        let cut = best_cut(whole.sights(&noise, share, sharpness));
        // What drawing other rows from the same source would change.
        let luck = 2.0 * (rate * (1.0 - rate) / overview.rows as f64).sqrt();
        Self {
            sharpness,
            judge: Judge::new(noise.columns(), classes, noise.likeness(share, sharpness)),
            noise,
            cut,
            uniform_rate: uniform.rate,
            low: (modest.rate.min(rate) - luck).max(0.0),
            high: (bold.rate.max(rate) + luck).min(1.0),
        }
    }

    /// The probability that the given label is right, and what it should be otherwise.
    pub fn judge<R: Number>(&self, row: &[R], given: Label) -> Verdict {
        self.judge.row(row, given)
    }

    /// Checks, counts and judges every row in one pass: the overview, the estimate, and what `look` collected.
    ///
    /// `look` gets (index, given label, probabilities, verdict) of the rows whose labels are at most [`cut`](Self::cut) likely
    /// to be right; what it collects is returned in the order of the rows.
    pub(crate) fn judge_all<P, S>(
        &self,
        probs: &P,
        given: &[Label],
        look: impl Fn(&mut Vec<S>, usize, Label, &[P::Number], Verdict) + Sync,
    ) -> Result<(Overview, Estimate, Vec<S>)>
    where
        P: Probabilities + ?Sized,
        S: Send,
    {
        let classes = probs.classes();
        let (mut total, mut wrong, mut found) = (Tally::new(classes), 0.0, Vec::new());
        fold(
            probs,
            given,
            || (Tally::new(classes), 0.0, Vec::new()),
            |(tally, wrong, found), block| {
                let look = |index: usize, label: Label, row: &[P::Number], verdict: Verdict| {
                    look(found, index, label, row, verdict);
                };
                *wrong += widest(JudgeBlock { judge: &self.judge, block, tally, cut: self.cut as f32, look });
                Ok(())
            },
            |(tally, part, collected)| {
                total.merge(tally);
                wrong += part;
                found.extend(collected);
                Ok(())
            },
        )?;
        let overview = total.finish(given.len())?;
        let rate = wrong / overview.rows as f64;
        let estimate = Estimate {
            rows: overview.rows,
            rate,
            interval: (self.low.min(rate), self.high.max(rate)),
            uniform_rate: self.uniform_rate.min(rate),
            transition: Transition::new(self.transition_rows())?,
        };
        Ok((overview, estimate, found))
    }

    /// Labels at most this likely to be right, on rows that look more like another class, are suspects: the cut with the
    /// largest expected F1.
    pub fn cut(&self) -> f64 {
        self.cut
    }

    /// c: how sharply rows are told apart.
    pub fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// The noise rate lies in here, as far as probabilities alone can tell.
    pub fn interval(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// The noise rate before beliefs are sharpened for what people get wrong: noise that strikes easy rows as well as hard
    /// ones, and no more.
    pub fn uniform_rate(&self) -> f64 {
        self.uniform_rate
    }

    /// `T[true][given]`.
    pub fn transition_rows(&self) -> Vec<Vec<f64>> {
        self.noise.transition_rows()
    }
}

/// The likeliest share λ and sharpness c, and what was fitted with them.
struct Found {
    share: f64,
    sharpness: f64,
    step: Step,
}

/// The best of every second sharpness, then of its neighbours, for half and for whole prototypes. The likelihood can have
/// one peak for an unsure classifier and one for wrong labels: the lower one must not be climbed by mistake.
fn search(part: &Fitting<'_>, start: &Noise, classes: usize) -> Found {
    // Without prototypes only T is learnt, and soon.
    let turns = if classes > MOST_CLASSES { FEW_TURNS } else { TURNS };
    let climbed = |share: f64| {
        let mut steps: [Option<Step>; SHARPNESSES.len()] = [const { None }; SHARPNESSES.len()];
        let mut climb =
            |at: usize| steps[at].get_or_insert_with(|| part.settled(start, share, SHARPNESSES[at], turns)).likelihood;
        let mut at = 1;
        for place in (3..SHARPNESSES.len()).step_by(2) {
            if climb(place) > climb(at) {
                at = place;
            }
        }
        loop {
            let here = climb(at);
            if at + 1 < SHARPNESSES.len() && climb(at + 1) > here {
                at += 1;
            } else if at > 0 && climb(at - 1) > here {
                at -= 1;
            } else {
                break;
            }
        }
        let sharpness = SHARPNESSES[at] * between(&steps, at);
        let step = steps[at].take().unwrap_or_else(|| part.settled(start, share, sharpness, turns));
        Found { share, sharpness, step }
    };
    if classes > MOST_CLASSES {
        return climbed(0.0);
    }
    let (half, whole) = rayon::join(|| climbed(0.5), || climbed(1.0));
    // Two classes that are each taken for the other may end with the same prototype, and then nothing tells them apart.
    let told_apart =
        |found: &Found| least_sure(part.sights(&found.step.noise, found.share, found.sharpness), EASY) > TOLD_APART;
    if whole.step.likelihood > half.step.likelihood && told_apart(&whole) { whole } else { half }
}

/// Where between the sharpnesses the peak is, by a parabola: a factor.
fn between(tried: &[Option<Step>], at: usize) -> f64 {
    let like = |at: usize| tried.get(at).and_then(Option::as_ref).map(|step| step.likelihood);
    let (Some(left), Some(middle), Some(right)) = (at.checked_sub(1).and_then(like), like(at), like(at + 1)) else {
        return 1.0;
    };
    let bend = left - 2.0 * middle + right;
    if bend < 0.0 { 1.5f64.powf((0.5 * (left - right) / bend).clamp(-0.5, 0.5)) } else { 1.0 }
}

/// Sharpens until the easy rows are beyond doubt: every time from the start, as a matrix that has become the identity would
/// not find its way back.
fn anchored(part: &Fitting<'_>, start: &Noise, noise: &Noise, share: f64, sharpness: f64) -> (f64, Noise) {
    let doubt = |noise: &Noise, sharpness: f64| 1.0 - least_sure(part.sights(noise, share, sharpness), EASY);
    let (mut sharpness, mut noise) = (sharpness, noise.clone());
    let mut left = doubt(&noise, sharpness);
    for _ in 0..STRIDES {
        if left <= 1.0 - BEYOND_DOUBT || sharpness >= MOST_SHARPNESS {
            break;
        }
        let next = part.settled(start, share, sharpness * STRIDE, TURNS).noise;
        let less = doubt(&next, sharpness * STRIDE);
        // Doubt falls about exponentially: the last stride goes only as far as it must.
        let wanted = (left.ln() - (1.0 - BEYOND_DOUBT).ln()) / (left.ln() - less.max(1e-300).ln());
        let stride = if less < left { wanted.clamp(0.0, 1.0) } else { 1.0 };
        (sharpness, noise, left) = (sharpness * STRIDE.powf(stride), next, less);
    }
    (sharpness, noise)
}

/// Every few rows of each label, about as many as are `wanted`.
fn thinned(rows: &[Rows], wanted: usize) -> Vec<Rows> {
    let all: usize = rows.iter().map(Rows::len).sum();
    let every = |rows: &Rows| (all / wanted).min(rows.len() / LEAST_PER_CLASS).max(1);
    rows.iter().map(|rows| rows.thinned(every(rows))).collect()
}

/// How sure of their class the surest rows are: all but `part` of the rows are at most this sure.
fn least_sure(mut sights: Vec<Sight>, part: f64) -> f64 {
    sights.sort_unstable_by(|a, b| b.sure.total_cmp(&a.sure));
    let mut left = part * sights.iter().map(|sight| sight.weight).sum::<f64>();
    for sight in &sights {
        left -= sight.weight;
        if left <= 0.0 {
            return sight.sure;
        }
    }
    sights.last().map_or(1.0, |last| last.sure)
}

/// Labels up to this probability of being right are suspects, so that the expected F1, 2 · hits / (suspects + wrong), is
/// largest.
fn best_cut(mut sights: Vec<Sight>) -> f64 {
    sights.sort_unstable_by(|a, b| a.right.total_cmp(&b.right));
    let expected: f64 = sights.iter().map(|sight| (1.0 - sight.right) * sight.weight).sum();
    let (mut hits, mut suspects, mut best, mut cut) = (0.0, 0.0, 0.0, 0.0);
    for Sight { right, weight, .. } in sights {
        hits += (1.0 - right) * weight;
        suspects += weight;
        let f1 = 2.0 * hits / (suspects + expected);
        if f1 > best {
            (best, cut) = (f1, right);
        }
    }
    cut
}
