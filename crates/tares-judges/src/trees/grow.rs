//! Grows one tree leaf by leaf: the leaf whose best cut gains most is cut next.

use super::bins::Binned;
use super::histogram::{Quantised, fill, stride, subtract};
use super::split::{Cut, Limits, best_cut, clearly_more};
use super::tree::{Node, Tree, goes_left};
use rayon::prelude::*;
use std::ops::Range;

/// Entries of columns and bins below which threads cost more than they bring.
const WORTH_THREADS: usize = 30_000;

/// What a tree is grown from.
pub(crate) struct Growth<'a> {
    pub(crate) binned: &'a Binned,
    pub(crate) quantised: &'a Quantised,
    /// Columns that may be asked about, ascending.
    pub(crate) columns: &'a [u32],
    pub(crate) leaves: usize,
    pub(crate) limits: Limits,
    /// The part of −G/(H + λ) that a leaf's values are.
    pub(crate) rate: f64,
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

impl Growth<'_> {
    /// The tree of the rows `rows`; other rows have no part in it.
    pub(crate) fn grow(&self, mut rows: Vec<u32>) -> Tree {
        let width = stride(self.quantised.outputs);
        let mut total = vec![0; width];
        for &row in &rows {
            let numbers = &self.quantised.values[row as usize * width..][..width];
            total.iter_mut().zip(numbers).for_each(|(total, &number)| *total += i64::from(number));
        }
        let mut tree = Tree { nodes: vec![Node::Leaf { first: 0 }], values: Vec::new() };
        let mut root = Leaf { node: 0, range: 0..rows.len(), total, cut: None, histograms: Vec::new() };
        if self.leaves > 1 && self.divisible(&root.total) {
            root.histograms = vec![0; self.columns.len() * self.room()];
            root.cut = self.look(&mut root.histograms, None, &rows, &root.total, &[]).0;
        }
        let mut leaves = vec![root];
        let mut scratch = Vec::new();
        while leaves.len() < self.leaves {
            let gain = |leaf: &Leaf| leaf.cut.as_ref().map_or(0.0, |cut| cut.gain);
            let best = (1..leaves.len())
                .fold(0, |best, next| if clearly_more(gain(&leaves[next]), gain(&leaves[best])) { next } else { best });
            let Some(cut) = leaves[best].cut.take() else { break };
            let parent = leaves.swap_remove(best);
            let last = leaves.len() + 2 >= self.leaves;
            let (left, right) = self.cut(parent, cut, &mut rows, &mut scratch, &mut tree, last);
            leaves.push(left);
            leaves.push(right);
        }
        for leaf in &leaves {
            tree.nodes[leaf.node] = Node::Leaf { first: tree.values.len() as u32 };
            for pair in leaf.total[..width - 1].chunks_exact(2) {
                let (gradient, hessian) = (self.quantised.gradient(pair[0]), self.quantised.hessian(pair[1]));
                let whole = hessian + self.limits.l2;
                tree.values.push(if whole > 0.0 { -self.rate * gradient / whole } else { 0.0 });
            }
        }
        tree
    }

    fn cut(
        &self,
        parent: Leaf,
        cut: Cut,
        rows: &mut [u32],
        scratch: &mut Vec<u32>,
        tree: &mut Tree,
        last: bool,
    ) -> (Leaf, Leaf) {
        let column = &self.binned.columns[cut.column as usize];
        let middle = parent.range.start
            + part(&mut rows[parent.range.clone()], scratch, |row| {
                goes_left(cut.rule, cut.missing_left, column[row as usize])
            });
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
        if !last && (self.divisible(&left.total) || self.divisible(&right.total)) {
            let left_is_small = left.range.len() <= right.range.len();
            let (small, large) = if left_is_small { (&mut left, &mut right) } else { (&mut right, &mut left) };
            small.histograms = vec![0; parent.histograms.len()];
            large.histograms = parent.histograms;
            (small.cut, large.cut) = self.look(
                &mut small.histograms,
                Some(&mut large.histograms),
                &rows[small.range.clone()],
                &small.total,
                &large.total,
            );
            for leaf in [small, large].into_iter().filter(|leaf| leaf.cut.is_none()) {
                leaf.histograms = Vec::new();
            }
        }
        (left, right)
    }

    /// Fills the histograms of `rows`, turns `parent`'s into those of the sibling, and finds the best cut of each.
    fn look(
        &self,
        small: &mut [i64],
        parent: Option<&mut Vec<i64>>,
        rows: &[u32],
        total: &[i64],
        sibling_total: &[i64],
    ) -> (Option<Cut>, Option<Cut>) {
        let (room, width) = (self.room(), stride(self.quantised.outputs));
        let gathered = self.quantised.gather(rows);
        let (divisible, sibling_divisible) = (self.divisible(total), parent.is_some() && self.divisible(sibling_total));
        let one_column = |(place, (small, parent)): (usize, (&mut [i64], &mut [i64]))| {
            let column = self.columns[place];
            let (bins, category) = (self.binned.bins[column as usize], self.binned.categories[column as usize]);
            let small = &mut small[..bins * width];
            fill(small, &self.binned.columns[column as usize], rows, &gathered, width);
            let cut = |histogram: &[i64], total: &[i64], divisible: bool| match divisible {
                true => best_cut(histogram, total, column, category, self.quantised, self.limits),
                false => None,
            };
            let own = cut(small, total, divisible);
            if parent.is_empty() {
                return (own, None);
            }
            let parent = &mut parent[..bins * width];
            subtract(parent, small);
            (own, cut(parent, sibling_total, sibling_divisible))
        };
        let mut none = Vec::new();
        let empty = self.columns.len(); // so many empty slices when there is no parent
        let parents: Vec<&mut [i64]> = match parent {
            Some(parent) => parent.chunks_exact_mut(room).collect(),
            None => {
                none.resize_with(empty, Vec::new);
                none.iter_mut().map(Vec::as_mut_slice).collect()
            }
        };
        let work = self.columns.len() * (rows.len() * width + room);
        let columns = small.par_chunks_exact_mut(room).zip(parents).enumerate();
        // One task as long as there is little to do; which thread looks at which column changes no bit.
        let found: Vec<(Option<Cut>, Option<Cut>)> = match work < WORTH_THREADS {
            true => columns.with_min_len(self.columns.len().max(1)).map(one_column).collect(),
            false => columns.map(one_column).collect(),
        };
        let mut best = (None, None);
        for (own, sibling) in found {
            keep_better(&mut best.0, own);
            keep_better(&mut best.1, sibling);
        }
        best
    }

    /// Numbers that the histogram of the column with most bins takes.
    fn room(&self) -> usize {
        let bins = self.columns.iter().map(|&column| self.binned.bins[column as usize]).max().unwrap_or(1);
        bins * stride(self.quantised.outputs)
    }

    fn divisible(&self, total: &[i64]) -> bool {
        self.quantised.weight(total[total.len() - 1]) >= 2.0 * self.limits.least_weight && !self.columns.is_empty()
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

/// Rows that go left first, each side in its old order. Returns how many go left.
fn part(rows: &mut [u32], scratch: &mut Vec<u32>, left: impl Fn(u32) -> bool) -> usize {
    scratch.clear();
    let mut kept = 0;
    for place in 0..rows.len() {
        let row = rows[place];
        if left(row) {
            rows[kept] = row;
            kept += 1;
        } else {
            scratch.push(row);
        }
    }
    rows[kept..].copy_from_slice(scratch);
    kept
}
