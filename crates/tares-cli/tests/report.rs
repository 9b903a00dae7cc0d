//! `tares report`: a page, tables and pictures from runs.

mod program;

use program::tares_in;

#[test]
fn runs_become_a_page_tables_and_pictures() {
    let place = tempfile::tempdir().unwrap();
    for (method, out) in [("standard", "runs/a"), ("npcl", "runs/b")] {
        let line =
            format!("train digits --method {method} --noise pair:0.35 --noise-rate known --epochs 2 --out {out}");
        tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    }
    let out = tares_in(place.path(), &["report", "runs", "--out", "paper", "--title", "Two <methods>"]).success();
    assert!(out.contains("pair:0.35") && out.contains("npcl"), "{out}");
    let page = std::fs::read_to_string(place.path().join("paper/report.html")).unwrap();
    assert!(page.contains("Two &lt;methods&gt;") && page.contains("data:image/png;base64,"));
    for file in [
        "summary.csv",
        "table-test-accuracy.tex",
        "test-accuracy-pair-0.35.svg",
        "test-accuracy-pair-0.35.png",
        "label-precision-pair-0.35.png",
        "kept-pair-0.35.svg",
        "confusion-npcl-pair-0.35.svg",
        "transition-npcl-pair-0.35.png",
    ] {
        assert!(place.path().join("paper").join(file).is_file(), "{file}");
    }
    let result = tares_in(place.path(), &["report", "runs/a", "runs/b", "--json"]).json();
    assert_eq!(result["runs"].as_array().unwrap().len(), 2);
    assert!(place.path().join("runs/a/report/report.html").is_file());
}

#[test]
fn a_place_without_runs_says_so() {
    let place = tempfile::tempdir().unwrap();
    let error = tares_in(place.path(), &["report", "."]).fails(2);
    assert!(error.contains("no run with at least one epoch"), "{error}");
    let error = tares_in(place.path(), &["report", "nowhere"]).fails(2);
    assert!(error.contains("nowhere: no such directory"), "{error}");
}
