//! A comparison that can be trusted: every row is what it says, and only seeds are averaged.

mod program;

use program::{json, tares_in};
use std::collections::BTreeMap;
use std::path::Path;

/// `summary.csv` as rows of named fields.
fn summary(out: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(out.join("summary.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn compare(place: &Path, line: &str) -> String {
    tares_in(place, &["compare"].into_iter().chain(line.split_whitespace()).collect::<Vec<_>>()).success()
}

#[test]
fn variants_of_one_method_are_rows_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let table = compare(place.path(), "--data digits --methods gce:0.1,gce:0.5,rog:standard,rog:cl --epochs 1 --out x");
    assert!(!table.contains('±'), "one seed has no deviation:\n{table}");
    let methods: Vec<String> = summary(&place.path().join("x")).iter().map(|row| row["method"].clone()).collect();
    assert_eq!(methods.len(), 4);
    assert!(methods.iter().all(|name| methods.iter().filter(|other| *other == name).count() == 1), "{methods:?}");
    let directories = std::fs::read_dir(place.path().join("x/runs/none")).unwrap().count();
    assert_eq!(directories, 4);
}

#[test]
fn the_column_of_rog_is_its_head_not_the_network_under_it() {
    let place = tempfile::tempdir().unwrap();
    compare(place.path(), "--data digits --noise symmetric:0.5 --methods rog --network mlp --epochs 8 --out x");
    let row = &summary(&place.path().join("x"))[0];
    let run = place.path().join("x/runs/symmetric-0.5").join(row["method"].replace(':', "-")).join("seed-1");
    let result = json(&run.join("manifest.json"))["result"].clone();
    // The confusion is that of the answers `predict` gives.
    let confusion: Vec<Vec<f64>> = serde_json::from_value(result["confusion"].clone()).unwrap();
    let right: f64 = (0..10).map(|class| confusion[class][class]).sum();
    let head = right / confusion.iter().flatten().sum::<f64>();
    for shown in [row["test_accuracy_last10"].parse().unwrap(), result["test_accuracy_last10"].as_f64().unwrap()] {
        assert!((shown - head).abs() < 1e-9, "{shown} is not the head's {head}");
    }
    assert_ne!(result["network_accuracy_last10"].as_f64().unwrap(), head);
    let page = std::fs::read_to_string(place.path().join("x/report.html")).unwrap();
    assert!(page.contains("&#x27;s network") || page.contains("'s network") || page.contains("&#39;s network"));
}

#[test]
fn mentornet_is_told_the_rate_of_the_noise_that_was_put_in() {
    let place = tempfile::tempdir().unwrap();
    compare(place.path(), "--data digits --noise symmetric:0.5 --methods mentornet --epochs 1 --out x");
    let manifest = json(&place.path().join("x/runs/symmetric-0.5/mentornet/seed-1/manifest.json"));
    assert_eq!(manifest["rate"]["value"], 0.5);
    assert_eq!(manifest["method"], "mentornet");
}

#[test]
fn what_is_typed_beside_a_spec_counts_more() {
    let place = tempfile::tempdir().unwrap();
    let text = "version = 1\ndata = \"digits\"\nseeds = [5]\n\n[[methods]]\nmethod = \"standard\"\n\n[[methods]]\nmethod = \"standard\"\n\
                name = \"tuned\"\nplan = { epochs = 3, batch = 64 }\n\n[plan]\nepochs = 2\n";
    std::fs::write(place.path().join("table.toml"), text).unwrap();
    compare(place.path(), "--spec table.toml --out as-written");
    let rows = summary(&place.path().join("as-written"));
    let seen: Vec<_> =
        rows.iter().map(|row| [&row["method"], &row["epochs"], &row["seed"]].map(String::as_str)).collect();
    assert_eq!(seen, [["standard", "2", "5"], ["tuned", "3", "5"]]);

    compare(place.path(), "--spec table.toml --noise pair:0.2 --seeds 2 --epochs 1 --out typed");
    let rows = summary(&place.path().join("typed"));
    let epochs: Vec<_> = rows.iter().map(|row| row["epochs"].as_str()).collect();
    assert_eq!(epochs, ["1"; 4]);
    assert!(rows.iter().all(|row| row["noise"] == "pair"));
    let tuned = std::fs::read_to_string(place.path().join("typed/runs/pair-0.2/tuned/seed-1/spec.toml")).unwrap();
    assert!(tuned.contains("batch = 64") && tuned.contains("name = \"tuned\""), "{tuned}");

    compare(place.path(), "--spec table.toml --methods cl --epochs 1 --out other");
    assert_eq!(summary(&place.path().join("other"))[0]["method"], "cl");
    let line = ["compare", "--spec", "table.toml", "--coarse", "--out", "refused"];
    assert!(tares_in(place.path(), &line).fails(2).contains("cannot be used with"));
}

#[test]
fn a_method_asked_for_twice_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let line = ["compare", "--data", "digits", "--methods", "cl,npcl,cl", "--epochs", "1", "--out", "x"];
    let error = tares_in(place.path(), &line).fails(2);
    assert!(error.contains("methods must be different from each other, got cl twice"), "{error}");
    assert!(!place.path().join("x").exists());
}

#[test]
fn a_report_never_averages_runs_of_different_networks() {
    let place = tempfile::tempdir().unwrap();
    for (network, out) in [("mlp:16", "a"), ("mlp:32", "b")] {
        compare(place.path(), &format!("--data digits --methods cl --network {network} --epochs 1 --out {out}"));
    }
    let table = tares_in(place.path(), &["report", "a", "b", "--out", "c"]).success();
    assert!(table.contains("cl, mlp:16") && table.contains("cl, mlp:32") && !table.contains('±'), "{table}");
}

#[test]
fn a_burn_in_that_never_ends_is_said() {
    let place = tempfile::tempdir().unwrap();
    let line = "compare --data digits --noise symmetric:0.2 --epochs 2 --methods npcl,npcl:rate=x0.5 --out x";
    let (_, notes) = tares_in(place.path(), &line.split(' ').collect::<Vec<_>>()).ends(0);
    assert!(notes.contains("npcl never left out a label: its burn-in of 5 epochs"), "{notes}");
    let page = std::fs::read_to_string(place.path().join("x/report.html")).unwrap();
    assert!(page.contains("npcl:rate=x0.5 never left out a label"));
}
