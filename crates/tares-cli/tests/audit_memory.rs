//! The memory of an audit grows neither with its rows nor with the square of its classes.

#![cfg(target_os = "linux")]

mod program;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const CLASSES: usize = 50;

/// N × 50 probabilities that all agree with their labels but every thousandth, as `descr`.
fn arrays(folder: &Path, rows: usize, descr: &str) {
    let header = |descr: &str, shape: &[usize]| tares_data::npy::encode(descr, shape, &[]);
    let mut p = BufWriter::new(File::create(folder.join("p.npy")).unwrap());
    p.write_all(&header(descr, &[rows, CLASSES])).unwrap();
    let mut y = BufWriter::new(File::create(folder.join("y.npy")).unwrap());
    y.write_all(&header("'<i4'", &[rows])).unwrap();
    for row in 0..rows {
        for class in 0..CLASSES {
            let value = if class == row % CLASSES { 0.902f32 } else { 0.002 };
            match descr {
                "'<f8'" => p.write_all(&f64::from(value).to_le_bytes()).unwrap(),
                _ => p.write_all(&value.to_le_bytes()).unwrap(),
            }
        }
        let label = if row % 1000 == 7 { (row + 1) % CLASSES } else { row % CLASSES };
        y.write_all(&(label as i32).to_le_bytes()).unwrap();
    }
}

/// Peak resident kilobytes of `tares audit`.
fn peak(folder: &Path, method: &str) -> u64 {
    let mut command = program::command(&["audit", "--labels", "y.npy", "--probs", "p.npy", "--out", "out"]);
    command.args(["--method", method, "--exit-zero", "--quiet"]).current_dir(folder);
    let (code, peak) = program::peak(command);
    assert_eq!(code, Some(0));
    peak
}

#[test]
fn peak_memory_does_not_grow_with_the_probabilities() {
    for (descr, size) in [("'<f4'", 4), ("'<f8'", 8)] {
        let folder = tempfile::tempdir().unwrap();
        arrays(folder.path(), 60_000, descr);
        let small = peak(folder.path(), "posterior");
        arrays(folder.path(), 600_000, descr);
        let large = peak(folder.path(), "posterior");
        // The labels, given and suggested, grow; the 108 or 216 MB of probabilities that were added don't. The allocator keeps
        // more or less of what was freed: peaks of one command differ by 15 MB.
        let probabilities = 540_000 * CLASSES as u64 * size / 1024;
        assert!(small > 0 && large < small + probabilities / 3, "{descr}: {small} kB, then {large} kB");
    }
}

#[test]
fn twenty_thousand_classes_take_no_matrix_of_their_square() {
    const MANY: usize = 20_000;
    let folder = tempfile::tempdir().unwrap();
    // Three rows: the first two are right, the third is labelled 7 and looks like class 11.
    let mut p = vec![0.1 / (MANY - 1) as f32; 3 * MANY];
    [3, MANY + 5, 2 * MANY + 11].iter().for_each(|&place| p[place] = 0.9);
    let bytes: Vec<u8> = p.iter().flat_map(|value| value.to_le_bytes()).collect();
    std::fs::write(folder.path().join("p.npy"), tares_data::npy::encode("'<f4'", &[3, MANY], &bytes)).unwrap();
    let bytes: Vec<u8> = [3i32, 5, 7].iter().flat_map(|label| label.to_le_bytes()).collect();
    std::fs::write(folder.path().join("y.npy"), tares_data::npy::encode("'<i4'", &[3], &bytes)).unwrap();
    for method in ["posterior", "confident", "argmax"] {
        // K² numbers of 4 bytes would be 1.6 GB.
        let peak = peak(folder.path(), method);
        assert!(peak < 300_000, "{method}: {peak} kB");
        let summary = folder.path().join("out/summary.json");
        let size = std::fs::metadata(&summary).unwrap().len();
        assert!(size < 10_000_000, "{method}: {size} bytes");
        let summary = program::json(&summary);
        let matrix = &summary["transition_sparse"];
        assert_eq!(matrix["others"].as_array().unwrap().len(), MANY, "{method}");
        let listed = matrix["listed"].as_array().unwrap();
        assert!(listed.iter().any(|entry| entry[0] == 3 && entry[1] == 3), "{method}: {listed:?}");
        assert!(summary.get("transition").is_none(), "{method}");
    }
}
