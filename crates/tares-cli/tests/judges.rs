//! Who judges labels in `tares audit`, and what is said about them.

mod program;

use program::{tares, tares_in};
use std::fs;
use std::path::Path;
use tares_core::stream;

/// 400 rows, two classes told apart by a text column alone; every tenth label is wrong. A third of the sizes is missing.
fn table(folder: &Path) {
    let mut draw = stream(5, "judges");
    let mut text = String::from("size,town,label\n");
    let mut truth = String::from("truth\n");
    for row in 0..400 {
        let town = ["Rome", "Oslo", "Bern", "Lima"][draw.below(4)];
        let kind = if matches!(town, "Rome" | "Lima") { "warm" } else { "cold" };
        let told = match (row % 10 == 0, kind) {
            (true, "warm") => "cold",
            (true, _) => "warm",
            (false, kind) => kind,
        };
        let size = if draw.chance(0.3) { String::new() } else { format!("{:.2}", draw.normal()) };
        text.push_str(&format!("{size},{town},{told}\n"));
        truth.push_str(&format!("{kind}\n"));
    }
    fs::write(folder.join("t.csv"), text).unwrap();
    fs::write(folder.join("truth.csv"), truth).unwrap();
}

fn summary(out: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn a_table_is_judged_by_a_linear_model_trees_and_a_forest_and_all_are_scored() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let (said, _) = tares_in(folder.path(), &["audit", "t.csv", "--truth", "truth.csv", "--out", "out"]).ends(1);
    assert!(said.contains("judges      linear") && said.contains("trees") && said.contains("weight"), "{said}");
    let summary = summary(&folder.path().join("out"));
    let judges = summary["judges"].as_array().unwrap();
    assert_eq!(judges.len(), 3);
    let weights: f64 = judges.iter().map(|judge| judge["weight"].as_f64().unwrap()).sum();
    assert!((weights - 1.0).abs() < 1e-6, "{summary}");
    assert!(judges.iter().all(|judge| judge["agreement"].as_f64().unwrap() > 0.85), "{summary}");
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.95, "{}", summary["against_truth"]);
    assert!((summary["noise_rate"].as_f64().unwrap() - 0.1).abs() < 0.03, "{}", summary["noise_rate"]);
    let page = fs::read_to_string(folder.path().join("out/audit.html")).unwrap();
    for name in ["linear", "trees", "forest"] {
        assert!(page.contains(&format!("<th scope=\"row\">{name}</th>")), "{page}");
    }
}

#[test]
fn judges_decides_who_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let names = |arguments: &[&str]| -> Vec<String> {
        let ask = [&["audit", "t.csv", "--out", "out", "--exit-zero"], arguments].concat();
        tares_in(folder.path(), &ask).success();
        let summary = summary(&folder.path().join("out"));
        let name = |judge: &serde_json::Value| judge["judge"].as_str().unwrap().to_owned();
        summary["judges"].as_array().unwrap().iter().map(name).collect()
    };
    assert_eq!(names(&["--judges", "trees"]), ["trees"]);
    assert_eq!(names(&["--judges", "mlp:8,linear", "--epochs", "2"]), ["mlp:8", "linear"]);
    // Options of networks ask for one.
    assert_eq!(names(&["--network", "mlp:8", "--epochs", "2"]), ["linear", "trees", "forest", "mlp:8"]);
}

#[test]
fn judges_that_cannot_be_asked_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let refused = |arguments: &[&str]| {
        tares_in(folder.path(), &[&["audit", "t.csv", "--out", "out"], arguments].concat()).fails(2)
    };
    let unknown = refused(&["--judges", "oracle"]);
    assert!(["linear", "trees", "mlp"].iter().all(|name| unknown.contains(name)), "{unknown}");
    assert!(refused(&["--judges", "trees,trees"]).contains("trees twice"));
    let idle = refused(&["--judges", "linear,trees", "--epochs", "3"]);
    assert!(idle.contains("no judge is a network") && idle.contains("--judges linear,trees,mlp"), "{idle}");
    assert!(refused(&["--folds", "1"]).contains("number of folds"));
    assert!(!folder.path().join("out/summary.json").exists());
}

#[test]
fn the_noise_rate_of_a_table_is_estimated_by_the_same_judges() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let ask = ["train", "t.csv", "--network", "mlp:8", "--epochs", "2", "--out", "run"];
    let (_, notes) = tares_in(folder.path(), &ask).ends(0);
    assert!(notes.contains("estimated by the judges linear, trees, forest"), "{notes}");
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("run/manifest.json")).unwrap()).unwrap();
    assert!((manifest["rate"]["value"].as_f64().unwrap() - 0.1).abs() < 0.04, "{}", manifest["rate"]);
    assert!(!folder.path().join("run/folds").exists());
}

#[test]
fn help_names_the_judges() {
    assert!(tares(&["audit", "--help"]).success().contains("linear,trees"));
}
