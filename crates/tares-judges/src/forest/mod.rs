//! The forest judge: the mean of deep trees, each grown from other rows and asking about other columns (Breiman 2001).
//!
//! A wrong label misleads only the trees that drew its row, and of these only one small leaf. So a forest copes with wrong
//! labels where rows are few and boosting would fit them. It needs no folds: every row is judged by the trees that did not
//! draw it (out-of-bag). How small leaves may be is chosen by the log-loss of these predictions.

mod grow;

use crate::caller::Caller;
use crate::cross_fit::CrossFit;
use crate::error::{Result, stored};
use crate::labelled::Labelled;
use crate::matrix::Matrix;
use crate::softmax::log_loss;
use crate::trees::bins::{Binned, Binner};
use crate::trees::tree::Tree;
use crate::{calibrate, trees};
use grow::Growing;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicUsize, Ordering};
use tares_core::stream;

/// The least rows of a leaf that are tried, until one is worse than the one before.
const PATH: [usize; 4] = [1, 3, 8, 20];
/// Trees, so that about 70 of them did not draw a given row.
const TREES: usize = 200;
/// The least weight of a bin of numbers: leaves may have a single row.
const LEAST_BIN: f64 = 1.0;
/// Leaves of a tree at most, more or less: more rows make leaves larger, not models.
const MOST_LEAVES: usize = 1_000;

/// A fitted forest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forest {
    classes: usize,
    binner: Binner,
    trees: Vec<Tree>,
}

impl Forest {
    /// Fits a forest whose leaves have at least `least_rows` rows.
    ///
    /// # Errors
    /// Data that don't fit together or have no dense column; [`Interrupted`](crate::Error::Interrupted).
    pub fn fit(data: &Labelled<'_>, least_rows: usize, seed: u64, caller: Caller<'_>) -> Result<Self> {
        let prepared = Prepared::of(data)?;
        Ok(prepared.forest(least_rows, seed, &|done| caller.report("forest", done, TREES), caller)?.0)
    }

    /// K.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Numbers that were fitted: the class shares of all leaves.
    pub fn parameters(&self) -> usize {
        self.trees.iter().map(|tree| tree.values.len()).sum()
    }

    /// N × K log-probabilities, row after row.
    ///
    /// # Errors
    /// Other columns than in training.
    pub fn log_probs(&self, inputs: &Matrix) -> Result<Vec<f64>> {
        Ok(self.mean(&self.binner.bin(inputs)?, |_, _| true))
    }

    /// The logarithm of the mean of the trees that are `asked(tree, row)`. One more tree that knows nothing keeps it finite.
    fn mean(&self, binned: &Binned, asked: impl Fn(usize, usize) -> bool + Sync) -> Vec<f64> {
        let classes = self.classes;
        let mut all = vec![1.0 / classes as f64; binned.rows * classes];
        all.par_chunks_mut(classes).with_min_len(64).enumerate().for_each(|(row, sums)| {
            let mut count = 1.0;
            for (_, tree) in self.trees.iter().enumerate().filter(|(number, _)| asked(*number, row)) {
                let shares = &tree.values[tree.leaf(binned, row)..][..classes];
                sums.iter_mut().zip(shares).for_each(|(sum, share)| *sum += share);
                count += 1.0;
            }
            sums.iter_mut().for_each(|sum| *sum = (*sum / count).ln());
        });
        all
    }

    pub(crate) fn check(&self) -> Result<()> {
        stored((2..=1 << 20).contains(&self.classes), "number of classes must be in 2..=1048576")?;
        stored(!self.trees.is_empty(), "a forest must have a tree")?;
        self.binner.check()?;
        for tree in &self.trees {
            tree.check(&self.binner, self.classes)?;
            stored(tree.values.iter().all(|share| (0.0..=1.0).contains(share)), "shares of classes must be in 0..=1")?;
        }
        Ok(())
    }
}

/// Chooses the least rows of a leaf by the log-loss of out-of-bag predictions.
///
/// # Errors
/// As [`Forest::fit`].
pub fn out_of_bag(data: &Labelled<'_>, seed: u64, caller: Caller<'_>) -> Result<CrossFit<usize>> {
    let prepared = Prepared::of(data)?;
    // With many rows the smallest sizes are the same: trying one twice would end the search.
    let mut sizes = PATH.map(|least_rows| least_rows.max(data.rows() / MOST_LEAVES)).to_vec();
    sizes.dedup();
    let total = sizes.len() * TREES;
    let mut best: Option<(f64, CrossFit<usize>)> = None;
    for (place, &least_rows) in sizes.iter().enumerate() {
        let progress = |done: usize| caller.report("forest", place * TREES + done, total);
        let (forest, drawn) = prepared.forest(least_rows, seed, &progress, caller)?;
        let log_probs = forest.mean(&prepared.binned, |tree, row| !drawn[tree][row]);
        let mut calibrated = log_probs.clone();
        let temperature = calibrate::temperature(&log_probs, data.labels, data.classes)?;
        calibrate::apply(&mut calibrated, data.classes, temperature);
        let loss = log_loss(&calibrated, data.labels, data.classes, |row| data.weight(row));
        if best.as_ref().is_some_and(|(least, _)| *least <= loss) {
            break;
        }
        best = Some((loss, CrossFit { log_probs, setting: least_rows }));
    }
    caller.report("forest", total, total);
    Ok(best.expect("a leaf size is tried").1)
}

/// What all forests of some rows share.
struct Prepared<'a> {
    data: &'a Labelled<'a>,
    binner: Binner,
    binned: Binned,
}

impl<'a> Prepared<'a> {
    fn of(data: &'a Labelled<'a>) -> Result<Self> {
        trees::check_columns(data)?;
        let binner = Binner::fit(data, LEAST_BIN);
        let binned = binner.bin(data.inputs)?;
        Ok(Self { data, binner, binned })
    }

    /// A forest, and which rows each tree drew.
    fn forest(
        &self,
        least_rows: usize,
        seed: u64,
        progress: &(dyn Fn(usize) + Sync),
        caller: Caller<'_>,
    ) -> Result<(Forest, Vec<Vec<bool>>)> {
        let rows = self.data.rows();
        // Trees that drew a copy of a row must not judge it: groups are drawn as a whole. A single group would always be drawn.
        let first_rows = |groups: &[u32]| (0..rows).filter(|&row| groups[row] as usize == row).collect::<Vec<usize>>();
        let firsts = self.data.groups.map(first_rows).filter(|firsts| firsts.len() > 1);
        let done = AtomicUsize::new(0);
        let grow = |number: usize| {
            caller.go_on()?;
            let mut draw = stream(seed, &format!("tree {number} of a forest"));
            let mut times = vec![0u32; rows];
            match (self.data.groups, &firsts) {
                (Some(groups), Some(firsts)) => {
                    firsts.iter().for_each(|_| times[firsts[draw.below(firsts.len())]] += 1);
                    // The first row of a group comes before the others.
                    (0..rows).for_each(|row| times[row] = times[groups[row] as usize]);
                }
                _ => (0..rows).for_each(|_| times[draw.below(rows)] += 1),
            }
            let weights: Vec<f64> = (0..rows).map(|row| f64::from(times[row]) * self.data.weight(row)).collect();
            let growing = Growing { data: self.data, binned: &self.binned, weights: &weights, least_rows };
            let tree = growing.grow(&mut draw);
            progress(done.fetch_add(1, Ordering::Relaxed) + 1);
            Ok((tree, times.into_iter().map(|times| times > 0).collect()))
        };
        let grown: Vec<(Tree, Vec<bool>)> = (0..TREES).into_par_iter().map(grow).collect::<Result<_>>()?;
        let (trees, drawn) = grown.into_iter().unzip();
        Ok((Forest { classes: self.data.classes, binner: self.binner.clone(), trees }, drawn))
    }
}
