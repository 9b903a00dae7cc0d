//! The data set: checked when made, cut without copying, split and folded evenly.

mod law;

use law::holds;
use tares_core::{Dataset, Features, Row, Shape};

fn data(given: Vec<u32>, classes: usize) -> Dataset {
    let features: Vec<u8> = (0..given.len() * 2).map(|i| (i % 251) as u8).collect();
    Dataset::new(features, Shape::Flat(2), given, (0..classes).map(|k| format!("class {k}"))).unwrap()
}

#[test]
fn bad_parts_are_errors_that_say_what_allowed_got_where() {
    let new = |features: Vec<f32>, size, given: Vec<u32>, names: &[&str]| {
        Dataset::new(features, Shape::Flat(size), given, names.iter().copied()).unwrap_err().to_string()
    };
    let two = &["a", "b"];
    assert_eq!(new(vec![], 1, vec![], two), "data set must not be empty");
    assert_eq!(new(vec![0.0], 1, vec![0], &["a"]), "number of classes must be at least 2, got 1");
    assert_eq!(new(vec![0.0], 1, vec![0], &["a", "a"]), "class names must be different from each other, got 'a' twice");
    assert_eq!(new(vec![0.0; 3], 2, vec![0, 1], two), "features must have 4 entries, got 3");
    assert_eq!(new(vec![], 0, vec![0], two), "numbers per row must be at least 1, got 0");
    assert_eq!(new(vec![0.0; 2], 1, vec![0, 2], two), "given label must be in 0..2, got 2 at row 1");
    assert_eq!(
        new(vec![0.0, 1.0, 2.0, f32::NAN], 2, vec![0, 1], two),
        "feature must be a finite number, got NaN at row 1, column 1"
    );
    let fine = data(vec![0, 1, 1], 2);
    assert_eq!(fine.clone().with_truth(vec![0]).unwrap_err().to_string(), "true labels must have 3 entries, got 1");
    assert_eq!(
        fine.clone().relabel(vec![0, 1, 9]).unwrap_err().to_string(),
        "given label must be in 0..2, got 9 at row 2"
    );
    assert_eq!(fine.subset(&[]).unwrap_err().to_string(), "subset must not be empty");
    assert_eq!(fine.subset(&[1, 3]).unwrap_err().to_string(), "row index must be below 3, got 3 at position 1");
    assert_eq!(fine.split(1.0, 1).unwrap_err().to_string(), "split fraction must be in (0, 1), got 1");
    assert_eq!(
        fine.folds(None, 1, 1).unwrap_err().to_string(),
        "number of folds must be from 2 to 3 (the rows), got 1"
    );
}

#[test]
fn a_subset_of_a_subset_still_shows_the_right_rows() {
    let whole =
        data((0..10).map(|i| i % 3).collect(), 3).with_ids((0..10).map(|i| format!("row-{i}")).collect()).unwrap();
    let part = whole.subset(&[7, 2, 9]).unwrap().subset(&[2, 0]).unwrap();
    assert_eq!((part.stored(0), part.stored(1)), (9, 7));
    assert_eq!(part.row(0), whole.row(9));
    assert_eq!(part.row(1), Row::Bytes(&[14, 15]));
    assert_eq!((part.id(0).as_str(), part.given()[0]), ("row-9", 0));
}

#[test]
fn clones_and_subsets_share_their_features() {
    let features = std::sync::Arc::new(vec![1u8; 1 << 20]);
    let data =
        Dataset::new(Features::Bytes(features.clone()), Shape::Flat(1 << 10), vec![0; 1 << 10], ["a", "b"]).unwrap();
    let _parts: Vec<Dataset> = (0..50).map(|i| data.subset(&[i, i + 1]).unwrap()).collect();
    assert_eq!(std::sync::Arc::strong_count(&features), 52, "one each, and no copy of a megabyte");
}

#[test]
fn a_split_is_stratified_disjoint_and_complete() {
    holds("split", 60, |draws| {
        let n = 20 + draws.below(300);
        let classes = 2 + draws.below(6);
        let whole = data((0..n).map(|_| draws.below(classes) as u32).collect(), classes);
        let fraction = 0.05 + 0.9 * draws.unit();
        let seed = draws.bits();
        let (a, b) = whole.split(fraction, seed).unwrap();
        let mut rows: Vec<usize> = (0..a.len()).map(|i| a.stored(i)).chain((0..b.len()).map(|i| b.stored(i))).collect();
        rows.sort_unstable();
        assert!(rows.iter().copied().eq(0..n));
        for (class, (&all, &part)) in whole.class_counts().iter().zip(&b.class_counts()).enumerate() {
            let wanted = (fraction * all as f64).round() as usize;
            let allowed = if all < 2 { 0..=0 } else { wanted.clamp(1, all - 1)..=wanted.clamp(1, all - 1) };
            assert!(allowed.contains(&part), "class {class}: {part} of {all}");
        }
        assert_eq!(whole.split(fraction, seed).unwrap(), (a, b), "same seed, same split");
    });
}

#[test]
fn folds_are_even_in_size_and_in_every_class() {
    holds("folds", 60, |draws| {
        let n = 10 + draws.below(300);
        let classes = 2 + draws.below(6);
        let whole = data((0..n).map(|_| draws.below(classes) as u32).collect(), classes);
        let k = 2 + draws.below(8);
        let folds = whole.folds(None, k, draws.bits()).unwrap();
        let even = |counts: &[usize]| counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1;
        let mut sizes = vec![0; k];
        folds.iter().for_each(|&fold| sizes[fold] += 1);
        assert!(even(&sizes), "{sizes:?}");
        for class in 0..classes as u32 {
            let mut counts = vec![0; k];
            folds.iter().zip(whole.given()).filter(|(_, g)| **g == class).for_each(|(&fold, _)| counts[fold] += 1);
            assert!(even(&counts), "class {class}: {counts:?}");
        }
    });
}

#[test]
fn ids_default_to_the_original_row_number() {
    let whole = data(vec![0, 1, 0, 1], 2);
    assert!(!whole.has_ids());
    assert_eq!(whole.subset(&[3]).unwrap().id(0), "3");
}

#[test]
fn parts_seen_through_other_features_keep_their_rows_and_labels() {
    let whole = data(vec![0, 1, 0, 1, 1, 0], 2);
    let (train, test) = whole.split(0.5, 3).unwrap();
    let features: Vec<f32> = (0..6).flat_map(|row| [row as f32, -1.0]).collect();
    for part in [train, test] {
        let seen = part.clone().with_features(features.clone(), Shape::Flat(2)).unwrap();
        assert_eq!((seen.given(), seen.len()), (part.given(), part.len()));
        for index in 0..seen.len() {
            assert_eq!(seen.row(index), Row::Floats(&[part.stored(index) as f32, -1.0]));
        }
    }
    assert!(whole.clone().with_features(vec![0f32; 11], Shape::Flat(2)).is_err(), "a row is missing");
    assert!(whole.with_features(vec![f32::NAN; 12], Shape::Flat(2)).is_err());
}
