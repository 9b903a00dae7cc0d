//! A second estimate of the noise rate, from a network's features.

use super::files::NeighbourSummary;
use crate::ui::failure::{Failure, Outcome};
use std::path::Path;
use tares_core::estimate::neighbours;
use tares_core::{Dataset, Label, Shape};
use tares_data::npy::Stored;

/// Estimates the noise rate from the labels of each row's nearest neighbours.
///
/// # Errors
/// The file is not an array of numbers with one row per label.
pub fn from_features(path: &Path, labels: &[Label], classes: usize) -> Outcome<NeighbourSummary> {
    let stored = Stored::open(path)?;
    let fail = |problem: String| Failure::new(format!("{}: {problem}", path.display()));
    if stored.header().shape.len() != 2 || !stored.header().kind.is_number() || stored.columns() == 0 {
        let shape = stored.header().shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        return Err(fail(format!("features must be numbers, rows x features, got an array of {shape}")));
    }
    if stored.rows() != labels.len() {
        return Err(fail(format!(
            "features must have a row for each of the {} labels, got {}",
            labels.len(),
            stored.rows()
        )));
    }
    // Read only the rows that are compared: the file may be larger than memory.
    let chosen: Vec<usize> = (0..stored.rows()).step_by(stored.rows().div_ceil(neighbours::MOST_ROWS).max(1)).collect();
    let mut values = vec![0f32; chosen.len() * stored.columns()];
    for (row, &index) in values.chunks_exact_mut(stored.columns()).zip(&chosen) {
        stored.read_rows(index, row)?;
    }
    let given = chosen.iter().map(|&index| labels[index]).collect::<Vec<Label>>();
    let names: Vec<String> = (0..classes).map(|class| class.to_string()).collect();
    let data = Dataset::new(values, Shape::Flat(stored.columns()), given, names)
        .map_err(|error| Failure::from(error).within(path.display()))?;
    let found = neighbours::from_features(&data)?;
    Ok(NeighbourSummary { rows: chosen.len(), noise_rate: found.rate, noise_rate_interval: found.interval })
}
