//! `tares reproduce`: a recipe runs, continues after an interruption, and is judged and published.

mod program;

use program::{tares, tares_in};
use std::path::Path;

const RECIPE: &str = r#"
version = 1
title = "Digits: two methods"
about = "A recipe for tests."
data = "digits"
noises = ["symmetric:0.5"]

[[methods]]
name = "NPCL"
method = "npcl:burn-in=1"

[[methods]]
name = "Standard"
method = "standard"

[published]
"NPCL" = ["98.53 ± 0.02"]
"Standard" = ["65.81"]

[[claims]]
says = "NPCL is better than standard training"
law.beats = { first = "NPCL", others = ["Standard"] }

[paper-scale]
network = "mlp"
seeds = [1, 2, 3, 4, 5]
time = "minutes"

[laptop-scale]
network = "mlp:32"
seeds = [1, 2]
plan.epochs = 2
time = "seconds"
deviations = ["a smaller network"]
"#;

fn recipe(place: &Path, text: &str) {
    std::fs::write(place.join("two-methods.toml"), text).unwrap();
}

fn run(place: &Path, more: &[&str]) -> program::Ran {
    tares_in(place, &[&["reproduce", "two-methods.toml", "--out", "here"], more].concat())
}

#[test]
fn a_recipe_gives_our_table_beside_the_published_one_and_a_verdict() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    let out = run(place.path(), &[]).success();
    assert!(out.contains("published") && out.contains("98.53 ± 0.02") && out.contains("difference"), "{out}");
    assert!(out.contains("NPCL − Standard at symmetric:0.5:") && out.contains("2 seeds); published +32.72"), "{out}");
    let here = place.path().join("here/two-methods-laptop");
    for file in ["beside-the-paper.txt", "beside-the-paper.md", "beside-the-paper.tex", "beside-the-paper.csv"] {
        let text = std::fs::read_to_string(here.join(file)).unwrap();
        assert!(text.contains("NPCL") && text.contains("65.81"), "{file}: {text}");
    }
    assert!(here.join("verdicts.csv").exists() && here.join("test-accuracy-symmetric-0.5.png").exists());
    let page = std::fs::read_to_string(here.join("reproduction.html")).unwrap();
    assert!(page.contains("a smaller network") && page.contains("<svg") && page.contains("NPCL is better than"));

    // Again: nothing is trained, everything is said again.
    let manifest = here.join("runs/symmetric-0.5/NPCL/seed-1/manifest.json");
    let touched = std::fs::metadata(&manifest).unwrap().modified().unwrap();
    run(place.path(), &["--only", "npcl", "--seeds", "3"]).success();
    assert_eq!(std::fs::metadata(&manifest).unwrap().modified().unwrap(), touched, "a finished run was repeated");
    assert!(here.join("runs/symmetric-0.5/NPCL/seed-3/manifest.json").exists());
    assert!(!here.join("runs/symmetric-0.5/Standard/seed-3").exists());

    // What people say about it becomes part of the page.
    let notes = place.path().join("site/results/paper/notes");
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("all.md"), "Said about all.\n").unwrap();
    std::fs::write(notes.join("two-methods.md"), "Said about one.\n").unwrap();
    let out = tares_in(place.path(), &["reproduce", "publish", "--out", "here", "--to", "site"]).success();
    assert!(out.contains("RESULTS.md"), "{out}");
    let text = std::fs::read_to_string(place.path().join("site/RESULTS.md")).unwrap();
    assert!(text.contains("`tares reproduce two-methods --scale laptop`") && text.contains("98.53 ± 0.02"), "{text}");
    let figure = "results/paper/two-methods-laptop/test-accuracy-symmetric-0.5.svg";
    assert!(text.contains(figure) && place.path().join("site").join(figure).exists(), "{text}");
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}"));
    assert!(at("Said about all.") < at("| recipe |") && at("| recipe |") < at("Said about one."), "{text}");
    // Recipes that did not run are on the page too, with the reason.
    assert!(text.contains("| tiny-imagenet | Figure 2 |") && text.contains("[1 "), "{text}");
}

#[test]
fn a_changed_recipe_in_an_old_directory_is_refused() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    run(place.path(), &["--only", "Standard", "--seeds", "1"]).success();
    // Words may change, what is run may not.
    recipe(place.path(), &RECIPE.replace("A recipe for tests.", "Other words."));
    run(place.path(), &["--only", "Standard", "--seeds", "1"]).success();
    recipe(place.path(), &RECIPE.replace("burn-in=1", "burn-in=2"));
    let error = run(place.path(), &["--only", "Standard", "--seeds", "1"]).fails(2);
    assert!(error.contains("the recipe has changed") && error.contains("--out"), "{error}");
    // Said by the recipe, also where a run itself has changed: `reproduce` has no --overwrite.
    recipe(place.path(), &RECIPE.replace("plan.epochs = 2", "plan.epochs = 3"));
    let error = run(place.path(), &["--only", "Standard", "--seeds", "1"]).fails(2);
    assert!(error.contains("the recipe has changed") && !error.contains("--overwrite"), "{error}");
    recipe(place.path(), RECIPE);
    let error = run(place.path(), &["--only", "Standard", "--seeds", "1", "--data-dir", "."]).fails(2);
    assert!(error.contains("remove that directory") && !error.contains("--overwrite"), "{error}");
    // More rows and columns change no run.
    let row = "\n[[methods]]\nname = \"GCE\"\nmethod = \"gce\"\n\n[published]";
    recipe(
        place.path(),
        &RECIPE
            .replace("\n[published]", row)
            .replace("[\"symmetric:0.5\"]", "[\"symmetric:0.5\", \"pair:0.2\"]")
            .replace("0.02\"]", "0.02\", \"\"]")
            .replace("65.81\"]", "65.81\", \"\"]"),
    );
    let out = run(place.path(), &["--only", "Standard,GCE", "--seeds", "1"]).success();
    assert!(out.contains("GCE") && out.contains("pair:0.2"), "{out}");
}

#[test]
fn runs_of_other_settings_are_neither_counted_nor_published() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    run(place.path(), &["--seeds", "2"]).success();
    let publish = || tares_in(place.path(), &["reproduce", "publish", "--out", "here", "--to", "site"]);
    publish().success();
    let page = || std::fs::read_to_string(place.path().join("site/RESULTS.md")).unwrap();
    assert!(page().contains("4 runs of 2 epochs"), "{}", page());
    let spec = place.path().join("here/two-methods-laptop/runs/symmetric-0.5/NPCL/seed-2/spec.toml");
    let text = std::fs::read_to_string(&spec).unwrap();
    assert!(text.contains("epochs = 2"), "{text}");
    std::fs::write(&spec, text.replace("epochs = 2", "epochs = 9")).unwrap();
    publish().success();
    assert!(page().contains("3 of 4 runs of 2 epochs"), "{}", page());
}

#[test]
fn a_run_that_another_recipe_has_finished_is_not_trained_again() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    run(place.path(), &[]).success();
    // Another table with the same NPCL under another name, and a row of its own.
    let other = RECIPE.replace("\"NPCL\"", "\"the paper's\"");
    let other = other.replace("name = \"Standard\"\nmethod = \"standard\"", "name = \"Standard\"\nmethod = \"gce\"");
    std::fs::write(place.path().join("other.toml"), other).unwrap();
    let ran = tares_in(place.path(), &["reproduce", "other.toml", "--out", "here"]);
    let (out, said) = ran.ends(0);
    assert!(said.contains("2 runs are those of other recipes in here"), "{said}");
    assert!(out.contains("the paper's − Standard at symmetric:0.5:"), "{out}");
    let epochs = |row: &str| std::fs::read_to_string(place.path().join(row).join("seed-2/epochs.jsonl")).unwrap();
    let (ours, theirs) =
        ("here/other-laptop/runs/symmetric-0.5/the-paper-s", "here/two-methods-laptop/runs/symmetric-0.5/NPCL");
    assert_eq!(epochs(ours), epochs(theirs), "the very run, with its times");
    let manifest = std::fs::read_to_string(place.path().join(ours).join("seed-2/manifest.json")).unwrap();
    assert!(manifest.contains("\"method\": \"the paper's\""), "{manifest}");
    assert_ne!(
        epochs("here/other-laptop/runs/symmetric-0.5/Standard"),
        epochs("here/two-methods-laptop/runs/symmetric-0.5/Standard"),
        "another method under the same name is trained"
    );
}

#[test]
fn a_size_may_train_on_the_first_rows_alone() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), &RECIPE.replace("plan.epochs = 2", "plan.epochs = 1\nrows = 500"));
    run(place.path(), &["--only", "NPCL", "--seeds", "1"]).success();
    let manifest = "here/two-methods-laptop/runs/symmetric-0.5/NPCL/seed-1/manifest.json";
    let manifest = std::fs::read_to_string(place.path().join(manifest)).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let rows = manifest["data"]["train_rows"].as_u64().unwrap();
    assert!((490..=500).contains(&rows), "{rows}");
    recipe(place.path(), &RECIPE.replace("plan.epochs = 2", "plan.epochs = 1\nrows = 3"));
    let error = tares_in(place.path(), &["reproduce", "two-methods.toml", "--out", "few"]).fails(2);
    assert!(error.contains("rows must be at least 10, one of every class, got 3"), "{error}");
    assert!(!place.path().join("few").exists());
}

#[test]
fn mistakes_say_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    let error = tares_in(place.path(), &["reproduce", "mnst"]).fails(2);
    assert!(error.contains("mnist") && error.contains("misspecified-rate"), "{error}");
    recipe(place.path(), RECIPE);
    let error = run(place.path(), &["--only", "NPLC"]).fails(2);
    assert!(error.contains("did you mean NPCL?"), "{error}");
    let error = run(place.path(), &["--seeds", "0"]).fails(2);
    assert!(error.contains("seeds must be at least 1"), "{error}");
    recipe(place.path(), &RECIPE.replace("title", "titel"));
    let error = run(place.path(), &[]).fails(2);
    assert!(error.contains("two-methods.toml: line 3, column 1"), "{error}");
    let error = tares_in(place.path(), &["reproduce", "publish", "--out", "none", "--to", "results"]).fails(2);
    assert!(error.contains("nothing ran here yet"), "{error}");
    assert!(!place.path().join("here").exists());
}

#[test]
fn missing_data_names_the_files_and_the_place() {
    let place = tempfile::tempdir().unwrap();
    let line = ["reproduce", "mnist", "--data-dir", ".", "--out", "here"];
    let error = tares_in(place.path(), &line).fails(2);
    for file in ["./mnist/train-images-idx3-ubyte", "./mnist/t10k-labels-idx1-ubyte", "tares data fetch mnist"] {
        assert!(error.contains(file), "{file} not in {error}");
    }
    assert!(!place.path().join("here").exists());
}

/// A table of two classes that two numbers tell apart, bent in another way by every `power`.
fn table(file: &Path, power: f64) {
    let mut text = "a,b,label\n".to_owned();
    for row in 0..120 {
        let side = f64::from(row % 2);
        let spread = f64::from(row) / 120.0;
        text.push_str(&format!(
            "{},{},{}\n",
            side + 0.3 * spread.powf(power),
            1.0 - side - 0.2 * spread,
            ["x", "y"][row as usize % 2]
        ));
    }
    std::fs::write(file, text).unwrap();
}

#[test]
fn runs_of_data_that_was_replaced_are_never_averaged() {
    let place = tempfile::tempdir().unwrap();
    let data = place.path().join("d.csv");
    table(&data, 1.0);
    recipe(place.path(), &RECIPE.replace("data = \"digits\"", "data = \"d.csv\""));
    run(place.path(), &["--seeds", "1"]).success();
    table(&data, 2.0);
    let error = run(place.path(), &["--seeds", "2"]).fails(2);
    let there = "two-methods-laptop/runs/symmetric-0.5/NPCL/seed-1: the run there was trained on other data: d.csv had the hash";
    assert!(error.contains(there) && error.contains("remove that directory"), "{error}");
    // Runs of both that were brought together by hand.
    tares_in(place.path(), &["reproduce", "two-methods.toml", "--out", "there"]).success();
    let runs = "two-methods-laptop/runs/symmetric-0.5/NPCL";
    let (from, to) = (place.path().join("there").join(runs), place.path().join("here").join(runs));
    std::fs::rename(from.join("seed-2"), to.join("seed-2")).unwrap();
    let error = tares_in(place.path(), &["reproduce", "publish", "--out", "here", "--to", "site"]).fails(2);
    assert!(
        error.contains("its runs were trained on different data") && error.contains("seed-2 has the hash"),
        "{error}"
    );
    assert!(!place.path().join("site").exists());
    let report = tares_in(place.path(), &["report", "here/two-methods-laptop", "--out", "page"]).success();
    assert_eq!(
        report.lines().filter(|line| line.contains("NPCL, data ")).count(),
        2,
        "two rows, not one mean: {report}"
    );
}

#[test]
fn a_part_of_the_data_leaves_a_trace() {
    let place = tempfile::tempdir().unwrap();
    let records = |count: usize| -> Vec<u8> {
        let record =
            |row: usize| [vec![(row % 20) as u8, (row % 100) as u8], vec![(row * 7 % 256) as u8; 3072]].concat();
        (0..count).flat_map(record).collect()
    };
    std::fs::create_dir_all(place.path().join("data/cifar-100")).unwrap();
    std::fs::write(place.path().join("data/cifar-100/some.bin"), records(400)).unwrap();
    let text = RECIPE.replace("data = \"digits\"", "data = \"cifar-100\"\nfiles = [\"train.bin\", \"test.bin\"]");
    recipe(
        place.path(),
        &text.replace("seeds = [1, 2, 3, 4, 5]", "seeds = [1]\nplan.epochs = 1").replace("\"mlp\"", "\"mlp:8\""),
    );
    let line = ["--scale", "paper", "--data-dir", "data"];
    let error = run(place.path(), &line).fails(2);
    assert!(error.contains("--subset runs with the part"), "{error}");
    let (_, said) = run(place.path(), &[&line[..], &["--subset"]].concat()).ends(0);
    let part = "a part of the data, for these files are missing: cifar-100/train.bin, cifar-100/test.bin";
    assert!(said.contains(&format!("not as published: {part}")), "{said}");
    // A page writes / as HTML may.
    let page = |file: &str| std::fs::read_to_string(place.path().join(file)).unwrap().replace("&#x2f;", "/");
    let whole = page("here/two-methods-paper/reproduction.html");
    assert!(whole.contains(part) && whole.contains("trained on 300 rows"), "{whole}");
    assert!(page("here/two-methods-paper/report.html").contains("cifar-100/train.bin"));
    tares_in(place.path(), &["reproduce", "publish", "--out", "here", "--to", "site"]).success();
    assert!(page("site/RESULTS.md").contains(part), "{}", page("site/RESULTS.md"));
    // Where nothing is missing, the option did nothing, and that is said.
    recipe(place.path(), RECIPE);
    let (_, said) =
        tares_in(place.path(), &["reproduce", "two-methods.toml", "--out", "all", "--subset", "--seeds", "1"]).ends(0);
    assert!(said.contains("no file is missing"), "{said}");
}

#[test]
fn options_without_effect_are_refused_by_name() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    let said = |line: &str| tares_in(place.path(), &line.split_whitespace().collect::<Vec<_>>()).fails(2);
    for option in [
        "--scale paper",
        "--only NPCL",
        "--seeds 5",
        "--out here",
        "--device cpu",
        "--jobs 2",
        "--data-dir .",
        "--subset",
    ] {
        let name = option.split(' ').next().unwrap();
        let error = said(&format!("reproduce claims {option}"));
        assert!(error.contains(&format!("{name} has no effect in `tares reproduce claims`")), "{error}");
    }
    for (what, option) in
        [("list", "--only foo"), ("list", "--seeds 0"), ("list", "--dry-run"), ("publish", "--only NPCL")]
    {
        let error = said(&format!("reproduce {what} --out here {option}"));
        assert!(error.contains(&format!("has no effect in `tares reproduce {what}`")), "{error}");
    }
    let error = said("reproduce two-methods.toml --to site");
    assert!(error.contains("--to has no effect") && error.contains("with publish"), "{error}");
    assert!(!place.path().join("here").exists() && !place.path().join("runs").exists());
}

#[test]
fn a_data_folder_that_does_not_exist_is_named() {
    for name in ["mnist", "list"] {
        let error = tares(&["reproduce", name, "--data-dir", "/nonexistent"]).fails(2);
        assert!(error.contains("/nonexistent: cannot open the data folder"), "{error}");
    }
}

#[test]
fn a_damaged_run_is_named_with_the_way_out() {
    let place = tempfile::tempdir().unwrap();
    recipe(place.path(), RECIPE);
    run(place.path(), &["--only", "Standard", "--seeds", "1"]).success();
    let manifest = "here/two-methods-laptop/runs/symmetric-0.5/Standard/seed-1/manifest.json";
    std::fs::write(place.path().join(manifest), "{").unwrap();
    let error = run(place.path(), &["--only", "Standard", "--seeds", "1"]).fails(2);
    let way_out = format!("remove {} and repeat the run", manifest.trim_end_matches("/manifest.json"));
    assert!(error.contains(&format!("{manifest}: the file is damaged")) && error.contains(&way_out), "{error}");
}

#[test]
fn the_list_has_a_row_and_a_state_for_every_recipe() {
    let out = tares(&["reproduce", "list"]).success();
    for name in ["mnist", "gce-mnist", "misspecified-rate", "tiny-imagenet", "base-losses", "claims"] {
        assert!(out.contains(name), "{name} not in {out}");
    }
    assert!(out.contains("Table 5, Figure 1") && out.contains("beyond the paper"), "{out}");
    assert!(out.contains("needs data: mnist") || out.contains("not yet: "), "{out}");
}

#[test]
fn the_theorems_hold_in_every_epoch_of_a_real_run() {
    let ran = tares(&["reproduce", "claims", "--json"]);
    // 1 if timing on a busy machine breaks the claim about cost.
    let code = ran.code();
    let (out, _) = ran.ends(code);
    let claims: serde_json::Value = serde_json::from_str(&out).unwrap();
    let claims = claims["claims"].as_array().unwrap();
    assert_eq!(claims.len(), 9);
    for claim in claims.iter().filter(|claim| !claim["says"].as_str().unwrap().contains("time")) {
        assert_eq!(claim["ruling"], "holds", "{claim}");
    }
}
