//! Mean and variance of columns of numbers over some rows.

use rayon::prelude::*;

/// Columns that one thread sums at a time. A sum waits for its last addition, so several sums take no longer than one.
const TOGETHER: usize = 4;

/// What the values of a column are like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    /// The first value, if there is one.
    pub first: Option<f64>,
    /// The mean of the values.
    pub mean: f64,
    /// The mean square of their distance from the mean.
    pub variance: f64,
    /// Whether a row has no value.
    pub missing: bool,
}

/// The moments of every column over `rows`, on all cores. Values are added in the order of `rows`, whatever the number of
/// columns and cores.
pub(super) fn moments(columns: &[&[f64]], rows: &[usize]) -> Vec<Moments> {
    let groups = columns.par_chunks(TOGETHER).map(|some| {
        // The last group may have fewer columns: the first of them fills it up.
        let columns = std::array::from_fn(|place| *some.get(place).unwrap_or(&some[0]));
        let moments = match all_in_order(columns, rows) {
            true => group(columns.map(|column| &column[..rows.len()]), 0..rows.len()),
            false => group(columns, rows.iter().copied()),
        };
        moments[..some.len()].to_vec()
    });
    groups.flatten_iter().collect()
}

/// Whether the rows are the first, the second and so on: then columns are read without looking up where.
fn all_in_order(columns: [&[f64]; TOGETHER], rows: &[usize]) -> bool {
    columns.iter().all(|column| column.len() >= rows.len()) && rows.iter().enumerate().all(|(at, &row)| at == row)
}

fn group(columns: [&[f64]; TOGETHER], rows: impl Iterator<Item = usize> + Clone) -> [Moments; TOGETHER] {
    // Adding -0 changes no sum.
    const NOTHING: f64 = -0.0;
    let (mut sums, mut counts, mut count) = ([NOTHING; TOGETHER], [0usize; TOGETHER], 0);
    for row in rows.clone() {
        count += 1;
        for lane in 0..TOGETHER {
            let number = columns[lane][row];
            sums[lane] += if number.is_nan() { NOTHING } else { number };
            counts[lane] += usize::from(!number.is_nan());
        }
    }
    let means: [f64; TOGETHER] = std::array::from_fn(|lane| sums[lane] / counts[lane].max(1) as f64);
    let mut squares = [NOTHING; TOGETHER];
    for row in rows.clone() {
        for lane in 0..TOGETHER {
            let number = columns[lane][row];
            let distance = number - means[lane];
            squares[lane] += if number.is_nan() { NOTHING } else { distance * distance };
        }
    }
    std::array::from_fn(|lane| Moments {
        first: rows.clone().map(|row| columns[lane][row]).find(|number| !number.is_nan()),
        mean: means[lane],
        variance: squares[lane] / counts[lane].max(1) as f64,
        missing: counts[lane] < count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bits_as_one_sum_after_the_other() {
        let mut stream = tares_core::stream(1, "moments");
        let mut column = |missing: usize| -> Vec<f64> {
            let number = |_| if stream.below(100) < missing { f64::NAN } else { stream.unit() * 1e3 - 300.0 };
            (0..997).map(number).collect()
        };
        let columns: Vec<Vec<f64>> = [0, 10, 0, 50, 100, 99].into_iter().map(&mut column).collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        for rows in
            [(0..997).collect(), (0..498).map(|row| 2 * row).rev().collect(), vec![], (0..20).collect::<Vec<_>>()]
        {
            for (column, got) in columns.iter().zip(moments(&columns, &rows)) {
                let present = || rows.iter().map(|&row| column[row]).filter(|number| !number.is_nan());
                let count = present().count().max(1) as f64;
                let mean = present().sum::<f64>() / count;
                let variance = present().map(|number| (number - mean).powi(2)).sum::<f64>() / count;
                let missing = rows.iter().any(|&row| column[row].is_nan());
                let bits = |moments: Moments| {
                    (moments.first, moments.mean.to_bits(), moments.variance.to_bits(), moments.missing)
                };
                assert_eq!(bits(got), bits(Moments { first: present().next(), mean, variance, missing }));
            }
        }
    }

    #[test]
    fn numbers_too_large_to_average_are_not_lost() {
        assert!(!moments(&[&[f64::MAX, f64::MAX]], &[0, 1])[0].variance.is_finite());
        assert!(!moments(&[&[1e200, -1e200]], &[0, 1])[0].variance.is_finite());
    }
}
