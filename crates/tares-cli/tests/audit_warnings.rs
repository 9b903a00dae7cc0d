//! `tares audit` where its answer should not be trusted: it says so everywhere.

mod program;

use program::tares;
use std::fs;
use std::path::{Path, PathBuf};
use tares_core::stream;

fn path(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// 600 rows of two classes, 30 of the second, which the model takes for the first.
fn rare_class(directory: &Path) -> (PathBuf, PathBuf) {
    let (data, probs) = (directory.join("rare.csv"), directory.join("p.csv"));
    let mut draw = stream(3, "rare");
    let (mut rows, mut cells) = (String::from("size,kind\n"), String::from("common,rare\n"));
    for row in 0..600 {
        let kind = if row % 20 == 0 { "rare" } else { "common" };
        rows.push_str(&format!("{:.3},{kind}\n", draw.normal()));
        let rare = 0.02 + 0.02 * draw.unit();
        cells.push_str(&format!("{:.4},{:.4}\n", 1.0 - rare, rare));
    }
    fs::write(&data, rows).unwrap();
    fs::write(&probs, cells).unwrap();
    (data, probs)
}

#[test]
fn a_class_is_emptied_with_a_warning_and_only_if_told() {
    let folder = tempfile::tempdir().unwrap();
    let (data, probs) = rare_class(folder.path());
    let out = folder.path().join("out");
    let ask = ["audit", path(&data), "--label", "kind", "--probs", path(&probs), "--out", path(&out)];
    // The plainest detector calls every rare label wrong.
    let (_, said) = tares(&[&ask[..], &["--method", "argmax", "--quiet"]].concat()).ends(1);
    let warning = "30 of the 30 rows labelled 'rare' are suspects";
    assert!(said.contains(warning) && said.contains("warning"), "{said}");
    let summary = fs::read_to_string(out.join("summary.json")).unwrap();
    let page = fs::read_to_string(out.join("audit.html")).unwrap();
    assert!(summary.contains(warning) && page.contains("30 of the 30 rows labelled"), "{summary}");

    let (suggested, fixed) = (out.join("labels-suggested.csv"), folder.path().join("fixed"));
    let apply = ["apply-labels", path(&data), path(&suggested), "--label", "kind", "--out", path(&fixed)];
    let said = tares(&apply).fails(2);
    assert!(said.contains("'rare' loses 30 of its 30 rows") && said.contains("--allow-emptying"), "{said}");
    assert!(!fixed.exists());
    assert!(tares(&[&apply[..], &["--allow-emptying"]].concat()).success().contains("30 of 600 labels changed"));
}

/// What was guessed or left out when the data was read stands on the terminal and in the files.
#[test]
fn an_audit_says_how_the_data_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut draw = stream(6, "read");
    let mut rows = |count: usize| -> String {
        (0..count)
            .map(|row| format!("{:.3},{}\n", (row % 2) as f64 * 3.0 + draw.normal(), ["a", "b"][row % 2]))
            .collect()
    };
    let data = folder.path().join("parts");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("train.csv"), rows(80)).unwrap();
    fs::write(data.join("test.csv"), rows(20)).unwrap();
    let out = folder.path().join("out");
    let (_, notes) = tares(&["audit", path(&data), "--judges", "linear", "--exit-zero", "--out", path(&out)]).ends(0);
    let (summary, page) =
        (fs::read_to_string(out.join("summary.json")).unwrap(), fs::read_to_string(out.join("audit.html")).unwrap());
    for sentence in [
        "no header: columns are numbered, the labels are column 2",
        "20 test rows came with the data and are not audited",
    ] {
        for text in [&notes, &summary, &page] {
            assert!(text.contains(sentence), "{sentence}: {text}");
        }
    }
    // The judges never saw the rows they judge: if they agree with all labels, the labels are easy, not leaked.
    let easy: String = (0..300).map(|row| format!("{},{}\n", 100 * (row % 2) + row % 7, ["a", "b"][row % 2])).collect();
    let easy_file = folder.path().join("easy.csv");
    fs::write(&easy_file, format!("size,label\n{easy}")).unwrap();
    let easy_out = folder.path().join("easy");
    let (_, notes) =
        tares(&["audit", path(&easy_file), "--judges", "linear", "--exit-zero", "--out", path(&easy_out)]).ends(0);
    assert!(!notes.contains("out-of-sample"), "{notes}");
}

#[test]
fn a_model_that_knows_too_little_is_said_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (data, probs) = rare_class(folder.path());
    let out = folder.path().join("out");
    let ask = ["audit", path(&data), "--label", "kind", "--probs", path(&probs), "--out", path(&out), "--exit-zero"];
    let (_, said) = tares(&ask).ends(0);
    let warning = "the model knows too little to judge these labels";
    for text in [
        said,
        fs::read_to_string(out.join("summary.json")).unwrap(),
        fs::read_to_string(out.join("audit.html")).unwrap(),
    ] {
        assert!(text.contains(warning), "{text}");
    }
    let summary: serde_json::Value = serde_json::from_slice(&fs::read(out.join("summary.json")).unwrap()).unwrap();
    let (low, high) = (&summary["noise_rate_interval"][0], &summary["noise_rate_interval"][1]);
    assert!(low.as_f64().unwrap() < high.as_f64().unwrap(), "{summary}");
}
