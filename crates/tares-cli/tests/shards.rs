//! Many runs shared by several processes: real ones at the same time, some of them killed.

#![cfg(unix)]

mod program;

use program::{command, json, start, tares_in, wait_until};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const COMPARE: &str = "compare --data digits --noise symmetric:0.5 --methods standard,npcl,gce --network mlp:64 --epochs 40 --seeds 2 --out out";

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// `summary.csv` without the seconds, which no two runs share.
fn summary(out: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(out.join("summary.csv")).unwrap();
    let mut rows: Vec<BTreeMap<String, String>> = reader.deserialize().map(Result::unwrap).collect();
    rows.iter_mut().for_each(|row| drop(row.remove("seconds")));
    rows
}

/// Stdout and stderr of a process that ends with 0.
fn ended(child: Child) -> (String, String) {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    (out, err)
}

#[test]
fn parts_at_the_same_time_give_the_table_of_one_process_though_one_is_killed() {
    let place = tempfile::tempdir().unwrap();
    let whole = place.path().join("whole");
    std::fs::create_dir(&whole).unwrap();
    tares_in(&whole, &words(COMPARE)).success();

    let part = |part: &'static str| start(place.path(), &[words(COMPARE), vec!["--shard", part]].concat());
    let (first, mut second, third) = (part("1/3"), part("2/3"), part("3/3"));
    let own = place.path().join("out/runs/symmetric-0.5/standard/seed-2/epochs.jsonl");
    wait_until("the second part at work", || std::fs::metadata(&own).is_ok_and(|file| file.len() > 0));
    second.kill().unwrap(); // SIGKILL
    second.wait().unwrap();
    ended(first);
    ended(third);
    // What is there is joined, and what is missing is said.
    let said = tares_in(place.path(), &["report", "out"]).success();
    assert!(said.contains("runs are finished; missing:") && said.contains("standard seed 2"), "{said}");
    assert!(said.contains("nobody is at work") || said.contains("not begun"), "{said}");
    assert!(!place.path().join("out/report.html").exists(), "nobody had all runs");

    let (out, err) = ended(part("2/3"));
    assert!(out.contains("6 of all 6 are"), "{out}");
    assert!(err.contains("taken over from process") || err.contains("standard seed 2"), "{err}");
    assert_eq!(summary(&place.path().join("out")), summary(&whole.join("out")));
    assert!(place.path().join("out/report.html").exists(), "the last part has all runs");
    let said = tares_in(place.path(), &["report", "out"]).success();
    assert!(!said.contains("missing"), "{said}");
}

#[test]
fn processes_without_parts_share_the_runs_as_they_come() {
    let place = tempfile::tempdir().unwrap();
    let arguments = words(COMPARE);
    let processes: Vec<Child> = (0..3).map(|_| start(place.path(), &arguments)).collect();
    let said: Vec<(String, String)> = processes.into_iter().map(ended).collect();
    // Every one has the whole table in the end, and each run was trained once: nobody begins a run that another is at work on.
    let tables: Vec<&str> = said.iter().map(|(out, _)| out.split("out/summary.csv").next().unwrap()).collect();
    assert!(tables.iter().all(|table| *table == tables[0]), "{tables:?}");
    assert_eq!(summary(&place.path().join("out")).len(), 6);
    for run in summary(&place.path().join("out")) {
        let seed = place.path().join(format!("out/runs/symmetric-0.5/{}/seed-{}", run["method"], run["seed"]));
        assert_eq!(program::epochs(&seed).len(), 40, "{}", seed.display());
    }
}

/// Another machine's process, on this machine: its lock is unseen by name, and its beat tells whether it lives.
fn on(host: &str, place: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = command(arguments);
    command.current_dir(place).env("TARES_HOST", host).env("TARES_STALE_AFTER", "2");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_lock_of_a_machine_that_died_is_recognised_and_says_whose_it_was() {
    let place = tempfile::tempdir().unwrap();
    let slow = words("compare --data digits --methods standard --network mlp:64 --epochs 400 --out out");
    let mut dead = on("node7", place.path(), &slow).spawn().unwrap();
    let run = place.path().join("out/runs/none/standard/seed-1");
    // Killed before its first checkpoint, it would leave nothing to take over.
    wait_until("node7 at work", || run.join("epochs.jsonl").exists() && run.join("manifest.json").exists());
    dead.kill().unwrap();
    let process = dead.id();
    dead.wait().unwrap();
    assert!(std::fs::read_to_string(run.join(".lock")).unwrap().starts_with(&format!("node7 {process} ")));
    let said = on("node8", place.path(), &["report", "out"]).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.is_empty() || said.contains(&format!("process {process} on node7 is at work")), "{said}");

    let begun = Instant::now();
    let (_, err) = ended(on("node8", place.path(), &slow).spawn().unwrap());
    assert!(begun.elapsed() > Duration::from_secs(2), "it was not watched long enough");
    assert!(err.contains(&format!("process {process} on node7 is at work on it; it comes last here")), "{err}");
    assert!(err.contains(&format!("taken over from process {process} on node7, which ended before")), "{err}");
    assert_eq!(program::epochs(&run).len(), 400);
}

#[test]
fn a_lock_of_a_machine_that_lives_is_respected() {
    let place = tempfile::tempdir().unwrap();
    let run = place.path().join("out/runs/none/standard/seed-1");
    std::fs::create_dir_all(&run).unwrap();
    // Another machine whose lock this one cannot see: nothing but its beat.
    let beating = std::thread::spawn({
        let lock = run.join(".lock");
        move || {
            for beat in 0..30 {
                std::fs::write(&lock, format!("node7 4711 {beat}\n")).unwrap();
                std::thread::sleep(Duration::from_millis(200));
            }
            std::fs::write(&lock, "").unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(100));
    let arguments = words("compare --data digits --methods standard --network mlp:16 --epochs 1 --out out");
    let waiting = on("node8", place.path(), &arguments).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert!(!run.join("manifest.json").exists(), "it began a run that another machine is at work on");
    beating.join().unwrap();
    let (_, err) = ended(waiting);
    assert!(err.contains("process 4711 on node7 is at work on it"), "{err}");
}

#[test]
fn a_dry_run_lists_the_runs_with_their_cost_and_writes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let arguments = [words(COMPARE), vec!["--dry-run"]].concat();
    let said = tares_in(place.path(), &arguments).success();
    assert_eq!(said.matches("not begun; ").count(), 6, "{said}");
    assert!(said.contains("symmetric:0.5 npcl seed 2") && said.contains("6 runs: "), "{said}");
    assert!(!place.path().join("out").exists());
    let said = tares_in(place.path(), &[&arguments[..], &["--shard", "2/4"]].concat()).success();
    assert!(
        said.contains("2 runs, part 2/4: ") && said.contains("standard seed 2") && !said.contains("npcl seed 1"),
        "{said}"
    );
    // Finished runs cost nothing, and tell what the others of their kind will cost.
    let one = COMPARE.replace("--seeds 2", "--seeds 1");
    tares_in(place.path(), &words(&one)).success();
    let said = tares_in(place.path(), &[&arguments[..], &["--json"]].concat()).json();
    let runs = said["runs"].as_array().unwrap();
    assert_eq!(runs.iter().filter(|run| run["finished"] == true && run["seconds_left"] == 0.0).count(), 3, "{said}");
    let seconds =
        json(&place.path().join("out/runs/symmetric-0.5/npcl/seed-1/manifest.json"))["result"]["seconds"].as_f64();
    let left =
        runs.iter().find(|run| run["run"] == "symmetric:0.5 npcl seed 2").unwrap()["seconds_left"].as_f64().unwrap();
    assert!((left - seconds.unwrap()).abs() < 1e-6 * left.max(1.0), "{left} {seconds:?}");
}

#[test]
fn a_dry_run_counts_what_is_trained_before_the_runs() {
    let place = tempfile::tempdir().unwrap();
    let seconds = |noise: &str, rate: &str| -> Vec<(f64, f64)> {
        let line = words(
            "compare --data digits --methods npcl --seeds 2 --epochs 3 --network mlp:64 --dry-run --out out --json",
        );
        let more = ["--noise", noise, "--noise-rate", rate];
        let said = tares_in(place.path(), &[&line[..], &more].concat()).json();
        let number = |run: &serde_json::Value, key: &str| run[key].as_f64().unwrap();
        let runs = said["runs"].as_array().unwrap();
        runs.iter().map(|run| (number(run, "seconds_before"), number(run, "seconds_left"))).collect()
    };
    assert!(seconds("symmetric:0.5", "known").iter().all(|run| run.0 == 0.0 && run.1 > 0.0));
    // Ten epochs of three judges, each on two thirds of the rows, before three epochs.
    assert!(seconds("symmetric:0.5", "auto").iter().all(|run| run.0 > 0.0 && run.1 > run.0));
    // The network that makes the labels is trained once for both methods, for each seed.
    let made = seconds("semantic:mlp:64:0.2:epochs=7", "known");
    assert!(made.len() == 2 && made.iter().all(|run| run.0 > 0.0 && run.1 > run.0), "{made:?}");
}

#[test]
fn parts_that_cannot_be_are_refused() {
    let place = tempfile::tempdir().unwrap();
    for (shard, said) in [("0/3", "I from 1 to N"), ("4/3", "I from 1 to N"), ("x", "I from 1 to N")] {
        let error = tares_in(place.path(), &[words(COMPARE), vec!["--shard", shard]].concat()).fails(2);
        assert!(error.contains(said), "{error}");
    }
    let error = tares_in(place.path(), &[words(COMPARE), vec!["--shard", "1/2", "--overwrite"]].concat()).fails(2);
    assert!(error.contains("--overwrite would delete what other parts have done"), "{error}");
    let other = COMPARE.replace("--epochs 40", "--epochs 1").replace("--seeds 2", "--seeds 1");
    tares_in(place.path(), &[words(&other), vec!["--shard", "1/3"]].concat()).success();
    let error = tares_in(place.path(), &[words(COMPARE), vec!["--shard", "2/3"]].concat()).fails(2);
    assert!(error.contains("all parts must have the same settings"), "{error}");
}
