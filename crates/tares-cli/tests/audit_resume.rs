//! An interrupted `tares audit` continues with `--resume`.

#![cfg(unix)]

mod program;

use std::fs;

#[test]
fn an_interrupted_audit_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |out: &'static str| ["audit", "digits", "--epochs", "6", "--folds", "3", "--exit-zero", "--out", out];
    let child = program::start(folder.path(), &ask("stopped"));
    let stopped = folder.path().join("stopped");
    let notes = program::interrupt_after(child, &stopped.join("folds/fold-1.bin"));
    assert!(notes.contains("repeat the command with --resume"), "{notes}");
    assert!(!stopped.join("summary.json").exists());
    // Another question does not take the judges of this one.
    let other = ["audit", "digits", "--epochs", "7", "--folds", "3", "--out", "stopped", "--resume"];
    let error = program::tares_in(folder.path(), &other).fails(2);
    assert!(error.contains("fold-1.bin") && error.contains("belongs to another run"), "{error}");
    let resumed = [&ask("stopped")[..], &["--resume"]].concat();
    let (said, _) = program::tares_in(folder.path(), &resumed).ends(0);
    assert!(!stopped.join("folds").exists(), "{said}");
    program::tares_in(folder.path(), &ask("whole")).success();
    for file in ["suspects.csv", "labels-suggested.csv", "summary.json", "audit.html"] {
        let read = |out: &str| fs::read(folder.path().join(out).join(file)).unwrap();
        assert!(read("stopped") == read("whole"), "{file} differs");
    }
}

/// A table of 3,000 rows: enough for the judges to be met at work.
fn table(folder: &std::path::Path) {
    let mut draw = tares_core::stream(7, "table");
    let mut text = String::from("size,weight,colour,label\n");
    for row in 0..3000 {
        let kind = row % 3;
        let told = if draw.chance(0.2) { draw.below(3) } else { kind };
        let colour = ["red", "green", "blue", ""][draw.below(4)];
        let (size, weight) = (kind as f64 + draw.normal(), draw.normal() - kind as f64);
        text.push_str(&format!("{size:.3},{weight:.3},{colour},k{told}\n"));
    }
    fs::write(folder.join("t.csv"), text).unwrap();
}

#[test]
fn judges_of_a_table_that_have_answered_are_not_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    table(folder.path());
    let ask = |out: &'static str| ["audit", "t.csv", "--judges", "linear,trees,mlp:16", "--exit-zero", "--out", out];
    let child = program::start(folder.path(), &ask("stopped"));
    let stopped = folder.path().join("stopped");
    program::interrupt_after(child, &stopped.join("folds/judge-linear.bin"));
    assert!(!stopped.join("summary.json").exists());
    let other = ["audit", "t.csv", "--judges", "linear,trees", "--folds", "3", "--out", "stopped", "--resume"];
    let error = program::tares_in(folder.path(), &other).fails(2);
    assert!(error.contains("judge-linear.bin") && error.contains("belongs to another run"), "{error}");
    program::tares_in(folder.path(), &[&ask("stopped")[..], &["--resume"]].concat()).success();
    assert!(!stopped.join("folds").exists());
    program::tares_in(folder.path(), &ask("whole")).success();
    for file in ["suspects.csv", "labels-suggested.csv", "summary.json", "audit.html"] {
        let read = |out: &str| fs::read(folder.path().join(out).join(file)).unwrap();
        assert!(read("stopped") == read("whole"), "{file} differs");
    }
}
