//! Laws of forests.

mod made;

use made::{accuracy, everyone, log_loss};
use tares_core::stream;
use tares_judges::forest::out_of_bag;
use tares_judges::matrix::MISSING;
use tares_judges::{Caller, Forest, InputColumn, Labelled, Matrix, TextCounts, TextOptions};

fn fit(inputs: &Matrix, labels: &[u32], classes: usize) -> Forest {
    Forest::fit(&Labelled::new(inputs, labels, classes), 1, 3, Caller::none()).unwrap()
}

#[test]
fn every_row_of_answers_sums_to_one() {
    let (inputs, labels) = made::mixed(300, 3, 1);
    let data = Labelled::new(&inputs, &labels, 3);
    let new = fit(&inputs, &labels, 3).log_probs(&made::mixed(50, 3, 2).0).unwrap();
    for answers in [new, out_of_bag(&data, 3, Caller::none()).unwrap().log_probs] {
        let sums = answers.chunks(3).map(|row| row.iter().map(|log| log.exp()).sum::<f64>());
        assert!(sums.into_iter().all(|sum| (sum - 1.0).abs() < 1e-9));
    }
}

#[test]
fn labels_that_mean_nothing_are_not_known_out_of_bag() {
    let (inputs, _) = made::mixed(400, 2, 1);
    let mut draw = stream(5, "test");
    let labels: Vec<u32> = (0..400).map(|_| draw.below(2) as u32).collect();
    let data = Labelled::new(&inputs, &labels, 2);
    let said = out_of_bag(&data, 3, Caller::none()).unwrap();
    assert!(accuracy(&said.log_probs, &labels, 2) < 0.6);
    // The forest itself has learnt them by heart.
    assert!(accuracy(&fit(&inputs, &labels, 2).log_probs(&inputs).unwrap(), &labels, 2) > 0.9);
}

#[test]
fn wrong_labels_are_outvoted() {
    for seed in 0..3 {
        let (inputs, truth) = made::blobs(600, 4, 3, seed);
        let mut draw = stream(seed, "wrong");
        let given: Vec<u32> = truth.iter().map(|&y| if draw.chance(0.2) { (y + 1) % 3 } else { y }).collect();
        let data = Labelled::new(&inputs, &given, 3);
        let noisy = out_of_bag(&data, 3, Caller::none()).unwrap();
        let clean = out_of_bag(&Labelled::new(&inputs, &truth, 3), 3, Caller::none()).unwrap();
        let (noisy_right, right) = (accuracy(&noisy.log_probs, &truth, 3), accuracy(&clean.log_probs, &truth, 3));
        assert!(noisy_right > right - 0.08, "seed {seed}: {noisy_right} and {right}");
        // Larger leaves for noisier labels.
        assert!(noisy.setting >= clean.setting, "seed {seed}: {} and {}", noisy.setting, clean.setting);
    }
}

#[test]
fn larger_leaves_are_tried_with_many_rows_too() {
    let (inputs, truth) = made::blobs(4_500, 3, 3, 1);
    let mut draw = stream(1, "wrong");
    let given: Vec<u32> = truth.iter().map(|&y| if draw.chance(0.3) { (y + 1) % 3 } else { y }).collect();
    let said = out_of_bag(&Labelled::new(&inputs, &given, 3), 3, Caller::none()).unwrap();
    assert!(said.setting > 4, "leaves of at least {} rows", said.setting);
}

#[test]
fn out_of_bag_answers_are_as_good_as_answers_about_new_rows() {
    let (all, labels) = made::mixed(2_000, 3, 4);
    let (old, new): (Vec<usize>, Vec<usize>) = (0..2_000).partition(|row| *row < 1_000);
    let (inputs, new) = (all.select(&old), all.select(&new));
    let data = Labelled::new(&inputs, &labels[..1_000], 3);
    let said = out_of_bag(&data, 3, Caller::none()).unwrap();
    let forest = Forest::fit(&data, said.setting, 3, Caller::none()).unwrap();
    let bag = log_loss(&said.log_probs, &labels[..1_000], 3);
    let fresh = log_loss(&forest.log_probs(&new).unwrap(), &labels[1_000..], 3);
    assert!((bag - fresh).abs() < 0.06, "{bag} and {fresh}");
}

#[test]
fn threads_change_no_bit_and_seeds_do() {
    let (inputs, labels) = made::mixed(300, 3, 2);
    let data = Labelled::new(&inputs, &labels, 3);
    let found = everyone(|| out_of_bag(&data, 7, Caller::none()).unwrap().log_probs);
    assert!(found.windows(2).all(|pair| pair[0] == pair[1]));
    assert_ne!(found[0], out_of_bag(&data, 8, Caller::none()).unwrap().log_probs);
}

#[test]
fn a_category_and_a_gap_can_decide() {
    let codes: Vec<u32> = (0..300).map(|row| row as u32 % 7).collect();
    let by_code: Vec<u32> = codes.iter().map(|code| u32::from([1, 4, 6].contains(code))).collect();
    let numbers: Vec<f32> = (0..300).map(|row| if row % 3 == 0 { f32::NAN } else { row as f32 }).collect();
    let by_gap: Vec<u32> = numbers.iter().map(|number| u32::from(number.is_nan())).collect();
    let inputs =
        Matrix::new(vec![InputColumn::Categories { codes, levels: 7 }, InputColumn::Numbers(numbers)]).unwrap();
    for labels in [by_code, by_gap] {
        let said = out_of_bag(&Labelled::new(&inputs, &labels, 2), 1, Caller::none()).unwrap();
        assert!(accuracy(&said.log_probs, &labels, 2) > 0.99);
    }
    // A category that no row had, and a missing one, are answered too.
    let labels: Vec<u32> = (0..300).map(|row| row % 2).collect();
    let strange = Matrix::new(vec![
        InputColumn::Categories { codes: vec![6, MISSING], levels: 7 },
        InputColumn::Numbers(vec![f32::NAN, 1e30]),
    ]);
    assert!(fit(&inputs, &labels, 2).log_probs(&strange.unwrap()).unwrap().iter().all(|log| log.is_finite()));
}

#[test]
fn texts_alone_are_refused() {
    let texts = TextCounts::of(&["a cat", "a dog"], TextOptions::default()).unwrap();
    let inputs = Matrix::mixed(Vec::new(), vec![texts]).unwrap();
    let error = Forest::fit(&Labelled::new(&inputs, &[0, 1], 2), 1, 1, Caller::none()).unwrap_err();
    assert!(error.to_string().contains("columns that trees read"), "{error}");
}
