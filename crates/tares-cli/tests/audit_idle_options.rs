//! Options that an audit would ignore are refused.

mod program;

use program::{flowers, tares_in};
use std::fs;
use tares_data::npy;

#[test]
fn an_option_that_would_be_ignored_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let inside = |name: &str| place.path().join(name);
    flowers(place.path(), 60, ["iris", "rose", "tulip"]);
    fs::write(inside("y.npy"), npy::encode("'<u4'", &[2], &[0, 0, 0, 0, 1, 0, 0, 0])).unwrap();
    let sure: Vec<u8> = [0.9f32, 0.1, 0.2, 0.8].iter().flat_map(|part| part.to_le_bytes()).collect();
    fs::write(inside("p.npy"), npy::encode("'<f4'", &[2, 2], &sure)).unwrap();
    let train = "train flowers.csv --label species --method standard --network mlp:4 --epochs 1 --out run";
    tares_in(place.path(), &train.split(' ').collect::<Vec<_>>()).success();
    let probabilities = "audit --labels y.npy --probs p.npy";
    let cases = [
        (probabilities, "--epochs 3", "--epochs has no effect in an audit of --labels with --probs"),
        (probabilities, "--network mlp", "--network has no effect"),
        (probabilities, "--folds 3", "--folds has no effect"),
        (probabilities, "--train-method npcl", "--train-method has no effect"),
        (probabilities, "--resume", "--resume has no effect"),
        (probabilities, "--coarse", "--coarse has no effect"),
        (
            "audit flowers.csv --label species --probs p.npy",
            "--seed 7",
            "--seed has no effect in an audit of data with",
        ),
        ("audit flowers.csv --label species", "--normalise", "--normalise has no effect in an audit of data"),
        (
            "audit flowers.csv --label species",
            "--test-fraction 0.2",
            "--test-fraction has no effect in an audit of data",
        ),
        ("audit run", "--method confident", "--method has no effect in an audit of a finished run"),
        ("audit run", "--rank self-confidence", "--rank has no effect"),
        ("audit run", "--label species", "--label has no effect"),
        ("audit run", "--device cpu", "--device has no effect"),
        ("audit run", "--resume", "--resume has no effect"),
    ];
    for (audit, option, said) in cases {
        let line = format!("{audit} {option} --out audit");
        let error = tares_in(place.path(), &line.split(' ').collect::<Vec<_>>()).fails(2);
        assert!(error.contains(said) && error.contains("leave it out"), "{line}\n{error}");
        assert!(!inside("audit").exists(), "{line} wrote something");
    }
    // The same commands without these options work.
    for audit in [probabilities, "audit run"] {
        let line = format!("{audit} --exit-zero --out audit");
        tares_in(place.path(), &line.split(' ').collect::<Vec<_>>()).success();
    }
}
