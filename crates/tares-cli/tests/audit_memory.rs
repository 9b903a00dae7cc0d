//! The memory of an audit does not grow with its rows: ten times the rows, nearly the same peak.

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
fn peak(folder: &Path) -> u64 {
    let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (labels, probs, out) = (file("y.npy"), file("p.npy"), file("out"));
    let arguments = ["audit", "--labels", &labels, "--probs", &probs, "--out", &out, "--exit-zero", "--quiet"];
    let (code, peak) = program::peak(program::command(&arguments));
    assert_eq!(code, Some(0));
    peak
}

#[test]
fn peak_memory_does_not_grow_with_the_probabilities() {
    for (descr, size) in [("'<f4'", 4), ("'<f8'", 8)] {
        let folder = tempfile::tempdir().unwrap();
        arrays(folder.path(), 60_000, descr);
        let small = peak(folder.path());
        arrays(folder.path(), 600_000, descr);
        let large = peak(folder.path());
        // The labels, given and suggested, grow; the 108 or 216 MB of probabilities that were added don't.
        let probabilities = 540_000 * CLASSES as u64 * size / 1024;
        assert!(small > 0 && large < small + probabilities / 6, "{descr}: {small} kB, then {large} kB");
    }
}
