//! What reaches terminals, pipes and files, whatever names people and files have.

mod program;

use program::{command, flowers, ran, tares_in};
use std::fs;
use std::path::Path;
use std::process::Stdio;
use tares_data::npy;

/// Labels and probabilities of 40 rows in two classes; every tenth label is wrong beyond doubt.
fn arrays(folder: &Path) {
    let truth = |row: usize| row % 2;
    let given = |row: usize| if row % 10 == 3 { 1 - truth(row) } else { truth(row) };
    let y: Vec<u8> = (0..40).flat_map(|row| (given(row) as i64).to_le_bytes()).collect();
    let p = |row: usize| if truth(row) == 0 { [0.97f32, 0.03] } else { [0.03, 0.97] };
    let p: Vec<u8> = (0..40).flat_map(|row| p(row).map(f32::to_le_bytes).concat()).collect();
    fs::write(folder.join("y.npy"), npy::encode("'<i8'", &[40], &y)).unwrap();
    fs::write(folder.join("p.npy"), npy::encode("'<f4'", &[40, 2], &p)).unwrap();
}

const AUDIT: [&str; 7] = ["audit", "--labels", "y.npy", "--probs", "p.npy", "--out", "out"];

#[test]
fn a_reader_that_leaves_changes_neither_the_files_nor_the_exit_code() {
    let place = tempfile::tempdir().unwrap();
    arrays(place.path());
    for extra in [&[][..], &["--json"], &["--exit-zero"]] {
        let mut audit = command(&AUDIT);
        audit.args(extra).current_dir(place.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = audit.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let code = if extra == ["--exit-zero"] { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(code), "{extra:?}: {}", String::from_utf8_lossy(&output.stderr));
        for file in ["suspects.csv", "labels-suggested.csv", "summary.json", "audit.html"] {
            assert!(place.path().join("out").join(file).is_file(), "{extra:?}: {file}");
        }
        fs::remove_dir_all(place.path().join("out")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_stdout_is_a_failure() {
    let place = tempfile::tempdir().unwrap();
    arrays(place.path());
    let mut audit = command(&AUDIT);
    audit.current_dir(place.path()).stdout(fs::File::create("/dev/full").unwrap()).stderr(Stdio::piped());
    let output = audit.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the output"));
}

#[cfg(target_os = "linux")]
#[test]
fn json_results_name_paths_that_are_not_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let place = tempfile::tempdir().unwrap();
    arrays(place.path());
    flowers(place.path(), 60, ["iris", "rose", "tulip"]);
    let odd = OsStr::from_bytes(b"caf\xe9");
    let run = |arguments: &[&str]| {
        let mut command = command(arguments);
        command.arg("--out").arg(odd).arg("--json").current_dir(place.path());
        let result = ran(command).json();
        fs::remove_dir_all(place.path().join(odd)).unwrap();
        result
    };
    let result = run(&["audit", "--labels", "y.npy", "--probs", "p.npy", "--exit-zero"]);
    assert_eq!(result["out"], "caf\u{fffd}");
    let result = run(&["corrupt", "flowers.csv", "--label", "species", "--noise", "exact:0.1"]);
    assert_eq!(result["truth"], "caf\u{fffd}/truth.csv");
    fs::write(place.path().join("labels.csv"), "index,label\n0,rose\n").unwrap();
    let result = run(&["apply-labels", "flowers.csv", "labels.csv", "--label", "species"]);
    assert_eq!(result["out"], "caf\u{fffd}");
    let result = run(&["train", "flowers.csv", "--label", "species", "--noise-rate", "0.1", "--epochs", "1"]);
    assert_eq!(result["run"], "caf\u{fffd}");
    // A file of such a name in a class folder is left out with its reason, in JSON too.
    program::photos(&place.path().join("photos"));
    fs::write(place.path().join("photos/cat").join(OsStr::from_bytes(b"caf\xe9.png")), b"x").unwrap();
    let result = tares_in(place.path(), &["data", "inspect", "photos", "--skip-unreadable", "--json"]).json();
    assert!(result["skipped"][0][1].as_str().unwrap().contains("not UTF-8"), "{result}");
}

#[test]
fn predictions_on_stdout_hold_no_escape_codes() {
    let place = tempfile::tempdir().unwrap();
    let hostile = "ro\u{9b}2Jse"; // the control sequence introducer in one character
    flowers(place.path(), 90, ["iris", hostile, "tulip"]);
    let line = "train flowers.csv --label species --noise-rate 0.1 --epochs 2 --out run";
    tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>()).success();
    let out = tares_in(place.path(), &["predict", "run", "flowers.csv"]).success();
    assert!(!out.contains('\u{9b}') && out.contains("p:ro\\u{9b}2Jse"), "{}", out.lines().next().unwrap());
    // A file has the names as they are.
    tares_in(place.path(), &["predict", "run", "flowers.csv", "--out", "answers.csv"]).success();
    let text = fs::read_to_string(place.path().join("answers.csv")).unwrap();
    assert!(text.starts_with(&format!("id,predicted,p:iris,p:{hostile},p:tulip\n")), "{text}");
}

#[test]
fn negative_labels_stay_numbers_in_every_table() {
    let place = tempfile::tempdir().unwrap();
    // The usual two classes of support vector machines, and a name that a spreadsheet would run.
    flowers(place.path(), 300, ["-1", "+1", "=cmd()"]);
    let run = |line: &str| tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>());
    run("corrupt flowers.csv --label species --noise exact:0.1 --test-fraction 0 --out noisy").success();
    let audit = "audit noisy/flowers.csv --label species --epochs 15 --exit-zero --out audit";
    run(audit).success();
    let read = |path: &str| fs::read_to_string(place.path().join(path)).unwrap();
    for path in ["noisy/truth.csv", "audit/labels-suggested.csv", "audit/suspects.csv"] {
        let text = read(path);
        assert!(!text.contains("'-1") && !text.contains("'+1"), "{path}:\n{text}");
        assert!(text.contains(",-1") && text.contains(",+1"), "{path}:\n{text}");
        assert!(!text.contains(",=cmd()"), "{path}:\n{text}");
    }
    assert!(read("audit/labels-suggested.csv").contains(",'=cmd()"));
    // What was guarded is understood when it comes back, and the data get the name itself.
    run("apply-labels noisy/flowers.csv audit/labels-suggested.csv --label species --out corrected").success();
    let corrected = read("corrected/flowers.csv");
    assert!(corrected.contains("=cmd()") && !corrected.contains("'=cmd()"), "{corrected}");
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_class_folder_is_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    program::photos(&place.path().join("photos"));
    let made = std::process::Command::new("mkfifo").arg(place.path().join("photos/cat/7.png")).status();
    assert!(made.unwrap().success());
    let error = tares_in(place.path(), &["data", "inspect", "photos"]).fails(2);
    assert!(error.contains("7.png: is a pipe, a socket or a device, not a file"), "{error}");
    tares_in(place.path(), &["data", "inspect", "photos", "--skip-unreadable"]).success();
}

#[test]
fn what_a_killed_process_left_is_removed_at_the_next_start() {
    let place = tempfile::tempdir().unwrap();
    arrays(place.path());
    fs::create_dir(place.path().join("out")).unwrap();
    fs::write(place.path().join("out/.tares-Ab12Cd.part"), b"half of a page").unwrap();
    tares_in(place.path(), &AUDIT).ends(1);
    let mut names: Vec<_> =
        fs::read_dir(place.path().join("out")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["audit.html", "labels-suggested.csv", "summary.json", "suspects.csv"]);
}

#[cfg(unix)]
#[test]
fn files_get_the_permissions_the_umask_allows_and_old_ones_keep_theirs() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    arrays(place.path());
    let audit = |umask: &str| {
        let program = env!("CARGO_BIN_EXE_tares");
        let line = format!("umask {umask}; '{program}' {} > /dev/null", AUDIT.join(" "));
        let status = std::process::Command::new("sh").args(["-c", &line]).current_dir(place.path()).status();
        assert_eq!(status.unwrap().code(), Some(1));
    };
    let mode = |file: &str| fs::metadata(place.path().join("out").join(file)).unwrap().permissions().mode() & 0o777;
    audit("077");
    for file in ["suspects.csv", "labels-suggested.csv", "summary.json", "audit.html"] {
        assert_eq!(mode(file), 0o600, "{file}");
    }
    audit("022");
    assert_eq!(mode("summary.json"), 0o600);
    fs::remove_dir_all(place.path().join("out")).unwrap();
    audit("022");
    assert_eq!(mode("summary.json"), 0o644);
}
