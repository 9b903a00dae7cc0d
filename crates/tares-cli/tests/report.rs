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

#[test]
fn of_a_comparison_only_finished_runs_are_averaged_and_a_damaged_one_is_named() {
    let place = tempfile::tempdir().unwrap();
    let line = "compare --data digits --methods standard --noise pair:0.2 --seeds 3 --epochs 2 --out out";
    tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let run = |seed: u32| place.path().join(format!("out/runs/pair-0.2/standard/seed-{seed}"));
    let manifest = std::fs::read_to_string(run(2).join("manifest.json")).unwrap();
    let unfinished = manifest.replace("\"finished\"", "\"unfinished\"");
    assert_ne!(manifest, unfinished);
    std::fs::write(run(2).join("manifest.json"), unfinished).unwrap();
    let (said, notes) = tares_in(place.path(), &["report", "out"]).ends(0);
    assert!(said.contains("2 of 3 runs are finished"), "{said}");
    assert!(notes.contains("unfinished runs of the comparison, which are left out: 1"), "{notes}");
    let result = tares_in(place.path(), &["report", "out", "--json"]).json();
    assert_eq!(result["runs"].as_array().unwrap().len(), 2, "{result}");
    std::fs::write(run(3).join("manifest.json"), "{").unwrap();
    std::fs::remove_dir_all(place.path().join("out/report")).unwrap();
    let error = tares_in(place.path(), &["report", "out"]).fails(2);
    assert!(
        error.contains("seed-3/manifest.json") && error.contains("could not be read and are not in the report: 1"),
        "{error}"
    );
    assert!(place.path().join("out/report/report.html").is_file());
    for seed in [1, 3] {
        std::fs::remove_dir_all(run(seed)).unwrap();
    }
    let (said, error) = tares_in(place.path(), &["report", "out"]).ends(2);
    assert!(said.contains("0 of 3 runs are finished; missing:"), "{said}");
    assert!(error.contains("no run of the comparison is finished yet"), "{error}");
}
