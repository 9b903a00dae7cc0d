//! The penalised log-loss of multinomial logistic regression, and its gradient.
//!
//! ```text
//! F(W, b) = Σ_i w_i (ln Σ_k exp t_ik − t_iy) / Σ_i w_i  +  λ/2 ‖W‖²,     t_ik = x_i · W_k + b_k
//! ```
//!
//! Parameters: `W` feature after feature, its M outputs side by side, then the M biases, which are not penalised. M = K; with
//! two classes M = 1, and the logits are (0, t).

use super::encode::Design;
use crate::softmax::log_sum_exp;
use rayon::prelude::*;
use tares_core::Label;

/// Rows whose logits are held in the cache at once.
const BLOCK: usize = 256;
/// Partial sums of the dense gradient at most; a constant, so that bits don't depend on the number of threads.
const PARTS: usize = 32;

pub(crate) struct Objective<'a> {
    design: &'a Design,
    labels: &'a [Label],
    weights: Vec<f64>,
    outputs: usize,
    transposed: &'a Transposed,
    residuals: Vec<f64>,
}

/// The sparse entries column by column: the gradient of a column is added up in the order of its rows, by one thread.
pub(crate) struct Transposed {
    starts: Vec<usize>,
    rows: Vec<u32>,
    values: Vec<f32>,
}

impl<'a> Objective<'a> {
    /// `labels` are 0..K; `weights` any positive numbers, scaled here to sum 1. `transposed` is that of `design`.
    pub(crate) fn new(
        design: &'a Design,
        transposed: &'a Transposed,
        labels: &'a [Label],
        classes: usize,
        weight: impl Fn(usize) -> f64,
    ) -> Self {
        let total: f64 = (0..labels.len()).map(&weight).sum();
        let outputs = outputs(classes);
        Self {
            design,
            labels,
            weights: (0..labels.len()).map(|row| weight(row) / total).collect(),
            outputs,
            transposed,
            residuals: vec![0.0; labels.len() * outputs],
        }
    }

    /// F at `parameters`; writes its gradient.
    pub(crate) fn value(&mut self, parameters: &[f64], penalty: f64, gradient: &mut [f64]) -> f64 {
        let outputs = self.outputs;
        let dense = self.design.dense.len() * outputs;
        let biases = parameters.len() - outputs;
        let part = self.design.rows.div_ceil(PARTS).next_multiple_of(BLOCK);
        let (design, labels, weights) = (self.design, self.labels, &self.weights);
        let parts: Vec<(f64, Vec<f64>)> = self
            .residuals
            .par_chunks_mut(part * outputs)
            .enumerate()
            .map(|(number, residuals)| {
                let mut slopes = vec![0.0; dense + outputs];
                let mut loss = 0.0;
                for (block, residuals) in residuals.chunks_mut(BLOCK * outputs).enumerate() {
                    let first = number * part + block * BLOCK;
                    logits(design, parameters, outputs, first, residuals);
                    for (row, row_values) in residuals.chunks_exact_mut(outputs).enumerate() {
                        loss += to_residuals(row_values, labels[first + row] as usize, weights[first + row]);
                    }
                    dense_gradient(design, outputs, first, residuals, &mut slopes);
                }
                (loss, slopes)
            })
            .collect();
        gradient.fill(0.0);
        let mut loss = 0.0;
        for (part_loss, slopes) in parts {
            loss += part_loss;
            let (of_dense, of_biases) = slopes.split_at(dense);
            gradient[..dense].iter_mut().zip(of_dense).for_each(|(to, from)| *to += from);
            gradient[biases..].iter_mut().zip(of_biases).for_each(|(to, from)| *to += from);
        }
        self.transposed.gradient(&self.residuals, outputs, &mut gradient[dense..biases]);
        for (slope, weight) in gradient[..biases].iter_mut().zip(parameters) {
            *slope += penalty * weight;
            loss += 0.5 * penalty * weight * weight;
        }
        loss
    }
}

/// M for K classes.
pub(crate) fn outputs(classes: usize) -> usize {
    if classes == 2 { 1 } else { classes }
}

/// The logits of rows `first..` into `out`, M per row.
pub(crate) fn logits(design: &Design, parameters: &[f64], outputs: usize, first: usize, out: &mut [f64]) {
    let rows = out.len() / outputs;
    let (dense, rest) = parameters.split_at(design.dense.len() * outputs);
    let (sparse, biases) = rest.split_at(rest.len() - outputs);
    out.chunks_exact_mut(outputs).for_each(|row| row.copy_from_slice(biases));
    for (column, weights) in design.dense.iter().zip(dense.chunks_exact(outputs)) {
        let column = &column[first..first + rows];
        match weights {
            [weight] => out.iter_mut().zip(column).for_each(|(logit, &x)| *logit += weight * f64::from(x)),
            _ => {
                for (row, &x) in out.chunks_exact_mut(outputs).zip(column) {
                    row.iter_mut().zip(weights).for_each(|(logit, weight)| *logit += weight * f64::from(x));
                }
            }
        }
    }
    if design.sparse.entries() > 0 {
        for (row, logits) in out.chunks_exact_mut(outputs).enumerate() {
            let (columns, values) = design.sparse.row(first + row);
            add_products(logits, sparse, columns, values);
        }
    }
}

/// Logits of a row become w (p − 1(k = y)); returns the row's part of the loss.
fn to_residuals(row: &mut [f64], label: usize, weight: f64) -> f64 {
    if let [logit] = row {
        // Two classes with logits (0, t): the loss is ln(1 + e^{−u}) with u = ±t.
        let margin = if label == 1 { *logit } else { -*logit };
        let loss = if margin > 0.0 { (-margin).exp().ln_1p() } else { margin.exp().ln_1p() - margin };
        let wrong = 1.0 / (1.0 + margin.exp());
        *logit = if label == 1 { -weight * wrong } else { weight * wrong };
        return weight * loss;
    }
    let total = log_sum_exp(row);
    let loss = total - row[label];
    row.iter_mut().for_each(|logit| *logit = weight * (*logit - total).exp());
    row[label] -= weight;
    weight * loss
}

fn dense_gradient(design: &Design, outputs: usize, first: usize, residuals: &[f64], slopes: &mut [f64]) {
    let rows = residuals.len() / outputs;
    for (column, slopes) in design.dense.iter().zip(slopes.chunks_exact_mut(outputs)) {
        let column = &column[first..first + rows];
        match slopes {
            [slope] => *slope += dot(column, residuals),
            _ => {
                for (residuals, &x) in residuals.chunks_exact(outputs).zip(column) {
                    slopes.iter_mut().zip(residuals).for_each(|(slope, residual)| *slope += residual * f64::from(x));
                }
            }
        }
    }
    let biases = slopes.len() - outputs;
    for residuals in residuals.chunks_exact(outputs) {
        slopes[biases..].iter_mut().zip(residuals).for_each(|(slope, residual)| *slope += residual);
    }
}

/// Eight sums side by side, so that the loop is compiled to vector instructions.
fn dot(column: &[f32], residuals: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (wide_column, rest_column) = column.as_chunks::<8>();
    let (wide_residuals, rest_residuals) = residuals.as_chunks::<8>();
    for (x, residual) in wide_column.iter().zip(wide_residuals) {
        for lane in 0..8 {
            sums[lane] += f64::from(x[lane]) * residual[lane];
        }
    }
    let rest: f64 = rest_column.iter().zip(rest_residuals).map(|(&x, residual)| f64::from(x) * residual).sum();
    sums.iter().sum::<f64>() + rest
}

/// Adds Σ value · (row `place` of `rows`): the sparse product behind both logits and gradients. `sums` and each of the
/// rows have M entries.
fn add_products(sums: &mut [f64], rows: &[f64], places: &[u32], values: &[f32]) {
    // If the compiler knows how many sums there are, they stay in registers.
    match sums.len() {
        1 => add_fixed::<1>(sums, rows, places, values),
        3 => add_fixed::<3>(sums, rows, places, values),
        4 => add_fixed::<4>(sums, rows, places, values),
        5 => add_fixed::<5>(sums, rows, places, values),
        6 => add_fixed::<6>(sums, rows, places, values),
        outputs => {
            for (&place, &value) in places.iter().zip(values) {
                let row = &rows[place as usize * outputs..][..outputs];
                sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += number * f64::from(value));
            }
        }
    }
}

fn add_fixed<const M: usize>(sums: &mut [f64], rows: &[f64], places: &[u32], values: &[f32]) {
    let rows = rows.as_chunks::<M>().0;
    let mut kept = [0.0; M];
    for (&place, &value) in places.iter().zip(values) {
        let row = &rows[place as usize];
        for output in 0..M {
            kept[output] += row[output] * f64::from(value);
        }
    }
    sums.iter_mut().zip(kept).for_each(|(sum, kept)| *sum += kept);
}

impl Transposed {
    pub(crate) fn of(design: &Design) -> Self {
        let sparse = &design.sparse;
        let mut starts = vec![0; sparse.width() + 1];
        for row in 0..sparse.rows() {
            sparse.row(row).0.iter().for_each(|&column| starts[column as usize + 1] += 1);
        }
        for column in 0..sparse.width() {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let (mut rows, mut values) = (vec![0; sparse.entries()], vec![0.0; sparse.entries()]);
        for row in 0..sparse.rows() {
            let (columns, of_row) = sparse.row(row);
            for (&column, &value) in columns.iter().zip(of_row) {
                let place = &mut next[column as usize];
                (rows[*place], values[*place]) = (row as u32, value);
                *place += 1;
            }
        }
        Self { starts, rows, values }
    }

    fn gradient(&self, residuals: &[f64], outputs: usize, slopes: &mut [f64]) {
        if self.rows.is_empty() {
            return;
        }
        slopes.par_chunks_mut(outputs).with_min_len(512).enumerate().for_each(|(column, slopes)| {
            let range = self.starts[column]..self.starts[column + 1];
            add_products(slopes, residuals, &self.rows[range.clone()], &self.values[range]);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labelled::Labelled;
    use crate::linear::encode::Encoder;
    use crate::matrix::{InputColumn, Matrix};
    use crate::text::TextOptions;
    use crate::text::counts::TextCounts;
    use tares_core::stream;

    #[test]
    fn gradient_equals_finite_differences() {
        for (seed, classes) in [(1, 2), (2, 3), (3, 5)] {
            let mut draw = stream(seed, "test");
            let rows = 300;
            let numbers = |draw: &mut tares_core::Stream| (0..rows).map(|_| draw.normal() as f32).collect();
            let columns = vec![
                InputColumn::Numbers(numbers(&mut draw)),
                InputColumn::Categories { codes: (0..rows).map(|_| draw.below(4) as u32).collect(), levels: 4 },
                InputColumn::Numbers(numbers(&mut draw)),
            ];
            let words: Vec<&str> = (0..rows).map(|_| ["ox", "cow ox", "hen", ""][draw.below(4)]).collect();
            let text = TextCounts::of(&words, TextOptions::default()).unwrap();
            let inputs = Matrix::mixed(columns, vec![text]).unwrap();
            let labels: Vec<Label> = (0..rows).map(|_| draw.below(classes) as Label).collect();
            let weights: Vec<f64> = (0..rows).map(|_| 0.5 + draw.unit()).collect();
            let encoder = Encoder::fit(&Labelled::new(&inputs, &labels, classes)).unwrap();
            let design = encoder.encode(&inputs).unwrap();
            let transposed = Transposed::of(&design);
            let mut objective = Objective::new(&design, &transposed, &labels, classes, |row| weights[row]);
            let parameters: Vec<f64> = (0..(encoder.width() + 1) * outputs(classes)).map(|_| draw.normal()).collect();
            let mut gradient = vec![0.0; parameters.len()];
            objective.value(&parameters, 0.3, &mut gradient);
            let mut ignored = gradient.clone();
            for place in 0..parameters.len() {
                let mut at = |step: f64| {
                    let mut moved = parameters.clone();
                    moved[place] += step;
                    objective.value(&moved, 0.3, &mut ignored)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!(
                    (slope - gradient[place]).abs() < 1e-8,
                    "seed {seed}, {place}: {slope} and {}",
                    gradient[place]
                );
            }
        }
    }
}
