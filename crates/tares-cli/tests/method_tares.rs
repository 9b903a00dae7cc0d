//! A run of the method `tares`: nothing is told, the rate is estimated on the way, and its list of wrong labels is as good as its audit.

mod program;

use program::{epochs, flowers, json, tares_in};
use std::collections::BTreeSet;
use std::path::Path;

/// The rows of a `suspects.csv`.
fn suspects(path: &Path) -> BTreeSet<usize> {
    let text = std::fs::read_to_string(path).unwrap();
    let column = text.lines().next().unwrap().split(',').position(|name| name == "index").unwrap();
    text.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect()
}

#[test]
fn it_needs_no_rate_and_lists_the_wrong_labels() {
    let place = tempfile::tempdir().unwrap();
    let train = ["train", "digits", "--method", "tares", "--noise", "symmetric:0.4", "--epochs", "12", "--out", "run"];
    let (_, notes) = tares_in(place.path(), &train).ends(0);
    assert!(!notes.contains("estimating"), "{notes}");
    let run = place.path().join("run");
    let epochs = epochs(&run);
    assert_eq!(epochs.len(), 12);
    // The first epochs believe every label and hide a tenth of them.
    let first = epochs[0]["kept_fraction"].as_f64().unwrap();
    assert!(epochs[0]["estimated_rate"].is_null() && (first - 0.9).abs() < 0.001, "{}", epochs[0]);
    let (rate, kept) = (epochs[11]["estimated_rate"].as_f64().unwrap(), epochs[11]["kept_fraction"].as_f64().unwrap());
    assert!((rate - 0.4).abs() < 0.05 && (kept - 0.6).abs() < 0.06, "rate {rate}, kept {kept}");
    assert!(epochs[11]["label_precision"].as_f64().unwrap() > 0.95, "{}", epochs[11]);

    let listed = suspects(&run.join("suspects.csv"));
    let audit = ["audit", "run", "--out", "audit"];
    tares_in(place.path(), &audit).ends(1);
    assert_eq!(suspects(&place.path().join("audit/suspects.csv")), listed, "the same beliefs, the same list");
    let summary = json(&place.path().join("audit/summary.json"));
    assert!((summary["noise_rate"].as_f64().unwrap() - 0.4).abs() < 0.05, "{summary}");
    assert!(summary["probabilities"].as_str().unwrap().contains("believes"), "{summary}");
    let truth = &summary["against_truth"];
    assert!(truth["f1"].as_f64().unwrap() > 0.93, "{truth}");
}

#[test]
fn with_too_few_rows_it_says_so_and_what_to_do() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 120, ["a", "b", "c"]);
    let train = ["train", "flowers.csv", "--label", "species", "--network", "mlp:8", "--epochs", "5", "--out", "run"];
    let (_, notes) = tares_in(place.path(), &train).ends(0);
    assert!(notes.contains("a tenth of 96 rows is fewer than ten for each of 3 classes"), "{notes}");
    assert!(notes.contains("leave --network out") && notes.contains("--method elr"), "{notes}");
    assert_eq!(json(&place.path().join("run/manifest.json"))["result"]["uncorrected"], "few-rows");
    let audit = tares_in(place.path(), &["audit", "run", "--out", "audit", "--exit-zero"]);
    let (said, notes) = audit.ends(0);
    assert!(said.contains("noise rate  unknown") && notes.contains("cannot judge them"), "{said}{notes}");
}

#[test]
fn what_knows_nothing_is_not_trusted() {
    let place = tempfile::tempdir().unwrap();
    let mut random = tares_core::stream(1, "random labels");
    let mut text = String::from("x,y,z,label\n");
    for _ in 0..900 {
        let class = ["a", "b", "c"][(3.0 * random.unit()) as usize];
        text.push_str(&format!("{:.3},{:.3},{:.3},{class}\n", random.normal(), random.normal(), random.normal()));
    }
    std::fs::write(place.path().join("random.csv"), text).unwrap();
    let train = ["train", "random.csv", "--network", "mlp", "--epochs", "40", "--out", "run"];
    let (_, notes) = tares_in(place.path(), &train).ends(0);
    assert!(notes.contains("warning: on the test rows, the predictions equal"), "{notes}");
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.contains("on the test rows, the predictions equal"));
    let (said, notes) = tares_in(place.path(), &["audit", "run", "--out", "audit"]).ends(1);
    assert!(
        said.contains("noise rate  unknown") && notes.contains("neither the noise rate nor the suspects"),
        "{notes}"
    );
}
