//! `tares train` on a folder of pictures, which begins while they are decoded: the same run as if all had been decoded first.

mod program;

use program::{command, epochs, json, ran, start, tares_in, wait_until};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

const CLASSES: [&str; 3] = ["bird", "cat", "dog"];

/// A coloured picture, different for every number: stripes whose width is the class.
fn picture(class: usize, number: usize, side: u32) -> Vec<u8> {
    let mut draw = tares_core::stream(number as u64, "picture");
    let (first, tint) = (draw.below(40) as u32, draw.below(100) as u8);
    let mut pixels = Vec::with_capacity((3 * side * side) as usize);
    for at in 0..side * side {
        let on = ((at % side + first) / (3 + 5 * class as u32)).is_multiple_of(2);
        let noise = if side > 100 { (at / 7 % 13) as u8 } else { draw.below(60) as u8 };
        pixels.extend([if on { 150 } else { 20 } + noise, tint + noise, (at / side) as u8]);
    }
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Fast);
    encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
    bytes
}

/// Class folders of `each` pictures; every tenth one is in the wrong folder.
fn photos(folder: &Path, each: usize) {
    for (class, name) in CLASSES.iter().enumerate() {
        fs::create_dir_all(folder.join(name)).unwrap();
        for number in 0..each {
            let shown = if number % 10 == 4 { (class + 1) % 3 } else { class };
            fs::write(folder.join(name).join(format!("{number:02}.png")), picture(shown, 100 * class + number, 40))
                .unwrap();
        }
    }
}

/// Pictures so large that they take seconds to decode. Those of a class are alike.
fn large_photos(folder: &Path) {
    for (class, name) in CLASSES.iter().enumerate() {
        fs::create_dir_all(folder.join(name)).unwrap();
        let bytes = picture(class, class, 3000);
        (0..16).for_each(|number| fs::write(folder.join(name).join(format!("{number:02}.png")), &bytes).unwrap());
    }
}

const SHORT: [&str; 12] =
    ["train", "photos", "--image-size", "16x16", "--network", "lenet", "--epochs", "3", "--batch", "16", "--seed", "5"];

fn asked<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&SHORT[..], more].concat()
}

/// All that a run found, without its times and the options it was asked with.
fn results(run: &Path) -> (Vec<Vec<u8>>, Vec<serde_json::Value>, serde_json::Value) {
    let files = ["model.safetensors", "model.json", "suspects.csv", "samples.parquet", "gallery.json"];
    let files = files.map(|name| fs::read(run.join(name)).unwrap()).to_vec();
    let mut manifest = json(&run.join("manifest.json"));
    manifest.as_object_mut().unwrap().remove("started").unwrap();
    manifest["result"].as_object_mut().unwrap().remove("seconds").unwrap();
    (files, epochs(run), manifest)
}

#[test]
fn a_run_that_begins_early_is_the_run_that_waits_on_any_number_of_threads() {
    let place = tempfile::tempdir().unwrap();
    photos(&place.path().join("photos"), 40);
    let run = |out: &str, threads: &str, more: &[&str]| {
        let mut command = command(&asked(&[&["--out", out][..], more].concat()));
        command.current_dir(place.path()).env("RAYON_NUM_THREADS", threads);
        let notes = ran(command).ends(0).1;
        (results(&place.path().join(out)), notes.contains("decoding 120 pictures while training begins"))
    };
    for more in [&[][..], &["--noise", "symmetric:0.2", "--method", "co-teaching", "--noise-rate", "known"]] {
        // Whoever may leave pictures out must know them all before.
        let (waits, early) = run("waits", "2", &[more, &["--skip-unreadable", "--overwrite"]].concat());
        assert!(!early && !waits.2["data"]["hash"].as_str().unwrap().is_empty());
        for threads in ["1", "2"] {
            let (begins, early) = run("begins", threads, &[more, &["--overwrite"]].concat());
            assert!(early && begins == waits, "{threads} threads, {more:?}");
        }
    }
}

#[test]
fn what_needs_all_pictures_before_the_first_step_waits_for_them() {
    let place = tempfile::tempdir().unwrap();
    photos(&place.path().join("photos"), 12);
    for more in [
        &["--normalise", "standardise"][..],
        &["--noise", "instance:0.2", "--method", "standard"],
        &["--method", "npcl"],
        &["--skip-unreadable"],
    ] {
        let notes = tares_in(place.path(), &asked(&[more, &["--out", "run", "--overwrite"]].concat())).ends(0).1;
        assert!(!notes.contains("while training begins"), "{more:?}: {notes}");
    }
    let notes = tares_in(place.path(), &asked(&["--out", "run", "--overwrite", "--noise-rate", "0.1"])).ends(0).1;
    assert!(notes.contains("decoding 36 pictures while training begins"), "{notes}");
}

#[test]
fn a_run_killed_in_its_first_epoch_is_continued_to_the_same_results() {
    let place = tempfile::tempdir().unwrap();
    large_photos(&place.path().join("photos"));
    let mut killed = start(place.path(), &asked(&["--out", "killed"]));
    wait_until("training has begun", || place.path().join("killed/epochs.jsonl").exists());
    killed.kill().unwrap(); // SIGKILL
    killed.wait().unwrap();
    let of = |file: &str| place.path().join("killed").join(file);
    assert!(fs::read(of("epochs.jsonl")).unwrap().is_empty() && !of("manifest.json").exists(), "pictures were missing");
    tares_in(place.path(), &["train", "--resume", "--out", "killed"]).success();
    tares_in(place.path(), &asked(&["--out", "whole"])).success();
    assert_eq!(results(&place.path().join("killed")), results(&place.path().join("whole")));
    // And one that was killed when all pictures were there.
    let mut killed = start(place.path(), &asked(&["--out", "killed", "--overwrite"]));
    wait_until("an epoch", || fs::read(of("epochs.jsonl")).is_ok_and(|lines| !lines.is_empty()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(of("manifest.json").exists());
    // Its hash still tells other data apart.
    fs::rename(place.path().join("photos/cat/03.png"), place.path().join("photos/dog/cat.png")).unwrap();
    let error = tares_in(place.path(), &["train", "--resume", "--out", "killed"]).fails(2);
    assert!(error.contains("the run there was trained on other data"), "{error}");
    fs::rename(place.path().join("photos/dog/cat.png"), place.path().join("photos/cat/03.png")).unwrap();
    tares_in(place.path(), &["train", "--resume", "--out", "killed"]).success();
    assert_eq!(results(&place.path().join("killed")), results(&place.path().join("whole")));
}

#[cfg(unix)]
#[test]
fn ctrl_c_while_pictures_arrive_ends_at_once_and_leaves_no_run() {
    let place = tempfile::tempdir().unwrap();
    large_photos(&place.path().join("photos"));
    let mut child = start(place.path(), &asked(&["--out", "run"]));
    wait_until("training has begun", || place.path().join("run/epochs.jsonl").exists());
    let asked_at = Instant::now();
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert!(!child.wait().unwrap().success());
    assert!(asked_at.elapsed() < Duration::from_secs(1), "{:?}", asked_at.elapsed());
    assert!(!place.path().join("run/manifest.json").exists());
    // The next run needs no permission to take the directory.
    fs::remove_dir_all(place.path().join("photos")).unwrap();
    photos(&place.path().join("photos"), 10);
    tares_in(place.path(), &asked(&["--out", "run"])).success();
}

#[test]
fn pictures_that_turn_out_damaged_end_the_run_with_all_their_names() {
    let place = tempfile::tempdir().unwrap();
    let photos_at = place.path().join("photos");
    photos(&photos_at, 40);
    let cut = |name: &str, keep: usize| {
        let bytes = fs::read(photos_at.join(name)).unwrap();
        fs::write(photos_at.join(name), &bytes[..keep]).unwrap();
    };
    // Behind the header and in the middle of the pixels.
    cut("dog/07.png", 300);
    cut("bird/00.png", 200);
    let was = tares_in(place.path(), &["data", "inspect", "photos"]).fails(2);
    assert!(was.contains("photos: 2 unreadable file(s); --skip-unreadable leaves them out"), "{was}");
    for method in ["tares", "standard", "co-teaching", "elr", "mentornet", "rog", "d2l", "jocor"] {
        let rate = if ["co-teaching", "jocor", "mentornet"].contains(&method) { "0.1" } else { "auto" };
        let ask = asked(&["--out", "run", "--method", method, "--noise-rate", rate]);
        let notes = tares_in(place.path(), &ask[..]).fails(2);
        let (begins, error) = notes.split_once("error: ").unwrap();
        assert!(begins.contains("while training begins"), "{method}: {notes}");
        assert_eq!(format!("error: {error}"), was, "{method}");
        let left: Vec<_> = ["manifest.json", "checkpoint.bin", "model.safetensors", "suspects.csv", "report.html"]
            .into_iter()
            .filter(|name| place.path().join("run").join(name).exists())
            .collect();
        assert!(left.is_empty(), "{method}: {left:?}");
        assert!(fs::read(place.path().join("run/epochs.jsonl")).unwrap().is_empty(), "{method}");
        // It can neither be reported nor continued as long as they are damaged.
        assert_eq!(tares_in(place.path(), &["train", "--resume", "--out", "run"]).fails(2), was, "{method}");
    }
    tares_in(place.path(), &asked(&["--out", "run", "--skip-unreadable"])).success();
    // The same directory is free for whole pictures.
    photos(&photos_at, 40);
    tares_in(place.path(), &asked(&["--out", "whole"])).success();
    tares_in(place.path(), &asked(&["--out", "again"])).success();
    let whole = results(&place.path().join("whole"));
    assert_eq!(whole, results(&place.path().join("again")));
    // And what is there is not deleted for pictures that are damaged.
    cut("dog/07.png", 300);
    let error = tares_in(place.path(), &asked(&["--out", "whole", "--overwrite"])).fails(2);
    assert!(error.contains("dog/07.png: ") && results(&place.path().join("whole")) == whole, "{error}");
}
