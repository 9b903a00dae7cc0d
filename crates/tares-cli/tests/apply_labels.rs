//! `tares apply-labels` on every form data comes in: what changed is the labels, and nothing else.

mod program;

use program::tares;
use std::fs;
use std::path::{Path, PathBuf};
use tares_data::{LoadOptions, OutTable, load, npy};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// (features or pixels, class name) of every row.
fn rows(path: &Path, label: Option<&str>) -> Vec<(Vec<f32>, String)> {
    let options = LoadOptions::default().with(|options| {
        options.test_fraction = 0.0;
        options.label = label.map(str::to_owned);
    });
    let data = load(text(path), &options, &mut |_| {}).unwrap().train;
    let values = |index| match data.row(index) {
        tares_core::Row::Bytes(bytes) => bytes.iter().map(|&byte| f32::from(byte)).collect(),
        tares_core::Row::Floats(floats) => floats.to_vec(),
    };
    (0..data.len()).map(|i| (values(i), data.class_names()[data.given()[i] as usize].clone())).collect()
}

/// Applies "row 3 is `to`", then checks that all rows are as before but the third label.
fn changes_row_3(data: &Path, label: Option<&str>, from: &str, to: &str, written: impl Fn(&Path) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (reviewed, out) = (folder.path().join("labels-reviewed.csv"), folder.path().join("corrected"));
    fs::write(&reviewed, format!("index,id,given,label\n3,3,{from},{to}\n")).unwrap();
    let mut ask = vec!["apply-labels", text(data), text(&reviewed), "--out", text(&out)];
    ask.extend(label.iter().flat_map(|label| ["--label", label]));
    let said = tares(&ask).success();
    assert!(said.contains("1 of 12 labels changed"), "{said}");
    let (before, after) = (rows(data, label), rows(&written(&out), label));
    assert_eq!(before.len(), after.len());
    for (index, (old, new)) in before.iter().zip(&after).enumerate() {
        assert_eq!(old.0, new.0, "values of row {index}");
        assert_eq!(new.1, if index == 3 { to } else { old.1.as_str() }, "label of row {index}");
    }
}

#[test]
fn numpy_arrays() {
    let folder = tempfile::tempdir().unwrap();
    let x: Vec<u8> = (0..24).flat_map(|i| (i as f32 / 4.0).to_le_bytes()).collect();
    let y: Vec<u8> = (0..12).flat_map(|i| (i64::from(i) % 3).to_le_bytes()).collect();
    fs::write(folder.path().join("x.npy"), npy::encode("'<f4'", &[12, 2], &x)).unwrap();
    fs::write(folder.path().join("y.npy"), npy::encode("'<i8'", &[12], &y)).unwrap();
    changes_row_3(folder.path(), None, "0", "2", Path::to_owned);
}

#[test]
fn parquet() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("things.parquet");
    let kinds: Vec<String> = (0..12).map(|i| ["big", "small", "odd"][i % 3].to_owned()).collect();
    let widths: Vec<f32> = (0..12).map(|i| i as f32 / 8.0).collect();
    OutTable::new().column("width", widths).unwrap().column("kind", kinds).unwrap().write(&path, true).unwrap();
    changes_row_3(&path, Some("kind"), "big", "odd", |out| out.join("things.parquet"));
}

#[test]
fn idx_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut pictures = vec![0, 0, 8, 3, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, 2];
    pictures.extend((0..48).map(|i| i as u8 * 5));
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, 12];
    labels.extend((0..12).map(|i| i % 4));
    fs::write(folder.path().join("train-images-idx3-ubyte"), pictures).unwrap();
    fs::write(folder.path().join("train-labels-idx1-ubyte"), labels).unwrap();
    changes_row_3(folder.path(), None, "3", "1", Path::to_owned);
}

/// All files below a folder, by their paths, but for the hidden list.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()),
            }
        }
    }
    found.retain(|path| path != ".tares-written.json");
    found.sort_unstable();
    found
}

/// A folder with `photos` in it and, in `labels-reviewed.csv`, a new label for some of its pictures.
fn photos_to_correct(changes: &[(usize, &str, &str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    program::photos(&folder.path().join("photos"));
    review(folder.path(), changes);
    folder
}

fn review(folder: &Path, changes: &[(usize, &str, &str, &str)]) {
    let lines = changes.iter().map(|(index, id, given, label)| format!("{index},{id},{given},{label}\n"));
    let text = format!("index,id,given,label\n{}", lines.collect::<String>());
    fs::write(folder.join("labels-reviewed.csv"), text).unwrap();
}

fn apply(folder: &Path, data: &str, out: &str) -> program::Ran {
    program::tares_in(folder, &["apply-labels", data, "labels-reviewed.csv", "--out", out])
}

#[test]
fn a_folder_of_pictures_is_copied_into_the_new_class_folders() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    let said = apply(folder.path(), "photos", "corrected").success();
    assert!(said.contains("1 of 12 labels changed; 12 files written"), "{said}");
    // Pictures that stay keep their names; the one that moves finds its name taken.
    let names = |class: &str, names: &[&str]| names.iter().map(|name| format!("{class}/{name}")).collect::<Vec<_>>();
    let mut wanted = names("cat", &["0.png", "1.png", "2.png", "4.png", "5.png"]);
    wanted.extend(names("dog", &["0.png", "1.png", "2-3.png", "2.png", "3.png", "4.png", "5.png"]));
    let out = folder.path().join("corrected");
    assert_eq!(files(&out), wanted);
    assert_eq!(fs::read(out.join("dog/2-3.png")).unwrap(), program::picture(3));
    assert_eq!(fs::read(out.join("dog/3.png")).unwrap(), program::picture(103));
}

#[test]
fn a_second_run_leaves_nothing_of_the_first() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    apply(folder.path(), "photos", "corrected").success();
    review(folder.path(), &[(8, "dog/2.png", "dog", "cat")]);
    apply(folder.path(), "photos", "corrected").success();
    let found = files(&folder.path().join("corrected"));
    assert_eq!(found.len(), 12, "{found:?}");
    assert!(found.contains(&"cat/2-2.png".to_owned()) && found.contains(&"cat/3.png".to_owned()), "{found:?}");
    assert!(!found.contains(&"dog/2-3.png".to_owned()), "{found:?}");
    // Nothing beside it either.
    let mut beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    beside.sort();
    assert_eq!(beside, ["corrected", "labels-reviewed.csv", "photos"]);
}

#[test]
fn files_of_others_are_never_replaced() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    let out = folder.path().join("corrected");
    fs::create_dir_all(&out).unwrap();
    fs::write(out.join("notes.txt"), "mine").unwrap();
    let error = apply(folder.path(), "photos", "corrected").fails(2);
    assert!(error.contains("holds notes.txt, which this command did not write"), "{error}");
    fs::remove_file(out.join("notes.txt")).unwrap();
    apply(folder.path(), "photos", "corrected").success();
    fs::write(out.join("cat/new.png"), "mine").unwrap();
    let error = apply(folder.path(), "photos", "corrected").fails(2);
    assert!(error.contains("new.png"), "{error}");
    assert_eq!(fs::read_to_string(out.join("cat/new.png")).unwrap(), "mine");
}

#[test]
fn the_copy_and_the_data_never_overlap() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    let before = files(folder.path());
    for (out, why) in [
        ("photos", "is the data itself"),
        ("photos/corrected", "lies inside the data"),
        ("photos/cat/../deep/corrected", "lies inside the data"),
        (".", "holds the data"),
    ] {
        let error = apply(folder.path(), "photos", out).fails(2);
        assert!(error.contains(why), "{out}: {error}");
        assert_eq!(files(folder.path()), before, "{out}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_to_the_folder_stays_and_the_folder_of_the_caller_too() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    fs::create_dir_all(folder.path().join("disk/space")).unwrap();
    std::os::unix::fs::symlink("disk/space", folder.path().join("corrected")).unwrap();
    apply(folder.path(), "photos", "corrected").success();
    apply(folder.path(), "photos", "corrected").success();
    assert!(folder.path().join("corrected").is_symlink());
    assert_eq!(files(&folder.path().join("disk/space")).len(), 12);
    fs::create_dir(folder.path().join("empty")).unwrap();
    let arguments = ["apply-labels", "../photos", "../labels-reviewed.csv", "--out", "."];
    let error = program::tares_in(&folder.path().join("empty"), &arguments).fails(2);
    assert!(error.contains("is where you are"), "{error}");
}

#[test]
fn a_folder_around_the_class_folders_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    program::photos(&folder.path().join("download/photos"));
    review(folder.path(), &[(3, "cat/3.png", "cat", "dog")]);
    apply(folder.path(), "download", "corrected").success();
    let out = folder.path().join("corrected");
    assert_eq!(files(&out).len(), 12);
    assert_eq!(fs::read(out.join("dog/2-3.png")).unwrap(), program::picture(3));
}

#[test]
fn test_pictures_come_along_and_folders_inside_a_class_stay() {
    let folder = tempfile::tempdir().unwrap();
    program::photos(&folder.path().join("data/train"));
    program::photos(&folder.path().join("data/test"));
    fs::create_dir_all(folder.path().join("data/train/cat/deep")).unwrap();
    fs::rename(folder.path().join("data/train/cat/0.png"), folder.path().join("data/train/cat/deep/0.png")).unwrap();
    review(folder.path(), &[(5, "train/cat/deep/0.png", "cat", "dog")]);
    let said = apply(folder.path(), "data", "corrected").success();
    assert!(said.contains("1 of 12 labels changed; 24 files written"), "{said}");
    let found = files(&folder.path().join("corrected"));
    assert!(found.contains(&"train/dog/deep/0.png".to_owned()), "{found:?}");
    assert_eq!(found.iter().filter(|path| path.starts_with("test/")).count(), 12);
}

#[test]
fn an_archive_becomes_corrected_class_folders() {
    let folder = photos_to_correct(&[(3, "cat/3.png", "cat", "dog")]);
    let mut zip = zip::ZipWriter::new(fs::File::create(folder.path().join("photos.zip")).unwrap());
    for name in files(&folder.path().join("photos")) {
        zip.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, &fs::read(folder.path().join("photos").join(&name)).unwrap()).unwrap();
    }
    zip.finish().unwrap();
    apply(folder.path(), "photos.zip", "corrected").success();
    assert_eq!(fs::read(folder.path().join("corrected/dog/2-3.png")).unwrap(), program::picture(3));
}

/// Killed at any moment, the folder is not there, or it is the whole one; and the next run removes what was left.
#[cfg(unix)]
#[test]
fn a_killed_run_leaves_no_partial_folder() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    for class in ["cat", "dog"] {
        fs::create_dir_all(photos.join(class)).unwrap();
        for i in 0..600 {
            fs::write(photos.join(class).join(format!("{i}.png")), program::picture(i as u8)).unwrap();
        }
    }
    review(folder.path(), &[(0, "cat/0.png", "cat", "dog")]);
    let mut cut_short = 0;
    for wait in [20, 40, 60, 80, 100, 130, 160, 200, 250, 300] {
        let arguments = ["apply-labels", "photos", "labels-reviewed.csv", "--out", "corrected"];
        let mut child = program::start(folder.path(), &arguments);
        std::thread::sleep(std::time::Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let out = folder.path().join("corrected");
        match out.exists() {
            true => assert_eq!(files(&out).len(), 1200, "after {wait} ms"),
            false => cut_short += 1,
        }
    }
    apply(folder.path(), "photos", "corrected").success();
    assert_eq!(files(&folder.path().join("corrected")).len(), 1200);
    let mut beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    beside.sort();
    assert_eq!(beside, ["corrected", "labels-reviewed.csv", "photos"], "{cut_short} runs were cut short");
}
