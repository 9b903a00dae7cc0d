//! Everything about training that can be typed: it reaches the spec, changes the run, and bad values are refused.

mod program;

use program::{json, tares_in};
use std::path::Path;

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn spec(run: &Path) -> String {
    std::fs::read_to_string(run.join("spec.toml")).unwrap()
}

fn epochs(run: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(run.join("epochs.jsonl")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_option_of_training_reaches_the_spec() {
    let place = tempfile::tempdir().unwrap();
    let line = "train digits --method standard --noise pair:0.2 --noise-seed 3 --epochs 2 --optimiser sgd --momentum 0.5 \
                --learning-rate 0.05 --schedule cosine --normalise 0.5/0.25 --augment crop:1+flip --quirks --out run";
    tares_in(place.path(), &words(line)).success();
    let text = spec(&place.path().join("run"));
    for setting in [
        "noise-seed = 3",
        "momentum = 0.5",
        "lr = 0.05",
        "schedule = \"cosine\"",
        "normalise = \"0.5/0.25\"",
        "augment = \"crop:1+flip\"",
        "quirks = true",
    ] {
        assert!(text.contains(setting), "{setting} is not in\n{text}");
    }
    tares_in(place.path(), &words("train --spec run/spec.toml --out again")).success();
    let weights = |run: &str| std::fs::read(place.path().join(run).join("model.safetensors")).unwrap();
    assert!(weights("run") == weights("again"), "the spec repeats the run");
}

#[test]
fn sgd_has_a_schedule_of_its_own() {
    let place = tempfile::tempdir().unwrap();
    tares_in(place.path(), &words("train digits --method standard --optimiser sgd --epochs 6 --out sgd")).success();
    let rates: Vec<f64> =
        epochs(&place.path().join("sgd")).iter().map(|epoch| epoch["learning_rate"].as_f64().unwrap()).collect();
    let near = |(rate, expected): (&f64, f64)| (rate - expected).abs() < 1e-12;
    assert!(rates.iter().zip([0.1, 0.1, 0.01, 0.01, 0.001, 0.001]).all(near), "{rates:?}");
    // In a file that names the optimiser and no schedule, too.
    let text = "version = 1\ndata = \"digits\"\nmethod = \"standard\"\n[plan]\nepochs = 3\noptimiser = { sgd = {} }\n";
    std::fs::write(place.path().join("sgd.toml"), text).unwrap();
    tares_in(place.path(), &words("train --spec sgd.toml --out file")).success();
    assert!(spec(&place.path().join("file")).contains("schedule = \"step:1-2:0.1\""));
}

#[test]
fn one_noise_for_all_runs_if_its_seed_is_given() {
    let place = tempfile::tempdir().unwrap();
    let noises = |extra: &str, out: &str| {
        let line = format!(
            "compare --data digits --noise symmetric:0.3 --methods gce --epochs 1 --seeds 2 {extra} --out {out}"
        );
        tares_in(place.path(), &words(&line)).success();
        [1, 2].map(|seed| {
            let run = place.path().join(out).join(format!("runs/symmetric-0.3/gce/seed-{seed}"));
            json(&run.join("manifest.json"))["noise"]["matrix"].clone()
        })
    };
    let [first, second] = noises("", "each");
    assert_ne!(first, second);
    let [zero, also_zero] = noises("--noise-seed 0", "one");
    assert_eq!(zero, also_zero);
    assert_eq!(noises("--quirks", "quirks"), [zero.clone(), zero], "the originals always drew their noise with seed 0");
}

#[test]
fn what_an_epoch_did_is_recorded() {
    let place = tempfile::tempdir().unwrap();
    let line = "train digits --noise symmetric:0.4 --method cl:burn-in=1 --epochs 4 --out cl";
    tares_in(place.path(), &words(line)).success();
    for (number, epoch) in epochs(&place.path().join("cl")).iter().enumerate() {
        let value = |key: &str| epoch[key].as_f64().unwrap_or_else(|| panic!("{key} is not in {epoch}"));
        assert!(value("steps") == 30.0 && value("starved_steps") == 0.0, "{epoch}");
        let wrong = 1.0 - value("train_accuracy");
        assert!(wrong <= value("bound") + 1e-9 && value("bound") <= value("plain_bound") + 1e-9, "{epoch}");
        assert_eq!(number == 0, value("bound") == value("plain_bound"), "only in the burn-in: {epoch}");
    }
    let page = std::fs::read_to_string(place.path().join("cl/report.html")).unwrap();
    assert!(page.contains("Training accuracy") && page.contains("Value of the bound"));
    assert!(!page.contains("Steps without gradient"), "no step starved");
}

#[test]
fn a_run_that_starved_says_so() {
    let place = tempfile::tempdir().unwrap();
    // C = 0 keeps only samples without loss, of which a new network has none.
    let line = "train digits --method cl:c=0,burn-in=0,extra=false --epochs 2 --out run";
    let (_, notes) = tares_in(place.path(), &words(line)).ends(0);
    assert!(notes.contains("60 of 60 steps had no gradient"), "{notes}");
    let epoch = &epochs(&place.path().join("run"))[0];
    assert_eq!((epoch["starved_steps"].as_u64(), epoch["kept"].as_u64()), (Some(30), Some(0)));
    let page = std::fs::read_to_string(place.path().join("run/report.html")).unwrap();
    assert!(page.contains("60 of 60 steps had no gradient") && page.contains("Steps without gradient"));
}

#[test]
fn semantic_noise_is_made_once_for_all_runs() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path().join("cache");
    let line = "compare --data digits --noise semantic:mlp:16:0.05:epochs=3 --noise-seed 1 --methods gce,cl --epochs 1 \
                --seeds 2 --jobs 2 --out table";
    let mut command = program::command(&words(line));
    command.current_dir(place.path()).env("TARES_CACHE", &cache);
    program::ran(command).success();
    assert_eq!(std::fs::read_dir(cache.join("semantic")).unwrap().count(), 1);
    let runs = place.path().join("table/runs/semantic-mlp-16-0.05-epochs=3");
    let matrix = |run: &str| json(&runs.join(run).join("manifest.json"))["noise"]["matrix"].clone();
    assert_eq!(matrix("gce/seed-1"), matrix("cl/seed-2"));
}

#[test]
fn mistakes_say_what_is_allowed() {
    let place = tempfile::tempdir().unwrap();
    let error =
        |extra: &str| tares_in(place.path(), &words(&format!("train digits --epochs 1 --out x {extra}"))).fails(2);
    for (extra, say) in [
        ("--momentum 0.9", "momentum must be given with --optimiser sgd only, got 0.9"),
        ("--optimiser sgd --momentum 1.5", "momentum must be in [0, 1), got 1.5"),
        ("--schedule cosin", "did you mean cosine?"),
        ("--schedule step:x", "step:40-80"),
        ("--normalise 0.5", "MEAN/STD"),
        ("--normalise 0.5,0.5/0.2,0.2", "must have 1 entries, got 2"),
        ("--normalise 0.5/0.2 --standardise", "cannot be used with"),
        ("--augment resized-crop", "resized-crop:56"),
        ("--augment flop", "did you mean flip?"),
        ("--optimiser adm", "did you mean adam?"),
        ("--noise semantic:lenet:epochs=0", "at least 1"),
        ("--noise open-set:mnist+:0.5", "cifar-100+tiny-imagenet"),
        ("--network cnn9:0", "cnn9 width must be at least 1"),
    ] {
        let said = error(extra);
        assert!(said.contains(say), "{extra}: {said}");
    }
}
