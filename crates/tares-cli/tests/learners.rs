//! `tares train` of a table without a network: `panel`, `trees`, `linear`.

mod program;

use program::tares_in;
use std::fs;
use std::path::Path;
use tares_core::stream;

/// Two classes told apart by town and size together; a fifth of the training labels is wrong, no label of `test.csv` is. A tenth of
/// the sizes is missing.
fn tables(folder: &Path, rows: usize) {
    let mut draw = stream(11, "learners");
    let mut table = |rows: usize, wrong: f64| {
        let mut text = String::from("size,town,label\n");
        for _ in 0..rows {
            let (town, size) = (["Rome", "Oslo", "Bern"][draw.below(3)], 2.0 * draw.normal());
            let big = if town == "Rome" { size > 0.0 } else { size < 0.5 };
            let told = big != draw.chance(wrong);
            let size = if draw.chance(0.1) { String::new() } else { format!("{size:.3}") };
            text.push_str(&format!("{size},{town},{}\n", if told { "yes" } else { "no" }));
        }
        text
    };
    let (train, test) = (table(rows, 0.2), table(400, 0.0));
    fs::write(folder.join("train.csv"), train).unwrap();
    fs::write(folder.join("test.csv"), test).unwrap();
}

fn manifest(run: &Path) -> serde_json::Value {
    serde_json::from_slice(&fs::read(run.join("manifest.json")).unwrap()).unwrap()
}

#[test]
fn a_table_is_learnt_by_a_panel_unless_a_network_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 600);
    let (_, notes) = tares_in(folder.path(), &["train", "train.csv", "--test", "test.csv", "--out", "run"]).ends(0);
    assert!(notes.contains("learnt by the network panel") && notes.contains("--network mlp"), "{notes}");
    let run = folder.path().join("run");
    let manifest = manifest(&run);
    assert_eq!((manifest["network"].as_str(), manifest["state"].as_str()), (Some("panel"), Some("finished")));
    let accuracy = manifest["result"]["test_accuracy_last10"].as_f64().unwrap();
    assert!(accuracy > 0.88, "{accuracy}");
    assert!(run.join("panel.json").is_file() && run.join("report.html").is_file());
    assert!(!run.join("model.safetensors").exists() && !run.join("folds").exists());
    // The model on disk says what the run said.
    let (_, said) = tares_in(folder.path(), &["predict", "run", "test.csv", "--out", "answers.csv"]).ends(0);
    assert!(said.contains(&format!("accuracy {:.2} %", 100.0 * accuracy)), "{said}, {accuracy}");
    // A town that training did not have, a missing size, columns in another order, no label.
    fs::write(folder.path().join("new.csv"), "town,size\nParis,1.0\nRome,\n").unwrap();
    assert_eq!(tares_in(folder.path(), &["predict", "run", "new.csv"]).success().lines().count(), 3);
    // The history of the run finds wrong labels, too.
    tares_in(folder.path(), &["audit", "run", "--out", "audit"]).ends(1);
    // Options of networks ask for a network.
    tares_in(folder.path(), &["train", "train.csv", "--epochs", "2", "--noise-rate", "0.2", "--out", "net"]).success();
    assert!(folder.path().join("net/model.safetensors").is_file());
}

#[test]
fn trees_are_trained_round_by_round_and_the_curriculum_prunes_wrong_labels() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 600);
    let noisy = ["--noise", "symmetric:0.2", "--test", "train.csv", "--label", "label", "--network", "trees"];
    for method in ["standard", "cl", "npcl"] {
        let ask = [&["train", "test.csv", "--method", method, "--out", method, "--noise-rate", "known"], &noisy[..]];
        tares_in(folder.path(), &ask.concat()).success();
        let run = folder.path().join(method);
        let epochs = fs::read_to_string(run.join("epochs.jsonl")).unwrap();
        let last: serde_json::Value = serde_json::from_str(epochs.lines().last().unwrap()).unwrap();
        assert_eq!(manifest(&run)["epochs"].as_u64().unwrap() as usize, epochs.lines().count());
        let (kept, precision) = (last["kept_fraction"].as_f64().unwrap(), last["label_precision"].as_f64().unwrap());
        match method {
            "npcl" => assert!(kept < 0.95 && precision > 0.85, "{last}"),
            "standard" => assert!(kept == 1.0 && precision < 0.85, "{last}"),
            _ => assert!(kept <= 1.0, "{last}"),
        }
    }
}

#[test]
fn a_linear_model_is_learnt() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 300);
    let ask = ["train", "train.csv", "--network", "linear", "--method", "standard", "--out", "run"];
    tares_in(folder.path(), &ask).success();
    assert_eq!(manifest(&folder.path().join("run"))["epochs"], 1);
}

#[test]
fn what_a_learner_cannot_do_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 100);
    let refused = |arguments: &[&str]| tares_in(folder.path(), arguments).fails(2);
    let method = refused(&["train", "train.csv", "--network", "trees", "--method", "gce", "--out", "run"]);
    assert!(method.contains("method of trees must be standard, cl or npcl"), "{method}");
    let idle = refused(&["train", "train.csv", "--network", "panel", "--epochs", "3", "--batch", "8", "--out", "run"]);
    assert!(idle.contains("--network panel does not use --epochs, --batch"), "{idle}");
    let network = refused(&["audit", "train.csv", "--network", "trees", "--out", "audit"]);
    assert!(network.contains("--judges linear,trees"), "{network}");
    assert!(refused(&["train", "train.csv", "--network", "oracle"]).contains("trees"));
    assert!(!folder.path().join("run").join("manifest.json").exists());
}

#[test]
fn a_damaged_panel_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 200);
    let ask = ["train", "train.csv", "--network", "linear", "--method", "standard", "--out", "run"];
    tares_in(folder.path(), &ask).success();
    let path = folder.path().join("run/panel.json");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(tares_in(folder.path(), &["predict", "run", "test.csv"]).fails(2).contains("panel.json"));
    fs::remove_file(&path).unwrap();
    assert!(tares_in(folder.path(), &["predict", "run", "test.csv"]).fails(2).contains("panel.json"));
}

#[test]
fn rows_without_a_label_take_no_part_and_are_predicted() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 300);
    let path = folder.path().join("train.csv");
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in [5, 6, 100] {
        let cells: Vec<&str> = lines[line].split(',').collect();
        lines[line] = format!("{},{},", cells[0], cells[1]);
    }
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    let (said, notes) = tares_in(folder.path(), &["audit", "train.csv", "--out", "audit"]).ends(1);
    assert!(notes.contains("3 rows have no label"), "{notes}");
    assert!(said.contains("297 in 2 classes"), "{said}");
    let suspects = fs::read_to_string(folder.path().join("audit/suspects.csv")).unwrap();
    let ids = suspects.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse::<usize>().unwrap());
    assert!(ids.into_iter().all(|id| ![4, 5, 99].contains(&id)), "{suspects}");
    let suggested = fs::read_to_string(folder.path().join("audit/labels-missing.csv")).unwrap();
    let ids: Vec<&str> = suggested.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(ids, ["4", "5", "99"], "{suggested}");
    // The audit's labels go back into the file, and the empty cells stay empty.
    let apply = ["apply-labels", "train.csv", "audit/labels-suggested.csv", "--out", "fixed"];
    tares_in(folder.path(), &apply).success();
    let fixed = fs::read_to_string(folder.path().join("fixed/train.csv")).unwrap();
    assert!([5, 6, 100].iter().all(|&line| fixed.lines().nth(line).unwrap().ends_with(',')), "{fixed}");
    let (_, notes) = tares_in(folder.path(), &["train", "train.csv", "--network", "linear", "--out", "run"]).ends(0);
    assert!(notes.contains("3 rows have no label"), "{notes}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_panel_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 8000);
    let ask = |out: &'static str| ["train", "train.csv", "--out", out];
    let child = program::start(folder.path(), &ask("stopped"));
    let stopped = folder.path().join("stopped");
    program::interrupt_after(child, &stopped.join("folds/judge-linear.bin"));
    tares_in(folder.path(), &["train", "--resume", "--out", "stopped"]).success();
    tares_in(folder.path(), &ask("whole")).success();
    for file in ["panel.json", "model.json", "suspects.csv", "samples.parquet"] {
        let read = |out: &str| fs::read(folder.path().join(out).join(file)).unwrap();
        assert!(read("stopped") == read("whole"), "{file} differs");
    }
}
