//! `tares compare`: the exact invocation people copy, and what survives a kill.

mod program;

use program::{start, tares_in, wait_until};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `summary.csv` as rows of named fields.
fn summary(out: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(out.join("summary.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn the_invocation_of_the_readme_gives_the_papers_kind_of_table() {
    let place = tempfile::tempdir().unwrap();
    let arguments = "compare --data digits --noise symmetric:0.5,pair:0.35 --methods standard,npcl --network mlp \
                     --epochs 60 --seeds 3 --out DIR";
    let (out, _) = tares_in(place.path(), &arguments.split_whitespace().collect::<Vec<_>>()).ends(0);
    let directory = place.path().join("DIR");
    let text = std::fs::read_to_string(directory.join("summary.csv")).unwrap();
    assert_eq!(
        text.lines().next().unwrap(),
        "method,noise,rate,seed,epochs,test_accuracy_last10,test_accuracy_best,label_precision_last10,seconds"
    );
    let rows = summary(&directory);
    assert_eq!(rows.len(), 12);
    let mean = |method: &str, noise: &str, column: &str| {
        let chosen: Vec<f64> = (rows.iter())
            .filter(|row| row["method"] == method && row["noise"] == noise && row["epochs"] == "60")
            .map(|row| row[column].parse().unwrap())
            .collect();
        assert_eq!(chosen.len(), 3, "{method} {noise}");
        chosen.iter().sum::<f64>() / 3.0
    };
    for (noise, gain) in [("symmetric", 0.05), ("pair", 0.10)] {
        let (standard, npcl) =
            (mean("standard", noise, "test_accuracy_last10"), mean("npcl", noise, "test_accuracy_last10"));
        assert!(npcl > standard + gain, "{noise}: {npcl} against {standard}");
        assert!(mean("npcl", noise, "label_precision_last10") > 0.93, "{noise}");
    }
    assert_eq!(rows.iter().filter(|row| row["rate"] == "0.35").count(), 6);
    assert!(out.contains(" ± ") && out.contains(" *"), "{out}");
    for file in
        ["table-test-accuracy.txt", "table-test-accuracy.md", "table-test-accuracy.tex", "table-test-accuracy.csv"]
    {
        assert!(directory.join(file).is_file(), "{file}");
    }
    let page = std::fs::read_to_string(directory.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("Labels that look wrong"));
}

#[cfg(unix)]
#[test]
fn after_kill_9_finished_runs_are_not_repeated_and_the_rest_is_the_same() {
    let arguments =
        "compare --data digits --noise symmetric:0.5 --methods standard,npcl --epochs 12 --seed-list 1,7 --out";
    let arguments = |out: &'static str| [arguments.split_whitespace().collect::<Vec<_>>(), vec![out]].concat();
    let place = tempfile::tempdir().unwrap();
    let mut child = start(place.path(), &arguments("killed"));
    let runs = place.path().join("killed/runs/symmetric-0.5/standard");
    wait_until("a finished run and the next one begun", || {
        runs.join("seed-1/model.json").exists() && runs.join("seed-7/epochs.jsonl").exists()
    });
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let finished: Vec<PathBuf> = [1, 7].iter().map(|seed| runs.join(format!("seed-{seed}/manifest.json"))).collect();
    let before = std::fs::read(&finished[0]).unwrap();
    let touched = std::fs::metadata(&finished[0]).unwrap().modified().unwrap();

    tares_in(place.path(), &arguments("killed")).success();
    assert_eq!(std::fs::read(&finished[0]).unwrap(), before);
    assert_eq!(std::fs::metadata(&finished[0]).unwrap().modified().unwrap(), touched, "a finished run was repeated");

    tares_in(place.path(), &[arguments("whole"), vec!["--jobs", "2"]].concat()).success();
    let timeless = |out: &str| {
        let mut rows = summary(&place.path().join(out));
        rows.iter_mut().for_each(|row| drop(row.remove("seconds")));
        rows
    };
    assert_eq!(timeless("killed"), timeless("whole"));
}

#[test]
fn a_spec_file_says_the_same_as_flags() {
    let place = tempfile::tempdir().unwrap();
    let flags = "compare --data digits --noise pair:0.2 --methods cl,npcl:0.3 --epochs 1 --seeds 1 --out flags";
    tares_in(place.path(), &flags.split_whitespace().collect::<Vec<_>>()).success();
    tares_in(place.path(), &["compare", "--spec", "flags/experiment.toml", "--out", "file"]).success();
    let read = |out: &str| std::fs::read_to_string(place.path().join(out).join("experiment.toml")).unwrap();
    assert_eq!(read("flags"), read("file"));
    assert_eq!(summary(&place.path().join("file")).len(), 2);
}

#[test]
fn a_changed_question_does_not_mix_with_old_answers() {
    let place = tempfile::tempdir().unwrap();
    let ask = |epochs: &'static str| {
        let line = ["compare", "--data", "digits", "--methods", "standard", "--out", "x", "--epochs", epochs];
        tares_in(place.path(), &line)
    };
    ask("1").success();
    let question = || std::fs::read_to_string(place.path().join("x/experiment.toml")).unwrap();
    let before = question();
    let error = ask("2").fails(2);
    assert!(error.contains("has other settings") && error.contains("epochs = 1"), "{error}");
    assert_eq!(question(), before, "a comparison that is refused changes nothing");
    assert!(place.path().join("x/report.html").exists());
    assert!(error.contains("--overwrite"), "{error}");
    let line = ["compare", "--data", "digits", "--methods", "standard", "--out", "x", "--epochs", "2", "--overwrite"];
    tares_in(place.path(), &line).success();
    assert!(question().contains("epochs = 2"));
    assert_eq!(summary(&place.path().join("x"))[0]["epochs"], "2");
}

#[cfg(unix)]
#[test]
fn an_interrupted_estimate_is_no_estimate_in_a_comparison_either() {
    let place = tempfile::tempdir().unwrap();
    let line = "compare --data digits --noise symmetric:0.2 --methods npcl --noise-rate auto --epochs 1 --out";
    let line = |out: &'static str| [line.split_whitespace().collect::<Vec<_>>(), vec![out]].concat();
    let child = start(place.path(), &line("stopped"));
    let run = place.path().join("stopped/runs/symmetric-0.2/npcl/seed-1");
    wait_until("the first judge", || run.join("folds").exists());
    program::interrupt(child);
    assert!(!run.join("manifest.json").exists());
    tares_in(place.path(), &line("stopped")).success();
    tares_in(place.path(), &line("whole")).success();
    let rate = |out: &str| {
        let text = std::fs::read(place.path().join(out).join("runs/symmetric-0.2/npcl/seed-1/manifest.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&text).unwrap()["rate"].clone()
    };
    assert_eq!(rate("stopped"), rate("whole"));
}

#[test]
fn mistakes_are_found_before_anything_runs() {
    let place = tempfile::tempdir().unwrap();
    let error = |line: &str| tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>()).fails(2);
    let text = error("compare --data digits --methods standard,npcll --out x");
    assert!(text.contains("did you mean npcl?"), "{text}");
    let text = error("compare --data digits --methods npcl --noise symetric:0.5 --out x");
    assert!(text.contains("did you mean symmetric?"), "{text}");
    let text = error("compare --data digits --methods npcl --seeds 0 --out x");
    assert!(text.contains("seeds must be at least 1, got 0"), "{text}");
    let text = error("compare --data digits --methods npcl --epochs 0 --out x");
    assert!(text.contains("epochs must be at least 1, got 0"), "{text}");
    let text = error("compare --data digits --methods npcl --seed 3 --seeds 2 --out x");
    assert!(text.contains("cannot be used with"), "{text}");
    assert!(!place.path().join("x").exists());
}

#[test]
fn a_data_file_that_was_replaced_is_not_averaged_with_the_old_one() {
    let place = tempfile::tempdir().unwrap();
    let write = |shift: usize| {
        let rows: String =
            (0..100).map(|row| format!("{},{}\n", (row % 2) * 10 + row % (3 + shift), ["x", "y"][row % 2])).collect();
        std::fs::write(place.path().join("d.csv"), format!("a,label\n{rows}")).unwrap();
    };
    let line = "compare --data d.csv --noise symmetric:0.2 --methods standard --network mlp:4 --epochs 1 --out o";
    let line = |more: &[&'static str]| [&line.split(' ').collect::<Vec<_>>(), more].concat();
    write(0);
    tares_in(place.path(), &line(&["--seeds", "1"])).success();
    let summary = std::fs::read_to_string(place.path().join("o/summary.csv")).unwrap();
    write(1);
    let error = tares_in(place.path(), &line(&["--seeds", "2"])).fails(2);
    assert!(error.contains("standard/seed-1: the run there was trained on other data: d.csv had the hash"), "{error}");
    assert!(error.contains("choose another --out"), "{error}");
    assert_eq!(std::fs::read_to_string(place.path().join("o/summary.csv")).unwrap(), summary, "nothing was written");
    tares_in(place.path(), &line(&["--seeds", "2", "--overwrite"])).success();
}

#[test]
fn steps_after_the_last_epoch_are_warned_of() {
    let place = tempfile::tempdir().unwrap();
    let line = |schedule: &'static str| {
        let line = "compare --data digits --methods standard --network mlp:4 --epochs 2 --overwrite --out o --schedule";
        [&line.split(' ').collect::<Vec<_>>()[..], &[schedule]].concat()
    };
    let (_, said) = tares_in(place.path(), &line("step:1-40")).ends(0);
    assert!(
        said.contains(
            "warning: schedule step:1-40:0.1: this run of 2 epochs (counted from 0) ends before the steps at 40"
        ),
        "{said}"
    );
    let (_, said) = tares_in(place.path(), &line("step:1")).ends(0);
    assert!(!said.contains("warning"), "{said}");
    let error = tares_in(place.path(), &line("step:")).fails(2);
    assert!(error.contains("written as in step:40-80"), "{error}");
}
