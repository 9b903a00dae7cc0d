//! One tree: questions about bins, and values at its leaves.

use super::bins::{Binned, Binner};
use crate::error::{Result, stored};
use serde::{Deserialize, Serialize};

/// Which bins go left; bin 0 (missing) is asked about separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    /// Numbers: bins up to this one.
    AtMost(u8),
    /// Categories: the bins whose bit is set, 64 per word.
    OneOf([u64; 4]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Node {
    /// A question; both children come later in the list.
    Branch { column: u32, rule: Rule, missing_left: bool, left: u32, right: u32 },
    /// Position of the leaf's M values among the tree's.
    Leaf { first: u32 },
}

/// Nodes, the root first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) values: Vec<f64>,
}

/// The side a bin goes to.
pub(crate) fn goes_left(rule: Rule, missing_left: bool, bin: u8) -> bool {
    match rule {
        _ if bin == 0 => missing_left,
        Rule::AtMost(last) => bin <= last,
        Rule::OneOf(chosen) => chosen[bin as usize / 64] >> (bin % 64) & 1 == 1,
    }
}

impl Tree {
    /// The first of the M values of the leaf that `row` falls into.
    pub(crate) fn leaf(&self, binned: &Binned, row: usize) -> usize {
        let mut node = 0;
        loop {
            match self.nodes[node] {
                Node::Leaf { first } => return first as usize,
                Node::Branch { column, rule, missing_left, left, right } => {
                    let bin = binned.columns[column as usize][row];
                    node = if goes_left(rule, missing_left, bin) { left } else { right } as usize;
                }
            }
        }
    }

    /// Checks a tree that was read: every walk ends at a leaf with M finite values.
    pub(crate) fn check(&self, binner: &Binner, outputs: usize) -> Result<()> {
        stored(!self.nodes.is_empty(), "a tree must have a node")?;
        stored(self.values.iter().all(|value| value.is_finite()), "values of a tree must be finite")?;
        for (place, node) in self.nodes.iter().enumerate() {
            match *node {
                Node::Leaf { first } => {
                    let end = (first as usize).checked_add(outputs);
                    stored(end.is_some_and(|end| end <= self.values.len()), "a leaf must have values")?;
                }
                Node::Branch { column, rule, left, right, .. } => {
                    let below = |child: u32| child as usize > place && (child as usize) < self.nodes.len();
                    stored(below(left) && below(right), "children of a node must stand below it")?;
                    stored((column as usize) < binner.columns(), "a node must ask about a column that is there")?;
                    let category = binner.is_category(column as usize);
                    stored(category == matches!(rule, Rule::OneOf(_)), "a question must fit its column")?;
                }
            }
        }
        Ok(())
    }
}
