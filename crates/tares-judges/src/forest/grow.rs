//! Grows one tree of a forest, node by node: of a few columns drawn for the node, the cut with the purest sides is taken.
//!
//! ```text
//! purity of a cut     Σ_k L_k² / L + Σ_k R_k² / R       L_k, R_k: the weight of class k on either side (Gini's index)
//! ```
//! Bins without a row of the node are never visited, so small nodes are cheap.

use crate::labelled::Labelled;
use crate::trees::bins::Binned;
use crate::trees::tree::{Node, Rule, Tree, goes_left};
use tares_core::Stream;

/// What a tree is grown from.
pub(super) struct Growing<'a> {
    pub(super) data: &'a Labelled<'a>,
    pub(super) binned: &'a Binned,
    /// How much each row counts in this tree; 0: the tree did not draw it.
    pub(super) weights: &'a [f64],
    /// A leaf has at least so many different rows.
    pub(super) least_rows: usize,
}

/// The best cut of a node so far.
struct Cut {
    purity: f64,
    column: u32,
    rule: Rule,
    missing_left: bool,
}

/// The rows of one node, bin by bin of one column.
struct Counts {
    /// `[bin][class]`.
    weights: Vec<f64>,
    rows: [u32; 256],
    classes: usize,
}

impl Counts {
    fn bin(&self, bin: u8) -> &[f64] {
        &self.weights[bin as usize * self.classes..][..self.classes]
    }
}

impl Growing<'_> {
    pub(super) fn grow(&self, draw: &mut Stream) -> Tree {
        let classes = self.data.classes;
        let mut rows: Vec<u32> = (0..self.data.rows() as u32).filter(|&row| self.weights[row as usize] > 0.0).collect();
        let mut tree = Tree { nodes: vec![Node::Leaf { first: 0 }], values: Vec::new() };
        let mut columns: Vec<u32> = (0..self.binned.columns.len() as u32).collect();
        let mut counts = Counts { weights: vec![0.0; 256 * classes], rows: [0; 256], classes };
        let mut open = vec![(0usize, 0..rows.len())];
        while let Some((node, range)) = open.pop() {
            let mut shares = vec![0.0; classes];
            for &row in &rows[range.clone()] {
                shares[self.data.labels[row as usize] as usize] += self.weights[row as usize];
            }
            let total: f64 = shares.iter().sum();
            let pure = shares.contains(&total);
            let cut = match pure || range.len() < 2 * self.least_rows {
                true => None,
                false => self.best_cut(&rows[range.clone()], &shares, &mut columns, &mut counts, draw),
            };
            let Some(cut) = cut else {
                tree.nodes[node] = Node::Leaf { first: tree.values.len() as u32 };
                tree.values.extend(shares.iter().map(|share| share / total));
                continue;
            };
            let bins = &self.binned.columns[cut.column as usize];
            // Both sides keep the order of rows: sums are then the same whatever was cut before.
            let (left, right): (Vec<u32>, Vec<u32>) =
                rows[range.clone()].iter().partition(|&&row| goes_left(cut.rule, cut.missing_left, bins[row as usize]));
            let middle = range.start + left.len();
            rows[range.start..middle].copy_from_slice(&left);
            rows[middle..range.end].copy_from_slice(&right);
            let child = tree.nodes.len();
            tree.nodes.extend([Node::Leaf { first: 0 }; 2]);
            let (left, right) = (child as u32, child as u32 + 1);
            let Cut { column, rule, missing_left, .. } = cut;
            tree.nodes[node] = Node::Branch { column, rule, missing_left, left, right };
            open.push((child + 1, middle..range.end));
            open.push((child, range.start..middle));
        }
        tree
    }

    /// Looks at √C columns that can be cut, drawn at random.
    fn best_cut(
        &self,
        rows: &[u32],
        shares: &[f64],
        columns: &mut [u32],
        counts: &mut Counts,
        draw: &mut Stream,
    ) -> Option<Cut> {
        let wanted = (columns.len() as f64).sqrt().ceil() as usize;
        let mut looked = 0;
        let mut best: Option<Cut> = None;
        for place in 0..columns.len() {
            let drawn = place + draw.below(columns.len() - place);
            columns.swap(place, drawn);
            let cut = self.cut_of(columns[place], rows, shares, counts);
            looked += usize::from(cut.is_some());
            best = match (best, cut) {
                (Some(best), Some(cut)) if cut.purity > best.purity => Some(cut),
                (None, cut) => cut,
                (best, _) => best,
            };
            if looked == wanted {
                break;
            }
        }
        best
    }

    /// The best cut of one column; `None` if it has one value only, or no cut leaves enough rows on both sides.
    fn cut_of(&self, column: u32, rows: &[u32], shares: &[f64], counts: &mut Counts) -> Option<Cut> {
        let bins = &self.binned.columns[column as usize];
        let mut seen = [0u64; 4];
        for &row in rows {
            let (bin, label) = (bins[row as usize] as usize, self.data.labels[row as usize] as usize);
            counts.weights[bin * counts.classes + label] += self.weights[row as usize];
            counts.rows[bin] += 1;
            seen[bin / 64] |= 1 << (bin % 64);
        }
        let mut order: Vec<u8> = (0..=255).filter(|&bin: &u8| seen[bin as usize / 64] >> (bin % 64) & 1 == 1).collect();
        let category = self.binned.categories[column as usize];
        if category {
            // Sorted by how often they have the node's most frequent class: with two classes no other order can do better.
            let top = (1..shares.len()).fold(0, |top, class| if shares[class] > shares[top] { class } else { top });
            let share = |bin: u8| counts.bin(bin)[top] / counts.bin(bin).iter().sum::<f64>();
            order.sort_by(|&a, &b| share(a).total_cmp(&share(b)).then(a.cmp(&b)));
        }
        let cut = self.best_place(&order, rows.len(), shares, counts);
        let cut = cut.map(|(purity, place, left_rows)| {
            let (left, right) = order.split_at(place + 1);
            let rule = match category {
                true => Rule::OneOf(left.iter().fold([0; 4], |mut set, &bin| {
                    set[bin as usize / 64] |= 1 << (bin % 64);
                    set
                })),
                // Half-way between the two bins.
                false => Rule::AtMost(left[place] + (right[0] - left[place]) / 2),
            };
            let missing_left = match seen[0] & 1 == 1 {
                true => left.contains(&0),
                false => 2 * left_rows >= rows.len(),
            };
            Cut { purity, column, rule, missing_left }
        });
        for &bin in &order {
            counts.weights[bin as usize * counts.classes..][..counts.classes].fill(0.0);
            counts.rows[bin as usize] = 0;
        }
        cut
    }

    /// (purity, the last of `order` that goes left, rows that go left) of the best cut of bins in this order.
    fn best_place(&self, order: &[u8], rows: usize, shares: &[f64], counts: &Counts) -> Option<(f64, usize, usize)> {
        let mut best: Option<(f64, usize, usize)> = None;
        let mut left = vec![0.0; shares.len()];
        let mut left_rows = 0;
        for (place, &bin) in order.iter().enumerate().take(order.len().saturating_sub(1)) {
            left.iter_mut().zip(counts.bin(bin)).for_each(|(left, weight)| *left += weight);
            left_rows += counts.rows[bin as usize] as usize;
            if left_rows < self.least_rows || rows - left_rows < self.least_rows {
                continue;
            }
            let (mut own, mut own_squares, mut other, mut other_squares) = (0.0, 0.0, 0.0, 0.0);
            for (left, share) in left.iter().zip(shares) {
                let right = share - left;
                (own, own_squares) = (own + left, own_squares + left * left);
                (other, other_squares) = (other + right, other_squares + right * right);
            }
            let purity = own_squares / own + other_squares / other;
            if best.is_none_or(|(most, ..)| purity > most) {
                best = Some((purity, place, left_rows));
            }
        }
        best
    }
}
