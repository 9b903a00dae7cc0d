//! Easy and hard rows: [`Levels`].
//!
//! Nobody is told which rows are hard. People who disagree about a row speak for it, and so does a classifier that is unsure: rows are
//! put into bins by how sure it is, and every bin has its own share of hard rows. On hard rows everybody has a matrix of their own
//! there, so that votes which split are worth less than the same votes on easy rows.
//!
//! Two levels can also explain answers without being levels of difficulty, as two kinds of rows within a class. That is not what they are
//! for, and the consensus suffers: so people must be right more often on easy rows whatever the class ([`easier_throughout`]).
//!
//! Where some rows are hard, people make the same mistakes there, also beyond what two levels can tell. Their answers are then no
//! independent witnesses, and each counts as a part of one ([`Levels::with_shared_mistakes`]): its probability is raised to that power.

use crate::estimate::row::largest;

/// Bins of equally many rows.
const BINS: usize = 4;
/// Pseudo-count of rows at every level of a bin.
const LEVEL_PRIOR: f64 = 2.0;

/// What an answer counts where people make the same mistakes. Chosen on development crowds (`results/annotators`).
const SHARED_MISTAKES: f64 = 0.7;

/// The level of difficulty of every row, as far as it is known.
pub(super) struct Levels {
    count: usize,
    /// The bin of every row; empty if there is one bin.
    bins: Vec<u8>,
    /// The share of each level, `[bin][level]`.
    shares: Vec<f64>,
    /// What an answer counts: 1 if all are independent.
    answer_weight: f64,
}

/// Where the bins end: how sure the classifier is of its guess.
pub(super) struct Edges([f64; BINS - 1]);

impl Edges {
    /// Quartiles.
    pub(super) fn of(values: &[f64], classes: usize) -> Self {
        let mut surest: Vec<f64> = values.chunks_exact(classes).map(|row| largest(row).1).collect();
        surest.sort_unstable_by(f64::total_cmp);
        let mut edges = [0.0; BINS - 1];
        edges.iter_mut().enumerate().for_each(|(at, edge)| *edge = surest[(at + 1) * surest.len() / BINS]);
        Self(edges)
    }

    fn bin(&self, row: &[f64]) -> u8 {
        let sure = largest(row).1;
        self.0.iter().filter(|&&edge| edge <= sure).count() as u8
    }
}

impl Levels {
    /// All rows are alike.
    pub(super) fn single() -> Self {
        Self { count: 1, bins: Vec::new(), shares: vec![1.0], answer_weight: 1.0 }
    }

    /// Easy and hard rows, in equal shares.
    pub(super) fn two(values: &[f64], classes: usize, edges: &Edges) -> Self {
        let bins = values.chunks_exact(classes).map(|row| edges.bin(row)).collect();
        Self { count: 2, bins, shares: vec![0.5; 2 * BINS], answer_weight: 1.0 }
    }

    /// The same shares for other rows.
    pub(super) fn for_rows(&self, values: &[f64], classes: usize, edges: &Edges) -> Self {
        let answer_weight = self.answer_weight;
        Self { shares: self.shares.clone(), answer_weight, ..Self::two(values, classes, edges) }
    }

    /// The same levels, with answers that count as a part of an independent one.
    pub(super) fn with_shared_mistakes(self) -> Self {
        Self { answer_weight: SHARED_MISTAKES, ..self }
    }

    /// What an answer counts: 1 if all are independent.
    pub(super) fn answer_weight(&self) -> f64 {
        self.answer_weight
    }

    /// The number of levels.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The number of bins.
    pub(super) fn bins(&self) -> usize {
        self.shares.len() / self.count
    }

    /// The bin of a row.
    pub(super) fn bin(&self, row: usize) -> usize {
        self.bins.get(row).map_or(0, |&bin| bin.into())
    }

    /// The share of each level among rows like this one.
    pub(super) fn of_row(&self, row: usize) -> &[f64] {
        &self.shares[self.bin(row) * self.count..][..self.count]
    }

    /// M-step, from the expected rows `[bin][level]`: the log density of the prior, up to a constant.
    pub(super) fn fit(&mut self, rows: &[f64]) -> f64 {
        if self.count == 1 {
            return 0.0;
        }
        for (shares, rows) in self.shares.chunks_exact_mut(self.count).zip(rows.chunks_exact(self.count)) {
            let all = rows.iter().sum::<f64>() + LEVEL_PRIOR * rows.len() as f64;
            shares.iter_mut().zip(rows).for_each(|(share, rows)| *share = (rows + LEVEL_PRIOR) / all);
        }
        self.shares.iter().map(|share| LEVEL_PRIOR * share.ln()).sum()
    }
}

/// Whether people are right at least as often on easy rows as on hard ones, whatever the class. `shared` are the matrices of all together,
/// `[level][true][answered]`.
pub(super) fn easier_throughout(shared: &[f64], classes: usize) -> bool {
    let (easy, hard) = shared.split_at(classes * classes);
    (0..classes).map(|class| class * (classes + 1)).all(|at| easy[at] >= hard[at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_difficulty_are_easier_for_every_class() {
        let easy = [0.9, 0.1, 0.2, 0.8];
        assert!(easier_throughout(&[easy, [0.7, 0.3, 0.4, 0.6]].concat(), 2));
        // The second class is recognised better on "hard" rows: these are two kinds of rows.
        assert!(!easier_throughout(&[easy, [0.7, 0.3, 0.1, 0.9]].concat(), 2));
    }
}
