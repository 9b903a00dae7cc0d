//! One pass over the rows: the posterior of every row's state, and what it adds to the expected counts.
//!
//! ```text
//! P(level = d, true = z | row) ∝ P(d | row) · b_z(row) · Π_a T_a,d[z][answer of a]^w
//! ```
//!
//! An answer counts as w of an independent one, here and in the expected counts ([`Levels::answer_weight`]).
//!
//! Rows are cut into blocks by the size of the data alone; blocks are summed in order. So the sums are the same bits on any number of
//! threads. Posteriors stay in the cache and are not kept, unless somebody asks for them.

use super::answers::Answers;
use super::belief::Belief;
use super::confusion::{Columns, Confusions};
use super::levels::Levels;
use rayon::prelude::*;

/// At most so many blocks, each with a table of counts of its own.
const MOST_BLOCKS: usize = 32;
/// Probabilities that are multiplied before a logarithm is taken: so few cannot underflow.
const FACTORS: usize = 16;
/// A product of rows' likelihoods below this is taken down as a logarithm.
const SMALL_PRODUCT: f64 = 1e-60;

/// What a pass adds up.
pub(super) struct Sums {
    /// Expected answers, `[column][level][true]`.
    pub(super) counts: Vec<f64>,
    /// Expected rows of each true class.
    pub(super) classes: Vec<f64>,
    /// Expected rows of each level, `[bin][level]`.
    pub(super) levels: Vec<f64>,
    /// The log likelihood of the answers.
    pub(super) likelihood: f64,
    /// The expected number of right answers of every annotator; empty unless it was asked for.
    pub(super) right: Vec<f64>,
}

/// What a pass needs.
#[derive(Clone, Copy)]
pub(super) struct Parts<'a> {
    pub(super) answers: &'a Answers,
    pub(super) columns: &'a Columns,
    pub(super) belief: &'a Belief,
    pub(super) levels: &'a Levels,
}

impl Parts<'_> {
    fn states(&self) -> usize {
        self.levels.count() * self.answers.classes()
    }

    /// E-step. The posterior of the true class goes to `posterior`, `[row][class]`, if it is given.
    pub(super) fn expect(&self, confusions: &Confusions, posterior: Option<&mut [f64]>) -> Sums {
        self.blocks(posterior, |row, states, logs, sums| {
            let (from, to) = self.answers.places(row);
            let columns = self.columns.of_answers(from, to);
            self.prior_of(row, states);
            sums.add_likelihood(self.multiply(columns, confusions, states, logs));
        })
    }

    /// The last E-step: also who is right.
    ///
    /// Where some rows are hard, people make the same mistakes there and every answer confirms itself: it is then judged by the other
    /// answers to the row and the classifier alone.
    pub(super) fn report(&self, confusions: &Confusions, posterior: &mut [f64]) -> Sums {
        let (classes, count) = (self.answers.classes(), self.states());
        let independent = self.levels.count() == 1;
        self.blocks(Some(posterior), |row, states, logs, sums| {
            let (from, to) = self.answers.places(row);
            let columns = self.columns.of_answers(from, to);
            self.prior_of(row, states);
            sums.add_likelihood(self.multiply(columns, confusions, states, logs));
            sums.right.resize(self.answers.annotators(), 0.0);
            for (answer, &column) in self.answers.of_row(row).iter().zip(columns) {
                let own = confusions.column(column, count);
                let (mut same, mut all) = (0.0, 0.0);
                for state in 0..count {
                    let others = if independent { states[state] } else { states[state] / own[state] };
                    all += others;
                    same += if state % classes == answer.label as usize { others } else { 0.0 };
                }
                sums.right[answer.annotator] += same / all;
            }
        })
    }

    /// The sums of states that `of_row` gives, before anything is fitted.
    pub(super) fn start(&self, of_row: impl Fn(usize, &mut [f64]) + Sync, posterior: Option<&mut [f64]>) -> Sums {
        self.blocks(posterior, |row, states, _, _| {
            of_row(row, states);
            let sum: f64 = states.iter().sum();
            states.iter_mut().for_each(|part| *part /= sum);
        })
    }

    /// P(level) · b.
    fn prior_of(&self, row: usize, states: &mut [f64]) {
        let classes = self.answers.classes();
        let belief = self.belief.of_row(row, classes);
        for (states, share) in states.chunks_exact_mut(classes).zip(self.levels.of_row(row)) {
            states.iter_mut().zip(belief).for_each(|(state, belief)| *state = share * belief);
        }
    }

    /// Multiplies with the answers' columns and normalises; returns the likelihood as a factor and a logarithm.
    fn multiply(&self, columns: &[u32], confusions: &Confusions, states: &mut [f64], logs: &mut [f64]) -> (f64, f64) {
        let count = states.len();
        let mut most = 0.0;
        if columns.len() <= FACTORS {
            for &column in columns {
                let column = confusions.column(column, count);
                states.iter_mut().zip(column).for_each(|(state, part)| *state *= part);
            }
        } else {
            logs.fill(0.0);
            for few in columns.chunks(FACTORS) {
                for &column in few {
                    let column = confusions.column(column, count);
                    states.iter_mut().zip(column).for_each(|(state, part)| *state *= part);
                }
                logs.iter_mut().zip(states.iter()).for_each(|(log, state)| *log += state.ln());
                states.fill(1.0);
            }
            most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            states.iter_mut().zip(logs.iter()).for_each(|(state, log)| *state = (log - most).exp());
        }
        let sum: f64 = states.iter().sum();
        let factor = 1.0 / sum;
        states.iter_mut().for_each(|state| *state *= factor);
        (sum, most)
    }

    fn blocks(
        &self,
        posterior: Option<&mut [f64]>,
        each: impl Fn(usize, &mut [f64], &mut [f64], &mut BlockSums) + Sync,
    ) -> Sums {
        let (answers, classes, states) = (self.answers, self.answers.classes(), self.states());
        let (size, weight) = (self.columns.len() * states, self.levels.answer_weight());
        let blocks = (answers.all().len() / (4 * self.columns.len())).clamp(1, MOST_BLOCKS);
        let rows = answers.rows().div_ceil(blocks);
        let parts: Vec<Option<&mut [f64]>> = match posterior {
            Some(posterior) => posterior.chunks_mut(rows * classes).map(Some).collect(),
            None => (0..answers.rows().div_ceil(rows)).map(|_| None).collect(),
        };
        let sums: Vec<BlockSums> = parts
            .into_par_iter()
            .enumerate()
            .map(|(block, mut posterior)| {
                let mut sums = BlockSums::new(size, classes, self.levels.bins() * self.levels.count());
                let (mut state, mut logs) = (vec![0.0; states], vec![0.0; states]);
                for row in block * rows..((block + 1) * rows).min(answers.rows()) {
                    each(row, &mut state, &mut logs, &mut sums);
                    let (from, to) = answers.places(row);
                    for &column in self.columns.of_answers(from, to) {
                        let counts = &mut sums.counts[column as usize * states..][..states];
                        counts.iter_mut().zip(&state).for_each(|(count, part)| *count += weight * part);
                    }
                    let bin = self.levels.bin(row) * self.levels.count();
                    for (level, state) in state.chunks_exact(classes).enumerate() {
                        sums.classes.iter_mut().zip(state).for_each(|(sum, part)| *sum += part);
                        sums.levels[bin + level] += state.iter().sum::<f64>();
                    }
                    if let Some(posterior) = &mut posterior {
                        let out = &mut posterior[(row - block * rows) * classes..][..classes];
                        out.fill(0.0);
                        for state in state.chunks_exact(classes) {
                            out.iter_mut().zip(state).for_each(|(out, part)| *out += part);
                        }
                    }
                }
                sums
            })
            .collect();
        merged(sums)
    }
}

/// The sums of a block of rows.
struct BlockSums {
    counts: Vec<f64>,
    classes: Vec<f64>,
    levels: Vec<f64>,
    right: Vec<f64>,
    likelihood: f64,
    /// The likelihood of the last rows, not yet in `likelihood`.
    product: f64,
}

impl BlockSums {
    fn new(counts: usize, classes: usize, levels: usize) -> Self {
        Self {
            counts: vec![0.0; counts],
            classes: vec![0.0; classes],
            levels: vec![0.0; levels],
            right: Vec::new(),
            likelihood: 0.0,
            product: 1.0,
        }
    }

    /// One logarithm for many rows.
    fn add_likelihood(&mut self, (factor, log): (f64, f64)) {
        if self.product < SMALL_PRODUCT || factor < SMALL_PRODUCT {
            self.likelihood += self.product.ln() + factor.ln();
            self.product = 1.0;
        } else {
            self.product *= factor;
        }
        self.likelihood += log;
    }
}

fn merged(blocks: Vec<BlockSums>) -> Sums {
    let mut blocks = blocks.into_iter();
    let mut sum = blocks.next().expect("at least one row");
    sum.likelihood += sum.product.ln();
    for block in blocks {
        let add = |sum: &mut [f64], part: &[f64]| sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
        add(&mut sum.counts, &block.counts);
        add(&mut sum.classes, &block.classes);
        add(&mut sum.levels, &block.levels);
        add(&mut sum.right, &block.right);
        sum.likelihood += block.likelihood + block.product.ln();
    }
    let BlockSums { counts, classes, levels, right, likelihood, .. } = sum;
    Sums { counts, classes, levels, likelihood, right }
}

/// The expected number of rows of each true class behind every column, `[column][true]`, of a posterior `[row][class]`.
pub(super) fn expected_counts(answers: &Answers, columns: &Columns, posterior: &[f64]) -> Vec<f64> {
    let (belief, levels) = (Belief::shares(answers.classes(), 1.0), Levels::single());
    let classes = answers.classes();
    let parts = Parts { answers, columns, belief: &belief, levels: &levels };
    parts.start(|row, states| states.copy_from_slice(&posterior[row * classes..][..classes]), None).counts
}
