//! Laws of the linear judge; golden values made with scikit-learn by `golden.py`.

mod made;

use made::{everyone, log_loss};
use tares_judges::matrix::MISSING;
use tares_judges::{Caller, InputColumn, Labelled, Linear, LinearOptions, Matrix};

const EXACT: LinearOptions = LinearOptions { tolerance: 1e-13, iterations: 1000 };

fn fit(inputs: &Matrix, labels: &[u32], classes: usize, strength: f64) -> Linear {
    Linear::fit(&Labelled::new(inputs, labels, classes), strength, EXACT, Caller::none()).unwrap()
}

/// `rows` of golden.py.
fn rows(count: usize, width: usize, classes: usize) -> (Matrix, Vec<u32>) {
    let mut state = 1u64;
    let values: Vec<f32> = (0..count * width + count)
        .map(|_| {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            ((state >> 16) % 64) as f32 / 16.0 - 2.0
        })
        .collect();
    let (x, noise) = values.split_at(count * width);
    let labels = (0..count)
        .map(|row| {
            let score = x[row * width] - 0.5 * x[row * width + 1] + noise[row];
            ((score + 3.0) * classes as f32 / 6.0).floor().clamp(0.0, classes as f32 - 1.0) as u32
        })
        .collect();
    (Matrix::from_rows(x, width).unwrap(), labels)
}

#[test]
fn the_optimum_is_scikit_learns() {
    let golden: [(usize, f64, &[f64], f64); 3] = [
        (2, 0.5, &[-0.029434108, -3.540282092], 0.475058983),
        (3, 0.1, &[-0.313255782, -1.378776732, -4.071569007], 0.845744107),
        (4, 10.0, &[-0.322386129, -1.347978196, -4.162511373, -8.30108286], 1.036932679),
    ];
    for (classes, c, first, loss) in golden {
        let (inputs, labels) = rows(200, 3, classes);
        let found = fit(&inputs, &labels, classes, 1.0 / c).log_probs(&inputs).unwrap();
        for (found, golden) in found.iter().zip(first) {
            assert!((found - golden).abs() < 1e-5, "{classes} classes: {found} and {golden}");
        }
        assert!((log_loss(&found, &labels, classes) - loss).abs() < 1e-6, "{classes} classes");
    }
}

#[test]
fn duplicate_rows_are_weights_and_order_does_not_matter() {
    let (inputs, labels) = made::blobs(120, 4, 3, 5);
    let weights: Vec<f64> = (0..120).map(|row| f64::from(row as u32 % 3 + 1)).collect();
    let data = Labelled { weights: Some(&weights), ..Labelled::new(&inputs, &labels, 3) };
    let weighted = Linear::fit(&data, 2.0, EXACT, Caller::none()).unwrap();
    let twice: Vec<usize> = (0..120).rev().flat_map(|row| vec![row; row % 3 + 1]).collect();
    let (copies, copied) = (inputs.select(&twice), twice.iter().map(|&row| labels[row]).collect::<Vec<_>>());
    let found = fit(&copies, &copied, 3, 2.0).log_probs(&inputs).unwrap();
    let expected = weighted.log_probs(&inputs).unwrap();
    assert!(expected.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (inputs, labels) = made::blobs(3000, 6, 3, 2);
    let data = Labelled::new(&inputs, &labels, 3);
    let models = everyone(|| Linear::fit(&data, 1.0, LinearOptions::default(), Caller::none()).unwrap());
    assert!(models.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn columns_without_information_do_no_harm() {
    let (inputs, labels) = rows(200, 3, 3);
    let plain = fit(&inputs, &labels, 3, 1.0).log_probs(&inputs).unwrap();
    let mut columns = inputs.columns().to_vec();
    columns.push(InputColumn::Numbers(vec![f32::NAN; 200]));
    columns.push(InputColumn::Numbers(vec![1e30; 200]));
    columns.push(InputColumn::Categories { codes: vec![MISSING; 200], levels: 4 });
    let more = Matrix::new(columns).unwrap();
    let found = fit(&more, &labels, 3, 1.0).log_probs(&more).unwrap();
    assert!(plain.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn a_missing_number_can_tell_the_class() {
    let numbers = (0..100).map(|row| if row % 2 == 0 { f32::NAN } else { (row % 7) as f32 }).collect();
    let labels: Vec<u32> = (0..100).map(|row| row % 2).collect();
    let inputs = Matrix::new(vec![InputColumn::Numbers(numbers)]).unwrap();
    let found = fit(&inputs, &labels, 2, 0.1).log_probs(&inputs).unwrap();
    assert!(log_loss(&found, &labels, 2) < 0.1);
}

#[test]
fn one_class_and_one_row_per_class_have_answers_that_sum_to_one() {
    let (inputs, _) = rows(4, 2, 2);
    for (labels, classes) in [([1, 1, 1, 1], 3), ([0, 1, 2, 3], 4), ([0, 2, 2, 0], 6)] {
        let found = fit(&inputs, &labels, classes, 1.0).log_probs(&inputs).unwrap();
        for row in found.chunks(classes) {
            assert!(row.iter().all(|p| p.is_finite()));
            assert!((row.iter().map(|p| p.exp()).sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
        }
    }
}

#[test]
fn ten_thousand_categories_and_new_ones_are_read() {
    let codes: Vec<u32> = (0..20_000).map(|row| row % 10_000).collect();
    let labels: Vec<u32> = codes.iter().map(|code| code % 2).collect();
    let inputs = Matrix::new(vec![InputColumn::Categories { codes, levels: 10_000 }]).unwrap();
    let data = Labelled::new(&inputs, &labels, 2);
    let model = Linear::fit(&data, 0.1, LinearOptions::default(), Caller::none()).unwrap();
    assert!(log_loss(&model.log_probs(&inputs).unwrap(), &labels, 2) < 0.3);
    let new = Matrix::new(vec![InputColumn::Categories { codes: vec![10_500], levels: 11_000 }]).unwrap();
    let found = model.log_probs(&new).unwrap();
    assert!((found[0].exp() - 0.5).abs() < 0.05);
}

#[test]
fn other_columns_than_in_training_are_refused() {
    let (inputs, labels) = rows(20, 2, 2);
    let model = fit(&inputs, &labels, 2, 1.0);
    let other =
        Matrix::new(vec![InputColumn::Numbers(vec![0.0]), InputColumn::Categories { codes: vec![0], levels: 1 }]);
    assert_eq!(
        model.log_probs(&other.unwrap()).unwrap_err().to_string(),
        "column 1 must be numbers, got the other kind"
    );
    assert!(model.log_probs(&rows(20, 3, 2).0).is_err());
}
