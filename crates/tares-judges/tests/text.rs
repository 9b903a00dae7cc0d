//! TF-IDF, and models of texts, against scikit-learn: golden values made by `golden.py`.

use tares_judges::{
    Bayes, Caller, Labelled, Linear, LinearOptions, Matrix, TextCounts, TextFeatures, TextOptions, bayes,
};

const TEXTS: [&str; 5] =
    ["The cat sat on the mat, the cat!", "A dog sat there", "Été à la mer; la mer", "cat & dog", ""];

/// Entries, their sum, the three least and the three largest of a row.
type Golden = (usize, f64, [f64; 3], [f64; 3]);

fn check(sublinear: bool, least_rows: u32, golden: &[Option<Golden>; 5]) {
    let options = TextOptions { sublinear, least_rows, ..TextOptions::default() };
    let counts = TextCounts::of(&TEXTS, options).unwrap();
    let rows = TextFeatures::fit(&counts).unwrap().transform(&counts).unwrap();
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
        Some((76, 7.299278, [0.048741; 3], [0.236605, 0.293265, 0.439898])),
        Some((50, 6.280946, [0.080083; 3], [0.340925; 3])),
        Some((51, 6.134672, [0.076333; 3], [0.365148; 3])),
        Some((30, 4.86234, [0.105603; 3], [0.37602, 0.37602, 0.466067])),
        None,
    ];
    check(false, 1, &golden);
}

#[test]
fn weights_are_scikit_learns_with_logarithmic_counts_and_without_rare_n_grams() {
    let golden = [
        Some((25, 4.222003, [0.090508; 3], [0.189941, 0.359594, 0.608845])),
        Some((29, 4.668805, [0.114964; 3], [0.138496, 0.5, 0.5])),
        Some((3, 1.224745, [0.408248; 3], [0.408248; 3])),
        Some((20, 3.99365, [0.142079; 3], [0.171161, 0.5, 0.5])),
        None,
    ];
    check(true, 2, &golden);
}

const LABELS: [u32; 5] = [0, 1, 2, 1, 0];

fn inputs() -> Matrix {
    Matrix::mixed(Vec::new(), vec![TextCounts::of(&TEXTS, TextOptions::default()).unwrap()]).unwrap()
}

/// The first row's log-probabilities and the log-loss of all.
fn check_model(log_probs: &[f64], first: [f64; 3], loss: f64) {
    let found = -LABELS.iter().enumerate().map(|(row, &label)| log_probs[3 * row + label as usize]).sum::<f64>() / 5.0;
    assert!((found - loss).abs() < 1e-6, "{found} and {loss}");
    assert!(log_probs.iter().zip(first).all(|(a, b)| (a - b).abs() < 1e-5), "{:?}", &log_probs[..3]);
}

#[test]
fn a_linear_model_of_texts_is_scikit_learns() {
    let options = LinearOptions { tolerance: 1e-13, iterations: 1000 };
    let model = Linear::fit(&Labelled::new(&inputs(), &LABELS, 3), 2.0, options, Caller::none()).unwrap();
    check_model(&model.log_probs(&inputs()).unwrap(), [-0.7903277, -0.9910489, -1.7423023], 0.9025522);
}

#[test]
fn naive_bayes_is_scikit_learns() {
    let model = Bayes::fit(&Labelled::new(&inputs(), &LABELS, 3), 0.3, Caller::none()).unwrap();
    check_model(&model.log_probs(&inputs()).unwrap(), [-0.4149908, -1.4649839, -2.2203426], 0.6179963);
}

#[test]
fn what_is_learnt_about_n_grams_comes_from_the_training_rows_of_each_fold() {
    // A word that stands in one row alone has no column where that row is held out: its text says nothing there, and the
    // answer is the share of each class among the others.
    let texts: Vec<String> = (0..12).map(|row| format!("word{row} word{row}")).collect();
    let options = TextOptions { least_rows: 1, characters: (0, 0), ..TextOptions::default() };
    let inputs = Matrix::mixed(Vec::new(), vec![TextCounts::of(&texts, options).unwrap()]).unwrap();
    let labels: Vec<u32> = (0..12).map(|row| row % 2).collect();
    let data = Labelled::new(&inputs, &labels, 2);
    let cut = tares_judges::fold::folds(&labels, None, 3, 1, 0).unwrap();
    let found = bayes::cross_fit(&data, &cut, Caller::none()).unwrap();
    assert!(found.log_probs.iter().all(|log_prob| (log_prob.exp() - 0.5).abs() < 1e-9), "{:?}", found.log_probs);
}

#[test]
fn smoothing_must_be_above_zero_and_texts_must_be_there() {
    let (inputs, data) = (inputs(), |inputs| Labelled::new(inputs, &LABELS, 3));
    assert!(Bayes::fit(&data(&inputs), 0.0, Caller::none()).is_err());
    let numbers = Matrix::from_rows(&[0.0; 5], 1).unwrap();
    let error = Bayes::fit(&data(&numbers), 1.0, Caller::none()).unwrap_err().to_string();
    assert!(error.contains("list of texts"), "{error}");
}
