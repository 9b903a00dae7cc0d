//! Grows one tree leaf by leaf: the leaf whose best cut gains most is cut next.

use super::bins::Binned;
use super::histogram::{Quantised, fill, subtract};
use super::split::{Cut, Limits, best_cut, clearly_more};
use super::tree::{Node, Tree, goes_left};
use rayon::prelude::*;
use std::ops::Range;

/// With fewer entries of columns and bins, threads cost more time than they save.
const WORTH_THREADS: usize = 60_000;

/// What a tree is grown from.
pub(crate) struct Growth<'a> {
    pub(crate) binned: &'a Binned,
    pub(crate) quantised: &'a Quantised,
    /// Columns that may be asked about, ascending.
    pub(crate) columns: &'a [u32],
    pub(crate) leaves: usize,
    pub(crate) limits: Limits,
    /// A leaf's values are this fraction of −G/(H + λ).
    pub(crate) rate: f64,
}

/// A tree, and the leaf of every row it was grown from.
pub(crate) struct Grown {
    pub(crate) tree: Tree,
    rows: Vec<u32>,
    /// Rows of a leaf, and the first of its values.
    leaves: Vec<(Range<usize>, usize)>,
}

impl Grown {
    /// Calls `visit` with every row the tree was grown from, and the first of its leaf's values.
    pub(crate) fn each_row(&self, mut visit: impl FnMut(usize, usize)) {
        for (range, first) in &self.leaves {
            self.rows[range.clone()].iter().for_each(|&row| visit(row as usize, *first));
        }
    }
}

/// A leaf that may be cut.
struct Leaf {
    node: usize,
    range: Range<usize>,
    total: Vec<i64>,
    cut: Option<Cut>,
    /// A histogram per column, one after the other; empty once the leaf cannot be cut.
    histograms: Vec<i64>,
}

/// Memory that the leaves of a tree reuse.
#[derive(Default)]
struct Scratch {
    rows: Vec<u32>,
    gathered: Vec<i64>,
    /// Histograms of leaves that are done.
    free: Vec<Vec<i64>>,
}

/// Two leaves to be examined: the smaller one's rows, and the histograms of their parent, which become those of the larger one.
struct Siblings<'a> {
    small: &'a mut [i64],
    small_total: &'a [i64],
    large: &'a mut [i64],
    large_total: &'a [i64],
}

impl Growth<'_> {
    /// Grows the tree from `rows` alone.
    pub(crate) fn grow(&self, mut rows: Vec<u32>) -> Grown {
        let width = self.quantised.stride();
        let mut total = vec![0; width];
        for &row in &rows {
            let numbers = &self.quantised.values[row as usize * width..][..width];
            total.iter_mut().zip(numbers).for_each(|(total, &number)| *total += number);
        }
        let offsets = self.offsets();
        let mut scratch = Scratch::default();
        let mut tree = Tree { nodes: vec![Node::Leaf { first: 0 }], values: Vec::new() };
        let mut root = Leaf { node: 0, range: 0..rows.len(), total, cut: None, histograms: Vec::new() };
        if self.leaves > 1 && self.divisible(&root.total) {
            root.histograms = vec![0; offsets[self.columns.len()]];
            let only =
                Siblings { small: &mut root.histograms, small_total: &root.total, large: &mut [], large_total: &[] };
            root.cut = self.look(only, &rows, &offsets, &mut scratch.gathered).0;
        }
        let mut leaves = vec![root];
        while leaves.len() < self.leaves {
            let gain = |leaf: &Leaf| leaf.cut.as_ref().map_or(0.0, |cut| cut.gain);
            let best = (1..leaves.len())
                .fold(0, |best, next| if clearly_more(gain(&leaves[next]), gain(&leaves[best])) { next } else { best });
            let Some(cut) = leaves[best].cut.take() else { break };
            let parent = leaves.swap_remove(best);
            let last = leaves.len() + 2 >= self.leaves;
            let (left, right) = self.cut(parent, cut, &mut rows, &offsets, &mut scratch, &mut tree, last);
            leaves.push(left);
            leaves.push(right);
        }
        let mut ranges = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let first = tree.values.len();
            tree.nodes[leaf.node] = Node::Leaf { first: first as u32 };
            ranges.push((leaf.range, first));
            for output in 0..self.quantised.outputs {
                let gradient = self.quantised.gradient(&leaf.total, output);
                let whole = self.quantised.hessian(&leaf.total, output) + self.limits.l2;
                tree.values.push(if whole > 0.0 { -self.rate * gradient / whole } else { 0.0 });
            }
        }
        Grown { tree, rows, leaves: ranges }
    }

    #[allow(clippy::too_many_arguments)]
    fn cut(
        &self,
        parent: Leaf,
        cut: Cut,
        rows: &mut [u32],
        offsets: &[usize],
        scratch: &mut Scratch,
        tree: &mut Tree,
        last: bool,
    ) -> (Leaf, Leaf) {
        let column = &self.binned.columns[cut.column as usize];
        let left_bins: [bool; 256] = std::array::from_fn(|bin| goes_left(cut.rule, cut.missing_left, bin as u8));
        let middle = parent.range.start
            + part(&mut rows[parent.range.clone()], &mut scratch.rows, |row| left_bins[column[row as usize] as usize]);
        let node = tree.nodes.len();
        tree.nodes[parent.node] = Node::Branch {
            column: cut.column,
            rule: cut.rule,
            missing_left: cut.missing_left,
            left: node as u32,
            right: node as u32 + 1,
        };
        tree.nodes.extend([Node::Leaf { first: 0 }; 2]);
        let other: Vec<i64> = parent.total.iter().zip(&cut.left).map(|(total, left)| total - left).collect();
        let leaf = |node, range, total| Leaf { node, range, total, cut: None, histograms: Vec::new() };
        let mut left = leaf(node, parent.range.start..middle, cut.left);
        let mut right = leaf(node + 1, middle..parent.range.end, other);
        if last || !(self.divisible(&left.total) || self.divisible(&right.total)) {
            scratch.free.push(parent.histograms);
            return (left, right);
        }
        let left_is_small = left.range.len() <= right.range.len();
        let (small, large) = if left_is_small { (&mut left, &mut right) } else { (&mut right, &mut left) };
        small.histograms = scratch.free.pop().unwrap_or_else(|| vec![0; parent.histograms.len()]);
        large.histograms = parent.histograms;
        let both = Siblings {
            small: &mut small.histograms,
            small_total: &small.total,
            large: &mut large.histograms,
            large_total: &large.total,
        };
        (small.cut, large.cut) = self.look(both, &rows[small.range.clone()], offsets, &mut scratch.gathered);
        for leaf in [small, large].into_iter().filter(|leaf| leaf.cut.is_none()) {
            scratch.free.push(std::mem::take(&mut leaf.histograms));
        }
        (left, right)
    }

    /// Fills the histograms of `rows`, turns the parent's into those of the sibling, if there is one, and finds the best cut of each.
    fn look(
        &self,
        both: Siblings<'_>,
        rows: &[u32],
        offsets: &[usize],
        gathered: &mut Vec<i64>,
    ) -> (Option<Cut>, Option<Cut>) {
        let width = self.quantised.stride();
        self.quantised.gather(rows, gathered);
        let Siblings { small, small_total, large, large_total } = both;
        let alone = large.is_empty();
        let (divisible, large_divisible) = (self.divisible(small_total), !alone && self.divisible(large_total));
        let one_column = |place: usize, small: &mut [i64], large: &mut [i64]| {
            let column = self.columns[place];
            let category = self.binned.categories[column as usize];
            fill(small, &self.binned.columns[column as usize], rows, gathered, width);
            let cut = |histogram: &[i64], total: &[i64], divisible: bool| match divisible {
                true => best_cut(histogram, total, column, category, self.quantised, self.limits),
                false => None,
            };
            let own = cut(small, small_total, divisible);
            subtract(large, small);
            (own, cut(large, large_total, large_divisible))
        };
        let mut best = (None, None);
        let mut keep = |(own, sibling)| {
            keep_better(&mut best.0, own);
            keep_better(&mut best.1, sibling);
        };
        let range = |place: usize| offsets[place]..offsets[place + 1];
        let of_large = |place: usize| if alone { 0..0 } else { range(place) };
        let work = self.columns.len() * rows.len() + small.len();
        if work < WORTH_THREADS {
            (0..self.columns.len())
                .for_each(|place| keep(one_column(place, &mut small[range(place)], &mut large[of_large(place)])));
            return best;
        }
        // The result does not depend on which thread takes which column.
        let (mut rest, mut rest_of_large) = (small, large);
        let mut columns = Vec::with_capacity(self.columns.len());
        for place in 0..self.columns.len() {
            let (own, after) = rest.split_at_mut(range(place).len());
            let (of_sibling, after_large) = rest_of_large.split_at_mut(of_large(place).len());
            columns.push((place, own, of_sibling));
            (rest, rest_of_large) = (after, after_large);
        }
        let found: Vec<_> =
            columns.into_par_iter().map(|(place, own, sibling)| one_column(place, own, sibling)).collect();
        found.into_iter().for_each(keep);
        best
    }

    /// Where the histogram of every column begins, and the end of the last.
    fn offsets(&self) -> Vec<usize> {
        let mut offsets = vec![0];
        for &column in self.columns {
            offsets.push(offsets[offsets.len() - 1] + self.binned.bins[column as usize] * self.quantised.stride());
        }
        offsets
    }

    fn divisible(&self, total: &[i64]) -> bool {
        self.quantised.weight(total) >= 2.0 * self.limits.least_weight && !self.columns.is_empty()
    }
}

/// The first of equals stays: columns are offered in ascending order.
fn keep_better(best: &mut Option<Cut>, offered: Option<Cut>) {
    if let Some(offered) = offered
        && best.as_ref().is_none_or(|best| clearly_more(offered.gain, best.gain))
    {
        *best = Some(offered);
    }
}

/// Rows that go left first, each side in its old order. Returns how many go left. No branch depends on a row: it would be
/// mispredicted half of the time.
fn part(rows: &mut [u32], scratch: &mut Vec<u32>, left: impl Fn(u32) -> bool) -> usize {
    scratch.resize(rows.len().max(scratch.len()), 0);
    let mut kept = 0;
    for place in 0..rows.len() {
        let row = rows[place];
        scratch[place - kept] = row;
        rows[kept] = row;
        kept += usize::from(left(row));
    }
    let right = rows.len() - kept;
    rows[kept..].copy_from_slice(&scratch[..right]);
    kept
}
