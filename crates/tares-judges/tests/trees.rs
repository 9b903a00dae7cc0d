//! Laws of boosted trees.

mod made;

use made::{accuracy, everyone, log_loss};
use tares_core::{Threshold, stream};
use tares_judges::matrix::MISSING;
use tares_judges::trees::Slope;
use tares_judges::{Boosting, Caller, InputColumn, Labelled, Matrix, TreeCurriculum, TreeOptions, Trees};

fn options(rounds: usize) -> TreeOptions {
    TreeOptions { rounds, ..TreeOptions::default() }
}

fn fit(inputs: &Matrix, labels: &[u32], classes: usize, options: TreeOptions) -> Trees {
    Trees::fit(&Labelled::new(inputs, labels, classes), options, Caller::none()).unwrap()
}

#[test]
fn permuting_rows_permutes_predictions() {
    for (classes, shared) in [(2, false), (3, false), (3, true)] {
        let (inputs, labels) = made::mixed(700, classes, 4);
        let order = stream(9, "test").permutation(700);
        let (permuted, of_permuted) = (inputs.select(&order), order.iter().map(|&row| labels[row]).collect::<Vec<_>>());
        let options = TreeOptions { shared, ..options(20) };
        let found = fit(&inputs, &labels, classes, options).log_probs(&inputs).unwrap();
        let other = fit(&permuted, &of_permuted, classes, options).log_probs(&permuted).unwrap();
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(found[row * classes..][..classes], other[place * classes..][..classes], "{classes} {shared}");
        }
    }
}

#[test]
fn duplicate_rows_are_weights() {
    let (inputs, labels) = made::mixed(400, 3, 7);
    let weights: Vec<f64> = (0..400).map(|row| f64::from(row as u32 % 3 + 1)).collect();
    let copies: Vec<usize> = (0..400).flat_map(|row| vec![row; row % 3 + 1]).collect();
    let data = Labelled { weights: Some(&weights), ..Labelled::new(&inputs, &labels, 3) };
    let weighted = Trees::fit(&data, options(15), Caller::none()).unwrap();
    let copied: Vec<u32> = copies.iter().map(|&row| labels[row]).collect();
    let expected = fit(&inputs.select(&copies), &copied, 3, options(15)).log_probs(&inputs).unwrap();
    let found = weighted.log_probs(&inputs).unwrap();
    assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (inputs, labels) = made::mixed(6000, 3, 1);
    let data = Labelled::new(&inputs, &labels, 3);
    for shared in [false, true] {
        let options = TreeOptions { row_part: 0.7, column_part: 0.7, shared, ..options(10) };
        let models = everyone(|| Trees::fit(&data, options, Caller::none()).unwrap());
        assert!(models.windows(2).all(|pair| pair[0] == pair[1]), "shared {shared}");
    }
}

#[test]
fn training_loss_never_rises_without_subsampling() {
    for (classes, shared) in [(2, false), (4, false), (4, true)] {
        let (inputs, labels) = made::mixed(500, classes, 3);
        let mut boosting =
            Boosting::new(&Labelled::new(&inputs, &labels, classes), TreeOptions { shared, ..options(60) }).unwrap();
        let mut before = log_loss(&boosting.log_probs(), &labels, classes);
        let start = before;
        for round in 0..60 {
            boosting.step().unwrap();
            let now = log_loss(&boosting.log_probs(), &labels, classes);
            assert!(now <= before + 1e-9, "{classes} {shared} round {round}: {before} to {now}");
            before = now;
        }
        assert!(before < 0.8 * start, "{start} to {before}");
    }
}

#[test]
fn training_scores_are_those_of_the_model() {
    let (inputs, labels) = made::mixed(300, 3, 5);
    let data = Labelled::new(&inputs, &labels, 3);
    let mut boosting = Boosting::new(&data, TreeOptions { row_part: 0.5, ..options(12) }).unwrap();
    (0..12).for_each(|_| boosting.step().unwrap());
    assert_eq!(boosting.log_probs(), boosting.model().log_probs(&inputs).unwrap());
}

#[test]
fn a_round_of_many_rows_draws_some_of_them_and_every_round_draws_others() {
    let (all, labels) = made::blobs(8_000, 2, 3, 9);
    let (seen, new): (Vec<usize>, Vec<usize>) = (0..8_000).partition(|row| *row < 4_000);
    let (inputs, new) = (all.select(&seen), all.select(&new));
    let (labels, truth) = labels.split_at(4_000);
    // About 400 rows in leaves of at least 150.
    let one_round = fit(&inputs, labels, 3, TreeOptions { most_rows: 400, least_rows: Some(150.0), ..options(1) });
    assert!(one_round.parameters() <= 3 * 2, "{} leaves of three trees", one_round.parameters());
    let answers = |options| fit(&inputs, labels, 3, options).log_probs(&new).unwrap();
    let some = accuracy(&answers(TreeOptions { most_rows: 400, ..options(30) }), truth, 3);
    let all = accuracy(&answers(options(30)), truth, 3);
    assert!(some > all - 0.02, "{some} with a tenth of the rows in every round, {all} with all");
    assert_eq!(answers(TreeOptions { most_rows: 4_000, ..options(5) }), answers(options(5)));
}

#[test]
fn training_continues_to_the_same_bits_after_any_round() {
    let (inputs, labels) = made::mixed(300, 3, 6);
    let data = Labelled::new(&inputs, &labels, 3);
    let mut curriculum = TreeCurriculum::new(Threshold::Npcl { rate: 0.2 });
    curriculum.burn_in = 3;
    for curriculum in [None, Some(curriculum)] {
        let options = TreeOptions { row_part: 0.8, column_part: 0.7, curriculum, seed: 11, ..options(9) };
        let mut whole = Boosting::new(&data, options).unwrap();
        (0..9).for_each(|_| whole.step().unwrap());
        for stop in [0, 1, 5, 9] {
            let mut first = Boosting::new(&data, options).unwrap();
            (0..stop).for_each(|_| first.step().unwrap());
            let bytes = tares_judges::stored::write(first.model());
            let mut second = Boosting::resume(&data, tares_judges::stored::read(&bytes).unwrap()).unwrap();
            (stop..9).for_each(|_| second.step().unwrap());
            assert_eq!(second.model(), whole.model(), "stopped after {stop}");
            assert_eq!(second.times_kept(), whole.times_kept(), "stopped after {stop}");
        }
    }
}

#[test]
fn slopes_from_outside_are_as_good_as_its_own() {
    let (inputs, labels) = made::mixed(300, 2, 8);
    let data = Labelled::new(&inputs, &labels, 2);
    let (mut own, mut outside) = (Boosting::new(&data, options(5)).unwrap(), Boosting::new(&data, options(5)).unwrap());
    for _ in 0..5 {
        let slopes: Vec<Slope> = outside
            .scores()
            .iter()
            .zip(&labels)
            .map(|(score, &label)| {
                let p = 1.0 / (1.0 + (-score).exp());
                Slope { gradient: p - f64::from(label), hessian: p * (1.0 - p) }
            })
            .collect();
        outside.step_with(&slopes, None).unwrap();
        own.step().unwrap();
    }
    assert_eq!(own.model(), outside.model());
}

#[test]
fn rows_that_are_not_kept_have_no_part_in_a_tree() {
    let (inputs, labels) = made::mixed(300, 2, 9);
    let data = Labelled::new(&inputs, &labels, 2);
    let kept: Vec<u32> = (0..300).filter(|row| row % 3 != 0).collect();
    let tree = |wild: f64| {
        let mut boosting = Boosting::new(&data, options(1)).unwrap();
        let slope = |row: usize| match row % 3 {
            0 => Slope { gradient: wild, hessian: wild.abs() },
            _ => Slope { gradient: f64::from(labels[row]) - 0.5, hessian: 0.25 },
        };
        boosting.step_with(&(0..300).map(slope).collect::<Vec<_>>(), Some(&kept)).unwrap();
        boosting.into_model()
    };
    assert_eq!(tree(0.0), tree(-1e6));
    assert_eq!(tree(0.0), tree(f64::INFINITY));
}

#[test]
fn missing_values_and_categories_are_learnt_natively() {
    let rows = 400;
    let gaps =
        InputColumn::Numbers((0..rows).map(|row| if row % 2 == 0 { f32::NAN } else { (row % 7) as f32 }).collect());
    let by_gap: Vec<u32> = (0..rows as u32).map(|row| row % 2).collect();
    let inputs = Matrix::new(vec![gaps]).unwrap();
    let found = fit(&inputs, &by_gap, 2, options(50)).log_probs(&inputs).unwrap();
    assert!(log_loss(&found, &by_gap, 2) < 0.05);

    // Every other of 40 levels: a cut by order would need 20 of them, a cut by level one.
    let codes: Vec<u32> = (0..rows as u32).map(|row| row % 40).collect();
    let by_code: Vec<u32> = codes.iter().map(|code| code % 2).collect();
    let inputs = Matrix::new(vec![InputColumn::Categories { codes, levels: 40 }]).unwrap();
    let stump = TreeOptions { leaves: 2, ..options(1) };
    let found = fit(&inputs, &by_code, 2, stump).log_probs(&inputs).unwrap();
    assert_eq!(accuracy(&found, &by_code, 2), 1.0);
}

#[test]
fn columns_without_information_are_never_asked_about() {
    let (inputs, labels) = made::mixed(300, 3, 2);
    let plain = fit(&inputs, &labels, 3, options(10)).log_probs(&inputs).unwrap();
    let mut columns = inputs.columns().to_vec();
    columns.push(InputColumn::Numbers(vec![f32::NAN; 300]));
    columns.push(InputColumn::Numbers(vec![-2.5; 300]));
    columns.push(InputColumn::Categories { codes: vec![MISSING; 300], levels: 3 });
    columns.push(InputColumn::Categories { codes: vec![1; 300], levels: 3 });
    let more = Matrix::new(columns).unwrap();
    assert_eq!(fit(&more, &labels, 3, options(10)).log_probs(&more).unwrap(), plain);
    let nothing = Matrix::new(more.columns()[3..].to_vec()).unwrap();
    let found = fit(&nothing, &labels, 3, options(10)).log_probs(&nothing).unwrap();
    assert!(found.chunks(3).all(|row| row == &found[..3])); // the shares of the classes
}

#[test]
fn one_class_and_one_row_per_class_have_answers_that_sum_to_one() {
    let (inputs, _) = made::blobs(4, 2, 2, 1);
    for (labels, classes) in [([1, 1, 1, 1], 2), ([1, 1, 1, 1], 3), ([0, 1, 2, 3], 4), ([0, 2, 2, 0], 6)] {
        for shared in [false, true] {
            let options = TreeOptions { shared, least_rows: Some(1.0), ..options(10) };
            let found = fit(&inputs, &labels, classes, options).log_probs(&inputs).unwrap();
            for row in found.chunks(classes) {
                assert!(row.iter().all(|p| p.is_finite()));
                assert!((row.iter().map(|p| p.exp()).sum::<f64>() - 1.0).abs() < 1e-9, "{row:?}");
            }
        }
    }
}

#[test]
fn ten_thousand_categories_and_new_ones_are_read() {
    let codes: Vec<u32> = (0..30_000).map(|row| if row % 2 == 0 { row % 100 } else { row % 10_000 }).collect();
    let labels: Vec<u32> = codes.iter().map(|code| u32::from(code % 100 < 30)).collect();
    let inputs = Matrix::new(vec![InputColumn::Categories { codes, levels: 10_000 }]).unwrap();
    let model = fit(&inputs, &labels, 2, options(30));
    assert!(accuracy(&model.log_probs(&inputs).unwrap(), &labels, 2) > 0.7);
    let new = Matrix::new(vec![InputColumn::Categories { codes: vec![12_000, MISSING], levels: 12_001 }]).unwrap();
    assert!(model.log_probs(&new).unwrap().iter().all(|p| p.is_finite()));
}

#[test]
fn a_curriculum_that_never_begins_changes_nothing() {
    let (inputs, labels) = made::mixed(300, 3, 5);
    let mut curriculum = TreeCurriculum::new(Threshold::Q);
    curriculum.burn_in = 10;
    let with = TreeOptions { curriculum: Some(curriculum), ..options(10) };
    let plain = fit(&inputs, &labels, 3, options(10)).log_probs(&inputs).unwrap();
    assert_eq!(fit(&inputs, &labels, 3, with).log_probs(&inputs).unwrap(), plain);
}

#[test]
fn the_curriculum_prunes_wrong_labels_and_learns_the_right_ones() {
    for (seed, base_gradients) in [(1, false), (2, true)] {
        let (inputs, truth) = made::blobs(1500, 4, 3, seed);
        let mut draw = stream(seed, "flips");
        let flip = |&label: &u32| if draw.chance(0.3) { (label + 1 + draw.below(2) as u32) % 3 } else { label };
        let given: Vec<u32> = truth.iter().map(flip).collect();
        let mut curriculum = TreeCurriculum::new(Threshold::Npcl { rate: 0.3 });
        curriculum.base_gradients = base_gradients;
        let data = Labelled::new(&inputs, &given, 3);
        let with = TreeOptions { curriculum: Some(curriculum), ..options(60) };
        let mut boosting = Boosting::new(&data, with).unwrap();
        (0..60).for_each(|_| boosting.step().unwrap());
        let kept = |wrong: bool| {
            let rows = (0..1500).filter(|&row| (given[row] != truth[row]) == wrong);
            let times: Vec<u32> = rows.map(|row| boosting.times_kept()[row]).collect();
            f64::from(times.iter().sum::<u32>()) / times.len() as f64
        };
        assert!(kept(true) < 0.6 * kept(false), "seed {seed}: {} and {}", kept(true), kept(false));
        let plain = fit(&inputs, &given, 3, options(60)).log_probs(&inputs).unwrap();
        let (ours, theirs) = (accuracy(&boosting.log_probs(), &truth, 3), accuracy(&plain, &truth, 3));
        assert!(ours > theirs, "seed {seed}: {ours} and {theirs}");
    }
}

#[test]
fn options_outside_their_domain_are_refused() {
    let (inputs, labels) = made::blobs(20, 2, 2, 1);
    let data = Labelled::new(&inputs, &labels, 2);
    let say = |options| Boosting::new(&data, options).err().expect("an error").to_string();
    let good = TreeOptions::default();
    assert_eq!(say(TreeOptions { rate: 0.0, ..good }), "rate of trees must be in (0, 1], got 0");
    assert_eq!(say(TreeOptions { row_part: 1.5, ..good }), "part of rows must be in (0, 1], got 1.5");
    assert_eq!(say(TreeOptions { most_rows: 0, ..good }), "rows of a round must be at least 1, got 0");
    assert_eq!(say(TreeOptions { leaves: 0, ..good }), "leaves of a tree must be in 1..=65536, got 0");
    assert_eq!(say(TreeOptions { l2: f64::NAN, ..good }), "penalty of leaves must be a finite number >= 0, got NaN");
}
