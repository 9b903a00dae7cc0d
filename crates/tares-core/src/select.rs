//! Algorithm 1 of the paper, "Partial Optimization", in linear time.
//!
//! Given losses l and a threshold C, find the v in {0,1}ⁿ that minimises
//!
//! ```text
//! max( Σ v_i l_i ,  C − Σ v_i )
//! ```
//!
//! With the losses in ascending order and `L_i` the sum of the first i, sample i is kept iff `L_i ≤ C + 1 − i`. The left
//! side rises and the right side falls, so what is kept is the T smallest losses: all below some *cut*, and of those
//! equal to it the first few. The paper sorts to find T, which is more work than needed. [`Selector`] splits the range
//! of losses into buckets, adds up count and sum per bucket in one pass, walks over the buckets until they no longer
//! fit, and repeats this inside that one bucket until a handful of samples is left. Every round narrows the range by a
//! fixed factor, whatever the losses are: O(n) in the worst case, not only on average.
//!
//! Sums are exact (integers inside a bucket, 106 bits across them), so neither order nor machine changes the answer.

mod buckets;
mod parts;
mod real;

pub use real::Real;

use crate::dataset::{Label, check_labels};
use crate::error::{Error, Result, same_length};
use crate::exact::Exact;
use buckets::{Bucket, Buckets, ends};
use parts::Parts;
use real::Range;

/// Whether to keep one sample more than Algorithm 1 does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Extra {
    /// Exactly Algorithm 1: the T samples of `L_T`.
    #[default]
    Never,
    /// The T+1 rule: when `L_T ≤ C − T` (the second term of the maximum decides, and the kept samples alone would not
    /// move it), also keep the next smallest loss, if a finite one is left.
    WhenSlack,
}

/// What [`Selector::select`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection<'a> {
    /// Positions of the kept samples, ascending; with the extra one if there is one.
    pub kept: &'a [u32],
    /// T: how many Algorithm 1 keeps.
    pub count: usize,
    /// `L_T`: the sum of their losses.
    pub sum: f64,
    /// `max(L_T, C − T)`: the minimum of the partial optimisation.
    pub objective: f64,
    /// Whether one more than T is kept.
    pub extra: bool,
}

/// Selects; owns the scratch space, so that repeated calls with at most as many losses allocate nothing.
///
/// ```
/// use tares_core::{Extra, Selector};
/// let mut selector = Selector::new();
/// let losses = [3.0f32, 0.0, 0.5, 0.25];
/// let selection = selector.select(&losses, 4.0, Extra::Never)?; // C = n: the paper's E
/// assert_eq!(selection.kept, [1, 2, 3]);
/// assert_eq!((selection.count, selection.sum, selection.objective), (3, 0.75, 1.0));
/// # Ok::<(), tares_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Selector {
    buckets: Vec<[Bucket; 2]>,
    keys: Vec<u64>,
    kept: Vec<u32>,
    group: Vec<f64>,
    parts: Parts,
}

impl Selector {
    /// A selector without scratch space yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Algorithm 1 for any real `threshold` C ≥ 0.
    ///
    /// Ties are broken by position. `n = 0` keeps nothing and has the objective C. A loss of +∞ is never kept.
    /// T = 0 is possible (C < smallest loss): then nothing is kept and the objective is C.
    ///
    /// # Errors
    /// Losses that are negative or NaN, with their position; a threshold that is negative or not finite; 2³² or more losses.
    pub fn select<R: Real>(&mut self, losses: &[R], threshold: f64, extra: Extra) -> Result<Selection<'_>> {
        check_threshold(threshold)?;
        let range = Range::of(losses)?;
        let mut found = self.cut(losses, &range, threshold);
        let (count, sum) = (found.count, found.sum.rounded());
        let slack = found.sum.fits(threshold, count + 1); // L_T ≤ C − T
        let extra = extra == Extra::WhenSlack && slack && found.widen(losses);
        if self.kept.len() <= losses.len() {
            self.kept.resize(losses.len() + 1, 0);
        }
        let length = found.write_kept(losses, &mut self.kept);
        debug_assert_eq!(length, count + usize::from(extra));
        let objective = sum.max(threshold - count as f64);
        Ok(Selection { kept: &self.kept[..length], count, sum, objective, extra })
    }

    /// One selection per class, each with its own threshold; counts, sums and objectives added up.
    ///
    /// Classes are groups of samples, as batches are: by the argument of the paper's Corollary 1 the sum of the
    /// objectives lies between the objective of all samples together (threshold = the thresholds' sum) and the plain
    /// sum of losses. So the class-balanced loss is still an upper bound of the 0-1 loss, and no class can be
    /// pruned away to pay for another.
    ///
    /// `threshold` gives C for the positions of one class; `extra` is true if any class keeps one more.
    ///
    /// # Errors
    /// As [`select`](Self::select); also labels that are not as many as losses, or outside 0..`classes`.
    pub fn select_by_class<R: Real>(
        &mut self,
        losses: &[R],
        labels: &[Label],
        classes: usize,
        extra: Extra,
        mut threshold: impl FnMut(Label, &[u32]) -> f64,
    ) -> Result<Selection<'_>> {
        same_length("labels", losses.len(), labels.len())?;
        check_labels("label", labels, classes)?;
        Range::of(losses)?; // reports a bad loss by its position in the batch, not in its class
        let mut whole = Selection { kept: &[], count: 0, sum: 0.0, objective: 0.0, extra: false };
        // The parts are taken out while `select` uses the rest of the scratch space.
        let mut parts = std::mem::take(&mut self.parts);
        parts.start(labels, classes);
        for class in 0..classes as Label {
            let members = parts.members(class);
            let threshold = threshold(class, members);
            self.group.clear();
            self.group.extend(members.iter().map(|&position| losses[position as usize].into()));
            let group = std::mem::take(&mut self.group);
            let part = self.select(&group, threshold, extra);
            let part = part.map_err(|error| error.at(format!("class {class}")))?;
            parts.keep(class, part.kept);
            whole.count += part.count;
            whole.sum += part.sum;
            whole.objective += part.objective;
            whole.extra |= part.extra;
            self.group = group;
        }
        self.kept.clear();
        self.kept.extend(parts.kept());
        self.parts = parts;
        Ok(Selection { kept: &self.kept, ..whole })
    }

    /// Finds where the kept losses end.
    fn cut<R: Real>(&mut self, losses: &[R], range: &Range, threshold: f64) -> Cut {
        // Zeros come first and cost nothing; only their number can be too large.
        let room = (threshold + 1.0).floor();
        if range.zeros as f64 > room {
            return Cut { key: 0, ties: room as usize, count: room as usize, sum: Exact::default() };
        }
        let mut accepted = Accepted { count: range.zeros, sum: Exact::default() };
        let (mut low, mut high) = (range.low, range.high);
        if range.positive > 0 && low == high {
            return accepted.equal_losses::<R>(low, range.positive, threshold);
        }
        // Sorted losses need no buckets. Unsorted ones fail these two tests within a few elements.
        let all = losses.iter().map(|&loss| loss.key());
        let counts = |key: &u64| low <= *key && *key <= high;
        if losses.is_sorted() {
            return accepted.ordered_losses::<R>(all.filter(counts), threshold);
        }
        if losses.is_sorted_by(|a, b| a >= b) {
            return accepted.ordered_losses::<R>(all.rev().filter(counts), threshold);
        }
        self.keys.clear();
        if range.positive <= FEW {
            self.keys.extend(all.filter(counts));
        } else {
            // The first round reads the losses themselves, so that only one bucket's worth of them is ever copied.
            let mut buckets = Buckets::over::<R>(low, high, range.positive, &mut self.buckets);
            buckets.add_all::<R>(all.clone(), range.zeros);
            let Some(crossing) = buckets.walk::<R>(&mut accepted, threshold) else {
                return accepted.all_finite::<R>();
            };
            self.keys.extend(all.filter(|&key| crossing.holds(key)));
            (low, high) = ends(&self.keys);
        }
        while self.keys.len() > FEW && low < high {
            let mut buckets = Buckets::over::<R>(low, high, self.keys.len(), &mut self.buckets);
            buckets.add_all::<R>(self.keys.iter().copied(), 0);
            let Some(crossing) = buckets.walk::<R>(&mut accepted, threshold) else {
                return accepted.all_finite::<R>(); // not reached: if a bucket does not fit, one of its parts does not
            };
            self.keys.retain(|&key| crossing.holds(key));
            (low, high) = ends(&self.keys);
        }
        if low == high {
            return accepted.equal_losses::<R>(low, self.keys.len(), threshold);
        }
        self.keys.sort_unstable();
        accepted.ordered_losses::<R>(self.keys.iter().copied(), threshold)
    }
}

/// At or below this many samples, sorting is the quickest way to finish.
const FEW: usize = 32;

/// Where the kept losses end: all keys below `key`, and the first `ties` of those equal to it.
#[derive(Debug)]
struct Cut {
    key: u64,
    ties: usize,
    count: usize,
    sum: Exact,
}

impl Cut {
    /// Moves the cut up by one sample; false if no finite loss is left.
    fn widen<R: Real>(&mut self, losses: &[R]) -> bool {
        let (mut equal, mut next) = (0, R::INFINITY_KEY);
        for key in losses.iter().map(|&loss| loss.key()) {
            equal += usize::from(key == self.key);
            next = if key > self.key && key < next { key } else { next };
        }
        if self.key < R::INFINITY_KEY && self.ties < equal {
            self.ties += 1;
        } else if next < R::INFINITY_KEY {
            (self.key, self.ties) = (next, 1);
        } else {
            return false;
        }
        true
    }

    /// Writes the positions of the kept losses to the front of `kept`, ascending; how many there are.
    fn write_kept<R: Real>(&self, losses: &[R], kept: &mut [u32]) -> usize {
        // Up to the last kept tie, losses at or below the cut are kept; after it, only those below.
        let mut equal = (0..losses.len()).filter(|&position| losses[position].key() == self.key);
        let turn = if self.ties == 0 { 0 } else { equal.nth(self.ties - 1).map_or(0, |last| last + 1) };
        let mut length = 0;
        // Each position is written and only counted if kept: a branch would often be mispredicted.
        for (position, loss) in (0u32..).zip(&losses[..turn]) {
            kept[length] = position;
            length += usize::from(loss.key() <= self.key);
        }
        for (position, loss) in (turn as u32..).zip(&losses[turn..]) {
            kept[length] = position;
            length += usize::from(loss.key() < self.key);
        }
        length
    }
}

/// The samples known to be kept so far.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    count: usize,
    sum: Exact,
}

impl Accepted {
    fn all_finite<R: Real>(self) -> Cut {
        Cut { key: R::INFINITY_KEY, ties: 0, count: self.count, sum: self.sum }
    }

    /// `number` equal losses are left: how many of them fit?
    fn equal_losses<R: Real>(self, key: u64, number: usize, threshold: f64) -> Cut {
        let loss = R::value_of(key);
        let with = |ties: usize| self.sum.add_repeated(loss, ties);
        let fits = |ties: usize| with(ties).fits(threshold, self.count + ties);
        // L + j·l ≤ C + 1 − (c + j), solved for j; the two loops correct rounding.
        let room = (threshold + 1.0 - self.count as f64 - self.sum.rounded()) / (1.0 + loss);
        let mut ties = (room.max(0.0) as usize).min(number);
        while ties > 0 && !fits(ties) {
            ties -= 1;
        }
        while ties < number && fits(ties + 1) {
            ties += 1;
        }
        Cut { key, ties, count: self.count + ties, sum: with(ties) }
    }

    /// Algorithm 1 as printed, on losses in ascending order.
    fn ordered_losses<R: Real>(mut self, keys: impl Iterator<Item = u64>, threshold: f64) -> Cut {
        let (mut last, mut ties) = (0, 0);
        for key in keys {
            ties = if key == last { ties } else { 0 };
            let sum = self.sum.add(R::value_of(key));
            if !sum.fits(threshold, self.count + 1) {
                return Cut { key, ties, count: self.count, sum: self.sum };
            }
            self = Self { count: self.count + 1, sum };
            (last, ties) = (key, ties + 1);
        }
        self.all_finite::<R>()
    }
}

fn check_threshold(threshold: f64) -> Result<()> {
    if threshold >= 0.0 && threshold.is_finite() {
        Ok(())
    } else {
        Err(Error::value("selection threshold", "a finite number >= 0", threshold))
    }
}
