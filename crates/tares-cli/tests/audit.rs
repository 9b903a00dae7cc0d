//! `tares audit` and `tares apply-labels`, as they are typed.

mod program;

use program::{tares, tares_in};
use std::fs;
use std::path::{Path, PathBuf};
use tares_core::stream;

/// 3000 rows, 3 classes, a good classifier, every tenth label moved to the next class.
fn arrays(directory: &Path) -> (PathBuf, PathBuf, PathBuf, Vec<u32>) {
    let mut draw = stream(1, "audit test");
    let (mut probs, mut given, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..3000u32 {
        let class = i % 3;
        let sure = 0.6 + 0.39 * draw.unit();
        for k in 0..3 {
            probs.push(if k == class { sure } else { (1.0 - sure) / 2.0 } as f32);
        }
        truth.push(class);
        given.push(if draw.chance(0.1) { (class + 1) % 3 } else { class });
    }
    let bytes = |values: &[u32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let (y, t, p) = (directory.join("y.npy"), directory.join("t.npy"), directory.join("p.npy"));
    fs::write(&y, tares_data::npy::encode("'<u4'", &[3000], &bytes(&given))).unwrap();
    fs::write(&t, tares_data::npy::encode("'<u4'", &[3000], &bytes(&truth))).unwrap();
    write_f32(&p, &[3000, 3], &probs);
    (y, p, t, given)
}

fn write_f32(path: &Path, shape: &[usize], values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    fs::write(path, tares_data::npy::encode("'<f4'", shape, &bytes)).unwrap();
}

fn path(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// As `tares corrupt` writes it: given and true labels side by side.
#[test]
fn the_truth_is_the_column_called_truth() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, t, given) = arrays(folder.path());
    let truth = folder.path().join("truth.csv");
    let lines = given.iter().enumerate().map(|(i, label)| format!("{i},{i},{label},{}\n", i % 3));
    fs::write(&truth, format!("index,id,given,truth\n{}", lines.collect::<String>())).unwrap();
    let out = folder.path().join("out");
    let [array, table] = [t, truth].map(|truth| {
        let ask = ["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out), "--truth", path(&truth)];
        tares(&ask).ends(1).0
    });
    assert!(array.contains("F1"), "{array}");
    assert_eq!(array, table);
}

#[test]
fn labels_and_probabilities_give_suspects_and_exit_code_1() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, t, given) = arrays(folder.path());
    let out = folder.path().join("out");
    let ask = ["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out), "--truth", path(&t)];
    let (said, _) = tares(&ask).ends(1);
    assert!(said.contains("F1") && said.contains("AUROC") && said.contains("noise rate"), "{said}");

    let summary: serde_json::Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["rows"], 3000);
    let rate = summary["noise_rate"].as_f64().unwrap();
    let true_rate = summary["against_truth"]["noise_rate"].as_f64().unwrap();
    assert!((rate - true_rate).abs() < 0.01, "{rate} for {true_rate}");
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.95, "{summary}");
    let interval = summary["noise_rate_interval"].as_array().unwrap();
    assert!(interval[0].as_f64().unwrap() <= true_rate && true_rate <= interval[1].as_f64().unwrap());
    for row in summary["transition"].as_array().unwrap() {
        let sum: f64 = row.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }

    let suspects = fs::read_to_string(out.join("suspects.csv")).unwrap();
    assert!(suspects.starts_with("index,id,given,suggested,score,reason\n"));
    assert_eq!(suspects.lines().count() - 1, summary["suspects"].as_u64().unwrap() as usize);
    let labels = fs::read_to_string(out.join("labels-suggested.csv")).unwrap();
    assert_eq!(labels.lines().count(), 3001);
    for (line, label) in labels.lines().skip(1).zip(&given) {
        assert_eq!(line.split(',').nth(2).unwrap(), label.to_string());
    }
    let page = fs::read_to_string(out.join("audit.html")).unwrap();
    assert!(
        page.contains("<svg")
            && page.contains("id=\"gallery\"")
            && !page.contains("src=\"http")
            && !page.contains("href=\"http")
    );

    assert!(tares(&[&ask[..], &["--exit-zero"]].concat()).success().contains("suspects"));
    for method in ["confident", "argmax"] {
        tares(&[&ask[..], &["--method", method]].concat()).ends(1);
    }
}

#[test]
fn csv_and_parquet_say_the_same_as_npy() {
    let folder = tempfile::tempdir().unwrap();
    let (_, p, _, given) = arrays(folder.path());
    let mut values = vec![0f32; 9000];
    tares_data::npy::Stored::open(&p).unwrap().read_rows(0, &mut values).unwrap();
    let wide: Vec<u8> = values.iter().flat_map(|&v| f64::from(v).to_le_bytes()).collect();
    fs::write(folder.path().join("wide.npy"), tares_data::npy::encode("'<f8'", &[3000, 3], &wide)).unwrap();
    let column = |k: usize| values.chunks_exact(3).map(|row| row[k]).collect::<Vec<f32>>();
    let table = || (0..3).fold(tares_data::OutTable::new(), |t, k| t.column(&format!("p{k}"), column(k)).unwrap());
    let labels = tares_data::OutTable::new().column("label", given).unwrap();
    let mut said = Vec::new();
    for (probs, label_file) in
        [("p.npy", "y.npy"), ("wide.npy", "y.npy"), ("p2.csv", "y2.csv"), ("p2.parquet", "y2.parquet")]
    {
        let (probs, label_file) = (folder.path().join(probs), folder.path().join(label_file));
        if probs.extension().unwrap() != "npy" {
            table().write(&probs, true).unwrap();
            labels.write(&label_file, true).unwrap();
        }
        let out = folder.path().join("out");
        tares(&["audit", "--labels", path(&label_file), "--probs", path(&probs), "--out", path(&out)]).ends(1);
        let suspects = fs::read_to_string(out.join("suspects.csv")).unwrap();
        assert!(suspects.lines().count() > 200, "{suspects}");
        let mut summary: serde_json::Value =
            serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
        summary["probabilities"].take();
        said.push((suspects, fs::read(out.join("labels-suggested.csv")).unwrap(), summary));
    }
    // To the last digit, whatever the file: decimals of 32-bit numbers mean these numbers.
    said.iter().for_each(|other| assert!(*other == said[0]));
}

#[test]
fn features_give_a_second_opinion() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, t, _) = arrays(folder.path());
    let (features, out) = (folder.path().join("f.npy"), folder.path().join("out"));
    // Three clusters, one per true class (rows go 0, 1, 2, 0, …).
    let mut draw = stream(2, "features");
    let values: Vec<f32> =
        (0..6000).map(|i| [0.0, 9.0, 18.0][i / 2 % 3] * (i % 2) as f32 + draw.normal() as f32).collect();
    write_f32(&features, &[3000, 2], &values);
    let ask = ["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out), "--truth", path(&t)];
    let (said, _) = tares(&[&ask[..], &["--features", path(&features)]].concat()).ends(1);
    assert!(said.contains("neighbours  0.") && said.contains("labels of nearest neighbours"), "{said}");
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    let (rate, truth) = (&summary["neighbours"]["noise_rate"], &summary["against_truth"]["noise_rate"]);
    assert!((rate.as_f64().unwrap() - truth.as_f64().unwrap()).abs() < 0.03, "{rate} for {truth}");
    write_f32(&features, &[1500, 4], &values);
    let said = tares(&[&ask[..], &["--features", path(&features)]].concat()).fails(2);
    assert!(said.contains("3000") && said.contains("1500"), "{said}");
}

#[test]
fn bad_input_is_refused_with_the_place_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, t, _) = arrays(folder.path());
    let bad = folder.path().join("bad.npy");
    let out = folder.path().join("out");
    let refused = |probs: &Path, labels: &Path| {
        tares(&["audit", "--labels", path(labels), "--probs", path(probs), "--out", path(&out)]).fails(2)
    };
    let mut values = vec![1f32 / 3.0; 9000];
    values[3 * 17] = 0.9;
    write_f32(&bad, &[3000, 3], &values);
    let said = refused(&bad, &y);
    assert!(said.contains("row 17") && said.contains("--normalise"), "{said}");
    tares(&["audit", "--labels", path(&y), "--probs", path(&bad), "--out", path(&out), "--normalise", "--exit-zero"])
        .success();

    values[3 * 40 + 1] = f32::NAN;
    write_f32(&bad, &[3000, 3], &values);
    assert!(refused(&bad, &y).contains("row 40, class 1"));
    let logits: Vec<f32> = (0..9000).map(|i| (i % 7) as f32 - 3.0).collect();
    write_f32(&bad, &[3000, 3], &logits);
    assert!(refused(&bad, &y).contains("logits"));
    write_f32(&bad, &[4500, 2], &[0.5; 9000]);
    let said = refused(&bad, &y);
    assert!(said.contains("3000") && said.contains("4500"), "{said}");
    write_f32(&bad, &[3000, 2], &[0.5; 6000]);
    assert!(refused(&bad, &y).contains("0..2"));
    write_f32(&bad, &[9000], &[0.5; 9000]);
    assert!(refused(&bad, &y).contains("rows x classes"));
    assert!(refused(&folder.path().join("none.npy"), &y).contains("none.npy"));
    assert!(refused(&p, &p).contains("labels must be one per row"));
    assert!(tares(&["audit", "--probs", path(&p)]).fails(2).contains("--labels"));
    let _ = t;
}

#[test]
fn in_sample_probabilities_bring_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let (y, ..) = arrays(folder.path());
    let mut given = vec![0; 3000];
    tares_data::npy::Stored::open(&y).unwrap().read_labels(0, &mut given).unwrap();
    let sure: Vec<f32> = given.iter().flat_map(|&l| (0..3).map(move |k| if k == l { 0.998 } else { 0.001 })).collect();
    let p = folder.path().join("sure.npy");
    write_f32(&p, &[3000, 3], &sure);
    let out = folder.path().join("out");
    let (_, said) = tares(&["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out)]).ends(0);
    assert!(said.contains("warning") && said.contains("trained on"), "{said}");
}

/// Two separable groups; the labels of rows 3 and 50 are exchanged.
fn table(directory: &Path) -> PathBuf {
    let mut text = String::from("width,height,kind\n");
    for i in 0..120 {
        let big = i % 2 == 1;
        let told = if i == 3 || i == 50 { !big } else { big };
        let (w, h) = if big { (8.0 + f64::from(i % 7) * 0.1, 4.0) } else { (1.0 + f64::from(i % 5) * 0.1, 2.0) };
        text.push_str(&format!("{w},{h},{}\n", if told { "big" } else { "small" }));
    }
    let path = directory.join("things.csv");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_table_is_audited_reviewed_and_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(folder.path());
    let out = folder.path().join("out");
    let ask = ["audit", path(&data), "--label", "kind", "--out", path(&out), "--folds", "3", "--network", "mlp:16"];
    tares(&[&ask[..], &["--epochs", "60", "--batch", "16"]].concat()).ends(1);
    let suspects = fs::read_to_string(out.join("suspects.csv")).unwrap();
    let mut rows: Vec<&str> = suspects.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    rows.sort_unstable();
    assert_eq!(rows, ["3", "50"], "{suspects}");
    let page = fs::read_to_string(out.join("audit.html")).unwrap();
    let command = format!("tares apply-labels {} labels-reviewed.csv --label kind --out corrected", path(&data));
    assert!(page.contains("width") && page.contains(&command), "{page}");

    // As the page exports it: one suggestion taken, the other label kept.
    let reviewed = folder.path().join("labels-reviewed.csv");
    fs::write(&reviewed, "index,id,given,label\n3,3,small,big\n50,50,big,big\n").unwrap();
    let fixed = folder.path().join("fixed");
    let apply = ["apply-labels", path(&data), path(&reviewed), "--label", "kind", "--out", path(&fixed)];
    let said = tares(&apply).success();
    assert!(said.contains("1 of 120 labels changed"), "{said}");
    let (before, after) = (fs::read_to_string(&data).unwrap(), fs::read_to_string(fixed.join("things.csv")).unwrap());
    for (row, (old, new)) in before.lines().skip(1).zip(after.lines().skip(1)).enumerate() {
        assert_eq!(old == new, row != 3, "row {row}: {old} → {new}");
    }
    // The suggestions of the audit itself.
    let suggested = out.join("labels-suggested.csv");
    let all = ["apply-labels", path(&data), path(&suggested), "--label", "kind", "--out", path(&fixed)];
    assert!(tares(&all).success().contains("2 of 120 labels changed"));

    fs::write(&reviewed, "index,id,given,label\n3,3,big,big\n").unwrap();
    assert!(tares(&apply).fails(2).contains("row 3 has the label 'small'"));
    fs::write(&reviewed, "index,id,given,label\n3,3,small,huge\n").unwrap();
    assert!(tares(&apply).fails(2).contains("'huge' is not one of the classes"));
    fs::write(&reviewed, "index,id,given,label\n300,300,small,big\n").unwrap();
    assert!(tares(&apply).fails(2).contains("0..120"));
}

#[test]
fn a_finished_run_is_audited_from_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    tares(&["train", "digits", "--noise", "symmetric:0.2", "--method", "elr", "--epochs", "4", "--out", path(&run)])
        .success();
    let out = folder.path().join("out");
    tares(&["audit", path(&run), "--out", path(&out)]).ends(1);
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["method"], "history");
    assert!((summary["noise_rate"].as_f64().unwrap() - 0.2).abs() < 0.05, "{}", summary["noise_rate"]);
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.85, "{}", summary["against_truth"]);
}

#[test]
fn a_network_that_believed_every_label_gives_its_own_list_and_no_rate() {
    let folder = tempfile::tempdir().unwrap();
    let train = "train digits --noise symmetric:0.2 --method standard --epochs 4 --out run";
    tares_in(folder.path(), &train.split(' ').collect::<Vec<_>>()).success();
    let (said, notes) = tares_in(folder.path(), &["audit", "run", "--out", "out"]).ends(1);
    assert!(said.contains("noise rate  unknown"), "{said}");
    assert!(notes.contains("a network that learnt these labels cannot judge them"), "{notes}");
    let summary: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.path().join("out/summary.json")).unwrap()).unwrap();
    assert_eq!(summary["noise_rate_interval"], serde_json::json!([0.0, 1.0]));
    assert!(summary["against_truth"]["f1"].as_f64().unwrap() > 0.85, "{}", summary["against_truth"]);
    let rows = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(rows("out/suspects.csv"), rows("run/suspects.csv"), "the run's own list");
    assert!(rows("out/audit.html").contains("The noise rate is unknown"));
}

/// The probabilities of `arrays` with columns called cat, cow and dog, in the order of `columns`, in one of three formats.
fn named_probabilities(directory: &Path, columns: [usize; 3], format: &str) -> PathBuf {
    let mut values = vec![0f32; 9000];
    tares_data::npy::Stored::open(directory.join("p.npy")).unwrap().read_rows(0, &mut values).unwrap();
    let column = |k: usize| values.chunks_exact(3).map(|row| row[k]).collect::<Vec<f32>>();
    let path = directory.join(format!("named.{format}"));
    let named = columns.iter().map(|&k| (["cat", "cow", "dog"][k], column(k)));
    named
        .fold(tares_data::OutTable::new(), |t, (name, cells)| t.column(name, cells).unwrap())
        .write(&path, true)
        .unwrap();
    path
}

/// The labels of `arrays` by name.
fn named_labels(directory: &Path, file: &str, column: &str, labels: impl Iterator<Item = u32>) -> PathBuf {
    let path = directory.join(file);
    let names: Vec<String> = labels.map(|label| ["cat", "cow", "dog"][label as usize].to_owned()).collect();
    tares_data::OutTable::new().column(column, names).unwrap().write(&path, true).unwrap();
    path
}

#[test]
fn named_columns_are_matched_by_name_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let (.., given) = arrays(folder.path());
    let y = named_labels(folder.path(), "y.csv", "label", given.iter().copied());
    let out = folder.path().join("out");
    let suspects = |probs: &Path| {
        tares(&["audit", "--labels", path(&y), "--probs", path(probs), "--out", path(&out)]).ends(1);
        fs::read_to_string(out.join("suspects.csv")).unwrap()
    };
    let in_order = suspects(&named_probabilities(folder.path(), [0, 1, 2], "csv"));
    assert!(in_order.lines().count() < 400, "{in_order}");
    for format in ["csv", "parquet"] {
        assert_eq!(suspects(&named_probabilities(folder.path(), [2, 0, 1], format)), in_order, "{format}");
    }
    // Names that fit in part are refused: a position would be a guess.
    let text = fs::read_to_string(named_probabilities(folder.path(), [2, 0, 1], "csv")).unwrap();
    let wrong = folder.path().join("wrong.csv");
    fs::write(&wrong, text.replacen("dog", "mouse", 1)).unwrap();
    let said = tares(&["audit", "--labels", path(&y), "--probs", path(&wrong), "--out", path(&out)]).fails(2);
    assert!(said.contains("'dog'") && said.contains("'mouse'"), "{said}");
}

#[test]
fn columns_without_names_are_the_classes_in_order_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, ..) = arrays(folder.path());
    let out = folder.path().join("out");
    let (_, said) = tares(&["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out)]).ends(1);
    assert!(said.contains("no names, so column i is taken as class i"), "{said}");
}

#[test]
fn labels_and_truth_may_be_names() {
    let folder = tempfile::tempdir().unwrap();
    let (_, p, t, given) = arrays(folder.path());
    let out = folder.path().join("out");
    let y = named_labels(folder.path(), "y.csv", "label", given.iter().copied());
    let truth = named_labels(folder.path(), "truth.csv", "truth", (0..3000).map(|row| row % 3));
    // Probabilities without names, labels by name: the classes in alphabetical order. The file's name says nothing.
    let nameless = folder.path().join("probabilities.dat");
    fs::copy(&p, &nameless).unwrap();
    for truth in [&truth, &t] {
        let ask =
            ["audit", "--labels", path(&y), "--probs", path(&nameless), "--out", path(&out), "--truth", path(truth)];
        let (said, _) = tares(&ask).ends(1);
        assert!(said.contains("F1          1.0000"), "{said}");
        let suspects = fs::read_to_string(out.join("suspects.csv")).unwrap();
        assert!(suspects.contains(",cat,") || suspects.contains(",cow,"), "{suspects}");
    }
    fs::write(&truth, format!("truth\n{}", "mouse\n".repeat(3000))).unwrap();
    let ask = ["audit", "--labels", path(&y), "--probs", path(&p), "--out", path(&out), "--truth", path(&truth)];
    let said = tares(&ask).fails(2);
    assert!(said.contains("'mouse'") && said.contains("'cat', 'cow', 'dog'"), "{said}");
}

/// The file that `tares corrupt` writes beside the data.
#[test]
fn the_truth_that_corrupt_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(folder.path());
    let (noisy, out) = (folder.path().join("noisy"), folder.path().join("out"));
    let corrupt = ["corrupt", path(&data), "--label", "kind", "--noise", "symmetric:0.1", "--test-fraction", "0"];
    tares(&[&corrupt[..], &["--out", path(&noisy)]].concat()).success();
    let (data, truth) = (noisy.join("things.csv"), noisy.join("truth.csv"));
    let ask = ["audit", path(&data), "--label", "kind", "--truth", path(&truth), "--out", path(&out), "--exit-zero"];
    let said = tares(&[&ask[..], &["--folds", "2", "--network", "mlp:8", "--epochs", "2"]].concat()).success();
    assert!(said.contains("wrong labels (0.") && said.contains("recall"), "{said}");
}

#[test]
fn features_without_a_column_are_one_clear_error() {
    let folder = tempfile::tempdir().unwrap();
    let (y, p, _, _) = arrays(folder.path());
    let features = folder.path().join("f.npy");
    write_f32(&features, &[3000, 0], &[]);
    let ask = ["audit", "--labels", path(&y), "--probs", path(&p), "--features", path(&features)];
    let mut command = program::command(&ask);
    command.current_dir(folder.path());
    let error = program::ran(command).fails(2);
    assert!(error.contains("features must be numbers, rows x features, got an array of 3000 x 0"), "{error}");
}
