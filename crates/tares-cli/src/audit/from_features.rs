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
    let chosen = chosen_rows(stored.rows());
    let mut values = vec![0f32; chosen.len() * stored.columns()];
    for (row, &index) in values.chunks_exact_mut(stored.columns()).zip(&chosen) {
        stored.read_rows(index, row)?;
    }
    let given = chosen.iter().map(|&index| labels[index]).collect::<Vec<Label>>();
    from_chosen(values, stored.columns(), given, classes).map_err(|failure| failure.within(path.display()))
}

/// The rows that are compared: all of them, or evenly spread ones if there are too many.
pub fn chosen_rows(rows: usize) -> Vec<usize> {
    (0..rows).step_by(rows.div_ceil(neighbours::MOST_ROWS).max(1)).collect()
}

/// The same from features in memory, `width` numbers for each of the given labels.
///
/// # Errors
/// Numbers that are not finite; labels outside the classes.
pub fn from_chosen(values: Vec<f32>, width: usize, given: Vec<Label>, classes: usize) -> Outcome<NeighbourSummary> {
    let names: Vec<String> = (0..classes).map(|class| class.to_string()).collect();
    let data = Dataset::new(values, Shape::Flat(width), given, names)?;
    let found = neighbours::from_features(&data)?;
    Ok(NeighbourSummary { rows: data.len(), noise_rate: found.rate, noise_rate_interval: found.interval })
}
