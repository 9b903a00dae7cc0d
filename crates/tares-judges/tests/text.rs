//! TF-IDF against scikit-learn: golden values made by `golden.py`.

use tares_judges::{TextFeatures, TextOptions};

const TEXTS: [&str; 5] =
    ["The cat sat on the mat, the cat!", "A dog sat there", "Été à la mer; la mer", "cat & dog", ""];

/// Entries, their sum, the three least and the three largest of a row.
type Golden = (usize, f64, [f64; 3], [f64; 3]);

fn check(sublinear: bool, least_rows: u32, golden: &[Option<Golden>; 5]) {
    let options = TextOptions { sublinear, least_rows, ..TextOptions::default() };
    let rows = TextFeatures::fit(&TEXTS, options).unwrap().transform(&TEXTS);
    for (row, golden) in golden.iter().enumerate() {
        let mut values: Vec<f64> = rows.row(row).1.iter().map(|&value| f64::from(value)).collect();
        values.sort_by(f64::total_cmp);
        let Some((count, sum, least, largest)) = golden else {
            assert!(values.is_empty());
            continue;
        };
        assert_eq!(values.len(), *count, "row {row}");
        assert!((values.iter().sum::<f64>() - sum).abs() < 1e-5, "row {row}");
        for (found, golden) in values.iter().zip(least).chain(values[count - 3..].iter().zip(largest)) {
            assert!((found - golden).abs() < 1e-6, "row {row}: {found} and {golden}");
        }
    }
}

#[test]
fn weights_are_scikit_learns() {
    let golden = [
        Some((46, 5.834826, [0.065125; 3], [0.242162, 0.293265, 0.439898])),
        Some((30, 5.084553, [0.107071, 0.128988, 0.128988], [0.340925; 3])),
        Some((28, 4.773663, [0.111803; 3], [0.365148; 3])),
        Some((16, 3.759328, [0.161401, 0.194438, 0.194438], [0.37602, 0.37602, 0.466067])),
        None,
    ];
    check(false, 1, &golden);
}

#[test]
fn weights_are_scikit_learns_with_logarithmic_counts_and_without_rare_n_grams() {
    let golden = [
        Some((16, 3.489226, [0.127436; 3], [0.26744, 0.359594, 0.608845])),
        Some((17, 3.7361, [0.153149, 0.184497, 0.184497], [0.184497, 0.5, 0.5])),
        None,
        Some((14, 3.446715, [0.17168, 0.206821, 0.206821], [0.206821, 0.5, 0.5])),
        None,
    ];
    check(true, 2, &golden);
}
