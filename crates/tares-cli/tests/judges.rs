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

/// Seven columns of 90 categories are 630 features of 0 and 1, but seven columns of a tree.
#[test]
fn trees_judge_columns_of_many_categories_and_are_missed_where_there_are_too_many_columns() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = stream(8, "categories");
    let names: Vec<String> = (0..7).map(|column| format!("c{column}")).collect();
    let mut text = names.join(",") + ",label\n";
    for _ in 0..600 {
        let cells: Vec<usize> = (0..7).map(|_| draw.below(90)).collect();
        let label = if cells[0].is_multiple_of(2) { "even" } else { "odd" };
        let cells: Vec<String> = cells.iter().map(|cell| format!("v{cell}")).collect();
        text.push_str(&format!("{},{label}\n", cells.join(",")));
    }
    fs::write(folder.path().join("cats.csv"), text).unwrap();
    tares_in(folder.path(), &["audit", "cats.csv", "--out", "cats", "--exit-zero"]).success();
    let found = summary(&folder.path().join("cats"));
    let judges: Vec<&str> =
        found["judges"].as_array().unwrap().iter().filter_map(|judge| judge["judge"].as_str()).collect();
    assert_eq!(judges, ["linear", "trees", "forest"]);
    let (_, notes) = tares_in(folder.path(), &["train", "cats.csv", "--out", "run"]).ends(0);
    assert!(notes.contains("(linear, trees, forest)"), "{notes}");

    let columns: Vec<String> = (0..600).map(|column| format!("n{column}")).collect();
    let mut text = columns.join(",") + ",label\n";
    for row in 0..40 {
        let cells: Vec<String> = (0..600).map(|_| format!("{:.2}", draw.normal())).collect();
        text.push_str(&format!("{},{}\n", cells.join(","), ["a", "b"][row % 2]));
    }
    fs::write(folder.path().join("wide.csv"), text).unwrap();
    let (_, notes) = tares_in(folder.path(), &["audit", "wide.csv", "--out", "wide", "--exit-zero"]).ends(0);
    assert!(notes.contains("trees and forest do not judge 600 columns"), "{notes}");
    assert!(summary(&folder.path().join("wide"))["data_notes"].to_string().contains("do not judge 600 columns"));
}

/// The limit to what the surest rows confirm is that of a table, whoever judges it.
#[test]
fn a_network_among_the_judges_does_not_lift_the_limit_of_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = stream(4, "overlap");
    let mut text = String::from("a,b,label\n");
    for row in 0..600 {
        let class = row % 3;
        text.push_str(&format!(
            "{:.3},{:.3},{}\n",
            class as f64 + 1.2 * draw.normal(),
            draw.normal(),
            ["x", "y", "z"][class]
        ));
    }
    fs::write(folder.path().join("t.csv"), text).unwrap();
    let ask = ["audit", "t.csv", "--judges", "linear,mlp:8", "--epochs", "3", "--exit-zero", "--out", "out"];
    tares_in(folder.path(), &ask).success();
    let found = summary(&folder.path().join("out"));
    assert!(found["warnings"].to_string().contains("probably rows that are hard for the model"), "{found}");
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
    assert!(!folder.path().join("out").exists(), "nothing is left of a refused audit");
}

#[test]
fn the_noise_rate_of_a_table_is_estimated_by_the_same_judges() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let ask = ["train", "t.csv", "--method", "npcl", "--network", "mlp:8", "--epochs", "2", "--out", "run"];
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
