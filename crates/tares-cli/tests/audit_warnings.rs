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
