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
    // Options of networks ask for a network, and that is said.
    let network = ["train", "train.csv", "--epochs", "2", "--noise-rate", "0.2", "--out", "net"];
    let (_, notes) = tares_in(folder.path(), &network).ends(0);
    assert!(notes.contains("--epochs is for networks, so a network is trained"), "{notes}");
    assert!(folder.path().join("net/model.safetensors").is_file());
}

/// A run of a model of columns keeps what its judges said about rows they were not trained on.
#[test]
fn training_and_audits_of_run_and_data_list_the_same_suspects() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 600);
    let ask = |arguments: &[&str]| tares_in(folder.path(), arguments);
    ask(&["train", "train.csv", "--test", "test.csv", "--out", "run"]).success();
    let (_, notes) = ask(&["audit", "run", "--out", "of-run"]).ends(1);
    assert!(notes.contains("the 400 test rows of this run are not audited"), "{notes}");
    ask(&["audit", "train.csv", "--out", "of-data"]).ends(1);
    let list = |place: &str| fs::read_to_string(folder.path().join(place).join("suspects.csv")).unwrap();
    assert_eq!(list("run"), list("of-data"));
    assert_eq!(list("of-run"), list("of-data"));
    let summary = |place: &str| program::json(&folder.path().join(place).join("summary.json"));
    for number in ["noise_rate", "noise_rate_interval", "suspects", "warnings"] {
        assert_eq!(summary("of-run")[number], summary("of-data")[number], "{number}");
    }
    let suspects = manifest(&folder.path().join("run"))["result"]["suspects"].as_u64().unwrap() as usize;
    assert_eq!(suspects, list("run").lines().count() - 1);
    // The file fits `--probs`, too.
    let probs = folder.path().join("run/out-of-fold.npy");
    ask(&["audit", "train.csv", "--probs", probs.to_str().unwrap(), "--out", "of-probs"]).ends(1);
    // Runs of earlier versions did not keep it. Their margins say nothing about the labels.
    fs::remove_file(&probs).unwrap();
    let said = ask(&["audit", "run", "--out", "old"]).fails(2);
    assert!(said.contains("tares audit train.csv") && said.contains("--overwrite"), "{said}");
}

/// Two numbers that hardly tell three classes apart: most rows that disagree are merely hard.
#[test]
fn hard_rows_of_a_table_are_neither_suspects_nor_counted_as_wrong_test_labels() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = stream(3, "overlap");
    let mut text = String::from("a,b,label\n");
    for row in 0..900 {
        let class = row % 3;
        text.push_str(&format!(
            "{:.3},{:.3},{}\n",
            class as f64 + 1.2 * draw.normal(),
            draw.normal(),
            ["x", "y", "z"][class]
        ));
    }
    fs::write(folder.path().join("t.csv"), text).unwrap();
    let (said, notes) = tares_in(folder.path(), &["train", "t.csv", "--noise-rate", "0.2", "--out", "run"]).ends(0);
    let result = manifest(&folder.path().join("run"))["result"].clone();
    assert!(result["suspects"].as_u64().unwrap() < 200, "{result}");
    assert!(said.contains("the accuracy on true labels cannot be estimated"), "{said}");
    assert!(notes.contains("probably rows that are hard for the model"), "{notes}");
    let warnings = result["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|warning| warning.as_str().unwrap().contains("hard for the model")), "{result}");
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains("cautions about the suspects"), "{page}");
    assert!(page.contains("judged by models that were not trained on them") && !page.contains("judged in-sample"));
}

#[test]
fn what_a_panel_leaves_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    tables(folder.path(), 600);
    let ask = ["train", "train.csv", "--test", "test.csv", "--noise-rate", "0.2", "--out", "run"];
    let (_, notes) = tares_in(folder.path(), &ask).ends(0);
    assert!(notes.contains("the final model learnt from") && notes.contains("of 600 rows"), "{notes}");
    let run = folder.path().join("run");
    assert!(fs::read_to_string(run.join("report.html")).unwrap().contains("the final model learnt from"));
    let epoch: serde_json::Value = serde_json::from_slice(&fs::read(run.join("epochs.jsonl")).unwrap()).unwrap();
    assert_eq!(epoch["learning_rate"].as_f64(), Some(0.0), "models that are fitted in one go have none");
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
    // The suggested labels go into the file, too, and nothing else changes.
    assert!(said.contains("no label    3 rows") && said.contains("labels-missing.csv"), "{said}");
    assert!(fs::read_to_string(folder.path().join("audit/audit.html")).unwrap().contains("3 rows have no label"));
    let apply = ["apply-labels", "train.csv", "audit/labels-missing.csv", "--out", "labelled"];
    assert!(tares_in(folder.path(), &apply).success().contains("3 rows without a label have one now"));
    let labelled = fs::read_to_string(folder.path().join("labelled/train.csv")).unwrap();
    for (number, (before, after)) in fs::read_to_string(&path).unwrap().lines().zip(labelled.lines()).enumerate() {
        let new = [5, 6, 100].contains(&number);
        assert!(after.starts_with(before) && (before == after) != new && !after.ends_with(','), "{before} {after}");
    }
    // A file of true labels may have one for every row of the data.
    let truth: String = (0..=300).map(|row| if row == 0 { "truth\n" } else { "yes\n" }).collect();
    fs::write(folder.path().join("truth.csv"), truth).unwrap();
    let measured = ["audit", "train.csv", "--truth", "truth.csv", "--out", "measured"];
    assert!(tares_in(folder.path(), &measured).ends(1).0.contains("truth "));
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
