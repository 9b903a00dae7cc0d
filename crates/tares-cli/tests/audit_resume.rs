//! `tares audit` that is interrupted and gone on with.

#![cfg(unix)]

mod program;

use std::fs;

#[test]
fn an_interrupted_audit_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let ask = |out: &'static str| ["audit", "digits", "--epochs", "6", "--folds", "3", "--exit-zero", "--out", out];
    let mut child = program::start(folder.path(), &ask("stopped"));
    let stopped = folder.path().join("stopped");
    program::wait_until("a judge", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it could be interrupted");
        stopped.join("folds/fold-1.bin").exists()
    });
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{notes}");
    assert!(notes.contains("the same command and --resume"), "{notes}");
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
