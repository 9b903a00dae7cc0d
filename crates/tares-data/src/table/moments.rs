//! Mean and variance of columns of numbers over some rows.

use rayon::prelude::*;

/// The most columns that one thread sums at a time. A sum waits for its last addition, so several sums take little longer than one.
const TOGETHER: usize = 8;

/// Rows that are looked through for missing values before they are added: they then lie in the nearest cache.
const TILE: usize = 128;

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
    // As many groups as all cores finish together.
    let groups = columns.len().div_ceil(TOGETHER).max(1).next_multiple_of(rayon::current_num_threads());
    let groups = columns.par_chunks(columns.len().div_ceil(groups).max(1)).with_max_len(1);
    let moments = groups.map(|columns| match *columns {
        [a, b, c, d, e, f, g, h] => group([a, b, c, d, e, f, g, h], rows).to_vec(),
        [a, b, c, d, e, f, g] => group([a, b, c, d, e, f, g], rows).to_vec(),
        [a, b, c, d, e, f] => group([a, b, c, d, e, f], rows).to_vec(),
        [a, b, c, d, e] => group([a, b, c, d, e], rows).to_vec(),
        [a, b, c, d] => group([a, b, c, d], rows).to_vec(),
        [a, b, c] => group([a, b, c], rows).to_vec(),
        [a, b] => group([a, b], rows).to_vec(),
        _ => columns.iter().flat_map(|&column| group([column], rows)).collect(),
    });
    moments.flatten_iter().collect()
}

fn group<const N: usize>(columns: [&[f64]; N], rows: &[usize]) -> [Moments; N] {
    let (mut sums, mut missing) = ([NOTHING; N], [0; N]);
    each_tile(columns, rows, |tile, count| {
        let absent: [usize; N] = std::array::from_fn(|lane| absent(&tile[lane][..count]));
        if absent == [0; N] && count == TILE {
            (0..TILE).for_each(|row| (0..N).for_each(|lane| sums[lane] += tile[lane][row]));
            return;
        }
        (0..N).for_each(|lane| missing[lane] += absent[lane]);
        (0..count).for_each(|row| (0..N).for_each(|lane| sums[lane] += if_there(tile[lane][row], tile[lane][row])));
    });
    let present = missing.map(|missing| rows.len() - missing);
    let means: [f64; N] = std::array::from_fn(|lane| sums[lane] / present[lane].max(1) as f64);
    let mut squares = [NOTHING; N];
    let complete = missing == [0; N];
    each_tile(columns, rows, |tile, count| {
        let square = |lane: usize, number: f64| (number - means[lane]) * (number - means[lane]);
        if complete && count == TILE {
            (0..TILE).for_each(|row| (0..N).for_each(|lane| squares[lane] += square(lane, tile[lane][row])));
            return;
        }
        let mut add = |lane: usize, number: f64| squares[lane] += if_there(number, square(lane, number));
        (0..count).for_each(|row| (0..N).for_each(|lane| add(lane, tile[lane][row])));
    });
    std::array::from_fn(|lane| Moments {
        first: rows.iter().map(|&row| columns[lane][row]).find(|number| !number.is_nan()),
        mean: means[lane],
        variance: squares[lane] / present[lane].max(1) as f64,
        missing: missing[lane] > 0,
    })
}

/// Adding -0 changes no sum.
const NOTHING: f64 = -0.0;

#[inline(always)]
fn if_there(number: f64, part: f64) -> f64 {
    if number.is_nan() { NOTHING } else { part }
}

/// How many numbers are not there; counted without a branch, several at a time.
fn absent(numbers: &[f64]) -> usize {
    numbers.iter().filter(|number| number.is_nan()).count()
}

/// Calls `add` with the numbers of the next rows, column by column, and how many of them count.
fn each_tile<const N: usize>(columns: [&[f64]; N], rows: &[usize], mut add: impl FnMut([&[f64; TILE]; N], usize)) {
    let mut copied = [[0.0; TILE]; N];
    // Of rows that follow each other the columns themselves are read, without looking up where.
    let (whole, rest) = rows.as_chunks::<TILE>();
    for (part, all) in whole.iter().map(|tile| (&tile[..], true)).chain([(rest, false)]) {
        let first = part.first().copied().unwrap_or(0);
        let follow = all && part.iter().enumerate().all(|(at, &row)| row == first + at);
        let there = columns.map(|column| column.get(first..).and_then(|rows| rows.first_chunk::<TILE>()));
        if follow && there.iter().all(Option::is_some) {
            add(std::array::from_fn(|lane| there[lane].unwrap_or(&copied[lane])), TILE);
        } else {
            for (copied, column) in copied.iter_mut().zip(columns) {
                copied.iter_mut().zip(part).for_each(|(copied, &row)| *copied = column[row]);
            }
            add(std::array::from_fn(|lane| &copied[lane]), part.len());
        }
    }
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
        let columns: Vec<Vec<f64>> = (0..23).map(|at| column([0, 10, 0, 0, 50, 100, 99, 0][at % 8])).collect();
        let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        assert!(moments(&[], &[0, 1]).is_empty());
        let tiles_and_holes = (40..600).chain(610..900).collect();
        for rows in [
            (0..997).collect(),
            (0..498).map(|row| 2 * row).rev().collect(),
            tiles_and_holes,
            vec![],
            (0..20).collect::<Vec<_>>(),
        ] {
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
