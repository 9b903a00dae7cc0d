//! Made data and what the tests share.
#![allow(dead_code, reason = "each test file uses its own part")]

use tares_judges::{InputColumn, Matrix};

/// Rows around one centre per class, a class's rows not next to each other.
pub fn blobs(rows: usize, width: usize, classes: usize, seed: u64) -> (Matrix, Vec<u32>) {
    let mut draw = tares_core::stream(seed, "blobs");
    let centres: Vec<f64> = (0..classes * width).map(|_| 1.5 * draw.normal()).collect();
    let labels: Vec<u32> = (0..rows).map(|_| draw.below(classes) as u32).collect();
    let mut values = Vec::new();
    for &label in &labels {
        values.extend((0..width).map(|column| (centres[label as usize * width + column] + draw.normal()) as f32));
    }
    (Matrix::from_rows(&values, width).unwrap(), labels)
}

/// Numbers with gaps and categories; the class depends on both and on chance.
pub fn mixed(rows: usize, classes: usize, seed: u64) -> (Matrix, Vec<u32>) {
    let mut draw = tares_core::stream(seed, "mixed");
    let (mut first, mut second, mut codes, mut labels) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rows {
        let (a, b, code) = (draw.normal(), draw.normal(), draw.below(12) as u32);
        let score = a * f64::from(code % 3) + b * b + 0.5 * draw.normal();
        labels.push((score.abs() * 1.3) as u32 % classes as u32);
        first.push(if draw.chance(0.1) { f32::NAN } else { a as f32 });
        second.push((b * 8.0).round() as f32);
        codes.push(code);
    }
    let columns =
        vec![InputColumn::Numbers(first), InputColumn::Categories { codes, levels: 12 }, InputColumn::Numbers(second)];
    (Matrix::new(columns).unwrap(), labels)
}

/// Mean of −ln p(given).
pub fn log_loss(log_probs: &[f64], labels: &[u32], classes: usize) -> f64 {
    let rows = log_probs.chunks(classes).zip(labels);
    -rows.map(|(row, &label)| row[label as usize]).sum::<f64>() / labels.len() as f64
}

/// The part of rows whose largest value stands at their label.
pub fn accuracy(values: &[f64], labels: &[u32], classes: usize) -> f64 {
    let right = |(row, label): (&[f64], &u32)| row.iter().all(|value| *value <= row[*label as usize]);
    values.chunks(classes).zip(labels).filter(|pair| right(*pair)).count() as f64 / labels.len() as f64
}

/// The same work on one, two and five threads.
pub fn everyone<T: Send>(work: impl Fn() -> T + Sync) -> Vec<T> {
    let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(&work);
    [1, 2, 5].map(on).into()
}
