//! What `tares train` says about labels it cannot trust: those it tests on, and those it estimates a noise rate from.

mod program;

use program::{flowers, tares};
use std::fs;
use std::path::Path;
use tares_core::stream;

fn path(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// With a fifth of all labels wrong, a model that is always right agrees with four fifths of the test labels.
#[test]
fn test_labels_as_noisy_as_the_training_labels_are_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let data = flowers(folder.path(), 900, ["setosa", "versicolor", "virginica"]);
    let (noisy, run) = (folder.path().join("noisy"), folder.path().join("run"));
    let corrupt = ["corrupt", path(&data), "--label", "species", "--noise", "symmetric:0.2", "--test-fraction", "0"];
    tares(&[&corrupt[..], &["--out", path(&noisy)]].concat()).success();
    let data = noisy.join("flowers.csv");
    let train = ["train", path(&data), "--label", "species", "--noise-rate", "0.2", "--epochs", "30", "--batch", "32"];
    let said = tares(&[&train[..], &["--network", "mlp:16", "--out", path(&run)]].concat()).success();
    assert!(said.contains("the test labels are as noisy as the training labels"), "{said}");
    let manifest = program::json(&run.join("manifest.json"));
    let result = &manifest["result"];
    let (found, low, high) = (
        &result["true_accuracy"]["accuracy"],
        &result["true_accuracy"]["interval"][0],
        &result["true_accuracy"]["interval"][1],
    );
    let [found, low, high] = [found, low, high].map(|value| value.as_f64().unwrap());
    let agreement = result["test_accuracy_last10"].as_f64().unwrap();
    assert!(agreement < 0.87 && found > 0.93 && low <= found && found <= high && low < high, "{result}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("The test labels are as noisy as the training labels"), "{page}");
}

/// Noise that was put into the training rows alone leaves the test labels as they were.
#[test]
fn test_labels_that_can_be_trusted_are_not_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let train = ["train", "digits", "--noise", "symmetric:0.2", "--noise-rate", "known", "--epochs", "2", "--out"];
    let said = tares(&[&train[..], &[path(&run)]].concat()).success();
    assert!(!said.contains("as noisy as") && said.contains("test accuracy"), "{said}");
}

/// Labels that have nothing to do with the features: no network can judge them.
#[test]
fn a_rate_that_cannot_be_trusted_is_said_and_no_published_figure_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = stream(5, "random labels");
    let mut text = String::from("a,b,kind\n");
    for _ in 0..300 {
        let kind = ["red", "green", "blue"][draw.below(3)];
        text.push_str(&format!("{:.3},{:.3},{kind}\n", draw.normal(), draw.normal()));
    }
    let data = folder.path().join("random.csv");
    fs::write(&data, text).unwrap();
    let run = folder.path().join("run");
    let train = ["train", path(&data), "--label", "kind", "--epochs", "2", "--network", "mlp:8", "--out"];
    let (_, said) = tares(&[&train[..], &[path(&run), "--method", "npcl"]].concat()).ends(0);
    assert!(said.contains("warning") && said.contains("the model knows too little to judge these labels"), "{said}");
    assert!(!said.contains("published"), "{said}");
    let manifest = program::json(&run.join("manifest.json"));
    assert!(manifest["rate"]["warning"].as_str().unwrap().contains("knows too little"), "{manifest}");
    let page = fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("knows too little"), "{page}");
}
