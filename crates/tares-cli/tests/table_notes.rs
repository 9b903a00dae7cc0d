//! What the program says about tables: columns it takes for labels, texts it does not know, true labels in another order.

mod program;

use program::{flowers, tares_in};
use std::fs;
use std::path::Path;

/// A small table with a category, and a model trained on it.
fn trained(place: &Path) {
    let line = |row: usize| format!("{}.5,{},{}\n", row % 7, ["Rome", "Oslo"][row % 2], ["a", "b"][row % 2]);
    fs::write(place.join("t.csv"), format!("age,city,label\n{}", (0..60).map(line).collect::<String>())).unwrap();
    let (_, said) = tares_in(place, &["train", "t.csv", "--network", "linear", "--out", "run"]).ends(0);
    assert!(said.contains("the labels are column \"label\" (--label names another)"), "{said}");
}

#[test]
fn predict_says_which_texts_the_model_does_not_know_and_which_column_is_not_there() {
    let place = tempfile::tempdir().unwrap();
    trained(place.path());
    fs::write(place.path().join("new.csv"), format!("age,city\n1,Oslo\n{}", "2,Atlantis\n".repeat(50))).unwrap();
    let (_, said) = tares_in(place.path(), &["predict", "run", "new.csv"]).ends(0);
    let note = "column \"city\": 50 of 51 rows hold a text that no training row has, such as \"Atlantis\"";
    assert_eq!(said.matches(note).count(), 1, "{said}");
    fs::write(place.path().join("less.csv"), "city\nOslo\n").unwrap();
    let said = tares_in(place.path(), &["predict", "run", "less.csv"]).fails(2);
    assert!(said.contains("does not have column \"age\", which the model needs: its columns are \"city\""), "{said}");
}

#[test]
fn a_truth_in_another_order_is_found_by_name() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path();
    let line = |row: usize| format!("r{row},{}.5,{}\n", row % 3, ["a", "b", "c"][row % 3]);
    let truth = |row: usize| format!("r{row},{}\n", ["a", "b", "c"][row % 3]);
    fs::write(folder.join("t.csv"), format!("id,size,label\n{}", (0..90).map(line).collect::<String>())).unwrap();
    let ask = |name: &str, text: String| {
        fs::write(folder.join("truth.csv"), text).unwrap();
        let line = format!("audit t.csv --id-column id --judges linear --truth truth.csv --exit-zero --out {name}");
        tares_in(folder, &line.split_whitespace().collect::<Vec<_>>())
    };
    let summary = |name: &str| {
        let text = fs::read_to_string(folder.join(name).join("summary.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["against_truth"].clone()
    };
    ask("same", format!("id,truth\n{}", (0..90).map(truth).collect::<String>())).ends(0);
    ask(
        "other",
        format!(
            "truth,id\n{}",
            (0..90)
                .rev()
                .map(|row| {
                    let line = truth(row);
                    let (id, class) = line.trim().split_once(',').unwrap();
                    format!("{class},{id}\n")
                })
                .collect::<String>()
        ),
    )
    .ends(0);
    assert_eq!(summary("same"), summary("other"));
    assert_eq!(summary("other")["noise_rate"], 0.0);
    let said = ask("none", format!("id,truth\n{}", (1..91).map(truth).collect::<String>())).fails(2);
    assert!(
        said.contains("truth.csv: column \"id\" names no row 'r0' (1 of the 90 rows of the data are not there)"),
        "{said}"
    );
}

#[test]
fn corrected_labels_may_go_into_a_file() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 60, ["iris", "rose", "tulip"]);
    let before = fs::read_to_string(place.path().join("flowers.csv")).unwrap();
    let class = before.lines().nth(1).unwrap().rsplit(',').next().unwrap().to_owned();
    fs::write(place.path().join("new.csv"), format!("index,label\n0,{class}\n")).unwrap();
    let ask = |out: &str| {
        tares_in(place.path(), &["apply-labels", "flowers.csv", "new.csv", "--label", "species", "--out", out])
    };
    let (said, _) = ask("fixed.csv").ends(0);
    assert!(said.contains("; 1 file written to fixed.csv"), "{said}");
    assert_eq!(fs::read_to_string(place.path().join("fixed.csv")).unwrap(), before);
    ask("folder").ends(0);
    assert!(place.path().join("folder/flowers.csv").is_file());
    let said = ask("fixed.parquet").fails(2);
    assert!(said.contains("--out fixed.parquet: the data is written in the format it has"), "{said}");
    assert!(ask("flowers.csv").fails(2).contains("is the file that is read"));
}

#[test]
fn an_audit_of_an_unfinished_run_says_how_to_finish_it() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("run")).unwrap();
    fs::write(place.path().join("run/spec.toml"), "version = 1\n").unwrap();
    let said = tares_in(place.path(), &["audit", "run"]).fails(2);
    assert!(said.contains("run: this run is not finished"), "{said}");
    assert!(said.contains("tares train --resume --out run"), "{said}");
}
