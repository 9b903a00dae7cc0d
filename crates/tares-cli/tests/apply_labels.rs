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
    let options = LoadOptions { test_fraction: 0.0, label: label.map(str::to_owned), ..LoadOptions::default() };
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

#[test]
fn a_folder_of_pictures_is_copied_into_the_new_class_folders() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("photos");
    for (number, class) in ["cat", "dog"].iter().enumerate() {
        fs::create_dir_all(root.join(class)).unwrap();
        for i in 0..6u8 {
            // The same file name in both classes, so that a moved picture meets another one.
            let file = fs::File::create(root.join(class).join(format!("{i}.png"))).unwrap();
            let mut encoder = png::Encoder::new(file, 4, 4);
            encoder.set_color(png::ColorType::Grayscale);
            encoder.write_header().unwrap().write_image_data(&[100 * number as u8 + i; 16]).unwrap();
        }
    }
    let reviewed = folder.path().join("labels-reviewed.csv");
    fs::write(&reviewed, "index,id,given,label\n3,cat/3.png,cat,dog\n").unwrap();
    let out = folder.path().join("corrected");
    let said = tares(&["apply-labels", text(&root), text(&reviewed), "--out", text(&out)]).success();
    assert!(said.contains("1 of 12 labels changed; 12 files written"), "{said}");
    let names = |class: &str| {
        let mut names: Vec<String> = fs::read_dir(out.join(class))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(names("cat"), ["0.png", "1.png", "2.png", "4.png", "5.png"]);
    assert_eq!(names("dog"), ["0.png", "1.png", "2-3.png", "2.png", "3.png", "4.png", "5.png"]);
    // Byte for byte, both of them.
    let bytes = |path: PathBuf| fs::read(path).unwrap();
    let moved = [bytes(out.join("dog/3.png")), bytes(out.join("dog/2-3.png"))];
    assert!(moved.contains(&bytes(root.join("cat/3.png"))) && moved.contains(&bytes(root.join("dog/3.png"))));
    // Never over the data itself.
    assert!(
        tares(&["apply-labels", text(&root), text(&reviewed), "--out", text(&root)]).fails(2).contains("data itself")
    );
}
