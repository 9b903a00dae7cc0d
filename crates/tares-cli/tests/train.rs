//! `tares train`: what it leaves behind, how it stops and goes on, what it refuses.

mod program;

use program::{epochs, flowers, json, ran, start, tares_in, wait_until};
use std::path::Path;
use std::process::Command;

const SHORT: [&str; 10] =
    ["train", "digits", "--noise", "symmetric:0.5", "--noise-rate", "known", "--epochs", "3", "--out", "run"];

/// The parts of a command line, with some more.
fn with<'a>(base: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [base, more].concat()
}

#[test]
fn a_run_directory_holds_everything() {
    let place = tempfile::tempdir().unwrap();
    let (out, notes) = tares_in(place.path(), &SHORT).ends(0);
    assert!(out.contains("test accuracy") && out.contains("suspects"), "{out}");
    assert!(notes.contains("network mlp:256-256") && notes.contains("noise rate 0.500"), "{notes}");
    let run = place.path().join("run");
    for file in [
        "spec.toml",
        "manifest.json",
        "epochs.jsonl",
        "samples.parquet",
        "gallery.json",
        "suspects.csv",
        "model.safetensors",
        "model.json",
        "report.html",
    ] {
        assert!(run.join(file).is_file(), "{file}");
    }
    assert!(!run.join("checkpoint.bin").exists());
    assert_eq!(epochs(&run).len(), 3);
    let manifest = json(&run.join("manifest.json"));
    assert_eq!(manifest["state"], "finished");
    assert_eq!(manifest["method"], "npcl");
    assert_eq!(manifest["data"]["train_rows"], 3823);
    let realised = manifest["noise"]["realised"].as_f64().unwrap();
    assert!((realised - 0.5).abs() < 0.03, "{realised}");
    let suspects = std::fs::read_to_string(run.join("suspects.csv")).unwrap();
    assert!(suspects.starts_with("index,id,given,suggested,score,reason\n"), "{}", &suspects[..200]);
    let spec = std::fs::read_to_string(run.join("spec.toml")).unwrap();
    for key in ["version = 1", "network = \"mlp:256-256\"", "batch = 128", "seed = 1", "lr = 0.001"] {
        assert!(spec.contains(key), "{key} not in\n{spec}");
    }
    // Parquet begins and ends with its magic.
    let samples = std::fs::read(run.join("samples.parquet")).unwrap();
    assert!(samples.starts_with(b"PAR1") && samples.ends_with(b"PAR1"));
}

#[test]
fn its_spec_repeats_a_run_exactly() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &SHORT).success();
    tares_in(place.path(), &["train", "--spec", "run/spec.toml", "--out", "again"]).success();
    assert_eq!(epochs(&place.path().join("run")), epochs(&place.path().join("again")));
}

#[test]
fn a_taken_directory_is_refused_and_can_be_overwritten() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &SHORT).success();
    let error = tares_in(place.path(), &SHORT).fails(2);
    assert!(error.contains("run: this directory already holds a run") && error.contains("--resume"), "{error}");
    tares_in(place.path(), &with(&SHORT, &["--overwrite"])).success();
    // Going on with a finished run changes nothing.
    tares_in(place.path(), &["train", "--resume", "--out", "run"]).success();
    assert_eq!(epochs(&place.path().join("run")).len(), 3);
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_a_checkpoint_and_resuming_gives_the_same_epochs() {
    let place = tempfile::tempdir().unwrap();
    let long = ["train", "digits", "--noise", "pair:0.35", "--noise-rate", "known", "--epochs", "200", "--out"];
    let child = start(place.path(), &with(&long, &["stopped"]));
    let stopped = place.path().join("stopped");
    wait_until("an epoch", || std::fs::read(stopped.join("epochs.jsonl")).is_ok_and(|lines| !lines.is_empty()));
    let notes = program::interrupt(child);
    assert!(notes.contains("tares train --resume --out stopped"), "{notes}");
    assert!(stopped.join("checkpoint.bin").is_file());
    let before = epochs(&stopped).len();
    assert!(before < 200, "it was to be stopped in the middle");
    let error = tares_in(place.path(), &["predict", "stopped", "digits"]).fails(2);
    assert!(error.contains("finish the run first"), "{error}");

    let (_, notes) = tares_in(place.path(), &["train", "--resume", "--out", "stopped"]).ends(0);
    assert!(notes.contains(&format!("continuing after epoch {before}")), "{notes}");
    tares_in(place.path(), &with(&long, &["whole"])).success();
    assert_eq!(epochs(&stopped), epochs(&place.path().join("whole")));
    let suspects = |run: &str| std::fs::read(place.path().join(run).join("suspects.csv")).unwrap();
    assert_eq!(suspects("stopped"), suspects("whole"));
}

#[cfg(unix)]
#[test]
fn an_interrupted_estimate_is_no_estimate() {
    let place = tempfile::tempdir().unwrap();
    let long = ["train", "digits", "--method", "npcl", "--noise", "symmetric:0.02", "--epochs", "2", "--out"];
    let stopped = place.path().join("stopped");
    let child = start(place.path(), &with(&long, &["stopped"]));
    wait_until("the first judge", || stopped.join("folds").exists());
    let notes = program::interrupt(child);
    assert!(notes.contains("tares train --resume --out stopped"), "{notes}");
    assert!(!stopped.join("manifest.json").exists(), "nothing is known yet");
    // Once more, with a finished judge on disk.
    let child = start(place.path(), &["train", "--resume", "--out", "stopped"]);
    wait_until("the second judge", || {
        stopped.join("folds/fold-2.bin").exists() || stopped.join("manifest.json").exists()
    });
    program::interrupt(child);
    let resumed = tares_in(place.path(), &["train", "--resume", "--out", "stopped", "--json"]).json();
    assert!(!stopped.join("folds").exists(), "the judges are no longer needed");
    let whole = tares_in(place.path(), &with(&long, &["whole", "--json"])).json();
    assert_eq!(resumed["manifest"]["rate"], whole["manifest"]["rate"]);
    assert_eq!(epochs(&stopped), epochs(&place.path().join("whole")));
    let weights = |run: &str| std::fs::read(place.path().join(run).join("model.safetensors")).unwrap();
    assert!(weights("stopped") == weights("whole"), "an interruption changed the model");
}

/// Its estimated rate has a last bit that JSON used to lose; then the checkpoint belonged to "another run".
#[cfg(unix)]
#[test]
fn an_estimated_rate_survives_its_file_to_the_last_bit() {
    let place = tempfile::tempdir().unwrap();
    let ask = [
        "train",
        "digits",
        "--method",
        "npcl",
        "--noise",
        "symmetric:0.5",
        "--seed",
        "16",
        "--epochs",
        "200",
        "--out",
        "run",
    ];
    let child = start(place.path(), &ask);
    let run = place.path().join("run");
    wait_until("an epoch", || std::fs::read(run.join("epochs.jsonl")).is_ok_and(|lines| !lines.is_empty()));
    program::interrupt(child);
    let child = start(place.path(), &["train", "--resume", "--out", "run"]);
    let before = epochs(&run).len();
    wait_until("the next epoch", || epochs(&run).len() > before);
    program::interrupt(child);
}

#[cfg(unix)]
#[test]
fn epochs_lost_with_the_power_are_written_anew_from_the_checkpoint() {
    let place = tempfile::tempdir().unwrap();
    let long = ["train", "digits", "--method", "standard", "--epochs", "60", "--out"];
    let child = start(place.path(), &with(&long, &["lost"]));
    let lost = place.path().join("lost");
    wait_until("two epochs", || {
        std::fs::read_to_string(lost.join("epochs.jsonl")).is_ok_and(|t| t.lines().count() > 1)
    });
    program::interrupt(child);
    let before = epochs(&lost);
    std::fs::write(lost.join("epochs.jsonl"), "").unwrap();
    let (_, notes) = tares_in(place.path(), &["train", "--resume", "--out", "lost"]).ends(0);
    assert!(notes.contains(&format!("continuing after epoch {}", before.len())), "{notes}");
    assert_eq!(epochs(&lost)[..before.len()], before);
    tares_in(place.path(), &with(&long, &["whole"])).success();
    assert_eq!(epochs(&lost), epochs(&place.path().join("whole")));
}

#[test]
fn a_run_is_gone_on_with_from_any_directory() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 120, ["iris", "rose", "tulip"]);
    let ask = ["train", "flowers.csv", "--label", "species", "--method", "standard", "--epochs", "2", "--out", "run"];
    tares_in(place.path(), &ask).success();
    let run = place.path().join("run");
    let whole = epochs(&run);
    // As if it had been stopped before its first checkpoint.
    let manifest = std::fs::read_to_string(run.join("manifest.json")).unwrap();
    std::fs::write(run.join("manifest.json"), manifest.replace("\"finished\"", "\"unfinished\"")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    tares_in(elsewhere.path(), &["train", "--resume", "--out", run.to_str().unwrap()]).success();
    assert_eq!(epochs(&run), whole);
    // A run that is audited or repeated finds its data as well.
    tares_in(elsewhere.path(), &["train", "--spec", run.join("spec.toml").to_str().unwrap(), "--out", "again"])
        .success();
    assert_eq!(epochs(&elsewhere.path().join("again")), whole);
}

#[test]
fn a_finished_run_without_its_model_is_no_success() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &SHORT).success();
    std::fs::remove_file(place.path().join("run/model.safetensors")).unwrap();
    let error = tares_in(place.path(), &["train", "--resume", "--out", "run"]).fails(2);
    assert!(error.contains("finished, but its model.safetensors is missing"), "{error}");
    let again = ["train", "--spec", "run/spec.toml", "--out", "run", "--overwrite"];
    assert!(error.contains(&again.join(" ")), "the way out can be copied: {error}");
    tares_in(place.path(), &again).success();
    tares_in(place.path(), &["train", "--resume", "--out", "run"]).success();
}

#[test]
fn overwriting_leaves_no_report_of_the_run_before() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &SHORT).success();
    // This run fails after it has begun: the network cannot take digits.
    let wrong = ["train", "digits", "--network", "cnn9", "--noise-rate", "0.5", "--out", "run", "--overwrite"];
    tares_in(place.path(), &wrong).fails(2);
    assert!(!place.path().join("run/report.html").exists(), "a report without its run");
}

#[test]
fn flags_that_would_do_nothing_are_refused() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &SHORT).success();
    let error = |arguments: &[&str]| tares_in(place.path(), arguments).fails(2);
    for flag in [["--epochs", "9"], ["--network", "mlp:8"], ["--device", "cpu"], ["--label", "x"], ["--seed", "2"]] {
        let text = error(&with(&["train", "--resume", "--out", "run"], &flag));
        assert!(text.contains("cannot be used with") && text.contains(flag[0]), "{text}");
    }
    let text = error(&["train", "--spec", "run/spec.toml", "--out", "again", "--label", "species"]);
    assert!(text.contains("cannot be used with"), "{text}");
    // Options of training count more than the file.
    tares_in(place.path(), &["train", "--spec", "run/spec.toml", "--out", "again", "--network", "mlp:8"]).success();
    assert_eq!(json(&place.path().join("again/manifest.json"))["network"], "mlp:8");
}

#[test]
fn a_network_larger_than_memory_is_one_clear_error() {
    let place = tempfile::tempdir().unwrap();
    let ask = ["train", "digits", "--network", "mlp:9999999999-9999999999", "--epochs", "1", "--out", "x"];
    let error = tares_in(place.path(), &ask).fails(2);
    assert!(error.contains("parameters of mlp must be at most 268435456"), "{error}");
    // Small enough by itself, too large for rows of this size: found before anything is allocated.
    let ask = ["train", "digits", "--network", "mlp:9999999", "--noise-rate", "0.1", "--epochs", "1", "--out", "x"];
    let error = tares_in(place.path(), &ask).fails(2);
    assert!(error.contains("must be at most 268435456"), "{error}");
}

#[test]
fn a_second_process_is_told_that_the_first_is_at_work() {
    let place = tempfile::tempdir().unwrap();
    let long = ["train", "digits", "--method", "standard", "--epochs", "4000", "--out", "run"];
    let mut first = start(place.path(), &long);
    wait_until("an epoch", || place.path().join("run/epochs.jsonl").exists());
    let error = tares_in(place.path(), &long).fails(2);
    assert!(error.contains(&format!("process {} is at work", first.id())), "{error}");
    assert!(error.contains("--out"), "{error}");
    first.kill().unwrap();
    first.wait().unwrap();
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_one_clear_error_and_nothing_looks_finished() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    // Files may grow to 40 blocks of 512 bytes; without its signal that is an error like a full disk.
    command.current_dir(place.path()).args(["-c", "trap '' XFSZ; ulimit -f 40; exec \"$0\" \"$@\""]);
    command.arg(env!("CARGO_BIN_EXE_tares")).args(SHORT);
    let error = ran(command).fails(2);
    assert!(error.contains("cannot write: file too large") && error.contains("free some space"), "{error}");
    assert_eq!(json(&place.path().join("run/manifest.json"))["state"], "unfinished");
    assert!(!place.path().join("run/model.safetensors").exists());
    // With room again, the run can be continued.
    tares_in(place.path(), &["train", "--resume", "--out", "run"]).success();
}

#[cfg(target_os = "linux")]
#[test]
fn a_read_only_place_is_one_clear_error() {
    let place = tempfile::tempdir().unwrap();
    // Nobody may write below /sys, not even root.
    let error = tares_in(place.path(), &["train", "digits", "--epochs", "1", "--out", "/sys/kernel/tares"]).fails(2);
    assert!(error.contains("/sys/kernel/tares: cannot create the directory"), "{error}");
    assert!(error.contains("choose a directory you may write to"), "{error}");
}

#[test]
fn mistakes_say_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    let error = |arguments: &[&str]| tares_in(place.path(), arguments).fails(2);
    let unknown = error(&["train", "digits", "--method", "npcll"]);
    assert!(unknown.contains("unknown method 'npcll': did you mean npcl?"), "{unknown}");
    let rate = error(&["train", "digits", "--noise-rate", "1.2"]);
    assert!(rate.contains("noise rate must be a number in [0, 1), auto or known, got 1.2"), "{rate}");
    let idle = error(&["train", "digits", "--method", "tares", "--noise-rate", "0.2"]);
    assert!(idle.contains("the method tares uses no noise rate, so --noise-rate 0.2 would change nothing"), "{idle}");
    let data = error(&["train", "digit", "--epochs", "1"]);
    assert!(data.contains("digit") && data.contains("did you mean the built-in data set digits?"), "{data}");
    let device = error(&["train", "digits", "--device", "cudda"]);
    assert!(device.contains("unknown device 'cudda': did you mean cuda?"), "{device}");
    let network = error(&["train", "digits", "--network", "cnn9", "--epochs", "1"]);
    assert!(network.contains("cnn9"), "{network}");
    let resume = error(&["train", "--resume", "--out", "nowhere"]);
    assert!(resume.contains("no run to continue"), "{resume}");
}

#[test]
fn a_spec_with_a_wrong_key_or_version_says_where() {
    let place = tempfile::tempdir().unwrap();
    let spec = place.path().join("spec.toml");
    let attempt = |text: &str| {
        std::fs::write(&spec, text).unwrap();
        tares_in(place.path(), &["train", "--spec", "spec.toml", "--out", "x"]).fails(2)
    };
    let error = attempt("version = 1\ndata = \"digits\"\n[plan]\nepochs = 1\nbacth = 3\n");
    assert!(error.contains("spec.toml: line 5, column 1: unknown field `bacth`"), "{error}");
    let error = attempt("version = 0\ndata = \"digits\"\n");
    assert!(error.contains("version must be 1, got 0") && error.contains("change it to"), "{error}");
    let error = attempt("version = 9\ndata = \"digits\"\n");
    assert!(error.contains("update tares"), "{error}");
}

#[test]
fn a_table_of_ones_own_needs_one_command() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 300, ["iris", "rose", "tulip"]);
    let arguments = ["train", "flowers.csv", "--label", "species", "--method", "npcl", "--epochs", "20", "--json"];
    let result = tares_in(place.path(), &arguments).json();
    assert_eq!(result["run"], "runs/flowers-npcl");
    let accuracy = result["manifest"]["result"]["test_accuracy_last10"].as_f64().unwrap();
    assert!(accuracy > 0.95, "{accuracy}");
    let rate = result["manifest"]["rate"]["value"].as_f64().unwrap();
    assert!(rate < 0.1, "no label is wrong, but {rate} was estimated");
    let page = std::fs::read_to_string(place.path().join("runs/flowers-npcl/report.html")).unwrap();
    assert!(page.contains("iris"), "class names are in the page");
}

#[test]
fn the_default_method_is_that_of_the_model() {
    let place = tempfile::tempdir().unwrap();
    flowers(place.path(), 300, ["iris", "rose", "tulip"]);
    let table = ["train", "flowers.csv", "--label", "species", "--json"];
    let network = ["--network", "mlp:8", "--epochs", "3"];
    for (options, run) in [
        (vec![], "runs/flowers-npcl"),
        (network.to_vec(), "runs/flowers-tares"),
        ([&network[..], &["--noise-rate", "0.1", "--overwrite"]].concat(), "runs/flowers-npcl"),
    ] {
        let result = tares_in(place.path(), &[&table[..], &options].concat()).json();
        assert_eq!(result["run"], run, "{options:?}");
    }
    // Repeated from its settings, the method stays what it was.
    let again = ["train", "--spec", "runs/flowers-tares/spec.toml", "--out", "again", "--json"];
    assert_eq!(tares_in(place.path(), &again).json()["manifest"]["method"], "tares");
}

#[test]
fn hostile_names_stay_text_everywhere() {
    let place = tempfile::tempdir().unwrap();
    let names = ["<script>alert(1)</script>", "=cmd|' /C calc'!A0", "x\u{9b}2J\u{202e}\"><img src=x onerror=alert(1)>"];
    flowers(place.path(), 240, names);
    let arguments =
        ["train", "flowers.csv", "--label", "species", "--epochs", "3", "--noise", "symmetric:0.3", "--out", "run"];
    let (out, notes) = tares_in(place.path(), &arguments).ends(0);
    assert!(!out.contains('\u{9b}') && !notes.contains('\u{9b}'), "{out}{notes}");
    let run = place.path().join("run");
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(!page.contains("<script>alert") && !page.contains("<img src=x") && !page.contains('\u{9b}'));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    let suspects = std::fs::read_to_string(run.join("suspects.csv")).unwrap();
    assert!(suspects.contains("'=cmd") && !suspects.contains(",=cmd") && !suspects.contains("\"=cmd"), "{suspects}");
    let inspected = tares_in(place.path(), &["data", "inspect", "flowers.csv", "--label", "species"]).success();
    assert!(!inspected.contains('\u{9b}') && !inspected.contains('\u{202e}'), "{inspected}");
    exists(&run.join("model.json"));
}

fn exists(path: &Path) {
    assert!(path.is_file(), "{}", path.display());
}
