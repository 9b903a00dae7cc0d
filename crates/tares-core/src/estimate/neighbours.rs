//! The noise rate from features alone (the idea of HOC, Zhu, Song, Liu 2021). A row and its two nearest neighbours are assumed
//! to have the same true class, so their three labels are three draws from the same row of T:
//!
//! ```text
//! P(y₁, y₂, y₃) = Σ_z p_z T[z][y₁] T[z][y₂] T[z][y₃]
//! ```
//!
//! with p the class shares. Three draws identify p and T if T is dominated by its diagonal; both are fitted by expectation
//! maximisation. The features must place rows of one class next to each other, as a network's last layer does and raw pixels
//! of photographs do not. Where they fail to, neighbours of different classes are counted as noise.

use super::Estimate;
use crate::dataset::{Dataset, Label, Row, check_labels};
use crate::error::{Error, Result};
use crate::noise::Transition;
use rayon::prelude::*;

/// At most this many rows are searched: the time grows with their square.
pub const MOST_ROWS: usize = 8_000;

/// Estimates the noise of a data set from the labels of nearest neighbours (Euclidean, over the rows' own numbers).
///
/// Of a data set with more than [`MOST_ROWS`] rows, every n-th is used.
///
/// # Errors
/// Fewer than three rows.
pub fn from_features(data: &Dataset) -> Result<Estimate> {
    if data.len() < 3 {
        return Err(Error::value("rows to find neighbours in", "at least 3", data.len()));
    }
    let stride = data.len().div_ceil(MOST_ROWS);
    let rows: Vec<usize> = (0..data.len()).step_by(stride).collect();
    let features: Vec<Vec<f32>> = rows
        .iter()
        .map(|&index| match data.row(index) {
            Row::Bytes(values) => values.iter().map(|&v| f32::from(v)).collect(),
            Row::Floats(values) => values.to_vec(),
        })
        .collect();
    let given: Vec<Label> = rows.iter().map(|&index| data.given()[index]).collect();
    let triples: Vec<[Label; 3]> = (0..rows.len())
        .into_par_iter()
        .map(|i| {
            let [a, b] = two_nearest(&features, i);
            [given[i], given[a], given[b]]
        })
        .collect();
    let mut estimate = from_triples(&triples, data.classes())?;
    estimate.rows = data.len();
    Ok(estimate)
}

/// Estimates the noise from the labels of rows and of their two nearest neighbours.
///
/// # Errors
/// No triples; fewer than two classes; labels outside 0..K.
pub fn from_triples(triples: &[[Label; 3]], classes: usize) -> Result<Estimate> {
    if triples.is_empty() {
        return Err(Error::empty("labels of neighbours"));
    }
    if classes < 2 {
        return Err(Error::value("number of classes", "at least 2", classes));
    }
    check_labels("label of a neighbour", triples.as_flattened(), classes)?;
    // The order within a triple does not matter, and equal triples are counted once.
    let mut sorted: Vec<[Label; 3]> = triples.to_vec();
    sorted.iter_mut().for_each(|triple| triple.sort_unstable());
    sorted.sort_unstable();
    let cases: Vec<([usize; 3], f64)> =
        sorted.chunk_by(|a, b| a == b).map(|same| (same[0].map(|y| y as usize), same.len() as f64)).collect();

    let mut prior = vec![1.0 / classes as f64; classes];
    let mut matrix = Transition::symmetric(classes, 0.2)?.to_dense();
    for _ in 0..200 {
        let mut expected = vec![vec![0.01 / classes as f64; classes]; classes];
        let mut weight = vec![0.0; classes];
        for (labels, count) in &cases {
            let joint: Vec<f64> = (0..classes)
                .map(|truth| prior[truth] * labels.iter().map(|&label| matrix[truth][label]).product::<f64>())
                .collect();
            let total: f64 = joint.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            for (truth, p) in joint.iter().enumerate() {
                let share = p / total * count;
                weight[truth] += share;
                labels.iter().for_each(|&label| expected[truth][label] += share);
            }
        }
        let rows = triples.len() as f64;
        prior = weight.iter().map(|w| w / rows).collect();
        for (row, counts) in matrix.iter_mut().zip(expected) {
            let total: f64 = counts.iter().sum();
            *row = counts.into_iter().map(|count| count / total).collect();
        }
    }
    let transition = Transition::new(matrix)?;
    let rate = transition.rate(&prior)?;
    // Triples overlap, so the three labels of one carry about the information of one.
    Ok(Estimate::counted(rate, triples.len(), transition))
}

fn two_nearest(features: &[Vec<f32>], of: usize) -> [usize; 2] {
    let mut best = [(f32::INFINITY, usize::MAX); 2];
    for (other, values) in features.iter().enumerate() {
        if other == of {
            continue;
        }
        let distance: f32 = values.iter().zip(&features[of]).map(|(a, b)| (a - b) * (a - b)).sum();
        if distance < best[0].0 {
            best = [(distance, other), best[0]];
        } else if distance < best[1].0 {
            best[1] = (distance, other);
        }
    }
    // If all distances overflow there is no nearest row, so any other row is taken.
    let spare = |taken: usize| (0..features.len()).find(|&i| i != of && i != taken).unwrap_or(of);
    let first = if best[0].1 == usize::MAX { spare(of) } else { best[0].1 };
    let second = if best[1].1 == usize::MAX { spare(first) } else { best[1].1 };
    [first, second]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::Shape;
    use crate::stream::stream;

    #[test]
    fn recovers_the_matrix_the_labels_were_drawn_from() {
        let wanted = Transition::new(vec![vec![0.7, 0.2, 0.1], vec![0.0, 0.9, 0.1], vec![0.3, 0.1, 0.6]]).unwrap();
        let mut draws = stream(3, "test");
        let triples: Vec<[Label; 3]> =
            (0..30_000).map(|i| [0; 3].map(|_| draws.weighted(&wanted.to_dense()[i % 3]) as Label)).collect();
        let found = from_triples(&triples, 3).unwrap();
        for (a, b) in found.transition.to_dense().iter().flatten().zip(wanted.to_dense().iter().flatten()) {
            assert!((a - b).abs() < 0.03, "{:?}", found.transition);
        }
        assert!((found.rate - 0.8 / 3.0).abs() < 0.015, "{}", found.rate);
    }

    #[test]
    fn clusters_show_their_noise_rate() {
        let mut draws = stream(4, "test");
        let (mut values, mut given) = (Vec::new(), Vec::new());
        for _ in 0..1500 {
            let truth = draws.below(3);
            values.extend([5.0 * truth as f32 + draws.normal() as f32 * 0.5, draws.normal() as f32]);
            let flipped = (truth + 1 + draws.below(2)) % 3;
            given.push(if draws.chance(0.3) { flipped } else { truth } as Label);
        }
        let data = Dataset::new(values, Shape::Flat(2), given, ["a", "b", "c"]).unwrap();
        let found = from_features(&data).unwrap();
        assert!((found.rate - 0.3).abs() < 0.04, "{}", found.rate);
        assert!(found.interval.0 < found.rate && found.rate < found.interval.1);
    }

    #[test]
    fn bad_labels_are_refused() {
        assert!(from_triples(&[], 3).is_err());
        assert!(from_triples(&[[0, 1, 3]], 3).is_err());
    }
}
