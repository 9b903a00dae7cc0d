//! `--backbone` and `--features`: features in the place of pictures, for `audit`, `train` and `predict`.

mod program;

use program::{Ran, command, picture, ran};
use std::path::{Path, PathBuf};

/// A tiny network that compare/make_tiny_networks.py wrote.
fn network(name: &str) -> String {
    let files = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tares-backbone/tests/files");
    files.join(name).display().to_string()
}

/// Runs the program with a cache of its own.
fn tares(place: &Path, arguments: &[&str]) -> Ran {
    let mut command = command(arguments);
    command.current_dir(place).env("TARES_CACHE", place.join("cache"));
    ran(command)
}

/// Twenty dark and twenty light pictures; one of the light ones lies among the dark.
fn shades(place: &Path) {
    for (class, from) in [("dark", 0u8), ("light", 180)] {
        std::fs::create_dir_all(place.join("photos").join(class)).unwrap();
        for i in 0..20u8 {
            std::fs::write(place.join("photos").join(class).join(format!("{i:02}.png")), picture(from + 3 * i))
                .unwrap();
        }
    }
    std::fs::write(place.join("photos/dark/99.png"), picture(223)).unwrap();
}

fn npy(path: &Path, rows: &[[f32; 2]]) {
    let values: Vec<u8> = rows.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(path, tares_data::npy::encode("'<f4'", &[rows.len(), 2], &values)).unwrap();
}

#[test]
fn an_audit_judges_features_and_shows_pictures() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    let backbone = network("classifier.onnx");
    let line = ["audit", "photos", "--backbone", &backbone, "--out", "found"];
    let (_, said) = tares(place.path(), &line).ends(1);
    for part in [
        "classifier.onnx sees the middle of every picture at 8x8",
        "features are the 8 inputs",
        "41 pictures went through",
    ] {
        assert!(said.contains(part), "{said}");
    }
    let suspects = std::fs::read_to_string(place.path().join("found/suspects.csv")).unwrap();
    assert!(suspects.lines().nth(1).unwrap().contains("dark/99.png"), "{suspects}");
    let page = std::fs::read_to_string(place.path().join("found/audit.html")).unwrap();
    assert!(page.contains("data:image/png;base64"), "the page shows the picture, not its features");
    let summary = std::fs::read_to_string(place.path().join("found/summary.json")).unwrap();
    assert!(summary.contains("linear") && summary.contains("trees"), "{summary}");
    // The second time nothing is computed, and nothing changes.
    let (_, said) = tares(place.path(), &["audit", "photos", "--backbone", &backbone, "--out", "again"]).ends(1);
    assert!(said.contains("0 pictures went through the backbone, the features of 41 were stored already"), "{said}");
    assert_eq!(std::fs::read_to_string(place.path().join("again/suspects.csv")).unwrap(), suspects);
}

#[test]
fn a_model_remembers_its_backbone_and_refuses_another() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    std::fs::copy(network("classifier.onnx"), place.path().join("net.onnx")).unwrap();
    let line = "train photos --backbone net.onnx --noise-rate 0.1 --epochs 40 --batch 8 --out run";
    tares(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let spec = std::fs::read_to_string(place.path().join("run/spec.toml")).unwrap();
    assert!(spec.contains("backbone = \"net.onnx\""), "{spec}");
    std::fs::write(place.path().join("one.png"), picture(240)).unwrap();
    let (out, _) = tares(place.path(), &["predict", "run", "one.png"]).ends(0);
    assert!(out.lines().nth(1).unwrap().contains(",light,"), "{out}");
    std::fs::rename(place.path().join("net.onnx"), place.path().join("moved.onnx")).unwrap();
    let said = tares(place.path(), &["predict", "run", "one.png"]).fails(2);
    assert!(said.contains("the model's backbone is not there") && said.contains("--backbone FILE"), "{said}");
    tares(place.path(), &["predict", "run", "one.png", "--backbone", "moved.onnx"]).success();
    let said = tares(place.path(), &["predict", "run", "one.png", "--backbone", &network("attention.onnx")]).fails(2);
    assert!(said.contains("is not the network that the model was trained with"), "{said}");
}

#[test]
fn features_made_elsewhere_stand_for_the_rows() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    // In the order of the files: dark/00 … dark/19, dark/99, light/00 …: only the features say that dark/07 is light.
    let row = |index: usize| match index {
        7 => [8.05, 1.0],
        21.. => [5.0 + index as f32 / 10.0, 1.0],
        _ => [index as f32 / 10.0, 1.0],
    };
    npy(&place.path().join("f.npy"), &(0..41).map(row).collect::<Vec<_>>());
    tares(place.path(), &["audit", "photos", "--features", "f.npy", "--out", "found"]).ends(1);
    let suspects = std::fs::read_to_string(place.path().join("found/suspects.csv")).unwrap();
    assert!(suspects.lines().nth(1).unwrap().contains("dark/07.png"), "{suspects}");
    npy(&place.path().join("short.npy"), &[[1.0, 2.0]; 40]);
    let said = tares(place.path(), &["audit", "photos", "--features", "short.npy"]).fails(2);
    assert!(said.contains("short.npy") && said.contains("rows of the data, 41, got 40"), "{said}");
    let line = "train photos --features f.npy --noise-rate 0.1 --epochs 5 --out run";
    tares(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let said = tares(place.path(), &["predict", "run", "photos"]).fails(2);
    assert!(said.contains("--features FILE"), "{said}");
    tares(place.path(), &["predict", "run", "photos", "--features", "f.npy", "--out", "answers.csv"]).success();
}

#[test]
fn a_network_of_ours_is_a_backbone_too() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    let line = "train photos --network mlp:16 --noise-rate 0.1 --epochs 5 --out run";
    tares(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let line = ["audit", "photos", "--backbone", "run/model.safetensors", "--out", "found", "--exit-zero"];
    let (_, said) = tares(place.path(), &line).ends(0);
    assert!(said.contains("features are the 16 inputs of its last dense layer"), "{said}");
}

#[test]
fn a_backbone_that_cannot_be_used_is_refused_before_any_picture() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    for (file, wanted) in [
        ("text.onnx", "a network for text"),
        ("unknown-operator.onnx", "GridSample"),
        ("classifier.features.txt", "is not an ONNX file"),
        ("nowhere.onnx", "cannot open"),
    ] {
        let said = tares(place.path(), &["audit", "photos", "--backbone", &network(file)]).fails(2);
        assert!(said.contains(wanted), "{said}");
    }
    std::fs::write(place.path().join("t.csv"), "a,b,label\n1,2,x\n2,1,y\n1,3,x\n3,1,y\n").unwrap();
    let said = tares(place.path(), &["audit", "t.csv", "--backbone", &network("classifier.onnx")]).fails(2);
    assert!(said.contains("holds columns, and a backbone is for pictures"), "{said}");
    assert!(!place.path().join("audits").exists(), "nothing is written");
}

#[test]
fn listed_pictures_without_a_label_get_one_suggested_and_are_predicted() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    let mut list = "path,label\n".to_owned();
    for class in ["dark", "light"] {
        for i in 0..20 {
            let label = if i == 3 { "" } else { class };
            list.push_str(&format!("photos/{class}/{i:02}.png,{label}\n"));
        }
    }
    std::fs::write(place.path().join("labels.csv"), &list).unwrap();
    let backbone = network("classifier.onnx");
    let line = ["audit", "labels.csv", "--backbone", &backbone, "--out", "found", "--exit-zero"];
    let (said, notes) = tares(place.path(), &line).ends(0);
    assert!(notes.contains("2 pictures have no label") && said.contains("38 in 2 classes"), "{said}{notes}");
    let suggested = std::fs::read_to_string(place.path().join("found/labels-missing.csv")).unwrap();
    assert!(
        suggested.contains("photos/dark/03.png,dark") && suggested.contains("photos/light/03.png,light"),
        "{suggested}"
    );
    // The files say which network computed the features, and how.
    for file in ["summary.json", "audit.html"] {
        let text = std::fs::read_to_string(place.path().join("found").join(file)).unwrap();
        for part in [
            "2 pictures have no label",
            "classifier.onnx sees the middle of every picture at 8x8",
            "features are the 8 inputs",
        ] {
            assert!(text.contains(part), "{file}: {part}");
        }
    }
    // A network alone suggests nothing, and that is said.
    let line = ["audit", "labels.csv", "--epochs", "1", "--out", "alone", "--exit-zero"];
    let (_, notes) = tares(place.path(), &line).ends(0);
    assert!(notes.contains("2 rows have no label, and networks suggest none"), "{notes}");
    let line = format!("train labels.csv --backbone {backbone} --noise-rate 0.1 --out run");
    tares(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let (_, said) = tares(place.path(), &["predict", "run", "labels.csv", "--out", "answers.csv"]).ends(0);
    assert!(said.contains("on 38 rows that have a label"), "{said}");
    let answers = std::fs::read_to_string(place.path().join("answers.csv")).unwrap();
    assert_eq!(answers.lines().count(), 41);
}

#[test]
fn a_list_of_pictures_is_audited_and_written_back() {
    let place = tempfile::tempdir().unwrap();
    shades(place.path());
    let mut list = "path,label\n".to_owned();
    for class in ["dark", "light"] {
        (0..20).for_each(|i| list.push_str(&format!("photos/{class}/{i:02}.png,{class}\n")));
    }
    list.push_str("photos/dark/99.png,dark\n");
    std::fs::write(place.path().join("labels.csv"), &list).unwrap();
    let line = ["audit", "labels.csv", "--backbone", &network("classifier.onnx"), "--out", "found"];
    tares(place.path(), &line).ends(1);
    let line = ["apply-labels", "labels.csv", "found/labels-suggested.csv", "--out", "corrected"];
    tares(place.path(), &line).success();
    let written = std::fs::read_to_string(place.path().join("corrected/labels.csv")).unwrap();
    assert_eq!(written, list.replace("99.png,dark", "99.png,light"));
    std::fs::write(place.path().join("labels.csv"), list.replace("dark/03", "dark/33")).unwrap();
    let said = tares(place.path(), &["audit", "labels.csv"]).fails(2);
    assert!(said.contains("photos/dark/33.png") && said.contains("line 5"), "{said}");
}
