//! `tares corrupt`: the realised rate and matrix, the data in its own format, the truth beside it.

mod program;

use program::{flowers, tares_in};
use std::path::Path;

fn run(place: &Path, line: &str) -> program::Ran {
    tares_in(place, &line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn the_realised_rate_and_matrix_are_printed_and_the_truth_is_kept() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 300, ["iris", "rose", "tulip"]);
    let out = run(place.path(), "corrupt flowers.csv --label species --noise exact:0.2 --out noisy").success();
    assert!(out.contains("exact:0.2: 60 of 300 labels are wrong (20.00 %)"), "{out}");
    assert!(out.contains("rows are true classes, columns are given labels"), "{out}");
    let noisy = std::fs::read_to_string(place.path().join("noisy/flowers.csv")).unwrap();
    let clean = std::fs::read_to_string(place.path().join("flowers.csv")).unwrap();
    assert_eq!(noisy.lines().next(), clean.lines().next());
    assert_eq!(noisy.lines().count(), clean.lines().count());
    let mut truth = csv::Reader::from_path(place.path().join("noisy/truth.csv")).unwrap();
    let wrong = truth.records().map(Result::unwrap).filter(|row| row[2] != row[3]).count();
    assert_eq!(wrong, 60);
    // Same seed, same labels; another seed, others.
    run(place.path(), "corrupt flowers.csv --label species --noise exact:0.2 --out same").success();
    run(place.path(), "corrupt flowers.csv --label species --noise exact:0.2 --seed 2 --out other").success();
    let read = |out: &str| std::fs::read_to_string(place.path().join(out).join("flowers.csv")).unwrap();
    assert_eq!(read("noisy"), read("same"));
    assert_ne!(read("noisy"), read("other"));
}

#[test]
fn every_kind_of_noise_works_on_digits() {
    let place = tempfile::tempdir().unwrap();
    let row = |class: usize| {
        let cell = |given: usize| {
            if given == class {
                "0.7"
            } else if given == (class + 1) % 10 {
                "0.3"
            } else {
                "0"
            }
        };
        (0..10).map(cell).collect::<Vec<_>>().join(",")
    };
    std::fs::write(place.path().join("t.csv"), (0..10).map(|class| row(class) + "\n").collect::<String>()).unwrap();
    for (noise, low, high) in [
        ("symmetric:0.5", 0.47, 0.53),
        ("pair:0.35", 0.32, 0.38),
        ("uniform-all:0.4", 0.33, 0.39),
        ("exact-per-class:0.2", 0.19, 0.2),
        ("instance:0.3", 0.25, 0.35),
        ("matrix:t.csv", 0.27, 0.33),
        ("open-set:digits:0.3", 0.29, 0.31),
        ("semantic:mlp:32:0.05", 0.02, 0.6),
    ] {
        let result = run(place.path(), &format!("corrupt digits --noise {noise} --out noisy --json")).json();
        let rate = result["realised_rate"].as_f64().unwrap();
        assert!((low..=high).contains(&rate), "{noise}: {rate}");
        assert!(place.path().join("noisy/truth.csv").is_file(), "{noise}");
    }
}

#[test]
fn what_was_written_can_be_read_again() {
    let place = tempfile::tempdir().unwrap();
    let result = run(place.path(), "corrupt digits --noise pair:0.35 --out noisy --json").json();
    let file = result["files"][0].as_str().unwrap().to_owned();
    let found = tares_in(place.path(), &["data", "inspect", &file, "--test-fraction", "0", "--json"]).json();
    assert_eq!(found["train_rows"], 3823, "{found}");
}

#[test]
fn mistakes_say_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    let error = |line: &str| run(place.path(), line).fails(2);
    assert!(error("corrupt digits --noise symmetric:1.5 --out x").contains("in [0, 1]"));
    assert!(error("corrupt digits --noise paar:0.5 --out x").contains("did you mean pair?"));
    std::fs::write(place.path().join("bad.csv"), "0.5,0.6\n0,1\n").unwrap();
    assert!(error("corrupt digits --noise matrix:bad.csv --out x").contains("matrix must have 10 rows"));
    assert!(error("corrupt digits --noise matrix:none.csv --out x").contains("none.csv"));
}

#[test]
fn data_called_like_the_truth_is_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let data = flowers(place.path(), 90, ["iris", "rose", "tulip"]);
    std::fs::rename(data, place.path().join("truth.csv")).unwrap();
    let error = run(place.path(), "corrupt truth.csv --label species --noise exact:0.2 --out noisy").fails(2);
    assert!(error.contains("truth.csv: the file of true labels"), "{error}");
    assert!(!place.path().join("noisy").exists());
}
